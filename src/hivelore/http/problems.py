"""Errors as HTTP says them: one table from our family to statuses, as problem documents (RFC 9457)."""

from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from hivelore import errors
from hivelore.core.json_codec import NotJson
from hivelore.errors import HiveloreError, Invalid


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


def problem(status: int, detail: str, code: str, **more: Any) -> Response:
    """A problem document. ``code`` is what clients tell errors by."""
    body = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    body |= {"code": code, **{name: value for name, value in more.items() if value is not None}}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["Retry-After"] = str(max(1, round(more.get("retryAfter") or 1)))
    return Response(orjson.dumps(body), status, headers=headers, media_type=MEDIA_TYPE)


def of_error(error: HiveloreError) -> Response:
    status, code = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    more: dict[str, Any] = {}
    if isinstance(error, errors.Invalid):
        more["field"] = error.field
    if isinstance(error, errors.Proposed):
        more["proposal"] = error.proposal
    if isinstance(error, errors.Stale):
        more["current"] = error.current
    if isinstance(error, errors.Busy):
        more["pid"] = error.pid
    if isinstance(error, errors.Unavailable):
        more["retryAfter"] = error.retry_after
    return problem(status, str(error), code, **more)


async def on_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HiveloreError)
    return of_error(error)
