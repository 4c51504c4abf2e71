"""Tool schemas as agents are shown them: what pydantic derives, without what costs context and says nothing."""

from typing import Any, cast

from pydantic import BaseModel

from hivelore.mcp.tools import Tool

_NOISE = ("title", "default", "additionalProperties")


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    return _bare(model.model_json_schema(by_alias=True)) | {"additionalProperties": False}


def output_schema(tool: Tool) -> dict[str, Any]:
    properties = {"yourAgentId": {"type": "string"}, "success": {"type": "boolean"}, "message": {"type": "string"}}
    return {"type": "object", "properties": properties | tool.answers}


def _bare(schema: Any) -> Any:
    """Without noise, and with ``X or null`` as plain X: leaving an argument out is how one says nothing."""
    if isinstance(schema, list):
        return [_bare(part) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, part in cast(dict[str, Any], schema).items():
        if name == "properties":
            kept[name] = {key: _bare(value) for key, value in part.items()}
        elif name == "anyOf":
            choices = [_bare(choice) for choice in part if choice != {"type": "null"}]
            kept |= choices[0] if len(choices) == 1 else {"anyOf": choices}
        elif name not in _NOISE:
            kept[name] = _bare(part)
    return kept
