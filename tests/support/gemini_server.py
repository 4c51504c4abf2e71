"""A stand-in for the Gemini API that follows the script in the prompt (see model_script)."""

from collections.abc import Mapping, Sequence
from typing import Any

from support.model_script import Said, Say, Scripts, full_name, next_step
from support.model_server import Answer, EventLog, ModelServer, QueryAnalysis

USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}


def gemini_server() -> ModelServer:
    return ModelServer(_answer)


def conversation(contents: Sequence[Mapping[str, Any]]) -> list[Said]:
    """Returns the conversation without the results of tools."""
    said: list[Said] = []
    for content in contents:
        if content["role"] == "model":
            said.append(Said("model"))
        else:
            said += [Said("user", part["text"]) for part in content["parts"] if "text" in part]
    return said


def tools_of(body: Mapping[str, Any]) -> list[str]:
    """Returns the names of the functions that a request offers."""
    return [function["name"] for tool in body.get("tools", ()) for function in tool.get("functionDeclarations", ())]


def _answer(asked: QueryAnalysis, scripts: Scripts) -> Answer:
    action = asked.path.rpartition(":")[2]
    if action == "countTokens":
        return {"totalTokens": 100}
    if action not in ("generateContent", "streamGenerateContent"):
        return None
    step = next_step(conversation(asked.body["contents"]), scripts)
    if isinstance(step, Say):
        part: dict[str, Any] = {"text": step.text}
    else:
        part = {"functionCall": {"name": full_name(step.tool, tools_of(asked.body)), "args": step.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    response = {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "stand-in"}
    return EventLog([("", response)]) if action == "streamGenerateContent" else response
