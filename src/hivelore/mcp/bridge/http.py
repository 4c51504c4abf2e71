"""HTTP/1.1 client for one connection: posts a message and reads the answer.

``http.client`` takes longer to import than everything else together, and ``socket`` nearly as long. Its C part
``_socket`` is fast.
"""

import _socket
from contextlib import suppress

from hivelore.errors import Expired, Invalid, Unavailable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 60.0
"""Most seconds between two bytes of an answer. The service ends its own calls earlier."""
_CHUNK = 65_536
_LONGEST_HEAD = 65_536


class Unsent(Unavailable):
    """The service cannot have executed the request: it did not receive all of it."""


class Unanswered(Unavailable):
    """The service received the request and did not answer: it may have executed it."""


class Endpoint:
    """Host, port and path of an http or https URL."""

    __slots__ = ("authority", "host", "path", "port", "tls")

    def __init__(self, url: str) -> None:
        """Raises Invalid for another URL."""
        scheme, _, rest = url.partition("://")
        self.authority, slash, path = rest.partition("/")
        self.path = (slash + path).rstrip("/")
        self.tls = scheme.lower() == "https"
        host, port = self.authority, ""
        if host.startswith("["):
            host, _, port = host[1:].partition("]")
        elif ":" in host:
            host, _, port = host.partition(":")
        port = port.lstrip(":") or ("443" if self.tls else "80")
        if scheme.lower() not in ("http", "https") or not host or not port.isdecimal() or not url.isascii():
            raise Invalid(f"{url!r} is not the URL of a service, like http://127.0.0.1:4483.", field="HIVELORE_URL")
        self.host, self.port = host, int(port)


class Connection:
    """A connection for consecutive requests; each answer must be read to its end."""

    def __init__(self, endpoint: Endpoint, read_timeout: float = READ_TIMEOUT) -> None:
        """Raises Unsent if no service answers."""
        self._endpoint = endpoint
        self._read_timeout = read_timeout
        self._received = bytearray()
        try:
            self._socket = _connect(endpoint)
        except (OSError, UnicodeError, OverflowError) as error:
            where = f"{endpoint.host}:{endpoint.port}"
            raise Unsent(f"No service answers at {where} ({error}). Start it with 'hivelore start'.") from None
        self._socket.settimeout(read_timeout)

    def is_idle(self) -> bool:
        """Return True if the connection is open and has no unexpected data."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1, _socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return not self._received
        except OSError:
            return False
        finally:
            self._socket.settimeout(self._read_timeout)
        return False

    def post(self, headers: "Mapping[str, str]", body: bytes) -> "Response":
        """Send one request and return the answer, read to its end unless it is a stream.

        Raises Unsent, Unanswered, or Expired when the service sends nothing for too long.
        """
        head = [f"POST {self._endpoint.path}/mcp HTTP/1.1", f"Host: {self._endpoint.authority}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        head += [f"Content-Length: {len(body)}", "", ""]
        sent = False
        try:
            self._socket.sendall("\r\n".join(head).encode() + body)
            sent = True
        except TimeoutError:
            raise Unsent(f"The service did not read the request for {self._read_timeout:.0f} s. Try again.") from None
        except OSError:
            pass  # It may have refused before it read everything: then there is an answer.
        try:
            return Response(self, *self._head())
        except TimeoutError:
            raise Expired(
                f"No answer for {self._read_timeout:.0f} s. The service may still execute the request."
            ) from None
        except (OSError, ValueError):
            if sent:
                raise Unanswered("The service ended before it answered.") from None
            raise Unsent("The service ended during the request. Try again.") from None

    def abort(self) -> None:
        """Shut the connection down from another thread; its reader gets an error."""
        with suppress(OSError):  # It may have ended already.
            self._socket.shutdown(_socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _head(self) -> "tuple[int, dict[str, str]]":
        """Read status and headers, with names in lower case. Raises ValueError if it is not HTTP."""
        while True:
            lines = self._read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            protocol, code = lines[0].split(" ", 2)[:2]
            if not protocol.startswith("HTTP/1."):
                raise ValueError(protocol)
            if not code.startswith("1"):
                break
        fields = (line.partition(":") for line in lines[1:])
        return int(code), {name.strip().lower(): value.strip() for name, _, value in fields}

    def _read_until(self, end: bytes) -> bytes:
        while (found := self._received.find(end)) < 0:
            if len(self._received) > _LONGEST_HEAD:
                raise ValueError("no end of a line or a head")
            self._receive()
        data = bytes(self._received[:found])
        del self._received[: found + len(end)]
        return data

    def _receive(self) -> None:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise ConnectionResetError("the connection has ended")
        self._received += data

    def _read_exactly(self, size: int) -> bytes:
        while len(self._received) < size:
            self._receive()
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    def _read_to_end(self) -> "Iterator[bytes]":
        while True:
            yield self._read_exactly(len(self._received))
            try:
                self._receive()
            except ConnectionResetError:
                return

    def _chunks(self) -> "Iterator[bytes]":
        while size := int(self._read_until(b"\r\n").partition(b";")[0], 16):
            yield self._read_exactly(size)
            self._read_until(b"\r\n")
        while self._read_until(b"\r\n"):
            pass

    def pieces(self, headers: "Mapping[str, str]") -> "Iterator[bytes]":
        """Yield a body in pieces as they arrive. Raises ValueError, OSError."""
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._chunks()
        length = headers.get("content-length")
        return self._read_to_end() if length is None else iter((self._read_exactly(int(length)),))


class Response:
    """An answer. ``body`` is empty for a stream of events."""

    def __init__(self, connection: Connection, status: int, headers: "dict[str, str]") -> None:
        self.status = status
        self.kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        self.is_stream = self.kind == "text/event-stream"
        framed = "content-length" in headers or "transfer-encoding" in headers
        has_none = status in (204, 304)
        self._pieces = iter(()) if has_none else connection.pieces(headers)
        self.body = b"" if self.is_stream else b"".join(self._pieces)
        closes = headers.get("connection", "").lower() == "close"
        self.is_complete = not self.is_stream and not closes and (framed or has_none)
        """True if the connection can be used for another request."""

    def events(self) -> "Iterator[bytes]":
        """Yield the data of the events of a stream. Raises Unanswered if it breaks off, Expired after a timeout."""
        rest, data = b"", b""
        try:
            for piece in self._pieces:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    field, _, value = line.rstrip(b"\r").partition(b":")
                    if field == b"data":
                        data += value.removeprefix(b" ") + b"\n"
                    elif not line.strip() and data.strip():
                        yield data
                        data = b""
        except TimeoutError:
            raise Expired("The service sends nothing any more. Subscribe again.") from None
        except (OSError, ValueError):
            raise Unanswered("The service ended before it had answered.") from None


def _connect(endpoint: Endpoint) -> _socket.socket:
    problem = OSError("it has no address")
    # As bytes: text would import the codec for international names.
    found = _socket.getaddrinfo(endpoint.host.encode(), endpoint.port, type=_socket.SOCK_STREAM)
    for family, kind, protocol, _, address in found:
        raw = _socket.socket(family, kind, protocol)
        raw.settimeout(CONNECT_TIMEOUT)
        try:
            raw.connect(address)
            raw.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return _encrypt(raw, endpoint.host) if endpoint.tls else raw
        except OSError as error:
            raw.close()
            problem = error
    raise problem


def _encrypt(raw: _socket.socket, host: str) -> _socket.socket:
    # Only for a service on another machine: these imports take longer than all others.
    import socket
    import ssl

    return ssl.create_default_context().wrap_socket(socket.socket(fileno=raw.detach()), server_hostname=host)
