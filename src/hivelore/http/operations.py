"""Declared operations as HTTP routes and as a part of OpenAPI."""

from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hivelore.api import calls
from hivelore.core.json_codec import convert, decode, from_text
from hivelore.core.operation import IN_PATH, WITH_BODY, Call, Operation
from hivelore.errors import Invalid
from hivelore.http.auth import project_of
from hivelore.http.context import Context
from hivelore.http.problems import problem

SCHEMAS = "#/components/schemas/{name}"


class Unreadable(Exception):
    """The body cannot be read at all."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer


def routes(operations: Sequence[Operation[..., Any]]) -> Iterator[Route]:
    """One route for each operation."""
    for operation in operations:
        yield Route(operation.http.path, _endpoint(operation), methods=[operation.http.method], name=operation.name)


def _endpoint(operation: Operation[..., Any]) -> Any:
    route = operation.http

    async def endpoint(http: Request) -> Response:
        context: Context = http.app.state.context
        viewer = await (context.gate.watcher if operation.during_outage else context.gate.viewer)(http)
        try:
            request = await _request(operation, http)
        except Unreadable as unreadable:
            return unreadable.answer
        deadline = context.deadline(operation.lane)
        call = Call(viewer=viewer, project=project_of(http), deadline=deadline)
        result = await context.pools.run(
            operation.lane, lambda: calls.run(context.app, operation, request, call), viewer.agent
        )
        if result is None:
            return Response(status_code=204, headers=route.headers)
        other = next((status for status, kind in operation.alternatives.items() if type(result) is kind), None)
        status = other or (route.status if isinstance(route.status, int) else route.status(result))
        return Response(msgspec.json.encode(result), status, route.headers, media_type="application/json")

    return endpoint


async def _request(operation: Operation[..., Any], http: Request) -> Any:
    kind: Any = operation.request
    in_path = http.path_params
    if operation.http.method not in WITH_BODY:
        return from_text(kind, {**_query(http), **in_path})
    if http.scope["query_string"]:
        name = next(iter(http.query_params))
        raise Invalid(f"Unknown parameter {name[:40]!r}. Send the arguments as JSON in the body.", field="query")
    body = await http.body()
    if body and "json" not in http.headers.get("content-type", ""):
        raise Unreadable(problem(415, "Send JSON, and say so: Content-Type: application/json.", "not-json"))
    if not in_path:
        return decode(kind, body or b"{}")
    return convert(kind, {**decode(dict[str, Any], body or b"{}"), **in_path})


def _query(http: Request) -> Mapping[str, str]:
    given: dict[str, str] = {}
    for name, value in http.query_params.multi_items():
        if name in given:
            raise Invalid(f"{name[:40]} is given twice. Send it once.", field=name[:40])
        given[name] = value
    return given


def described(operations: Sequence[Operation[..., Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the paths and the schemas of the operations for OpenAPI."""
    kinds: list[Any] = [
        kind
        for operation in operations
        for kind in (operation.request, operation.response, *operation.alternatives.values())
    ]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=SCHEMAS)
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in operations:
        described = _described(operation, components, by_kind)
        paths.setdefault(operation.http.path, {})[operation.http.method.lower()] = described
    return paths, components


def _described(
    operation: Operation[..., Any], components: Mapping[str, Any], schemas: Mapping[Any, Any]
) -> dict[str, Any]:
    route, kind = operation.http, operation.request
    properties = components[kind.__name__]["properties"]  # type: ignore[attr-defined]
    in_path = set(IN_PATH.findall(route.path))
    parameters = [
        {
            "name": field.encode_name,
            "in": "path" if field.encode_name in in_path else "query",
            "required": field.required,
            "schema": properties[field.encode_name],
        }
        for field in structs.fields(kind)  # type: ignore[arg-type]
        if field.encode_name in in_path or route.method not in WITH_BODY
    ]
    status = route.status if isinstance(route.status, int) else 200
    found: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": cleandoc(operation.summary).partition(". ")[0].rstrip(".") + ".",
        "description": operation.summary,
        "parameters": parameters,
        "responses": dict(
            _response(code, answer, schemas)
            for code, answer in ((status, operation.response), *operation.alternatives.items())
        ),
    }
    if route.method in WITH_BODY:
        required = any(field.required for field in structs.fields(kind) if field.encode_name not in in_path)  # type: ignore[arg-type]
        found["requestBody"] = {"required": required, "content": {"application/json": {"schema": schemas[kind]}}}
    return found


def _response(status: int, kind: type[Any], schemas: Mapping[Any, Any]) -> tuple[str, dict[str, Any]]:
    if kind is type(None):
        return "204", {"description": "Done."}
    return str(status), {"description": "The result.", "content": {"application/json": {"schema": schemas[kind]}}}
