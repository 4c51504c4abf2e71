"""The layers around every request.

ASGI layers: the request guard, request metrics, and problem documents for unexpected errors. Below them the HTTP
protocol of a connection: time limits, a limit of connections, and problem documents for malformed requests.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from heapq import nsmallest
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hivelore.core import tracebacks
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.errors import HiveloreError
from hivelore.http.metrics import Metrics
from hivelore.http.problems import problem
from hivelore.local.transport import LOOPBACK

LARGEST_BODY = 16 * 1024 * 1024
MAX_STRINGS = 200_000
"""Maximum strings in one body: a batch of 1,000 memories with all fields and 100 tags each has about half as many."""
_COUNTED_FROM = 1024 * 1024
"""Size in bytes from which the strings of a body are counted before it is parsed."""
_MAX_READ = 4 * LARGEST_BODY
"""Bytes of a refused body that are read. A sender whose connection closes too early does not see the answer."""
_WRONG_HOST = "This service does not answer to that host name. Use 127.0.0.1, or set HIVELORE_ALLOWED_HOSTS."
_WRONG_ORIGIN = "Requests from other web sites are refused."
_TOO_LARGE = f"The request is larger than {LARGEST_BODY // 1024 // 1024} MB. Send it in parts."
_TOO_MANY = f"The request has more than {MAX_STRINGS:,} strings. Send it in parts."
_LOG = logging.getLogger("hivelore")


class RequestGuard:
    """Refuses requests with a wrong Host, a foreign Origin or a body that is too large.

    A web page elsewhere can make a browser send requests to this machine, under a host name that the page controls
    (DNS rebinding) or from a foreign origin.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *allowed_hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _headers_by_name(scope)
        if _host_name(headers.get(b"host")) not in self._hosts:
            await problem(421, _WRONG_HOST, "misdirected")(scope, receive, send)
            return
        origin = headers.get(b"origin")
        if origin is not None:
            scheme, _, place = origin.lower().partition(b"://")
            if scheme not in (b"http", b"https") or place != headers[b"host"].lower():
                await problem(403, _WRONG_ORIGIN, "foreign-origin")(scope, receive, send)
                return
        length = headers.get(b"content-length", b"0")
        too_large = not length.isdigit() or int(length) > LARGEST_BODY
        if too_large or headers.get(b"transfer-encoding") or int(length) >= _COUNTED_FROM:
            messages = await _read_body(receive)
            if too_large or messages is None:
                await problem(413, _TOO_LARGE, "too-large")(scope, receive, send)
                return
            if _count_strings(messages) > MAX_STRINGS:
                await problem(422, _TOO_MANY, "invalid")(scope, receive, send)
                return
            receive = _replay(messages, receive)
        await self._app(scope, receive, send)


def _headers_by_name(scope: Scope) -> dict[bytes, bytes]:
    """Returns the headers. A Host or Origin that comes twice counts as empty, so that neither can hide the other."""
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


def _count_strings(messages: Iterable[Message]) -> int:
    """Estimates the number of JSON strings from the unescaped quotes before commas. Parsing would need memory and time
    for each string."""
    bodies = [message.get("body", b"") for message in messages]
    return sum(body.count(b'",') + body.count(b'" ,') - body.count(b'\\",') - body.count(b'\\" ,') for body in bodies)


async def _read_body(receive: Receive) -> list[Message] | None:
    """Returns the messages of the whole body; None if it is too large."""
    messages: list[Message] = []
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False) and size < _MAX_READ
        if size <= LARGEST_BODY:
            messages.append(message)
    return None if size > LARGEST_BODY else messages


def _replay(messages: Iterable[Message], receive: Receive) -> Receive:
    """Returns a ``receive`` that yields these messages first."""
    remaining = iter(messages)

    async def replayed() -> Message:
        return next(remaining, None) or await receive()

    return replayed


class RequestMetrics:
    """Counts and times every request by its route."""

    def __init__(self, app: ASGIApp, metrics: Metrics, monotonic: Callable[[], float]) -> None:
        self._app = app
        self._metrics = metrics
        self._monotonic = monotonic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = self._monotonic()
        status = 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            self._metrics.requests.labels(scope["method"], route, str(status)).inc()
            self._metrics.latency.labels(route).observe(self._monotonic() - began)


class Incident(Exception):
    """An unexpected error. Its text is for the caller and contains no details; the log has them under ``id``."""

    def __init__(self, number: str) -> None:
        super().__init__(
            f"The service failed with an unexpected error. Its log (service.log in the home folder, or the output of "
            f"'hivelore serve') has the details under {number}. Check whether a write was stored before you retry."
        )
        self.id = number


class Incidents:
    """Logs unexpected errors."""

    def __init__(self, redactor: Redactor, clock: Clock) -> None:
        self._redactor = redactor
        self._clock = clock
        self._lock = threading.Lock()
        self._count = 0

    @contextmanager
    def logged(self, place: Callable[[], str]) -> Generator[None]:
        """Logs an unexpected error of the block and raises it as an Incident.

        ``place`` returns where it happened, such as a route or a tool, without user data."""
        try:
            yield
        except HiveloreError:
            raise
        except Exception as error:
            with self._lock:
                self._count += 1
                incident = Incident(f"{self._clock.now():%Y%m%dT%H%M%S}-{self._count}")
            traceback = tracebacks.masked_traceback(error, self._redactor)
            _LOG.error("Unexpected error %s at %s\n%s", incident.id, place(), traceback)
            raise incident from error


class IncidentResponses:
    """Answers an unexpected error with a problem document."""

    def __init__(self, app: ASGIApp, incidents: Incidents) -> None:
        self._app = app
        self._incidents = incidents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def note_begin(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        def route() -> str:
            # The path of the route; that of the request may contain user data.
            return f"{scope['method']} {getattr(scope.get('route'), 'path', 'no route')}"

        try:
            # A hook that stops waiting may leave in the middle of its request. Nobody is left to answer.
            with self._incidents.logged(route), suppress(ClientDisconnect):
                await self._app(scope, receive, note_begin)
        except Incident as incident:
            if has_begun:  # Closing the connection shows that the answer is incomplete.
                raise
            await problem(500, str(incident), "unexpected", id=incident.id)(scope, receive, send)


HEADERS_WITHIN = 10.0
"""Seconds from the connection, or from the first byte of a later request, to the end of its headers."""
BODY_WITHIN = 60.0
"""Seconds from the headers to the end of the body."""
MOST_CONNECTIONS = 1_024
DROPPED_AT_ONCE = 16
"""Connections closed together when there are too many. Searching all of them for each new one would be slow."""
LARGEST_HEADERS = 128 * 1024
_REMEDY = "A URL may have 65,535 bytes: send long texts in a body."
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class Protocol(HttpToolsProtocol):
    """Protocol class for uvicorn (``http``)."""

    _timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    since = 0.0
    """Time since which the connection waits for headers, on the clock of the event loop."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._await_headers()
        if len(self.connections) > MOST_CONNECTIONS:
            self._drop_the_oldest()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self._await_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes <= LARGEST_HEADERS:
            super().on_header(name, value)
        elif not self.transport.is_closing():
            self._refuse(431, f"The headers are larger than {LARGEST_HEADERS // 1024} KB.", "headers-too-large")

    def on_headers_complete(self) -> None:
        if self.transport.is_closing():
            return
        self._expect(BODY_WITHIN)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            self._refuse(400, f"{msg} {_REMEDY}", "bad-request")

    def _await_headers(self) -> None:
        self.since = self.loop.time()
        self._expect(HEADERS_WITHIN)

    def _expect(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self._on_too_slow)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_too_slow(self) -> None:
        if self.transport.is_closing():
            return
        if self.is_busy() and self.cycle.response_started:
            self.transport.close()  # Too late for another answer.
        else:
            self._refuse(408, "The request did not arrive in time. Send it again, all of it at once.", "too-slow")

    def _drop_the_oldest(self) -> None:
        """Closes the connections that have waited longest for a request."""
        waiting = [one for one in self.connections if isinstance(one, Protocol) and not one.is_busy()]
        for one in nsmallest(DROPPED_AT_ONCE, waiting, key=lambda one: one.since) or [self]:
            one.transport.abort()

    def is_busy(self) -> bool:
        """Returns True while a request is read or answered."""
        return bool(self.cycle) and not self.cycle.response_complete

    def _refuse(self, status: int, detail: str, code: str) -> None:
        answer = problem(status, detail, code)
        head = [f"HTTP/1.1 {status} {_REASONS[status]}".encode(), b"connection: close"]
        head += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*head, b"", bytes(answer.body)]))
        self.transport.close()
