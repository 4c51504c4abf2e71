"""A stand-in for the OpenAI Responses API that follows the script in the prompt (see model_script)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from support.model_script import Said, Say, Scripts, Use, full_name, next_step
from support.model_server import Answer, EventLog, ModelServer, QueryAnalysis

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 120,
}


def responses_server() -> ModelServer:
    numbers = count(1)

    def answer(asked: QueryAnalysis, scripts: Scripts) -> Answer:
        if asked.path != "/v1/responses":
            return None
        step = next_step(conversation(asked.body["input"]), scripts)
        return EventLog(_streamed(_item(step, tools_of(asked.body), next(numbers))))

    return ModelServer(answer)


def conversation(items: Sequence[Mapping[str, Any]]) -> list[Said]:
    """Returns the conversation without the results of tools."""
    said: list[Said] = []
    for item in items:
        if item["type"] == "function_call" or item.get("role") == "assistant":
            said.append(Said("model"))
        elif item["type"] == "message" and item["role"] == "user":
            said += [Said("user", part["text"]) for part in item["content"] if "text" in part]
    return said


def tools_of(body: Mapping[str, Any]) -> dict[str, str | None]:
    """Returns the functions that a request offers, each with its namespace."""
    offered: dict[str, str | None] = {}
    for tool in body.get("tools", ()):
        if tool["type"] == "namespace":
            offered |= {inner["name"]: tool["name"] for inner in tool["tools"]}
        elif "name" in tool:
            offered[tool["name"]] = None
    return offered


def _item(step: Say | Use, offered: Mapping[str, str | None], number: int) -> dict[str, Any]:
    if isinstance(step, Say):
        content: dict[str, Any] = {"type": "output_text", "text": step.text, "annotations": []}
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [content]}
    name = full_name(step.tool, [*offered])
    call = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": json.dumps(step.arguments),
    }
    return call if offered.get(name) is None else {**call, "namespace": offered[name]}


def _streamed(item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    response = {"id": f"resp_{item['id']}", "object": "response"}
    yield "response.created", {"response": {**response, "status": "in_progress"}}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": {**response, "status": "completed", "usage": USAGE}}
