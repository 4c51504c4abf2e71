"""How an operation is declared: once, with all that its interfaces derive from."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar
from urllib.parse import quote

from msgspec import Struct, structs, to_builtins

from hivelore.core.agents import Role, Viewer
from hivelore.core.tool import Tool
from hivelore.errors import Forbidden, NotFound

P = ParamSpec("P")
R = TypeVar("R")


class Lane(StrEnum):
    """The thread pool that runs an operation."""

    RECALL = "recall"
    """Searches."""
    READ = "read"
    """Other reads."""
    WRITE = "write"
    """Writes, which mostly wait for a commit."""
    SLOW = "slow"
    """Work that may take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls an operation, from which project, and until when an answer is awaited."""

    viewer: Viewer
    project: str | None = None
    deadline: float | None = None
    """On the monotonic clock of the application; None: no limit."""


@dataclass(frozen=True, slots=True)
class Route(Generic[R]):
    """The HTTP route of an operation. Parameters in braces carry the JSON names of fields of the request; its other
    fields are the query of a GET or DELETE, and the body of everything else."""

    method: str
    path: str
    status: int | Callable[[R], int] = 200
    """An answer of None is always 204."""
    statuses: tuple[int, ...] = (200,)
    """The statuses that a function in ``status`` returns."""
    body: bool = False
    """True for a DELETE whose arguments come as a body or in the query."""
    if_match: str | None = None
    """The JSON name of the field that holds the version in the header If-Match."""
    etag: Callable[[R], str | int] | None = None
    """Returns the version that the header ETag of an answer holds."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of every answer."""

    @property
    def takes_query(self) -> bool:
        return self.method not in ("POST", "PUT", "PATCH")

    @property
    def takes_body(self) -> bool:
        return self.body or not self.takes_query

    @property
    def in_path(self) -> list[str]:
        """The JSON names of the fields in the path."""
        return _IN_PATH.findall(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[P, R]):
    """Something that a caller can ask for. ``P`` are the fields of its request, ``R`` is its response."""

    name: str
    """The name of the Python method."""
    summary: str
    """One or two sentences for the reference pages, OpenAPI and docstrings."""
    request: Callable[P, Any]
    """A ``core.values.Request`` class."""
    response: type[R]
    alternatives: Mapping[int, type[R]] = field(default_factory=dict[int, type[R]])
    """Responses of another status, like 202 for a job that is still running."""
    handler: str
    """``module:function``, called with the application, the request and the ``Call``. A name, because clients load
    this declaration without the service."""
    lane: Lane
    http: Route[R] | None = None
    """None for an operation that is a tool only."""
    tool: Tool[R] | None = None
    verb: str | None = None
    """The verb of the command line that calls it, like ``events list``."""
    roles: frozenset[Role] = frozenset(Role)
    """Who may call it; handlers decide about single memories."""
    tag: str
    """The group in OpenAPI and in the reference pages."""
    during_outage: bool = False
    """True if callers whose key was checked a short while ago may call it while the database does not answer."""
    stored: Callable[[R], int] | None = None
    """Returns the number of memories stored, for the metrics."""
    retrieval_mode: Callable[[R], str] | None = None
    """Returns how a search was answered, for the metrics."""

    @property
    def route(self) -> Route[R]:
        assert self.http is not None, f"{self.name} has no route"
        return self.http

    def run(self, app: Any, request: Any, call: Call) -> R:
        """Calls the handler. Raises Forbidden for a role that may not call it, and the errors of the handler."""
        if call.viewer.role not in self.roles:
            allowed = " or ".join(f"an {role}" if role[0] in "ao" else f"a {role}" for role in sorted(self.roles))
            raise Forbidden(f"Only {allowed} may do this. Use the key of one.")
        return _handler(self.handler)(app, request, call)


@cache
def _handler(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def get(path: str, **more: Any) -> Route[Any]:
    """Returns the route of a read."""
    return Route("GET", path, **more)


def post(path: str, **more: Any) -> Route[Any]:
    return Route("POST", path, **more)


def put(path: str, **more: Any) -> Route[Any]:
    return Route("PUT", path, **more)


def patch(path: str, **more: Any) -> Route[Any]:
    return Route("PATCH", path, **more)


def delete(path: str, **more: Any) -> Route[Any]:
    return Route("DELETE", path, **more)


def response_type(operation: Operation[..., R], answer: Any) -> type[R]:
    """Returns the type of an answer: the first one whose required fields it has."""
    for kind in operation.alternatives.values():
        if issubclass(kind, Struct) and all(one.encode_name in answer for one in structs.fields(kind) if one.required):
            return kind
    return operation.response


_IN_PATH = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request of an operation as it is sent."""

    method: str
    path: str
    query: dict[str, Any] | None
    body: dict[str, Any] | None
    version: int | None
    """For the header If-Match."""


def encode_request(operation: Operation[..., Any], request: Any) -> HttpRequest:
    """Returns what a client sends. Arguments that have their default are left out. Raises NotFound for an empty id."""
    route, path = operation.route, operation.route.path
    given: dict[str, Any] = to_builtins(
        {
            field.encode_name: value
            for field in structs.fields(request)
            if (value := getattr(request, field.name)) != field.default or field.encode_name in route.in_path
        }
    )
    version = None if route.if_match is None else given.pop(route.if_match, None)
    for name in route.in_path:
        value = str(given.pop(name))
        if not value:
            raise NotFound(f"The id of the {name} is empty. Use an id from a list or a search.")
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    if route.takes_body:
        return HttpRequest(method=route.method, path=path, query=None, body=given, version=version)
    query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
    return HttpRequest(method=route.method, path=path, query=query, body=None, version=version)
