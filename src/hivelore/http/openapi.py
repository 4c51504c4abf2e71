"""The OpenAPI description: operations, other routes, keys, headers and problem documents."""

from typing import Any

import msgspec
from fastapi import FastAPI

from hivelore.api.registry import OPERATIONS
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


class Api(FastAPI):
    """An application whose description is complete."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = _completed(super().openapi())
        return self.openapi_schema


def _completed(described: dict[str, Any]) -> dict[str, Any]:
    components = described.setdefault("components", {"schemas": {}})
    paths, schemas = operations.described(OPERATIONS)
    described["paths"] |= paths | health.DESCRIPTION
    components["schemas"] |= schemas | msgspec.json.schema_components((Problem,), ref_template=operations.SCHEMAS)[1]
    for name in ("HTTPValidationError", "ValidationError"):  # What FastAPI would answer: ours are problems.
        components["schemas"].pop(name, None)
    components["securitySchemes"] = {"key": _KEY}
    for path, curation in described["paths"].items():
        for operation in curation.values():
            operation["responses"].pop("422", None)
            operation["responses"].update(_PROBLEMS)
            if path not in _OPEN:
                operation["security"] = [{"key": []}]
                operation["parameters"] = [*operation.get("parameters", ()), *_HEADERS]
    return described
