"""Declared operations as HTTP routes and as a part of OpenAPI."""

from collections.abc import Callable, Mapping, Sequence, Set
from inspect import cleandoc
from typing import Any, cast

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from hivelore.core.json_codec import convert, decode, from_text, is_shown, list_fields
from hivelore.core.operation import Operation
from hivelore.errors import Invalid
from hivelore.http.context import Context, project_of
from hivelore.http.problems import UnsupportedMediaType

SCHEMAS = "#/components/schemas/{name}"
_VERSION_DIGITS = 18
"""Maximum digits of a version in If-Match."""


class OperationRoute(Route):
    """A route that names itself in the scope, for metrics and logs. It does not answer HEAD."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint, **more)
        if self.methods:
            self.methods.discard("HEAD")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, child if match is Match.NONE else {**child, "route": self}


def routes(operations: Sequence[Operation[..., Any]]) -> list[Route]:
    """Returns one route for each operation. Fixed paths come before those with parameters."""
    ordered = sorted(
        (one for one in operations if one.http),
        key=lambda one: [part.startswith("{") for part in one.route.path.split("/")],
    )
    return [
        OperationRoute(one.route.path, _endpoint(one), methods=[one.route.method], name=one.name) for one in ordered
    ]


def _endpoint(operation: Operation[..., Any]) -> Any:
    route = operation.route

    async def endpoint(http: Request) -> Response:
        context: Context = http.app.state.context
        checks = context.authenticator
        viewer = await (checks.viewer_during_outage(http) if operation.during_outage else checks.viewer(http))
        request = await _request(operation, http)
        result = await context.answer(operation, request, viewer, project_of(http))
        headers = dict(route.headers)
        if result is None:
            return Response(status_code=204, headers=headers)
        if route.etag is not None:
            headers["ETag"] = f'"{route.etag(result)}"'
        other = next((status for status, kind in operation.alternatives.items() if type(result) is kind), None)
        status = other or (route.status if isinstance(route.status, int) else route.status(result))
        return Response(msgspec.json.encode(result), status, headers, media_type="application/json")

    return endpoint


async def _request(operation: Operation[..., Any], http: Request) -> Any:
    route, kind = operation.route, cast(type[Any], operation.request)
    elsewhere: dict[str, Any] = http.path_params
    if route.if_match is not None:
        elsewhere = {**elsewhere, route.if_match: version_of(http.headers.get("if-match"))}
    if not route.takes_body:
        query = _query(kind, http) if http.scope["query_string"] else {}
        return from_text(kind, _merged(query, elsewhere))
    query: dict[str, Any] = {}
    if http.scope["query_string"]:
        if not route.takes_query:
            name = next(iter(http.query_params))
            shown = f" {name!r}" if is_shown(name) else ""
            raise Invalid(f"Unknown parameter{shown}. Send the arguments as JSON in the body.", field="query")
        query = _query(kind, http)
    body = await http.body() or b"{}"
    if body != b"{}" and "json" not in http.headers.get("content-type", ""):
        raise UnsupportedMediaType("Send JSON, and say so: Content-Type: application/json.")
    if not elsewhere and not query:
        return decode(kind, body)
    return convert(kind, _merged(decode(dict[str, Any], body), query | elsewhere))


def _merged(given: dict[str, Any], elsewhere: Mapping[str, Any]) -> dict[str, Any]:
    """Adds the arguments from the path and the headers. Raises Invalid for an argument that comes twice."""
    for name in given.keys() & elsewhere.keys():
        raise Invalid(f"{name} cannot be given here: it comes from the path, the query or a header.", field=name)
    return {**given, **elsewhere}


def version_of(if_match: str | None) -> int | None:
    """Returns the version in a header If-Match, None for no header and for any version. Raises Invalid."""
    if if_match is None or if_match.strip() == "*":
        return None
    number = if_match.strip().removeprefix("W/").strip('"')
    if not (number.isascii() and number.isdigit() and len(number) <= _VERSION_DIGITS):
        raise Invalid('If-Match holds the version, like "3".', field="If-Match")
    return int(number)


def _query(kind: type[Any], http: Request) -> dict[str, Any]:
    lists = list_fields(kind)
    given: dict[str, Any] = {}
    for name, value in http.query_params.multi_items():
        if name in lists:
            given.setdefault(name, []).append(value)
        elif name in given:
            shown = is_shown(name)
            raise Invalid(
                f"{name if shown else 'A parameter'} is given twice. Send it once.", field=name if shown else "query"
            )
        else:
            given[name] = value
    return given


def described(operations: Sequence[Operation[..., Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the paths and the schemas of the operations for OpenAPI."""
    routed = [one for one in operations if one.http]
    kinds: list[Any] = [kind for one in routed for kind in (one.request, one.response, *one.alternatives.values())]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=SCHEMAS)
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in routed:
        found = _described(operation, components, by_kind)
        paths.setdefault(operation.route.path, {})[operation.route.method.lower()] = found
    return paths, components


def _described(
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
