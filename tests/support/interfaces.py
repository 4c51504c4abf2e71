"""The interfaces, each with the same operations, and with outcomes in its own terms.

A verb is remember, observe, recall, get, edit, forget, list, recalls or index; its arguments have the names they have
in JSON.
The form of each answer is checked here, so that comparing outcomes needs only their kinds.
"""

import http.client
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from hivelore.errors import HiveloreError
from hivelore.python.hive import Hive, Indexed
from support.bridge import Bridge
from support.command_line import CommandLine

OK = "ok"
LEFT_OUT = "left out"
_TITLES = {400, 401, 403, 404, 405, 409, 412, 413, 415, 421, 422, 500, 503, 504}
_LONGEST_ARGUMENT = 100_000


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: str
    """``ok``, or the name of an error at this interface."""
    said: str
    """The sentence of an error."""
    shown: str
    """Everything that came back."""


class Interface(ABC):
    name: str

    @abstractmethod
    def ask(self, verb: str, /, **given: Any) -> Outcome: ...


class PythonInterface(Interface):
    """Python API. Other exceptions than those of Hivelore fail the test."""

    def __init__(self, name: str, hive: Hive) -> None:
        self.name = name
        self._hive = hive

    def ask(self, verb: str, /, **given: Any) -> Outcome:
        arguments = {_SNAKE.get(name, name): value for name, value in given.items()}
        try:
            found = getattr(self._hive, verb)(**arguments)
        except HiveloreError as error:
            return Outcome(type(error).__name__, str(error), str(error))
        if isinstance(found, Indexed) and found.skipped:
            return Outcome(LEFT_OUT, found.skipped[0].reason, repr(found.skipped))
        return Outcome(OK, "", repr(found))


_SNAKE = {
    "id": "memory",
    "onlyFitting": "only_fitting",
    "createdAt": "created_at",
    "validFrom": "valid_from",
    "createdAfter": "created_after",
    "createdBefore": "created_before",
    "agentId": "agent",
    "sourcePath": "source_path",
}


class RestInterface(Interface):
    name = "rest"

    def __init__(self, port: int, key: str | None) -> None:
        self._port = port
        self._key = key

    def ask(self, verb: str, /, **given: Any) -> Outcome:
        identity = given.pop("id", "")
        path = f"/api/memory/{_quoted(identity)}"
        match verb:
            case "remember":
                needed = {"name": "A name", "scope": "agent", "source": "manual"}
                return self._sent("POST", "/api/memory/index", _json(needed | given))
            case "observe":
                return self._sent("POST", "/memories", _json(given))
            case "recall":
                return self._sent("POST", "/api/memory/search", _json(given))
            case "get":
                return self._sent("GET", path)
            case "edit":
                return self._sent("PATCH", path, _json(given))
            case "forget":
                return self._sent("DELETE", path)
            case "recalls":
                query = "&".join(f"{name}={_quoted(value)}" for name, value in given.items())
                return self._sent("GET", f"/api/recalls?{query}")
            case "list":
                query = "&".join(f"{name}={_quoted(value)}" for name, value in given.items())
                return self._sent("GET", f"/api/memory?{query}")
            case _:
                needed = {"name": "A file", "scope": "agent", "source": "file_index"}
                return self._sent("POST", "/api/memory/index", _with_file(given["path"], needed))

    def _sent(self, method: str, path: str, body: bytes | None = None) -> Outcome:
        status, kind, shown = _exchanged(self._port, self._key, method, path, body)
        if status < 300:
            return Outcome(OK, "", shown)
        return _problem(status, kind, shown)


class McpServer(Interface):
    """JSON-RPC by hand: a client of the official SDK would validate the arguments first."""

    name = "mcp"
    _TOOLS: Mapping[str, str] = {
        "remember": "memory-store",
        "index": "memory-store",
        "observe": "memory-observe",
        "recall": "memory-search",
        "get": "memory-get",
        "forget": "memory-delete",
        "edit": "memory-edit",
        "list": "memory-search",
        "recalls": "memory-search",
    }
    """There is no tool that lists: what comes nearest is asked, and has its own row in the table."""

    def __init__(self, port: int, key: str | None) -> None:
        self._port = port
        self._key = key

    def ask(self, verb: str, /, **given: Any) -> Outcome:
        arguments = {"memoryId" if name == "id" else name: value for name, value in given.items()}
        data = _with_file(given["path"], {}) if verb == "index" else _json(arguments)
        name = self._TOOLS[verb].encode()
        head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + name + b'","arguments":'
        return self._sent(head + data + b"}}")

    def _sent(self, message: bytes) -> Outcome:
        status, kind, shown = _exchanged(self._port, self._key, "POST", "/mcp", message)
        if kind == "application/problem+json":
            return _problem(status, kind, shown)
        assert kind == "application/json"
        return answered(json.loads(shown))


class BridgeInterface(McpServer):
    """An interface through ``hivelore mcp``. A line end in a message makes two of it: then the first answer counts, and
    no message may have been accepted."""

    name = "bridge"

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def _sent(self, message: bytes) -> Outcome:
        self._bridge.say(message)
        first, *others = [answered(self._bridge.subscribe()) for line in message.split(b"\n") if line.strip()]
        assert not others or OK not in (first.kind, *(other.kind for other in others))
        return first


def answered(answer: Any) -> Outcome:
    """Returns the outcome of an answer of JSON-RPC."""
    shown = json.dumps(answer, ensure_ascii=False)
    assert answer["jsonrpc"] == "2.0"
    if "error" in answer:
        assert answer["error"]["message"]
        return Outcome(f"JSON-RPC {answer['error']['code']}", answer["error"]["message"], shown)
    result = answer["result"]
    said = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == said
    assert said["success"] is not result["isError"]
    return Outcome("tool error" if result["isError"] else OK, said["message"], shown)


class CliInterface(Interface):
    """The command line in this process, with ``--json``. Typed values are passed as a line of JSON, to ``import``."""

    name = "cli"

    def __init__(self, run: CommandLine) -> None:
        self._run = run

    def ask(self, verb: str, /, **given: Any) -> Outcome:
        if verb == "remember" and (_UNTOLD & given.keys() or not all(isinstance(one, str) for one in given.values())):
            return self._outcome("import", "-", "--json", stdin=_json(given))
        if verb == "recalls":  # where --agent says who is asking now
            given = {"owner" if name == "agent" else name: value for name, value in given.items()}
        main = {"remember": "content", "recall": "query", "index": "path", "observe": "observation"}.get(verb, "id")
        subject = given.pop(main, None)
        options = [f"--{_OPTION.get(name, name)}={_word(value)}" for name, value in given.items()]
        if verb == "forget":
            options.append("--yes")
        words = [] if subject is None else [_word(subject)]
        if words and len(words[0]) > _LONGEST_ARGUMENT and verb in ("remember", "recall"):
            return self._outcome(verb, *options, "--json", "-", stdin=words[0].encode())
        return self._outcome(verb, *options, "--json", "--", *words)

    def _outcome(self, *words: str, stdin: bytes = b"") -> Outcome:
        result = self._run(*words, stdin=stdin)
        if result.code in (0, 7):
            assert result.json is not None
            return Outcome(LEFT_OUT if result.code else OK, result.err.strip(), result.out + result.err)
        error = result.error
        if words[0] != "import":  # which says how far it got
            assert (result.out, result.err.count("\n")) == ("", 1)
        return Outcome(f"{result.code} {error['code']}", error["detail"], result.out + result.err)


_OPTION = {
    "agentId": "agent",
    "tags": "tag",
    "onlyFitting": "only-fitting",
    "validFrom": "valid-from",
    "createdAfter": "since",
    "createdBefore": "until",
}
_UNTOLD = {"metadata", "createdAt"}
"""For these there is no option."""


def _word(value: object) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, Path) else json.dumps(value)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _with_file(path: Path, needed: Mapping[str, Any]) -> bytes:
    """A body that carries a file byte by byte, as a careless client would make it; if the file does not exist, only
    its path: the service opens none."""
    try:
        data = path.read_bytes()
    except OSError:
        return _json({**needed, "content": "What it says.", "sourcePath": str(path)})
    return _json({**needed, "content": "HERE"}).replace(b"HERE", data)


def _quoted(value: object) -> str:
    """Returns the text percent-encoded, including lone surrogates."""
    return quote_from_bytes(_word(value).encode(errors="surrogatepass"), safe="")


def _exchanged(port: int, key: str | None, method: str, path: str, body: bytes | None) -> tuple[int, str, str]:
    """Returns status, content type and text of an answer."""
    headers = {"Accept": "application/json, text/event-stream", "Connection": "close"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=150)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        kind = response.headers.get("content-type", "").partition(";")[0]
        return response.status, kind, response.read().decode()
    finally:
        connection.close()


def _problem(status: int, kind: str, shown: str) -> Outcome:
    """Returns the outcome of a problem document, after checking its form."""
    problem = json.loads(shown)
    assert (kind, problem["status"], problem["type"]) == ("application/problem+json", status, "about:blank")
    assert status in _TITLES
    assert problem["title"]
    return Outcome(f"{status} {problem['code']}", problem["detail"], shown)
