"""Fallback of a hook in a detached process: spools an event that could not be delivered, and starts the service.

The service is started only for the start of a session. Nothing that this process prints is visible.
"""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.core.redaction import KEY_BYTES, Redactor
from hivelore.core.redaction.private_text import remove_private_text
from hivelore.errors import HiveloreError
from hivelore.local import endpoint, launcher, private_files, transport
from hivelore.local.lock import read_lock
from hivelore.sessions.fence import remove_fences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hivelore.hooks.client import Event
    from hivelore.memories.model import Json

SUFFIX = ".json"
MOST_FILES = 10_000
MOST_BYTES = 64_000_000
"""Limits of the spool; above them the oldest events are deleted."""
_KEY_LENGTH = 20
"""Characters of a key that may be stored: namespace and number, without the secret."""


def spool_or_start(event: "Event", *, again: bool, longest: float) -> None:
    """``again``: the event may be delivered later."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, longest)
    folder = Path(endpoint.home_folder()) / endpoint.SPOOL
    try:
        body: Json = json.loads(event.body())
    except (ValueError, RecursionError):
        body = None
    if not again or not isinstance(body, dict) or not isinstance(body.get("payload"), dict):
        count_lost(folder, 1)
    else:
        try:
            spool(folder, {"program": event.program, "url": event.url, "key": _key(), **body})
        # Too long to search it for secrets, or the disk is full.
        except (HiveloreError, RecursionError, OSError):
            count_lost(folder, 1)
    is_here = event.url is None or transport.is_local(event.url)
    if is_here and _starts_session(body) and read_lock(folder.parent) is None:
        launcher.ensure(folder.parent)


def spool(folder: Path, event: "dict[str, Json]") -> None:
    """Store an event for the service, without secrets, private text and text that Hivelore injected."""
    safe = Redactor(os.urandom(KEY_BYTES)).clean_metadata(
        {name: _remove_unwanted(value) for name, value in event.items()}
    )
    data = json.dumps(safe, ensure_ascii=False).encode()
    _create_folder(folder)
    _make_room(folder, len(data))
    # The names sort by time.
    file = folder / f"{time.time_ns():020}-{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}"
    temporary = file.with_suffix(".new")
    try:
        with os.fdopen(private_files.create(temporary), "wb") as out:
            out.write(data)
        temporary.rename(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def count_lost(folder: Path, count: int) -> None:
    _create_folder(folder)
    with os.fdopen(private_files.open_private(folder / endpoint.SPOOL_LOST, os.O_WRONLY | os.O_APPEND), "wb") as out:
        out.write(b"." * count)


def _create_folder(folder: Path) -> None:
    endpoint.make_home(folder.parent)
    private_files.make_folder(folder)


def _make_room(folder: Path, size: int) -> None:
    waiting = sorted(_spooled(folder))
    files, total = len(waiting), sum(each for _, each in waiting)
    lost = 0
    for name, each in waiting:
        if files < MOST_FILES and total + size <= MOST_BYTES:
            break
        with suppress(FileNotFoundError):  # The service or another hook deleted it.
            (folder / name).unlink()
            lost += 1
        files, total = files - 1, total - each
    if lost:
        count_lost(folder, lost)


def _spooled(folder: Path) -> "Iterator[tuple[str, int]]":
    """Yield names and sizes of spooled events; others may add and delete some meanwhile."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != endpoint.SPOOL_LOST and not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False).st_size


def _remove_unwanted(value: "Json") -> "Json":
    if isinstance(value, str):
        return remove_fences(remove_private_text(value.replace("\0", "").encode(errors="replace").decode()))
    if isinstance(value, list):
        return [_remove_unwanted(item) for item in value]
    if isinstance(value, dict):
        return {name: _remove_unwanted(item) for name, item in value.items()}
    return value


def _key() -> str | None:
    """Return the part of HIVELORE_KEY that may be stored: None if it is not set, empty if the key is unusable."""
    given = endpoint.given_key()
    return None if given is None else given.rpartition("_")[0][:_KEY_LENGTH]


def _starts_session(body: "Json") -> bool:
    if not isinstance(body, dict):
        return False
    payload = body.get("payload")
    name = body.get("event") or (payload.get("hook_event_name") if isinstance(payload, dict) else None)
    return str(name).lower() == "sessionstart"
