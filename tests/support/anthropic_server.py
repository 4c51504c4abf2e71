"""A stand-in for the Anthropic Messages API that follows the script in the prompt (see model_script)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from support.model_script import Said, Say, Scripts, Use, full_name, next_step
from support.model_server import Answer, EventLog, ModelServer, QueryAnalysis

USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def anthropic_server() -> ModelServer:
    numbers = count(1)

    def answer(asked: QueryAnalysis, scripts: Scripts) -> Answer:
        if asked.path == "/v1/messages/count_tokens":
            return {"input_tokens": USAGE["input_tokens"]}
        if asked.path != "/v1/messages":
            return None
        step = next_step(conversation(asked.body["messages"]), scripts)
        offered = [tool["name"] for tool in asked.body.get("tools", ())]
        message = _message(asked.body["model"], step, offered, next(numbers))
        return EventLog(_streamed(message)) if asked.body.get("stream") else message

    return ModelServer(answer)


def conversation(messages: Sequence[Mapping[str, Any]]) -> list[Said]:
    """Returns the conversation, each text of a user's message separately, without the results of tools."""
    said: list[Said] = []
    for message in messages:
        if message["role"] == "assistant":
            said.append(Said("model"))
        elif isinstance(message["content"], str):
            said.append(Said("user", message["content"]))
        else:
            said += [Said("user", part["text"]) for part in message["content"] if part["type"] == "text"]
    return said


def _message(model: str, step: Say | Use, offered: Sequence[str], number: int) -> dict[str, Any]:
    content: dict[str, Any]
    if isinstance(step, Say):
        content = {"type": "text", "text": step.text}
    else:
        name = full_name(step.tool, offered)
        content = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": step.arguments}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content],
        "stop_reason": "end_turn" if isinstance(step, Say) else "tool_use",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _streamed(message: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    (content,) = message["content"]
    begun: dict[str, Any] = {**message, "content": [], "stop_reason": None}
    yield "message_start", {"message": begun}
    if content["type"] == "text":
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        delta = {"type": "text_delta", "text": content["text"]}
    else:
        yield "content_block_start", {"index": 0, "content_block": {**content, "input": {}}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": message["usage"]}
    yield "message_stop", {}
