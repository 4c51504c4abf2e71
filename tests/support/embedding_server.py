"""A real OpenAI-compatible embeddings server on the loopback interface, with faults on demand."""

import json
import socket
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self, cast

import numpy as np

from hivelore.core.text import Clean
from hivelore.core.vectors import to_blob
from hivelore.indexing.model import Vector
from support.hashing_embedder import HashingEmbedder


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """One request as it arrived; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def inputs(self) -> Sequence[str]:
        return self.body["input"]


class EmbeddingServer:
    """Answers ``POST {base_url}/embeddings`` with hashed vectors of length 3 until it leaves its ``with`` block.

    ``script(fault, ...)`` spoils the next requests, one fault each; ``always`` spoils all others. A text that
    contains one of ``poison`` is refused with status 400, and so is its whole batch; one with a part of
    ``degenerate`` gets a vector of NaN. ``floats_only`` ignores that base64 was asked for, as some servers do.
    """

    def __init__(self, dimension: int = 512, tls: SSLContext | None = None) -> None:
        self.asked: list[QueryAnalysis] = []
        self.poison: set[str] = set()
        self.degenerate: set[str] = set()
        self.always: Fault | None = None
        self.floats_only = False
        self.over = Event()
        self._dimension = dimension
        self._script: deque[Fault] = deque()
        self._lock = Lock()
        self._http = _Server(("127.0.0.1", 0), partial(_Handler, self))
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), name="embedding-server")

    @property
    def base_url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_port}/v1"

    def script(self, *faults: "Fault") -> None:
        self._script.extend(faults)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all connections and threads."""
        self.over.set()
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()

    def next_fault(self, asked: QueryAnalysis) -> "Fault | None":
        with self._lock:
            self.asked.append(asked)
            return self._script.popleft() if self._script else self.always

    def refuses(self, texts: Sequence[str]) -> bool:
        return any(not text or any(part in text for part in self.poison) for text in texts)

    def answer(self, asked: QueryAnalysis) -> dict[str, Any]:
        dimension = asked.body.get("dimensions", self._dimension)
        model = HashingEmbedder(dimension)
        rows = [model.embed_documents([Clean(text)])[0] * np.float32(3) for text in asked.inputs]
        for row, text in zip(rows, asked.inputs, strict=True):
            if any(part in text for part in self.degenerate):
                row.fill(np.nan)
        as_text = asked.body.get("encoding_format") == "base64" and not self.floats_only
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": b64encode(to_blob(row)).decode() if as_text else row.tolist(),
            }
            for index, row in enumerate(rows)
        ]
        return {"object": "list", "model": asked.body["model"], "data": data}


class _Server(ThreadingHTTPServer):
    """A server that knows its open connections, so that no thread waits for a client that stays connected."""

    daemon_threads = False

    def __init__(self, address: tuple[str, int], handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()
        self._guard = Lock()

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        with self._guard:
            self._open.add(cast(socket.socket, request))
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        with self._guard:
            self._open.discard(cast(socket.socket, request))
        super().shutdown_request(request)

    def hang_up(self) -> None:
        with self._guard:
            for connection in self._open:
                with suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, owner: EmbeddingServer, *connection: Any) -> None:
        self._owner = owner
        super().__init__(*connection)  # reads and answers until the connection ends

    def handle(self) -> None:
        with suppress(OSError):  # the client has gone
            super().handle()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = QueryAnalysis(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        fault = self._owner.next_fault(asked)
        if fault is not None:
            fault(Exchange(self, self._owner, asked))
        elif self.path != "/v1/embeddings":
            self.send(404, b'{"error": {"message": "unknown path"}}')
        elif self._owner.refuses(asked.inputs):
            self.send(400, b'{"error": {"message": "input is not valid"}}')
        else:
            self.send(200, json.dumps(self._owner.answer(asked)).encode())

    def send(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None, length: int | None = None
    ) -> None:
        """Sends an answer. ``length``: a false length for the header."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Logs nothing."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and the connection on which a fault spoils the answer."""

    handler: _Handler
    server: EmbeddingServer
    asked: QueryAnalysis

    def answer(self) -> bytes:
        return json.dumps(self.server.answer(self.asked)).encode()


Fault = Callable[[Exchange], None]


def refusal(status: int, message: str = "", headers: Mapping[str, str] | None = None) -> Fault:
    """An error status with the message in OpenAI's form."""
    body = json.dumps({"error": {"message": message}}).encode()
    return lambda exchange: exchange.handler.send(status, body, headers)


def raw(body: bytes, headers: Mapping[str, str] | None = None) -> Fault:
    """Status 200 with these bytes."""
    return lambda exchange: exchange.handler.send(200, body, headers)


def altered(change: Callable[[dict[str, Any]], None]) -> Fault:
    """The right answer after ``change`` was applied to it."""

    def send(exchange: Exchange) -> None:
        answer = exchange.server.answer(exchange.asked)
        change(answer)
        exchange.handler.send(200, json.dumps(answer).encode())

    return send


def split(exchange: Exchange) -> None:
    """Half of the body, then the connection ends."""
    answer = exchange.answer()
    exchange.handler.send(200, answer[: len(answer) // 2], length=len(answer))
    exchange.handler.close_connection = True


def drip(before_each: Callable[[], None], pieces: int = 100) -> Fault:
    """The right answer in many pieces; ``before_each`` is where a test moves its clock."""

    def send(exchange: Exchange) -> None:
        answer = exchange.answer()
        size = -(-len(answer) // pieces)
        exchange.handler.send(200, b"", length=len(answer))
        for start in range(0, len(answer), size):
            before_each()
            exchange.handler.wfile.write(answer[start : start + size])

    return send


def silence(exchange: Exchange) -> None:
    """No answer until the server closes."""
    exchange.server.over.wait()
    exchange.handler.close_connection = True


def hang_up(exchange: Exchange) -> None:
    """The connection ends without an answer."""
    exchange.handler.close_connection = True


def is_vector_of(vector: Vector, content: str) -> bool:
    """Returns True if this is the normalized vector that the server has for a text."""
    return np.allclose(vector, HashingEmbedder(len(vector)).embed_query(Clean(content)), atol=1e-6)
