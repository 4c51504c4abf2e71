"""What a line says: JSON-RPC read just as far as carrying it needs, and errors said in it."""

import json
from binascii import b2a_base64

from hivelore.errors import Expired, HiveloreError, Invalid

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import TypeAlias

    Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
"""Where requests since revision 2026-07-28 say their revision, in ``params._meta``."""
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""What such requests have in the header Mcp-Name: which of their parameters."""
CANCELLED = "notifications/cancelled"
REPEATABLE = frozenset({"memory-search", "memory-get", "memory-store", "memory-rate", "inject-learning"})
"""Tools that may be called again when nobody knows whether the first call was carried out: they read, or they find
what they stored before and answer as they would have. Not memory-delete: the second call would say that there is
no such memory. Everything but tools/call only reads."""


class NotJson(Invalid):
    """A line in which nothing can be made out."""


INTERNAL_ERROR = -32_603
CODES: dict[type[HiveloreError], int] = {
    NotJson: -32_700,
    Invalid: -32_600,
    # As the official SDKs have these two: request timeout, connection closed.
    Expired: -32_001,
    HiveloreError: -32_000,
}


class Message:
    """One message, and what has to be known about it to carry it."""

    __slots__ = ("body", "id", "is_repeatable", "is_request", "method", "name", "subject", "version")

    def __init__(self, body: bytes, said: "Json") -> None:
        """Raises Invalid where this is no message of JSON-RPC as MCP has it."""
        _refuse_malformed(said)
        params = _member(said, "params")
        self.body = body
        self.id = _member(said, "id")
        self.method = _text(_member(said, "method"))
        self.is_request = isinstance(said, dict) and said.keys() >= {"method", "id"}
        self.version = _text(_member(_member(params, "_meta"), VERSION_KEY))
        """Of the protocol, where the message says it itself."""
        self.name = _text(_member(params, _NAMED[self.method])) if self.method in _NAMED else ""
        self.subject = _member(params, "requestId")
        """Which request this one is about, of a cancellation."""
        self.is_repeatable = self.method != "tools/call" or self.name in REPEATABLE

    def headers(self, agreed: str) -> dict[str, str]:
        """What the protocol wants repeated in headers. ``agreed``: the version of an earlier ``initialize``."""
        if not self.version:
            return {"MCP-Protocol-Version": agreed} if agreed and self.method != "initialize" else {}
        found = {"MCP-Protocol-Version": self.version, "Mcp-Method": self.method, "Mcp-Name": self.name}
        return {name: _header(value) for name, value in found.items() if value}


def _refuse_malformed(said: "Json") -> None:
    """What the service would answer in words that help nobody, or not at all."""
    if isinstance(said, list):
        raise Invalid("This is a batch, which MCP has no more. Send one message per line.")
    if not (isinstance(said, dict) and said.keys() & {"method", "result", "error"}):
        raise Invalid("This is no JSON-RPC message: it has no method.")
    if said.get("jsonrpc") != "2.0":
        raise Invalid('This is no message of JSON-RPC 2.0: say "jsonrpc": "2.0".')
    if "method" not in said:
        return
    if not _text(said["method"]):
        raise Invalid("The method is no text. Name one, like tools/list.")
    if not isinstance(said.get("params", {}), dict):
        raise Invalid("params is no object. Give each of them by its name.")
    if "id" in said and (isinstance(said["id"], bool) or not isinstance(said["id"], str | int)):
        raise Invalid("The id is neither a text nor a whole number. Send the request with such a one.")


def parsed(line: bytes) -> "Json":
    """Raises NotJson for what is not JSON in UTF-8."""
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError:
        raise NotJson("This line is not UTF-8.") from None
    except (ValueError, RecursionError):
        raise NotJson("This line is not JSON. Send one message per line.") from None


def id_of(said: "Json") -> "Json":
    return _member(said, "id")


def is_same(one: "Json", other: "Json") -> bool:
    """Whether two ids are one; None is none."""
    return one is not None and type(one) is type(other) and one == other


def agreed_version(answer: bytes) -> str:
    """What the service has answered to ``initialize``; empty where it refused."""
    return _text(_member(_member(_document(answer), "result"), "protocolVersion"))


def is_answer(document: bytes) -> bool:
    """Whether this is the answer to a request, not something said on the way to it."""
    said = _document(document)
    return isinstance(said, dict) and "method" not in said and bool(said.keys() & {"result", "error"})


def addressed(document: bytes, identity: "Json") -> bytes | None:
    """An error of JSON-RPC under the id of its request, which it may have been said without; None for anything else."""
    said = _document(document)
    if not isinstance(said, dict) or not isinstance(said.get("error"), dict):
        return None
    return json.dumps(said | {"id": identity}).encode()


def problem(document: bytes) -> str:
    """What a problem document says; empty where it is none."""
    return _text(_member(_document(document), "detail"))


def error(identity: "Json", code: int, message: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}).encode()


def code_of(error: HiveloreError) -> int:
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def _document(data: bytes) -> "Json":
    try:
        return parsed(data)
    except NotJson:
        return None


def _member(said: "Json", name: str) -> "Json":
    return said.get(name) if isinstance(said, dict) else None


def _text(said: "Json") -> str:
    return said if isinstance(said, str) else ""


def _header(value: str) -> str:
    """A value as a header can carry it: what is not plain ASCII in the wrapping that MCP has for it."""
    wrapped = value.startswith("=?base64?") and value.endswith("?=")
    if value.isascii() and value.isprintable() and value == value.strip() and not wrapped:
        return value
    return f"=?base64?{b2a_base64(value.encode(errors='replace'), newline=False).decode()}?="
