"""The schemas of tools, and the arguments that fit them."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import structs

from hivelore.core.operation import Operation
from hivelore.core.tool import Tool
from hivelore.core.values import convert

_DROPPED = ("title", "default", "format", "maxLength")
"""Parts of a schema that cost context and tell an agent nothing that it needs."""


class Arguments:
    """The arguments of a tool: the fields of the operation's request that the tool shows."""

    def __init__(self, operation: Operation[..., Any], tool: Tool[Any]) -> None:
        request = cast(Any, operation.request)
        shown = [one for one in structs.fields(request) if one.encode_name in tool.arguments]
        unknown = tool.arguments.keys() - {one.encode_name for one in shown}
        assert not unknown, f"{tool.name} shows arguments that its request does not have: {unknown}"
        self._request = request
        self._kind = msgspec.defstruct(
            request.__name__,
            [(one.name, one.type, _default(one)) for one in shown],
            rename={one.name: one.encode_name for one in shown},
            forbid_unknown_fields=True,
            frozen=True,
            kw_only=True,
        )
        self.schema = self._described(tool)

    def read(self, given: Mapping[str, Any]) -> Any:
        """Returns the request of the operation. An argument of null is one that was left out. Raises Invalid."""
        found = convert(self._kind, {name: value for name, value in given.items() if value is not None})
        return self._request(**{name: getattr(found, name) for name in found.__struct_fields__})

    def _described(self, tool: Tool[Any]) -> dict[str, Any]:
        (_,), components = msgspec.json.schema_components([self._kind])
        schema: dict[str, Any] = _bare(components[self._kind.__name__], components)
        for name, description in tool.arguments.items():
            if description:
                schema["properties"][name] |= {"description": description}
        if not schema["required"]:
            del schema["required"]
        return schema


def output_schema(tool: Tool[Any]) -> dict[str, Any]:
    """Returns the schema of the values that only this tool answers: the others would repeat in every tool."""
    return {"type": "object", "properties": dict(tool.output)}


def _default(field: structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return field.default


def _bare(schema: Any, components: Mapping[str, Any]) -> Any:
    """Returns a schema without ``_DROPPED`` and without references, and with ``X or null`` as plain X."""
    if isinstance(schema, list):
        return [_bare(part, components) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, part in cast(dict[str, Any], schema).items():
        if name == "properties":
            kept[name] = {key: _bare(value, components) for key, value in part.items()}
        elif name == "$ref":
            found: dict[str, Any] = _bare(components[part.rpartition("/")[2]], components)
            kept |= {key: value for key, value in found.items() if key != "description"}
        elif name == "anyOf":
            choices = [_bare(choice, components) for choice in part if choice != {"type": "null"}]
            kept |= choices[0] if len(choices) == 1 else {"anyOf": choices}
        elif name == "enum":
            choices = [choice for choice in part if choice is not None]
            kept |= (
                {"type": "string", "enum": choices} if all(isinstance(one, str) for one in choices) else {name: part}
            )
        elif name not in _DROPPED:
            kept[name] = _bare(part, components)
    return kept
