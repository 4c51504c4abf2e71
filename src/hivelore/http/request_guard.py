"""What no request gets past, whatever it asks for: a name that is ours, an origin that is ours, a size.

A web page somewhere else can make a browser send requests to this machine, under a name it controls
(DNS rebinding) or from a foreign origin; both are refused before anything else is looked at.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivelore.http.problems import problem

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_BODY = 16 * 1024 * 1024
MOST_STRINGS = 200_000
"""Strings in one body: a batch of 1,000 memories with all fields and 100 tags each has about half as many."""
_COUNTED_FROM = 1024 * 1024
"""Bytes from which on the strings of a body are counted before it is parsed."""
_PATIENCE = 4 * LARGEST_BODY
_WRONG_HOST = "This service does not answer to that host name. Use 127.0.0.1, or set HIVELORE_ALLOWED_HOSTS."
_WRONG_ORIGIN = "Requests from other web sites are refused."
_TOO_LARGE = f"The request is larger than {LARGEST_BODY // 1024 // 1024} MB. Send it in parts."
_TOO_MANY = f"The request holds more than {MOST_STRINGS:,} strings. Send it in parts."


class RequestGuard:
    """Pure ASGI, around everything."""

    def __init__(self, app: ASGIApp, allowed_hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *allowed_hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _single(scope)
        host = _host_name(headers.get(b"host"))
        if host not in self._hosts:
            await problem(421, _WRONG_HOST, "misdirected")(scope, receive, send)
            return
        origin = headers.get(b"origin")
        if origin is not None and not _same(origin, headers[b"host"]):
            await problem(403, _WRONG_ORIGIN, "foreign-origin")(scope, receive, send)
            return
        length = headers.get(b"content-length", b"0")
        too_large = not length.isdigit() or int(length) > LARGEST_BODY
        if too_large or headers.get(b"transfer-encoding") or int(length) >= _COUNTED_FROM:
            messages = await _whole(receive)
            if too_large or messages is None:
                await problem(413, _TOO_LARGE, "too-large")(scope, receive, send)
                return
            if _strings(messages) > MOST_STRINGS:
                await problem(422, _TOO_MANY, "invalid")(scope, receive, send)
                return
            receive = _replayed(messages, receive)
        await self._app(scope, receive, send)


def _same(origin: bytes, host: bytes) -> bool:
    """Whether a page of this very service sent the request; ``null`` is nobody."""
    scheme, _, place = origin.lower().partition(b"://")
    return scheme in (b"http", b"https") and place == host.lower()


def _single(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name; one that comes twice counts as neither, so that nobody can hide behind the other."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        found[name] = b"" if name in found and name in (b"host", b"origin") else value
    return found


def _host_name(host: bytes | None) -> str | None:
    if not host:
        return None
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname
    except ValueError:
        return None


def _strings(messages: Iterable[Message]) -> int:
    """How many strings of JSON end before a comma, by quotes that no backslash escapes: no parsing, which would take
    memory and time for each."""
    bodies = [message.get("body", b"") for message in messages]
    return sum(body.count(b'",') + body.count(b'" ,') - body.count(b'\\",') - body.count(b'\\" ,') for body in bodies)


async def _whole(receive: Receive) -> list[Message] | None:
    """The messages of a body, read to its end so that they can be handed on; None when it is too large.

    What is too large is read on for a while and dropped: a sender that is cut off never sees why.
    """
    messages: list[Message] = []
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False) and size < _PATIENCE
        if size <= LARGEST_BODY:
            messages.append(message)
    return None if size > LARGEST_BODY else messages


def _replayed(messages: Iterable[Message], receive: Receive) -> Receive:
    replay = iter(messages)

    async def handed_on() -> Message:
        return next(replay, None) or await receive()

    return handed_on
