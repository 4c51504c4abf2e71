"""The HTTP transport: URLs, kept connections, limits and faults of a service."""

import json
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.errors import Expired, Invalid, Unavailable
from hivelore.local.transport import Connection, ServiceUrl, Unanswered, Unsent, is_local, is_same
from hivelore.mcp.bridge.messages import CODES
from hivelore.python.client import Client
from support.odd_service import Exchange, OddService
from support.tls import self_signed

Start = Callable[[Callable[[Exchange], None]], OddService]


@pytest.fixture
def start() -> Generator[Start]:
    """Starts services that answer each POST as given."""
    running: list[OddService] = []

    def start(answer: Callable[[Exchange], None]) -> OddService:
        running.append(OddService(answer).__enter__())
        return running[-1]

    yield start
    for service in running:
        service.__exit__()


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("http://127.0.0.1:4483", "127.0.0.1", 4483, ""),
        ("http://localhost/", "localhost", 80, ""),
        ("HTTPS://Hive.example/team/", "hive.example", 443, "/team"),
        ("http://[::1]:99/a", "::1", 99, "/a"),
        ("http://user:secret@127.0.0.1:99", "127.0.0.1", 99, ""),
    ],
)
def test_a_url_has_host_port_and_path(url: str, host: str, port: int, path: str) -> None:
    place = ServiceUrl(url)
    assert (place.host, place.port, place.path, place.tls) == (host, port, path, port == 443)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://",
        "http://:80",
        "http://a:b",
        "ws://a",
        "http://exämple",
        "http://a:65536",
        "http://[::1",
        "http://a\r\nb",
    ],
)
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="is not the URL of a service"):
        ServiceUrl(url)


@pytest.mark.parametrize("url", ["https://127.0.0.1:4483", "http://hive.example", "http://127.0.0.1:x"])
def test_only_plain_http_on_this_machine_is_local(url: str) -> None:
    assert not is_local(url)
    assert is_local("http://LOCALHOST:4483")


def test_names_of_this_machine_are_the_same_service() -> None:
    assert is_same("http://localhost:4483/", "http://127.0.0.1:4483")
    assert is_same("http://hive.example", "http://Hive.example:80")
    assert not is_same("http://127.0.0.1:4483", "http://127.0.0.1:4484")
    assert not is_same("http://hive.example", "https://hive.example")
    assert is_same("x", "x")
    assert not is_same("x", "http://127.0.0.1")


def test_a_silent_service_is_given_up(start: Start) -> None:
    def answer(_: Exchange) -> None:
        service.over.wait(120)

    service = start(answer)
    with (
        closing(Connection(ServiceUrl(service.url), read_timeout=0.05)) as connection,
        pytest.raises(Expired, match="may still execute the request"),
    ):
        connection.request("POST", "/mcp", {}, b"{}")
    assert CODES[Expired] == -32001


def test_an_answer_over_the_limit_is_refused(start: Start) -> None:
    service = start(lambda exchange: exchange.reply(200, b"x" * 100))
    url = ServiceUrl(service.url)
    for largest in (99, 100):
        with closing(Connection(url)) as connection:
            try:
                assert len(connection.request("POST", "/", {}, b"{}", largest=largest).body) == largest
            except Unanswered:
                assert largest == 99


def test_an_answer_in_chunks_is_joined(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.send_response(200)
        exchange.send_header("Transfer-Encoding", "chunked")
        exchange.end_headers()
        for piece in (b"ab", b"c", b""):
            exchange.chunk(piece)

    with closing(Connection(ServiceUrl(start(answer).url))) as connection:
        response = connection.request("POST", "/", {}, b"{}")
        assert (response.body, response.is_complete, connection.is_idle()) == (b"abc", True, True)


def test_a_connection_that_the_service_closed_is_not_idle(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.reply(200, b"{}")
        exchange.drop()

    with closing(Connection(ServiceUrl(start(answer).url))) as connection:
        assert connection.request("POST", "/", {}, b"{}").body == b"{}"
        with pytest.raises((Unsent, Unanswered)):
            connection.request("POST", "/", {}, b"{}")
        assert not connection.is_idle()


def test_an_encrypted_connection_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = tmp_path / "server.pem"
    with OddService(lambda exchange: exchange.reply(200, b"{}"), tls=self_signed(pem)) as service:
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        with closing(Client(service.url, "key")) as client:
            assert [client.call("POST", "/", body={"number": number}) for number in (1, 2)] == [{}, {}]
            assert client._kept[0].is_idle()


def test_a_request_is_repeated_if_the_kept_connection_was_closed(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.drop() if len(service.heard) == 2 else exchange.reply(200, b"{}")

    service = start(answer)
    with closing(Client(service.url, "key")) as client:
        assert [client.call("POST", "/", body={"number": number}) for number in (1, 2)] == [{}, {}]
        assert [heard.message["number"] for heard in service.heard] == [1, 2, 2]


def test_a_request_is_not_repeated_after_part_of_an_answer_or_on_a_new_connection(start: Start) -> None:
    def answer(exchange: Exchange) -> None:
        if len(service.heard) == 2:
            exchange.begin_stream()
        exchange.reply(200, b"{}") if len(service.heard) == 1 else exchange.drop()

    service = start(answer)
    with closing(Client(service.url, "key")) as client:
        assert client.call("POST", "/", body={}) == {}
        assert client.call("POST", "/", body={}) is None  # a stream, which the client does not read
        with pytest.raises(Unavailable, match=f"No service answers at {service.url} .*closed the connection"):
            client.call("POST", "/", body={})
    assert len(service.heard) == 3


def test_errors_of_a_service_keep_their_kind_and_details(start: Start) -> None:
    problem = {"detail": "Too many calls.", "code": "overloaded", "retryAfter": 2}
    service = start(lambda exchange: exchange.reply(503, json.dumps(problem).encode(), "application/problem+json"))
    with closing(Client(service.url, "key")) as client, pytest.raises(Unavailable, match=r"Too many calls\.") as error:
        client.call("POST", "/", body={})
    assert error.value.retry_after == 2
