"""Calls of the REST interface: JSON over the local transport, and the errors of a service."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from hivelore import errors
from hivelore.errors import HiveloreError, Invalid, TooLarge, Unavailable
from hivelore.local.transport import Connection, Response, ServiceUrl, Unanswered, Unsent

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
    """One service, one key. Threads may share it; each request takes a connection that is idle, or opens one."""

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
        self._place = ServiceUrl(url)
        self._headers = {"Accept": "application/json", "X-Hivelore-Interface": interface}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        if agent is not None:
            self._headers["X-Agent-ID"] = quote(agent)
        if project is not None:
            self._headers["X-Hivelore-Project"] = quote(project)
        self._kept: list[Connection] = []
        """Open connections that no thread uses now."""

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
        target = path + (f"?{urlencode(given, doseq=True)}" if given else "")
        if len(target) > _LONGEST_TARGET:
            raise TooLarge("An id, name or filter is too long to be one.")
        headers = dict(self._headers)
        data = None
        if body is not None:
            data = _encoded(body)
            headers["Content-Type"] = "application/json"
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        answer = self._exchange(method, target, data, headers, timeout)
        if answer.status >= 300:
            raise _error(answer)
        return json.loads(answer.body) if answer.body else None

    def reasons(self, timeout: float = _TIMEOUT) -> Sequence[Mapping[str, Any]]:
        """Why the service cannot do its work: of each reason its ``cause``, ``message``, ``remedy``, ``since`` and
        whether it is ``lasting``; empty where it can. Needs no key. Raises Unavailable where none answers."""
        answer = self._exchange("GET", "/health", None, self._headers, timeout)
        try:
            return json.loads(answer.body)["reasons"] if answer.status == 503 else ()
        except (ValueError, KeyError, TypeError):
            raise _error(answer) from None

    def close(self) -> None:
        """Close the idle connections."""
        while (kept := self._take_kept()) is not None:
            kept.close()

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> Response:
        kept = self._take_kept()
        if kept is not None and not kept.is_idle():
            kept.close()
            kept = None

        def send(connection: Connection) -> Response:
            connection.read_timeout = timeout
            try:
                answer = connection.request(method, target, headers, data)
            except BaseException:
                connection.close()
                raise
            if answer.is_complete:
                self._kept.append(connection)
            else:
                connection.close()
            return answer

        try:
            try:
                return send(kept or Connection(self._place, timeout))
            except (Unsent, Unanswered):
                if kept is None or kept.is_answering:
                    raise
                # The service closed the kept connection before it read the request.
                return send(Connection(self._place, timeout))
        except Unavailable as error:
            why = str(error.__cause__) or type(error.__cause__).__name__
            raise Unavailable(
                f"No service answers at {self.url} ({why}). Start it with 'hivelore start'."
            ) from error.__cause__

    def _take_kept(self) -> Connection | None:
        try:
            return self._kept.pop()
        except IndexError:
            return None


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


def _error(answer: Response) -> HiveloreError:
    status = answer.status
    try:
        problem: dict[str, Any] = json.loads(answer.body)
        detail, code = str(problem["detail"]), str(problem.get("code"))
    except (ValueError, KeyError, TypeError):
        if status == 500:
            return HiveloreError("The service failed at this. Its log, service.log in the home folder, says where.")
        return Unavailable(f"What answered (status {status}) is not a Hivelore service. Check HIVELORE_URL.")
    kind = BY_CODE.get(code, HiveloreError)
    if issubclass(kind, errors.Invalid):
        return kind(detail, field=problem.get("field"))
    if issubclass(kind, errors.Proposed):
        return kind(detail, proposal=str(problem["proposal"]), current=problem.get("current"))
    if issubclass(kind, errors.Stale):
        return kind(detail, current=int(problem["current"]))
    if issubclass(kind, errors.Busy):
        return kind(detail, pid=int(problem.get("pid", 0)))
    if issubclass(kind, errors.Unavailable):
        return kind(detail, retry_after=problem.get("retryAfter"))
    return kind(detail)
