"""Bad input that only a line-based interface can receive: it gets an error, and the process continues.

Bad arguments inside a valid message are in the table of all interfaces (``test_requests``).
"""

import os
import re
import signal
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hivelore.local.lock import read_owner
from support.bad_input import LARGE
from support.bridge import Bridge
from support.command_line import settings
from support.service import environment

PARSE, MALFORMED, UNKNOWN = -32700, -32600, -32601
NOT_JSON = (PARSE, "Send one message per line")
NO_MESSAGE = (MALFORMED, "has no method")
REQUEST = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"'

LINES: Mapping[str, tuple[bytes, tuple[int, str]]] = {
    "no JSON": (b"hello", NOT_JSON),
    "JSON that breaks off": (REQUEST, NOT_JSON),
    "two messages in a line": (REQUEST + b"}" + REQUEST + b"}", NOT_JSON),
    "NUL bytes": (b"\0\0\0", NOT_JSON),
    "byte order mark": (b"\xef\xbb\xbf" + REQUEST + b"}", NOT_JSON),
    "nested too deep": (b"[" * 100_000, NOT_JSON),
    "5 MB of no JSON": (LARGE.encode(), NOT_JSON),
    "invalid UTF-8": (REQUEST + b', "params": {"caf\xe9": 1}}', (PARSE, "not UTF-8")),
    "UTF-16": ("hello".encode("utf-16"), (PARSE, "not UTF-8")),
    "5 MB of text": (b'"' + LARGE.encode() + b'"', NO_MESSAGE),
    "more than a message may have": (
        REQUEST + b', "params": {"x": "' + 4 * LARGE.encode() + b'"}}',
        (MALFORMED, "16 MB"),
    ),
    "number": (b"7", NO_MESSAGE),
    "null": (b"null", NO_MESSAGE),
    "batch": (b"[" + REQUEST + b"}]", (MALFORMED, "batch")),
    "empty batch": (b"[]", (MALFORMED, "batch")),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', NO_MESSAGE),
    "unknown method": (b'{"jsonrpc": "2.0", "id": 1, "method": "memories/eat"}', (UNKNOWN, "not found")),
    "number for a method": (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', (MALFORMED, "tools/list")),
    "empty method": (b'{"jsonrpc": "2.0", "id": 1, "method": ""}', (MALFORMED, "tools/list")),
    "list of params": (REQUEST + b', "params": [1]}', (MALFORMED, "params is not an object")),
    "another version of JSON-RPC": (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', (MALFORMED, "2.0")),
    "no version of JSON-RPC": (b'{"id": 1, "method": "ping"}', (MALFORMED, "2.0")),
    "null for an id": (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', (MALFORMED, "id is neither")),
    "list for an id": (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', (MALFORMED, "id is neither")),
    "truth for an id": (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', (MALFORMED, "id is neither")),
}
SILENT: Mapping[str, bytes] = {
    "blank line": b"",
    "line of blanks": b" \t \r",
    "answer that nobody asked for": b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
    "unknown notification": b'{"jsonrpc": "2.0", "method": "notifications/nothing"}',
    "unknown request to cancel": b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}',
}
"""Input that gets no answer."""


@pytest.mark.parametrize("name", LINES)
def test_an_invalid_line_is_refused_and_the_next_one_is_answered(world: Any, name: str) -> None:
    line, (code, words) = LINES[name]
    bridge, side = world.bridge, world.sides["bridge"]
    before = side.state()
    bridge.say(line)
    error = bridge.subscribe()["error"]
    assert error["code"] == code, error
    assert words in error["message"]
    assert len(error["message"]) < 200
    assert code == UNKNOWN or re.search(r"\w{2}.*\.$", error["message"])
    assert bridge.call("memory-get", memoryId=side.own)["success"]
    assert side.state() == before


@pytest.mark.parametrize("name", SILENT)
def test_input_without_a_request_gets_no_answer(world: Any, name: str) -> None:
    world.bridge.say(SILENT[name])
    assert world.bridge.ask("ping", name) == {"jsonrpc": "2.0", "id": name, "result": {}}


@pytest.mark.parametrize("said", [b"", b"\n", b"\n \n\r\n"])
def test_closed_input_ends_the_bridge_without_output(world: Any, tmp_path: Path, said: bytes) -> None:
    with Bridge(environment(world.service.home), tmp_path) as bridge:
        if said:
            bridge.say(said.removesuffix(b"\n"))
        bridge.hang_up()
        assert (bridge.ended(), bridge.subscribe(), bridge.complaints()) == (0, None, "")


def test_input_that_closes_inside_a_message_gets_a_parse_error(world: Any, tmp_path: Path) -> None:
    with Bridge(environment(world.service.home), tmp_path) as bridge:
        assert bridge.process.stdin is not None
        bridge.process.stdin.write(REQUEST)
        bridge.hang_up()
        assert bridge.subscribe()["error"]["code"] == PARSE
        assert (bridge.ended(), bridge.subscribe()) == (0, None)


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    """A home folder; a service started in it ends with the test."""
    home = tmp_path / "home"
    yield home
    owner = read_owner(home)
    if owner is not None:
        os.kill(owner.pid, signal.SIGTERM)


def test_a_killed_service_is_restarted_and_nothing_is_lost(home: Path, tmp_path: Path) -> None:
    with Bridge(environment(home, **settings(home)), tmp_path) as bridge:
        memory = bridge.call("memory-store", content="The numbat eats termites.")["memoryId"]
        owner = read_owner(home)
        assert owner is not None
        os.kill(owner.pid, signal.SIGKILL)
        assert bridge.call("memory-get", memoryId=memory)["memory"]["content"] == "The numbat eats termites."
        assert [one["id"] for one in bridge.call("memory-search", query="numbat")["results"]] == [memory]
