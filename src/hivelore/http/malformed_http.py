"""The HTTP protocol of a connection: time limits for requests, a limit of connections, and problem documents for
malformed requests."""

import asyncio
from heapq import nsmallest

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hivelore.http.problems import problem

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
