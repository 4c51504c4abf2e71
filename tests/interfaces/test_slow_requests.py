"""Connections that send a request slowly or not at all, and their maximum number."""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from hivelore.http import middleware
from support.service import Service

HEAD = b"POST /api/memory/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "HEADERS_WITHIN", 0.3)
    monkeypatch.setattr(middleware, "BODY_WITHIN", 0.3)


@pytest.fixture
def opened(service: Service) -> Iterator[list[socket.socket]]:
    connections: list[socket.socket] = []
    yield connections
    for connection in connections:
        connection.close()


def connect(service: Service, opened: list[socket.socket]) -> socket.socket:
    opened.append(connection := socket.create_connection(("127.0.0.1", service.port), timeout=10))
    return connection


def rest_of(connection: socket.socket) -> bytes:
    answer = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            answer += part
    return answer


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET", HEAD, HEAD + b"Content-Length: 1000\r\n\r\n{", HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"],
)
def test_a_request_that_does_not_arrive_is_ended(service: Service, opened: list[socket.socket], begun: bytes) -> None:
    connection = connect(service, opened)
    began = time.monotonic()
    key = f"Authorization: Bearer {service.agent_key}\r\n"  # Without a key the answer does not wait for the body.
    connection.sendall(begun.replace(b"Host:", key.encode() + b"Host:"))
    assert rest_of(connection).startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began < 3.0


def test_an_occasional_byte_does_not_keep_a_connection(service: Service, opened: list[socket.socket]) -> None:
    connection = connect(service, opened)
    began = time.monotonic()
    with suppress(OSError):
        for byte in HEAD:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
    assert time.monotonic() - began < 0.05 * len(HEAD) - 0.5


def test_a_kept_connection_may_send_another_request(service: Service, opened: list[socket.socket]) -> None:
    connection = connect(service, opened)
    for _ in range(4):
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):  # Head and body may arrive apart.
            answer += connection.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 200")
        time.sleep(0.12)


def test_waiting_connections_give_way_to_new_ones(
    service: Service, opened: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "HEADERS_WITHIN", 30.0)
    monkeypatch.setattr(middleware, "MOST_CONNECTIONS", 20)
    for _ in range(60):
        connect(service, opened).sendall(b"GET /health HTTP/1.1\r\n")
    status, _ = service.raw(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert status == 200
    assert len(service._server.server_state.connections) <= 21


def test_endless_headers_are_refused(service: Service, opened: list[socket.socket]) -> None:
    connection = connect(service, opened)
    connection.sendall(HEAD)
    try:
        for number in range(2_000):
            connection.sendall(f"X-{number}: {'x' * 1_000}\r\n".encode())
    except OSError:
        return
    assert b" 431 " in rest_of(connection)
