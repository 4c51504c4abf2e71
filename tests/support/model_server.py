"""The HTTP side of a stand-in for a language model's API, on the loopback interface; it records all requests."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from support.model_script import Scripts


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """One request as it arrived; header names in lower case, no query behind the path."""

    path: str
    headers: Mapping[str, str]
    body: Any

    def text(self) -> str:
        """Returns the whole request as text, for searching."""
        return json.dumps(self.body, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class EventLog:
    """An answer that is streamed: events with a name each, or with an empty one, which is not sent."""

    events: Iterable[tuple[str, Mapping[str, Any]]]


Answer = Mapping[str, Any] | EventLog | None
"""None: there is nothing at that path."""


_TURNS = ("/v1/messages", "/v1/responses", ":streamGenerateContent")


class ModelServer:
    """Answers until it leaves its ``with`` block, with the result of ``answer`` for each request. ``scripts``
    may be added at any time."""

    def __init__(self, answer: Callable[[QueryAnalysis, Scripts], Answer]) -> None:
        self.asked: list[QueryAnalysis] = []
        self.scripts: Scripts = {}
        self._answer = answer
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._http.daemon_threads = True  # Agent programs keep connections open for as long as they run.
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), name="model-server")
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def turns(self) -> Sequence[QueryAnalysis]:
        """The requests to the model, first to last."""
        return [asked for asked in self.asked if asked.path.endswith(_TURNS)]

    def answered(self, asked: QueryAnalysis) -> Answer:
        self.asked.append(asked)
        return self._answer(asked, self.scripts)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def _line(name: str, data: Mapping[str, Any]) -> str:
    if not name:
        return f"data: {json.dumps(data)}\n\n"
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, owner: ModelServer, *connection: Any) -> None:
        self._owner = owner
        super().__init__(*connection)  # reads and answers until the connection ends

    def handle(self) -> None:
        with suppress(OSError):  # the program has gone
            super().handle()

    def do_GET(self) -> None:
        self._reply(None)

    def do_HEAD(self) -> None:
        self._reply(None)

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"null"))

    def _reply(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self._owner.answered(QueryAnalysis(self.path.partition("?")[0], headers, body))
        if isinstance(answer, EventLog):
            self._send(200, "text/event-stream", "".join(_line(name, data) for name, data in answer.events))
        elif answer is None:
            self._send(404, "application/json", '{"error": {"type": "not_found_error", "message": "unknown path"}}')
        else:
            self._send(200, "application/json", json.dumps(answer))

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Logs nothing."""
