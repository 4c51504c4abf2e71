"""A stand-in for the APIs of language models on the loopback interface, which counts every requested token."""

import json
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self

POINTS = (
    "The checkout test failed because carts from before March have no currency.",
    "The user wants the currency of the customer and never a fixed one.",
    "Old carts now take the currency of their customer (shop/cart.py).",
)


class LanguageServer:
    """Answers OpenAI's chat completions and Anthropic's messages with ``answer`` until it leaves its ``with`` block.

    ``script(status, ...)`` refuses the next requests, one status each. A token is a byte here: no model takes more.
    ``silent_about_usage``: does not say how many it took, as some servers do."""

    def __init__(self, points: Sequence[str] = POINTS) -> None:
        self.answer = json.dumps({"points": points})
        self.asked: list[tuple[str, Mapping[str, str], Mapping[str, Any]]] = []
        self.tokens = 0
        self.silent_about_usage = False
        self.raw: bytes | None = None
        """The answer to send instead, if it is set."""
        self._script: deque[int] = deque()
        self._lock = Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), name="language-server")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def script(self, *statuses: int) -> None:
        self._script.extend(statuses)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[int, object]:
        with self._lock:
            self.asked.append((path, headers, body))
            if self._script:
                return self._script.popleft(), {"error": {"message": "not now"}}
            taken = sum(len(message["content"].encode()) for message in body["messages"])
            given = len(self.answer.encode())
            self.tokens += taken + given
        if path.endswith("/chat/completions"):
            usage = {} if self.silent_about_usage else {"usage": {"total_tokens": taken + given}}
            message = {"role": "assistant", "content": self.answer}
            return 200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **usage}
        use = {"type": "tool_use", "id": "t1", "name": "answer", "input": json.loads(self.answer)}
        usage = {"input_tokens": taken, "output_tokens": given, "cache_read_input_tokens": None}
        return 200, {"type": "message", "role": "assistant", "content": [use], "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, owner: LanguageServer, *connection: Any) -> None:
        self._owner = owner
        super().__init__(*connection)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = self._owner.reply(
            self.path, {name.lower(): value for name, value in self.headers.items()}, body
        )
        payload = self._owner.raw or json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Logs nothing."""
