"""JSON-RPC messages: reads what the relay needs of them, and writes errors."""

import json
from binascii import b2a_base64

from hivelore.errors import Expired, HiveloreError, Invalid

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import TypeAlias

    Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
"""Field of ``params._meta`` with the protocol revision, since revision 2026-07-28."""
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Parameter of these requests that is sent in the header Mcp-Name."""
CANCELLED = "notifications/cancelled"
REPEATABLE = frozenset({"memory-search", "memory-get", "memory-store", "memory-rate", "inject-learning"})
"""Tools that may be called again if it is unknown whether the first call was executed.

They read, or they find what they stored before and give the same answer. memory-delete is not among them: a second call
would fail. Neither is memory-edit: a second call could overwrite what another agent changed in between. All other
requests than tools/call only read."""


class NotJson(Invalid):
    """The line is not JSON."""


INTERNAL_ERROR = -32_603
CODES: dict[type[HiveloreError], int] = {
    NotJson: -32_700,
    Invalid: -32_600,
    # The codes of the official SDKs for request timeout and connection closed.
    Expired: -32_001,
    HiveloreError: -32_000,
}


class Message:
    """One message, with the fields that the relay needs."""

    __slots__ = (
        "body",
        "has_cursor",
        "id",
        "is_repeatable",
        "is_request",
        "method",
        "name",
        "requested_version",
        "subject",
        "version",
    )

    def __init__(self, body: bytes, document: "Json") -> None:
        """Raises Invalid if it is not a JSON-RPC message of MCP."""
        _refuse_malformed(document)
        params = _member(document, "params")
        self.body = body
        self.id = _member(document, "id")
        self.method = _text(_member(document, "method"))
        self.is_request = isinstance(document, dict) and document.keys() >= {"method", "id"}
        self.version = _text(_member(_member(params, "_meta"), VERSION_KEY))
        """Protocol version, if the message contains it."""
        self.name = _text(_member(params, _NAMED[self.method])) if self.method in _NAMED else ""
        self.requested_version = _text(_member(params, "protocolVersion"))
        """Protocol version that the client asks for in ``initialize``."""
        self.has_cursor = _member(params, "cursor") is not None
        self.subject = _member(params, "requestId")
        """Id of the request that a cancellation is about."""
        self.is_repeatable = self.method != "tools/call" or self.name in REPEATABLE

    def headers(self, agreed: str) -> dict[str, str]:
        """Return the fields that the protocol repeats in headers. ``agreed``: version of an earlier ``initialize``."""
        if not self.version:
            return {"MCP-Protocol-Version": agreed} if agreed and self.method != "initialize" else {}
        found = {"MCP-Protocol-Version": self.version, "Mcp-Method": self.method, "Mcp-Name": self.name}
        return {name: _header(value) for name, value in found.items() if value}


def _refuse_malformed(document: "Json") -> None:
    """Refuse messages for which the error of the service is not helpful, or missing."""
    if isinstance(document, list):
        raise Invalid("This is a batch, which MCP no longer supports. Send one message per line.")
    if not (isinstance(document, dict) and document.keys() & {"method", "result", "error"}):
        raise Invalid("This is not a JSON-RPC message: it has no method.")
    if document.get("jsonrpc") != "2.0":
        raise Invalid('This is not a JSON-RPC 2.0 message: it needs "jsonrpc": "2.0".')
    if "method" not in document:
        return
    if not _text(document["method"]):
        raise Invalid("The method is not a text. Use one like tools/list.")
    if not isinstance(document.get("params", {}), dict):
        raise Invalid("params is not an object. Use named parameters.")
    if "id" in document and (isinstance(document["id"], bool) or not isinstance(document["id"], str | int)):
        raise Invalid("The id is neither a text nor a whole number. Send the request with a valid id.")


def parse(line: bytes) -> "Json":
    """Parse JSON in UTF-8. Raises NotJson."""
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError:
        raise NotJson("This line is not UTF-8.") from None
    except (ValueError, RecursionError):
        raise NotJson("This line is not JSON. Send one message per line.") from None


def id_of(document: "Json") -> "Json":
    return _member(document, "id")


def is_same(first: "Json", second: "Json") -> bool:
    """Return True if two ids are equal; None equals nothing."""
    return first is not None and type(first) is type(second) and first == second


def agreed_version(answer: bytes) -> str:
    """Return the protocol version in the answer to ``initialize``; empty if it was refused."""
    return _text(_member(_member(_document(answer), "result"), "protocolVersion"))


def is_answer(document: bytes) -> bool:
    """Return True for the answer to a request, False for a notification before it."""
    found = _document(document)
    return isinstance(found, dict) and "method" not in found and bool(found.keys() & {"result", "error"})


def with_id(document: bytes, identity: "Json") -> bytes | None:
    """Return a JSON-RPC error with the id of its request; None if the document is not an error."""
    found = _document(document)
    if not isinstance(found, dict) or not isinstance(found.get("error"), dict):
        return None
    return json.dumps(found | {"id": identity}).encode()


def problem(document: bytes) -> str:
    """Return the detail of a problem document; empty for another document."""
    return _text(_member(_document(document), "detail"))


def error(identity: "Json", code: int, message: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}).encode()


def code_of(error: HiveloreError) -> int:
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def _document(data: bytes) -> "Json":
    try:
        return parse(data)
    except NotJson:
        return None


def _member(document: "Json", name: str) -> "Json":
    return document.get(name) if isinstance(document, dict) else None


def _text(document: "Json") -> str:
    return document if isinstance(document, str) else ""


def _header(value: str) -> str:
    """Return a header value; text other than plain ASCII is encoded as MCP specifies."""
    wrapped = value.startswith("=?base64?") and value.endswith("?=")
    if value.isascii() and value.isprintable() and value == value.strip() and not wrapped:
        return value
    return f"=?base64?{b2a_base64(value.encode(errors='replace'), newline=False).decode()}?="
