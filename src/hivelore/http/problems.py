"""Errors as HTTP problem documents (RFC 9457): the status and code of each error."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hivelore import errors
from hivelore.core.values import NotJson, Value
from hivelore.errors import HiveloreError, Invalid
from hivelore.health.model import Reason


class UnsupportedMediaType(Invalid):
    """The body is not said to be JSON."""


STATUS: dict[type[HiveloreError], tuple[int, str]] = {
    errors.Invalid: (422, "invalid"),
    NotJson: (400, "not-json"),
    UnsupportedMediaType: (415, "not-json"),
    errors.TooLarge: (413, "too-large"),
    errors.Unauthenticated: (401, "unauthenticated"),
    errors.Forbidden: (403, "forbidden"),
    errors.Proposed: (403, "proposed"),
    errors.NotFound: (404, "not-found"),
    errors.Conflict: (409, "conflict"),
    errors.Stale: (412, "stale"),
    errors.Busy: (409, "busy"),
    errors.Unavailable: (503, "unavailable"),
    errors.Overloaded: (503, "overloaded"),
    errors.Expired: (504, "expired"),
    errors.Broken: (500, "broken"),
    HiveloreError: (500, "error"),
}
TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    500: "Internal Server Error",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
MEDIA_TYPE = "application/problem+json"


class Problem(Value, frozen=True, kw_only=True, omit_defaults=True):
    """RFC 9457. ``detail`` says what to do next; ``code`` is for programs."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None = None
    """The argument at fault."""
    proposal: str | None = None
    """With code proposed: the proposal that others decide."""
    current: int | None = None
    """With code stale: the current version. With code proposed: the version after the part that took effect."""
    pid: int | None = None
    """With code busy: the process that holds the data."""
    retry_after: float | None = None
    """Seconds."""
    id: str | None = None
    """With code unexpected: the incident id in the log."""
    reasons: tuple[Reason, ...] | None = None
    """With code unready: why the service cannot do its work."""


def problem(status: int, detail: str, code: str, **more: Any) -> Response:
    """Returns a problem document. ``more``: further fields of ``Problem``."""
    title = TITLES.get(status, "Error")
    body = Problem(type="about:blank", title=title, status=status, detail=detail, code=code, **more)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["Retry-After"] = str(max(1, round(body.retry_after or 1)))
    return Response(msgspec.json.encode(body), status, headers=headers, media_type=MEDIA_TYPE)


def of_error(error: HiveloreError) -> Response:
    status, code = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    more: dict[str, Any] = {}
    if isinstance(error, errors.Invalid):
        more["field"] = error.field
    if isinstance(error, errors.Proposed):
        more["proposal"], more["current"] = error.proposal, error.current
    if isinstance(error, errors.Stale):
        more["current"] = error.current
    if isinstance(error, errors.Busy):
        more["pid"] = error.pid
    if isinstance(error, errors.Unavailable):
        more["retry_after"] = error.retry_after
    response = problem(status, str(error), code, **more)
    if isinstance(error, errors.Proposed) and error.current is not None:
        response.headers["ETag"] = f'"{error.current}"'
    return response


async def on_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HiveloreError)
    return of_error(error)
