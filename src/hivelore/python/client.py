"""Talking to a service over HTTP, with the standard library alone."""

import http.client
import json
import ssl
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from hivelore import errors
from hivelore.errors import HiveloreError, Invalid, TooLarge, Unavailable

BY_CODE: dict[str, type[HiveloreError]] = {
    "invalid": errors.Invalid,
    "too-large": errors.TooLarge,
    "unauthenticated": errors.Unauthenticated,
    "forbidden": errors.Forbidden,
    "proposed": errors.Proposed,
    "not-found": errors.NotFound,
    "conflict": errors.Conflict,
    "stale": errors.Stale,
    "busy": errors.Busy,
    "unavailable": errors.Unavailable,
    "overloaded": errors.Overloaded,
    "expired": errors.Expired,
    "broken": errors.Broken,
}
"""The ``code`` of a problem document, and the error it stands for."""
LARGEST_REQUEST = 16 * 1024 * 1024
"""Bytes of a body that a service takes."""
_LONGEST_TARGET = 16_000
_TIMEOUT = 60.0


class Client:
    """One service, one key; safe from many threads, each with a connection of its own."""

    def __init__(
        self,
        url: str,
        key: str | None,
        *,
        agent: str | None = None,
        project: str | None = None,
        interface: str = "python",
    ) -> None:
        """``agent``: whom to speak for (operators). ``project``: where the caller is. ``interface``: python or cli."""
        self.url = url.rstrip("/")
        self._parts = _parsed(url)
        self._headers = {"Accept": "application/json", "X-Hivelore-Door": interface}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        if agent is not None:
            self._headers["X-Agent-ID"] = quote(agent)
        if project is not None:
            self._headers["X-Hivelore-Project"] = quote(project)
        self._local = threading.local()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        version: int | None = None,
        timeout: float = _TIMEOUT,
    ) -> Any:
        """What the service answers, as JSON; None for an empty answer.

        Raises the service's own error, or Unavailable where none answers. ``version`` is sent as If-Match.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._parts.path.rstrip("/") + path + (f"?{urlencode(given, doseq=True)}" if given else "")
        if len(target) > _LONGEST_TARGET:
            raise TooLarge("An id, name or filter is too long to be one.")
        headers = dict(self._headers)
        data = None
        if body is not None:
            data = _encoded(body)
            headers["Content-Type"] = "application/json"
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        status, answer = self._exchange(method, target, data, headers, timeout)
        if status >= 300:
            raise _error(status, answer)
        return json.loads(answer) if answer else None

    def reasons(self, timeout: float = _TIMEOUT) -> Sequence[Mapping[str, Any]]:
        """Why the service cannot do its work: of each reason its ``cause``, ``message``, ``remedy``, ``since`` and
        whether it is ``lasting``; empty where it can. Needs no key. Raises Unavailable where none answers."""
        target = self._parts.path.rstrip("/") + "/health"
        status, answer = self._exchange("GET", target, None, self._headers, timeout)
        try:
            return json.loads(answer)["reasons"] if status == 503 else ()
        except (ValueError, KeyError, TypeError):
            raise _error(status, answer) from None

    def close(self) -> None:
        """Close this thread's connection."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> tuple[int, bytes]:
        connection, fresh = self._connection(timeout)
        try:
            return _roundtrip(connection, method, target, data, headers)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            self.close()
            if fresh:
                raise self._silent("it closed the connection") from None
            # A kept connection had been closed meanwhile: the request was not taken.
            connection, _ = self._connection(timeout)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._silent(str(error) or type(error).__name__) from error
        try:
            return _roundtrip(connection, method, target, data, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._silent(str(error) or type(error).__name__) from error

    def _connection(self, timeout: float) -> tuple[http.client.HTTPConnection, bool]:
        known: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if known is not None and known.sock is not None:
            known.sock.settimeout(timeout)
            return known, False
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        self._local.connection = connection
        return connection, True

    def _silent(self, why: str) -> Unavailable:
        return Unavailable(f"No service answers at {self.url} ({why}). Start it with 'hivelore start'.")


def _parsed(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good, parts = False, None
    if parts is None or not good:
        raise Invalid(f"{url!r} is not the URL of a service, like http://127.0.0.1:4483.", field="url")
    return parts


def _roundtrip(
    connection: http.client.HTTPConnection, method: str, target: str, data: bytes | None, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    connection.request(method, target, body=data, headers=dict(headers))
    response = connection.getresponse()
    return response.status, response.read()


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        if len(data) > LARGEST_REQUEST:
            raise TooLarge(f"The request is larger than {LARGEST_REQUEST // 1024 // 1024} MB. Send it in parts.")
        return data
    except UnicodeEncodeError as error:
        raise Invalid(f"The text has a lone surrogate at position {error.start}: it is not valid Unicode.") from None
    except ValueError:
        raise Invalid("There is a number beyond 64 bits in it. Write it as text.") from None


def _error(status: int, answer: bytes) -> HiveloreError:
    try:
        problem: dict[str, Any] = json.loads(answer)
        detail, code = str(problem["detail"]), str(problem.get("code"))
    except (ValueError, KeyError, TypeError):
        if status == 500:
            return HiveloreError("The service failed at this. Its log, service.log in the home folder, says where.")
        return Unavailable(f"What answered (status {status}) is not a Hivelore service. Check HIVELORE_URL.")
    kind = BY_CODE.get(code, HiveloreError)
    if issubclass(kind, errors.Invalid):
        return kind(detail, field=problem.get("field"))
    if issubclass(kind, errors.Proposed):
        return kind(detail, proposal=str(problem["proposal"]))
    if issubclass(kind, errors.Stale):
        return kind(detail, current=int(problem["current"]))
    if issubclass(kind, errors.Busy):
        return kind(detail, pid=int(problem.get("pid", 0)))
    if issubclass(kind, errors.Unavailable):
        return kind(detail, retry_after=problem.get("retryAfter"))
    return kind(detail)
