"""How an operation is offered to agents as an MCP tool."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from hivelore.core.capabilities import Capability

R = TypeVar("R")

Schema = Mapping[str, Any]
"""A JSON Schema."""
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}


class Reply(NamedTuple):
    """The answer of a tool: a sentence, and further values."""

    message: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[R]):
    """An MCP tool. Every client puts its schema into the context of its model, so it shows few arguments and describes
    them in few words."""

    name: str
    description: str
    arguments: Mapping[str, str]
    """By the JSON name of a field of the request: its description, empty if the name says enough."""
    reply: Callable[[R], Reply]
    output: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    """The values of the answer besides ``yourAgentId``, ``success`` and ``message``."""
    capability: Capability = Capability.MEMORY
    """A tool is offered if HIVELORE_CAPABILITIES names its capability."""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True
