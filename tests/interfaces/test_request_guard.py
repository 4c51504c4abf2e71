"""The request guard: raw requests as a browser under a foreign name would send them."""

import json

import pytest

from support.service import Service

PATHS = ("/health", "/api/me", "/mcp", "/metrics", "/api/memory", "/openapi.json", "/nowhere")


def _asked(service: Service, path: str, headers: str) -> int:
    status, _ = service.raw(f"GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
    return status


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.1.7", "0.0.0.0", "[::2]", "", "a b"],
)
def test_a_foreign_host_is_misdirected(service: Service, path: str, host: str) -> None:
    assert _asked(service, path, f"Host: {host}\r\n") in (421, 400)


@pytest.mark.parametrize("path", PATHS)
def test_a_request_without_host_is_misdirected(service: Service, path: str) -> None:
    assert _asked(service, path, "") in (421, 400)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "https://127.0.0.1.evil.example",
        "http://127.0.0.1:1",
        "http://localhost",
        "file://",
    ],
)
def test_a_foreign_origin_is_refused(service: Service, path: str, origin: str) -> None:
    assert _asked(service, path, f"Host: 127.0.0.1:{service.port}\r\nOrigin: {origin}\r\n") == 403


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "[::1]:{port}"])
def test_requests_to_local_names_are_answered(service: Service, host: str) -> None:
    name = host.format(port=service.port)
    assert _asked(service, "/health", f"Host: {name}\r\n") == 200
    assert _asked(service, "/health", f"Host: {name}\r\nOrigin: http://{name.lower()}\r\n") == 200


def test_a_second_host_hides_nothing(service: Service) -> None:
    assert _asked(service, "/health", "Host: localhost\r\nHost: evil.example\r\n") in (421, 400)


def test_a_body_without_a_length_is_counted(service: Service) -> None:
    part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = (
        f"POST /api/memory/index HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {service.agent_key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    status, _ = service.raw(head.encode() + part * 300 + b"0\r\n\r\n")
    assert status == 413


@pytest.mark.parametrize("path", ["/api/memory/index", "/mcp"])
def test_a_sender_of_a_large_body_gets_the_error(service: Service, path: str) -> None:
    """A sender whose connection closes too early does not see the answer."""
    body = b"x" * 20_000_000
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {service.agent_key}\r\n\r\n"
    )
    status, answer = service.raw(head.encode() + body)
    assert status == 413
    assert b"16 MB" in answer


@pytest.mark.parametrize("path", ["/api/memory/index", "/mcp"])
@pytest.mark.parametrize("tags", ['"same"', '"{n}"'])
def test_a_body_with_too_many_strings_is_refused_unparsed(service: Service, path: str, tags: str) -> None:
    listed = ",".join(tags.replace("{n}", str(n)) for n in range(400_000))
    body = f'{{"content": "The heron waits.", "tags": [{listed}]}}'.encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: Bearer {service.agent_key}\r\nContent-Type: application/json\r\n\r\n"
    )
    status, answer = service.raw(head.encode() + body)
    assert status == 422
    assert b"200,000 strings" in answer


def test_a_long_text_full_of_quotes_is_accepted(service: Service) -> None:
    text = 'He said "so", "no", and left.\\n' * 40_000
    status, answer = service.raw(
        (
            f"POST /api/memory/index HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: Bearer {service.agent_key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body := json.dumps({'content': text}))}\r\n\r\n{body}"
        ).encode()
    )
    assert b"200,000 strings" not in answer
    assert status in (202, 413, 422), "too long, which is another matter"
