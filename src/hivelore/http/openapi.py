"""The OpenAPI document: operations, other routes, keys, headers and problem documents."""

from collections.abc import Mapping, Sequence, Set
from copy import deepcopy
from functools import cache
from inspect import cleandoc
from typing import Any, cast

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hivelore import __version__
from hivelore.core.operation import Operation
from hivelore.http import health
from hivelore.http.operations import OperationRoute
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
_SCHEMAS = "#/components/schemas/{name}"
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

    return OperationRoute("/openapi.json", answer)


def _describe(declared: Sequence[Operation[..., Any]]) -> dict[str, Any]:
    paths, schemas = _describe_operations(declared)
    paths |= deepcopy(health.DESCRIPTION)
    for path, methods in paths.items():
        for operation in methods.values():
            operation["responses"].update(_PROBLEMS)
            if path not in _OPEN:
                operation["security"] = [{"key": []}]
                operation["parameters"] = [*operation.get("parameters", ()), *_HEADERS]
    _, problem = msgspec.json.schema_components((Problem,), ref_template=_SCHEMAS)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hivelore", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas | problem, "securitySchemes": {"key": _KEY}},
    }


def _describe_operations(operations: Sequence[Operation[..., Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the paths and the schemas of the operations."""
    routed = [one for one in operations if one.http]
    kinds: list[Any] = [kind for one in routed for kind in (one.request, one.response, *one.alternatives.values())]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_SCHEMAS)
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in routed:
        found = _describe_operation(operation, components, by_kind)
        paths.setdefault(operation.route.path, {})[operation.route.method.lower()] = found
    return paths, components


def _describe_operation(
    operation: Operation[..., Any], components: Mapping[str, Any], schemas: Mapping[Any, Any]
) -> dict[str, Any]:
    route, kind = operation.route, cast(type[Any], operation.request)
    schema = components[kind.__name__]
    in_path = route.in_path
    parameters: list[dict[str, Any]] = [
        {
            "name": field.encode_name,
            "in": "path" if field.encode_name in in_path else "query",
            "required": field.encode_name in in_path or field.required,
            "schema": schema["properties"][field.encode_name],
        }
        for field in structs.fields(kind)
        if field.encode_name in in_path or (route.takes_query and field.encode_name != route.if_match)
    ]
    if route.if_match is not None:
        parameters.append({"name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"}})
    statuses = (route.status,) if isinstance(route.status, int) else route.statuses
    answers = [*((status, operation.response) for status in statuses), *operation.alternatives.items()]
    found: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": cleandoc(operation.summary).partition(". ")[0].rstrip(".") + ".",
        "description": operation.summary,
        "parameters": parameters,
        "responses": dict(_response(status, answer, schemas) for status, answer in answers),
    }
    if route.takes_body:
        found["requestBody"] = _body(schema, {*in_path, route.if_match}, route.takes_query)
    return found


def _response(status: int, kind: type[Any], schemas: Mapping[Any, Any]) -> tuple[str, dict[str, Any]]:
    if kind is type(None):
        return "204", {"description": "Done."}
    return str(status), {"description": "The result.", "content": {"application/json": {"schema": schemas[kind]}}}


def _body(schema: Mapping[str, Any], elsewhere: Set[str | None], is_optional: bool) -> dict[str, Any]:
    """Describes the body: the fields that do not come from somewhere else."""
    properties = {name: part for name, part in schema["properties"].items() if name not in elsewhere}
    required = [name for name in schema["required"] if name not in elsewhere]
    body = {**schema, "properties": properties, "required": required}
    return {"required": bool(required) and not is_optional, "content": {"application/json": {"schema": body}}}
