"""The OpenAPI document: operations, other routes, keys, headers and problem documents."""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hivelore import __version__
from hivelore.core.operation import Operation
from hivelore.http import health, operations
from hivelore.http.problems import MEDIA_TYPE, Problem

_KEY = {"type": "http", "scheme": "bearer", "description": "A key, hl_..."}
_OPEN = {"/health", "/health/live", "/health/ready"}
"""Paths that need no key."""
_HEADERS = [
    {
        "name": "X-Agent-ID",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "The agent that an operator acts for, by id or name, percent-encoded.",
    },
    {
        "name": "X-Hivelore-Project",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "The caller's project, percent-encoded. It narrows searches and is stored with memories.",
    },
]
_PROBLEM = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
_PROBLEMS = {
    "4XX": {"description": "The request is refused; `detail` says why and what to do.", **_PROBLEM},
    "5XX": {"description": "The service is unavailable or failed; `detail` says which.", **_PROBLEM},
}


def route(declared: Sequence[Operation[..., Any]]) -> Route:
    """Returns the route of the document, which is made on the first request."""

    @cache
    def document() -> bytes:
        return msgspec.json.encode(_describe(declared))

    async def answer(_: Request) -> Response:
        return Response(document(), media_type="application/json")

    return operations.OperationRoute("/openapi.json", answer)


def _describe(declared: Sequence[Operation[..., Any]]) -> dict[str, Any]:
    paths, schemas = operations.described(declared)
    paths |= deepcopy(health.DESCRIPTION)
    for path, methods in paths.items():
        for operation in methods.values():
            operation["responses"].update(_PROBLEMS)
            if path not in _OPEN:
                operation["security"] = [{"key": []}]
                operation["parameters"] = [*operation.get("parameters", ()), *_HEADERS]
    _, problem = msgspec.json.schema_components((Problem,), ref_template=operations.SCHEMAS)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hivelore", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas | problem, "securitySchemes": {"key": _KEY}},
    }
