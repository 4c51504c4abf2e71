"""A healthy HTTP service on the loopback interface that answers messages with the faults of a test."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Event, Thread
from typing import Any, Self

HEALTHY = b'{"status":"ok"}'


@dataclass(frozen=True, slots=True)
class Heard:
    """One message as it arrived; header names in lower case."""

    headers: dict[str, str]
    message: Any


class Exchange(BaseHTTPRequestHandler):
    """One request, and the ways to answer it."""

    protocol_version = "HTTP/1.1"

    def __init__(self, odd: "OddService", *arguments: Any) -> None:
        self._odd = odd
        self.message: Any = None
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.reply(200, HEALTHY)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.message = json.loads(body)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._odd.heard.append(Heard(headers, self.message))
        self._odd.answer(self)

    def reply(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def result(self, result: object = None) -> None:
        """Sends a valid answer."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": self.message["id"], "result": result or {}}
        self.reply(200, json.dumps(answer).encode())

    def problem(self, status: int, detail: str) -> None:
        self.reply(status, json.dumps({"detail": detail}).encode(), "application/problem+json")

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def event(self, message: object) -> None:
        self.chunk(f"event: message\r\ndata: {json.dumps(message)}\r\n\r\n".encode())

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def drop(self) -> None:
        """Closes the connection without further output."""
        self.close_connection = True

    def hung_up(self) -> bool:
        """Waits for the client to close the connection."""
        self.connection.settimeout(120)
        with suppress(OSError):
            return self.rfile.read(1) == b""
        return True

    def log_request(self, code: object = "-", size: object = "-") -> None:
        pass


class OddService:
    """Answers every message with ``answer``, until it leaves its ``with`` block."""

    def __init__(self, answer: Callable[[Exchange], None], tls: SSLContext | None = None) -> None:
        self.answer = answer
        self.heard: list[Heard] = []
        self.over = Event()
        """Set at the end, for answers that wait for it."""
        self._server = _Server(("127.0.0.1", 0), partial(Exchange, self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
            self.url = self.url.replace("http:", "https:")
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # The other side has hung up.
