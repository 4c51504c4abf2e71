"""Language models of Anthropic."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.memories.model import Json
from hivelore.models.openai.chat import AROUND, MOST_ANSWER, request_answer
from hivelore.models.openai.connection import Connection
from hivelore.models.openai.provider import endpoint, usable_key

VERSION = "2023-06-01"
_TOOL = "answer"
"""The answer is requested as a tool call, so that every model can be held to a schema."""


class AnthropicModel:
    """Implements ``models.ports.LanguageModel`` over HTTP; ``close`` it in the end."""

    def __init__(self, *, clock: Clock, base_url: str, api_key: str | None, model: str) -> None:
        """Raises Invalid, with ``field``, for unusable settings."""
        url = endpoint(base_url, "/v1/messages")
        key = usable_key(api_key)
        if key is None:
            raise Invalid("Summaries by Anthropic need a key: set ANTHROPIC_API_KEY.", field="api_key")
        self._host = url.host
        self._model = model
        headers = {"x-api-key": key, "anthropic-version": VERSION}
        self._connection = Connection(url, key, clock, headers=headers, attempts=1, key_setting="ANTHROPIC_API_KEY")

    @property
    def name(self) -> str:
        return f"anthropic {self._model}"

    def most(self, prompt: Clean) -> int:
        return len(prompt.encode()) + AROUND + MOST_ANSWER  # No token is less than a byte.

    def answer(self, prompt: Clean, schema: Mapping[str, Json], spent: Callable[[int], None]) -> str:
        body = {
            "model": self._model,
            "max_tokens": MOST_ANSWER,
            "messages": [{"role": "user", "content": prompt}],
            "tools": [{"name": _TOOL, "description": "Give the answer.", "input_schema": schema}],
            "tool_choice": {"type": "tool", "name": _TOOL},
        }
        return request_answer(self._connection, self._host, orjson.dumps(body), _read, spent)

    def close(self) -> None:
        """Closing twice is allowed."""
        self._connection.close()


def _read(answer: Mapping[str, Any]) -> tuple[str, int | None]:
    parts = answer["content"]
    called = next((orjson.dumps(part["input"]).decode() for part in parts if part["type"] == "tool_use"), None)
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    return called or text, tokens_in(answer["usage"])


def tokens_in(usage: Mapping[str, Any]) -> int:
    """Returns all input tokens, cached or not, and output tokens."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(int(usage.get(name) or 0) for name in names)
