"""HTTP/1.1 transport to a service, for hooks, bridge, command line and Python client.

``http.client`` takes longer to import than a hook takes altogether, and ``socket`` nearly as long. Its C part
``_socket`` is fast.
"""

import _socket
from _thread import allocate_lock, start_new_thread

from hivelore.errors import Expired, Invalid, Unavailable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    SocketAddress = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names and addresses of this machine itself."""
CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 60.0
"""Most seconds between two bytes of an answer. The service ends its own calls earlier."""
LARGEST_ANSWER = 1 << 40
_CHUNK = 65_536
_LONGEST_HEAD = 65_536
_LARGEST_PORT = 65_535


class Unsent(Unavailable):
    """The service cannot have executed the request: it did not receive all of it."""


class Unanswered(Unavailable):
    """The service received the request and did not answer: it may have executed it."""


class ServiceUrl:
    """Host, port and path of the http or https URL of a service."""

    __slots__ = ("authority", "host", "path", "port", "tls")

    def __init__(self, url: str) -> None:
        """Raises Invalid for another URL."""
        scheme, _, rest = url.strip().partition("://")
        authority, slash, path = rest.partition("/")
        self.authority = authority.rpartition("@")[2]
        self.path = (slash + path).rstrip("/")
        self.tls = scheme.lower() == "https"
        if self.authority.startswith("["):
            host, end, port = self.authority[1:].partition("]")
            host, port = host if end else "", port.removeprefix(":")
        else:
            host, _, port = self.authority.partition(":")
        port = port or ("443" if self.tls else "80")
        is_printable = url.isascii() and url.isprintable()
        is_valid = scheme.lower() in ("http", "https") and host and port.isdecimal() and is_printable
        if not is_valid or int(port) > _LARGEST_PORT:
            raise Invalid(f"{url!r} is not the URL of a service, like http://127.0.0.1:4483.", field="url")
        self.host, self.port = host.lower(), int(port)


def is_local(url: str) -> bool:
    """Return True if a URL is on this machine, where a service can be started."""
    try:
        place = ServiceUrl(url)
    except Invalid:
        return False
    # TLS belongs to a proxy in front of a service that was started otherwise.
    return not place.tls and place.host in LOOPBACK


def is_same(first: str, second: str) -> bool:
    """Return True if two URLs are those of the same service."""
    try:
        one, other = ServiceUrl(first), ServiceUrl(second)
    except Invalid:
        return first == second
    hosts = {LOOPBACK[0] if place.host in LOOPBACK else place.host for place in (one, other)}
    return len(hosts) == 1 and (one.tls, one.port, one.path) == (other.tls, other.port, other.path)


class Connection:
    """A connection for consecutive requests; each answer must be read to its end."""

    def __init__(
        self, url: ServiceUrl, connect_timeout: float = CONNECT_TIMEOUT, read_timeout: float | None = READ_TIMEOUT
    ) -> None:
        """Raises Unsent if no service answers."""
        self._url = url
        self._received = bytearray()
        self._left = 0
        """Bytes that the answer may still have."""
        try:
            self._socket = connect(url, connect_timeout)
        except (OSError, UnicodeError) as error:
            where = f"{url.host}:{url.port}"
            raise Unsent(f"No service answers at {where} ({error}). Start it with 'hivelore start'.") from error
        self.read_timeout = read_timeout
        """Most seconds between two bytes of an answer; None: no limit."""
        self.is_answering = False
        """True once a part of the answer to the last request arrived."""

    def is_idle(self) -> bool:
        """Return True if the connection is open and has no unexpected data."""
        import select

        waiting = select.poll()
        waiting.register(self._socket.fileno(), select.POLLIN)
        return not self._received and not waiting.poll(0)

    def request(
        self,
        method: str,
        path: str,
        headers: "Mapping[str, str]",
        body: bytes | None = None,
        *,
        largest: int = LARGEST_ANSWER,
    ) -> "Response":
        """Send one request and return the answer, read to its end unless it is a stream.

        ``path``: below that of the URL. ``largest``: most bytes of the answer. Raises Unsent, Unanswered, or Expired
        when the service sends nothing for too long.
        """
        head = [f"{method} {self._url.path}{path} HTTP/1.1", f"Host: {self._url.authority}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            head.append(f"Content-Length: {len(body)}")
        self.is_answering = sent = False
        self._left = largest
        self._socket.settimeout(self.read_timeout)
        try:
            self._socket.sendall("\r\n".join([*head, "", ""]).encode(errors="replace") + (body or b""))
            sent = True
        except TimeoutError as error:
            raise Unsent(f"The service did not read the request for {self.read_timeout:.0f} s. Try again.") from error
        except OSError:
            pass  # It may have refused before it read everything: then there is an answer.
        try:
            return Response(self, *self._head())
        except TimeoutError as error:
            raise Expired(
                f"No answer for {self.read_timeout:.0f} s. The service may still execute the request."
            ) from error
        except (OSError, ValueError) as error:
            if sent:
                raise Unanswered("The service ended before it answered.") from error
            raise Unsent("The service ended during the request. Try again.") from error

    def abort(self) -> None:
        """Shut the connection down from another thread; its reader gets an error."""
        try:
            self._socket.shutdown(_socket.SHUT_RDWR)
        except OSError:  # It has ended already.
            return

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
            raise ConnectionResetError("the service closed the connection")
        self.is_answering = True
        self._received += data

    def _read_exactly(self, size: int) -> bytes:
        self._left -= size
        if size < 0 or self._left < 0:
            raise ValueError("the answer is too large")
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
        self.headers = headers
        """Names in lower case."""
        self.kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        self.is_stream = self.kind == "text/event-stream"
        has_none = status in (204, 304)
        self.is_framed = has_none or "content-length" in headers or "transfer-encoding" in headers
        """True if it cannot have been cut off unnoticed."""
        self._pieces = iter(()) if has_none else connection.pieces(headers)
        self.body = b"" if self.is_stream else b"".join(self._pieces)
        closes = headers.get("connection", "").lower() == "close"
        self.is_complete = not self.is_stream and not closes and self.is_framed
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


def connect(url: ServiceUrl, timeout: float) -> _socket.socket:
    """Open a socket to a service, which is encrypted for https. Raises OSError, UnicodeError."""
    problem = OSError("it has no address")
    for family, kind, protocol, _, address in _resolve(url, timeout):
        raw = _socket.socket(family, kind, protocol)
        raw.settimeout(timeout)
        try:
            raw.connect(address)
            raw.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return _encrypt(raw, url.host, timeout) if url.tls else raw
        except OSError as error:
            raw.close()
            problem = error
    raise problem


def _resolve(url: ServiceUrl, timeout: float) -> "list[SocketAddress]":
    """Return the addresses of a host. A name that needs DNS, which nothing interrupts, is resolved in a thread."""
    found: list[SocketAddress] = []
    problems: list[Exception] = []
    done = allocate_lock()

    def resolve() -> None:
        try:
            # As bytes: text would import the codec for international names.
            found.extend(_socket.getaddrinfo(url.host.encode(), url.port, type=_socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            problems.append(error)
        finally:
            done.release()

    done.acquire()
    if url.host == "localhost" or url.host.replace(".", "").isdecimal() or ":" in url.host:
        resolve()
    else:
        start_new_thread(resolve, ())
        if not done.acquire(timeout=timeout):
            raise TimeoutError("its name cannot be resolved")
    if problems:
        raise problems[0]
    return found


def _encrypt(raw: _socket.socket, host: str, timeout: float) -> _socket.socket:
    # Only for a service on another machine: these imports take longer than all others.
    import socket
    import ssl

    plain = socket.socket(fileno=raw.detach())
    plain.settimeout(timeout)
    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
