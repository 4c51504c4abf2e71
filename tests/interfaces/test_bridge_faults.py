"""`hivelore mcp` with services that answer wrongly, late, in pieces or not at all."""

import json
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from hivelore.mcp.bridge.relay import MOST_AT_ONCE, MOST_STREAMS
from support.bridge import Bridge
from support.odd_service import HEALTHY, Exchange, OddService
from support.service import environment
from support.tls import self_signed
from support.waiting import until

Answer = Callable[[Exchange], None]
Start = Callable[[Answer], tuple[Bridge, OddService]]
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    """Starts a service with the given answer, and a bridge to it."""
    running: list[Bridge | OddService] = []

    def start(answer: Answer) -> tuple[Bridge, OddService]:
        service = OddService(answer).__enter__()
        bridge = Bridge(environment(tmp_path, HIVELORE_URL=service.url, HIVELORE_KEY="hl_key"), tmp_path)
        running.extend((bridge, service))
        return bridge, service

    yield start
    for each in running:
        each.__exit__()


def error_of(bridge: Bridge, **params: Any) -> Any:
    """Returns the error that answers a tool call with the id 5."""
    answer = bridge.ask("tools/call", 5, **params)
    assert answer["id"] == 5
    return answer["error"]


@pytest.mark.parametrize("status", [401, 403, 413, 500, 503])
def test_an_error_of_the_service_is_passed_on(start: Start, status: int) -> None:
    bridge, _ = start(lambda exchange: exchange.problem(status, "The hive is being painted. Come back on Monday."))
    assert error_of(bridge) == {"code": -32000, "message": "The hive is being painted. Come back on Monday."}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>Welcome!</html>", "text/html"),
        (200, b'{"hello": "world"}', "application/json"),
        (404, b"", "application/json"),
        (400, b'{"jsonrpc": "2.0"}', "application/json"),
        (202, b"", "application/json"),
    ],
)
def test_an_answer_of_another_program_is_reported(start: Start, status: int, body: bytes, kind: str) -> None:
    bridge, _ = start(lambda exchange: exchange.reply(status, body, kind))
    assert "is not a Hivelore service. Check HIVELORE_URL." in error_of(bridge)["message"]


def test_an_error_without_an_id_gets_the_one_of_its_request(start: Start) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32020, "message": "header mismatch"}}
    bridge, _ = start(lambda exchange: exchange.reply(400, json.dumps(error).encode()))
    assert error_of(bridge) == error["error"]


def test_an_answer_in_many_lines_becomes_one(start: Start) -> None:
    body = b'{\r\n  "jsonrpc": "2.0",\n  "id": 1,\n  "result": {"text": "a\\nb"}\n}\n'
    bridge, _ = start(lambda exchange: exchange.reply(200, body))
    assert bridge.ask("ping") == {"jsonrpc": "2.0", "id": 1, "result": {"text": "a\nb"}}


@pytest.mark.parametrize("again", ["memory-store", "memory-search", "memory-get", "inject-learning"])
def test_a_repeatable_request_is_repeated_when_the_service_ends(start: Start, again: str) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.drop() if len(service.heard) == 1 else exchange.result({"done": True})

    bridge, service = start(answer)
    assert bridge.ask("tools/call", name=again)["result"] == {"done": True}
    assert [heard.message["params"]["name"] for heard in service.heard] == [again, again]


@pytest.mark.parametrize("once", ["memory-delete", "memory-edit", "send-message"])
def test_another_request_is_sent_once_and_its_outcome_is_reported_as_unknown(start: Start, once: str) -> None:
    bridge, service = start(Exchange.drop)
    message = error_of(bridge, name=once)["message"]
    assert message == ("The service ended before it answered. It may have been executed: check before you repeat it.")
    assert len(service.heard) == 1


def test_it_gives_up_after_the_second_time(start: Start) -> None:
    bridge, service = start(Exchange.drop)
    assert "ended before it answered" in error_of(bridge, name="memory-search")["message"]
    assert len(service.heard) == 2


def test_an_incomplete_answer_is_an_error(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.wfile.write(b"ffff\r\n{")
        exchange.drop()

    bridge, _ = start(answer)
    assert "without an answer" in error_of(bridge)["message"] or "before it had answered" in error_of(bridge)["message"]


def test_an_answer_that_is_not_http_is_an_error(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.wfile.write(b"220 mail.example.com ESMTP\r\n\r\n")
        exchange.drop()

    bridge, _ = start(answer)
    assert error_of(bridge, name="memory-search")["code"] == -32000


def test_a_connection_that_was_closed_between_two_messages_does_not_matter(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.result()
        exchange.drop()

    bridge, service = start(answer)
    assert [bridge.ask("tools/call", number, name="memory-delete")["id"] for number in range(5)] == [0, 1, 2, 3, 4]
    assert len(service.heard) == 5


def test_a_slow_answer_does_not_delay_others(start: Start) -> None:
    go = threading.Event()

    def answer(exchange: Exchange) -> None:
        if exchange.message["id"] == "slow":
            go.wait(120)
        exchange.result()

    bridge, _ = start(answer)
    bridge.say({"jsonrpc": "2.0", "id": "slow", "method": "ping"})
    assert bridge.ask("ping", "quick")["id"] == "quick"
    go.set()
    assert bridge.subscribe()["id"] == "slow"


def test_messages_over_the_limit_wait_and_are_delivered(start: Start) -> None:
    places, full, too_many, go = threading.Semaphore(MOST_AT_ONCE), *(threading.Event() for _ in range(3))

    def answer(exchange: Exchange) -> None:
        if not places.acquire(blocking=False):
            too_many.set()
        elif len(service.heard) == MOST_AT_ONCE:
            full.set()
        go.wait(120)
        places.release()
        exchange.result()

    bridge, service = start(answer)
    for number in range(2 * MOST_AT_ONCE):
        bridge.say({"jsonrpc": "2.0", "id": number, "method": "ping"})
    assert full.wait(120)
    assert not too_many.wait(0.2)
    go.set()
    assert sorted(bridge.subscribe()["id"] for _ in range(2 * MOST_AT_ONCE)) == list(range(2 * MOST_AT_ONCE))


def test_a_stream_comes_event_by_event_while_others_are_answered(start: Start) -> None:
    go = threading.Event()

    def answer(exchange: Exchange) -> None:
        if exchange.message["method"] != "subscriptions/listen":
            exchange.result()
            return
        exchange.begin_stream()
        exchange.chunk(b": ping\r\n\r\n")
        exchange.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        go.wait(120)
        exchange.chunk(b'data: {"jsonrpc": "2.0",\r\ndata: "id": "s", ')
        exchange.chunk(b'"result": {}}\r\n\r\n')
        exchange.chunk(b"")

    bridge, _ = start(answer)
    assert bridge.ask("subscriptions/listen", "s")["method"] == "notifications/tools/list_changed"
    assert bridge.ask("ping", "other")["id"] == "other"
    go.set()
    assert bridge.subscribe() == {"jsonrpc": "2.0", "id": "s", "result": {}}
    assert bridge.ask("ping", "after")["id"] == "after"


def test_a_stream_that_ends_without_an_answer_is_an_error(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.chunk(b"")

    bridge, _ = start(answer)
    assert bridge.ask("subscriptions/listen", "s")["error"]["message"] == (
        "The service ended the stream without an answer. Subscribe again."
    )


def test_streams_have_a_separate_limit(start: Start) -> None:
    all_there = threading.Barrier(MOST_AT_ONCE)

    def answer(exchange: Exchange) -> None:
        if exchange.message["method"] != "subscriptions/listen":
            all_there.wait(120)
            exchange.result()
            return
        exchange.begin_stream()
        exchange.event({"jsonrpc": "2.0", "method": "begun"})
        exchange.hung_up()

    bridge, _ = start(answer)
    for number in range(MOST_STREAMS):
        assert bridge.ask("subscriptions/listen", number)["method"] == "begun"
    assert "subscriptions are open" in bridge.ask("subscriptions/listen", "more")["error"]["message"]
    for number in range(MOST_AT_ONCE):
        bridge.say({"jsonrpc": "2.0", "id": number, "method": "ping"})
    assert sorted(bridge.subscribe()["id"] for _ in range(MOST_AT_ONCE)) == list(range(MOST_AT_ONCE))


@pytest.mark.parametrize("method", ["subscriptions/listen", "tools/call"])
def test_a_cancelled_request_closes_its_connection_and_gets_no_answer(start: Start, method: str) -> None:
    begun, ended = threading.Event(), threading.Event()

    def answer(exchange: Exchange) -> None:
        if exchange.message["method"] != method:
            exchange.result()
            return
        if method == "subscriptions/listen":
            exchange.begin_stream()
        begun.set()
        if exchange.hung_up():
            ended.set()

    bridge, service = start(answer)
    bridge.say({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"name": "memory-search"}})
    assert begun.wait(120)
    bridge.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "7"}})
    assert not ended.wait(0.2)
    bridge.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    assert ended.wait(120)
    assert bridge.ask("ping", 8)["id"] == 8
    assert [heard.message["method"] for heard in service.heard] == [method, "ping"]


def test_the_version_of_the_handshake_is_repeated_in_later_messages(start: Start) -> None:
    bridge, service = start(lambda exchange: exchange.result({"protocolVersion": "2025-03-26"}))
    for method in ("tools/list", "initialize", "tools/list", "initialize"):
        bridge.ask(method)
    versions = [heard.headers.get("mcp-protocol-version") for heard in service.heard]
    assert versions == [None, None, "2025-03-26", None]
    assert "mcp-method" not in service.heard[2].headers


@pytest.mark.parametrize(
    ("method", "params", "header"),
    [
        ("tools/call", {"name": "memory-get"}, "memory-get"),
        ("resources/read", {"uri": "hive://ä"}, "=?base64?aGl2ZTovL8Ok?="),
        ("tools/call", {"name": "a\r\nAuthorization: none"}, "=?base64?YQ0KQXV0aG9yaXphdGlvbjogbm9uZQ==?="),
        ("tools/call", {"name": " padded "}, "=?base64?IHBhZGRlZCA=?="),
        ("tools/call", {"name": "=?base64?eA==?="}, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("tools/call", {"name": 7}, None),
        ("tools/list", {}, None),
    ],
)
def test_requests_of_the_new_protocol_repeat_fields_in_headers(
    start: Start, method: str, params: dict[str, Any], header: str | None
) -> None:
    bridge, service = start(Exchange.result)
    bridge.ask(method, **params, **MODERN)
    headers = service.heard[0].headers
    assert (headers["mcp-protocol-version"], headers["mcp-method"]) == ("2026-07-28", method)
    assert headers.get("mcp-name") == header


def test_every_message_carries_the_key(start: Start) -> None:
    bridge, service = start(Exchange.result)
    bridge.ask("ping")
    assert service.heard[0].headers["authorization"] == "Bearer hl_key"


def test_a_key_that_was_replaced_meanwhile_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "agent.key"
    file.write_text("old\n")

    def answer(exchange: Exchange) -> None:
        if exchange.headers["Authorization"] == "Bearer new":
            exchange.result()
            return
        file.write_text("new\n")
        exchange.problem(401, "This key is not known here.")

    with (
        OddService(answer) as service,
        Bridge(environment(tmp_path, HIVELORE_URL=service.url), tmp_path) as bridge,
    ):
        assert "result" in bridge.ask("tools/call", name="memory-delete")
        assert "result" in bridge.ask("ping")
        keys = [heard.headers["authorization"] for heard in service.heard]
    assert keys == ["Bearer old", "Bearer new", "Bearer new"]


def test_a_remote_service_that_does_not_answer_is_an_error_for_each_request(tmp_path: Path) -> None:
    env = environment(tmp_path, HIVELORE_URL="http://nowhere.invalid:4483", HIVELORE_KEY="x")
    with Bridge(env, tmp_path) as bridge:
        assert "No service answers at nowhere.invalid:4483" in error_of(bridge)["message"]
        assert "hivelore mcp: No service answers" in _after(bridge)


def test_a_service_behind_tls_is_used_if_its_certificate_is_valid(tmp_path: Path) -> None:
    pem = tmp_path / "server.pem"
    with OddService(Exchange.result, tls=self_signed(pem)) as service:
        env = environment(tmp_path, HIVELORE_URL=service.url, HIVELORE_KEY="x")
        with Bridge({**env, "SSL_CERT_FILE": str(pem)}, tmp_path) as bridge:
            assert [bridge.ask("tools/call", number)["result"] for number in (1, 2)] == [{}, {}]
        asked = len(service.heard)
        with Bridge(env, tmp_path) as bridge:
            assert "CERTIFICATE_VERIFY_FAILED" in error_of(bridge)["message"]
        assert len(service.heard) == asked


@pytest.mark.parametrize("url", ["ftp://hive.example", "http://hive.example:x", "hive"])
def test_an_invalid_url_is_reported(tmp_path: Path, url: str) -> None:
    with Bridge(environment(tmp_path, HIVELORE_URL=url, HIVELORE_KEY="x"), tmp_path) as bridge:
        assert f"{url!r} is not the URL of a service" in error_of(bridge)["message"]


def test_without_a_key_a_remote_service_gets_no_request(tmp_path: Path) -> None:
    with Bridge(environment(tmp_path, HIVELORE_URL="http://hive.invalid"), tmp_path) as bridge:
        assert error_of(bridge)["message"].startswith("The key file ")


def _after(bridge: Bridge) -> str:
    bridge.hang_up()
    return bridge.complaints()


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def hello(exchange: Exchange) -> None:
    if exchange.message.get("method") == "initialize":
        exchange.result({"protocolVersion": "2025-06-18", "serverInfo": {"name": "old", "version": "1"}})
    else:
        exchange.result({"tools": [{"name": "memory-search"}]})


def test_a_service_that_hangs_does_not_delay_the_handshake(start: Start, tmp_path: Path) -> None:
    hangs = threading.Event()
    free = threading.Event()

    def answer(exchange: Exchange) -> None:
        if hangs.is_set():
            free.wait(60.0)
        hello(exchange)

    first, service = start(answer)
    expected = [first.ask("initialize", 1, **HELLO), first.ask("tools/list", 2)]
    until(lambda: len(list((tmp_path / "mcp-answers").glob("*.json"))) == 2)
    hangs.set()
    environ = environment(tmp_path, HIVELORE_URL=service.url, HIVELORE_KEY="hl_key")
    with Bridge(environ, tmp_path) as second:
        try:
            began = time.monotonic()
            again = [second.ask("initialize", 1, **HELLO), second.ask("tools/list", "b")]
            assert time.monotonic() - began < 30.0  # The service never answers.
        finally:
            free.set()
        assert again == [expected[0], expected[1] | {"id": "b"}]
        # What the service answers at last is not the answer to another request.
        assert second.ask("ping", 9)["id"] == 9


def test_further_pages_and_other_versions_are_not_answered_from_memory(start: Start, tmp_path: Path) -> None:
    bridge, service = start(lambda exchange: exchange.result({"of": exchange.message["params"]}))
    for params in ({"cursor": "2"}, {"cursor": "3"}, {}):
        assert bridge.ask("tools/list", 1, **params)["result"] == {"of": params}
    until(lambda: len(list((tmp_path / "mcp-answers").glob("*.json"))) == 1)
    names = {file.name for file in (tmp_path / "mcp-answers").iterdir()}
    assert "hl_key" not in str(names)
    environ = environment(tmp_path, HIVELORE_URL=service.url, HIVELORE_KEY="hl_key")
    with Bridge(environ, tmp_path) as newer:
        assert newer.ask("tools/list", 1, **MODERN)["result"] == {"of": MODERN}
        until(lambda: len(list((tmp_path / "mcp-answers").glob("*.json"))) == 2)


def test_without_an_earlier_answer_a_service_that_hangs_is_reported(start: Start) -> None:
    free = threading.Event()

    def answer(exchange: Exchange) -> None:
        free.wait(60.0)
        exchange.drop()

    bridge, _ = start(answer)
    try:
        error = bridge.ask("initialize", 1, **HELLO)["error"]
    finally:
        free.set()
    assert "does not answer" in error["message"]


def test_a_service_that_is_started_again_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.drop() if len(service.heard) == 1 else hello(exchange)

    def report_health_late(exchange: Exchange) -> None:
        time.sleep(1.5 if service.heard else 0.0)
        exchange.reply(200, HEALTHY)

    monkeypatch.setattr(Exchange, "do_GET", report_health_late)
    patience = "from hivelore.mcp.bridge import main, relay; relay.FIRST_HANDSHAKE_WAIT = 1.0; main()"
    with OddService(answer) as service:
        environ = environment(tmp_path, HIVELORE_URL=service.url, HIVELORE_KEY="hl_key")
        with Bridge(environ, tmp_path, command=[sys.executable, "-c", patience]) as bridge:
            assert "result" in bridge.ask("initialize", 1, **HELLO)


def test_an_error_is_not_kept(start: Start, tmp_path: Path) -> None:
    bridge, _ = start(lambda exchange: exchange.problem(503, "Come back on Monday."))
    assert bridge.ask("tools/list", 1)["error"]["message"] == "Come back on Monday."
    assert not (tmp_path / "mcp-answers").exists()


@pytest.mark.parametrize("answer", [b'{"jsonrpc": "2.0", "res', b'"jsonrpc" \xff', b'{"jsonrpc": ' + b"[" * 100_000])
def test_an_answer_that_is_not_json_is_passed_on_and_not_kept(start: Start, tmp_path: Path, answer: bytes) -> None:
    bridge, _ = start(lambda exchange: exchange.reply(200, answer))
    with pytest.raises((ValueError, RecursionError)):
        bridge.ask("tools/list", 1)
    assert _after(bridge) == ""
    assert not (tmp_path / "mcp-answers").exists()
