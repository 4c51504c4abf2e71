"""How an operation is declared: once, with all that its interfaces derive from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from hivelore.core.agents import Role, Viewer

Q = TypeVar("Q")
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
    version: str | None = None
    """The request field that the header If-Match fills, or None."""
    etag: Callable[[R], int] | None = None
    """The version that the header ETag of an answer names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[Q, R]):
    """The MCP tool of an operation. A schema costs context in every session, so a tool has few fields."""

    name: str
    description: str
    fields: Mapping[str, str]
    """The fields of the request that the tool takes, with a short description or an empty text."""
    answer: str
    """``module:function`` that turns a result into a message and the fields of the tool's answer."""
    answer_fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The JSON schemas of those fields."""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True
    capability: str = "memory"
    """The entry of HIVELORE_CAPABILITIES that turns the tool on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[Q, R]):
    """Something that a caller can ask for, on every interface that it has a declaration for."""

    name: str
    """The name of the Python method."""
    summary: str
    """One or two sentences for the reference pages, OpenAPI and docstrings."""
    request: type[Q]
    response: type[R]
    handler: str
    """``module:function``, called with the application, the request and the ``Call``. A name, because clients load
    this declaration without the service."""
    lane: Lane
    roles: frozenset[Role] = frozenset(Role)
    """Who may call it at all; handlers decide about single memories."""
    http: Route[R] | None = None
    tool: Tool[Q, R] | None = None
    tag: str = "memory"
    """The group in the reference pages and in OpenAPI."""
    written: Callable[[R], int] | None = None
    """The number of memories that a result reports as written, for the metrics."""


def get(path: str, **more: Any) -> Route[Any]:
    return Route("GET", path, **more)


def post(path: str, **more: Any) -> Route[Any]:
    return Route("POST", path, **more)


def put(path: str, **more: Any) -> Route[Any]:
    return Route("PUT", path, **more)


def patch(path: str, **more: Any) -> Route[Any]:
    return Route("PATCH", path, **more)


def delete(path: str, **more: Any) -> Route[Any]:
    return Route("DELETE", path, **more)
