"""The service's last answers to the requests of a handshake, kept in the home folder.

A client waits for these when a session starts. They depend on the protocol version and the key, and hardly ever change,
so an answer of yesterday is right while the service hangs or starts.
"""

import json
import os

from hivelore.errors import Unauthenticated
from hivelore.local import endpoint, private_files

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hivelore.mcp.bridge.messages import Json, Message

METHODS = frozenset({"initialize", "server/discover", "tools/list", "prompts/list", "resources/list"})
FOLDER = "mcp-answers"
_MAX_FILES = 64
_KEY_LENGTH = 20
"""Characters of a key without its secret."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")


def is_known(message: "Message") -> bool:
    """Return True for a request whose answer is kept. Further pages of a list are not."""
    return message.is_request and message.method in METHODS and not message.has_cursor


def read_answer(message: "Message", agreed: str) -> bytes | None:
    """Return the kept answer with the id of the request; None if there is none. ``agreed``: version of the
    handshake."""
    try:
        with open(_file(message, agreed), "rb") as kept:
            answer: Json = json.loads(kept.read())
    except (OSError, ValueError):
        return None
    return json.dumps(answer | {"id": message.id}).encode() if isinstance(answer, dict) else None


def keep_answer(message: "Message", agreed: str, answer: bytes) -> None:
    """Keep the result of a request, if it is not kept already."""
    try:
        found: Json = json.loads(answer)
    except (ValueError, RecursionError):  # What answered is not a Hivelore service.
        return
    if not isinstance(found, dict) or "result" not in found:
        return
    data = json.dumps(found | {"id": None}).encode()
    file = _file(message, agreed)
    try:
        with open(file, "rb") as kept:
            if kept.read() == data:
                return
    except OSError:
        pass
    try:
        _write(file, data)
    except OSError:
        return  # The disk is full, or the home folder cannot be written: the next session waits for the service.


def _write(file: str, data: bytes) -> None:
    folder = os.path.dirname(file)
    if not os.path.isdir(os.path.dirname(folder)):
        return  # Without a service on this machine, nothing else needs a home folder.
    private_files.make_folder(folder)
    names = os.listdir(folder)
    for name in names if len(names) >= _MAX_FILES else ():
        os.unlink(f"{folder}/{name}")
    with private_files.replacing(file) as out:
        out.write(data)


def _file(message: "Message", agreed: str) -> str:
    home = endpoint.home_folder()
    try:
        key = endpoint.key(endpoint.AGENT_KEY, home).rpartition("_")[0][:_KEY_LENGTH]
    except Unauthenticated:  # The service has never run.
        key = ""
    version = message.version or message.requested_version or agreed
    parts = (message.method, version, key, endpoint.given_url() or "")
    name = "_".join("".join(sign if sign in _SAFE else "-" for sign in part) for part in parts)
    return f"{home}/{FOLDER}/{name[:200]}.json"
