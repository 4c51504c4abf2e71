"""Language models of OpenAI or of any server with its protocol: Ollama, vLLM, LM Studio, llama.cpp."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Invalid, Unavailable
from hivelore.memories.model import Json
from hivelore.models.openai.connection import Connection
from hivelore.models.openai.protocol import Fault
from hivelore.models.openai.provider import endpoint, is_openai, usable_key

MOST_ANSWER = 2_000
"""Tokens of an answer, including those for reasoning."""
MOST_BYTES = 1_000_000
AROUND = 1_000
"""Upper bound of the tokens that a server adds to the prompt: roles and the schema."""
TIMEOUT = 60.0
OWN_TIMEOUT = 100.0
"""For other servers, where a model may run without a GPU."""


class ChatModel:
    """Implements ``models.ports.LanguageModel`` over HTTP; ``close`` it in the end."""

    def __init__(self, *, clock: Clock, base_url: str, api_key: str | None, model: str) -> None:
        """Raises Invalid, with ``field``, for unusable settings."""
        if not model.strip():
            raise Invalid("The model for summaries is missing. Set HIVELORE_SUMMARIZER_MODEL.", field="model")
        url = endpoint(base_url, "/chat/completions")
        key = usable_key(api_key)
        self._is_openai = is_openai(url)
        if self._is_openai and key is None:
            raise Invalid("Summaries by OpenAI need a key: set OPENAI_API_KEY.", field="api_key")
        self._host = url.host
        self._model = model
        # OpenAI's newer models reject the old name, and other servers do not know the new one.
        self._limit = "max_completion_tokens" if self._is_openai else "max_tokens"
        self._connection = Connection(url, key, clock, attempts=1)

    @property
    def name(self) -> str:
        return f"openai {self._model}"

    def most(self, prompt: Clean) -> int:
        return len(prompt.encode()) + AROUND + MOST_ANSWER  # No token is less than a byte.

    def answer(self, prompt: Clean, schema: Mapping[str, Json], spent: Callable[[int], None]) -> str:
        form = {
            "name": "answer",
            "strict": True,
            "schema": without_string_lengths(schema) if self._is_openai else schema,
        }
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            self._limit: MOST_ANSWER,
            "response_format": {"type": "json_schema", "json_schema": form},
        }
        timeout = TIMEOUT if self._is_openai else OWN_TIMEOUT
        return request_answer(self._connection, self._host, orjson.dumps(body), _read, spent, timeout)

    def close(self) -> None:
        """Closing twice is allowed."""
        self._connection.close()


def without_string_lengths(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the schema without string lengths, which OpenAI's strict schemas do not support."""
    return {
        name: without_string_lengths(value) if isinstance(value, dict) else value
        for name, value in schema.items()
        if name != "maxLength"
    }


def request_answer(
    connection: Connection,
    host: str,
    body: bytes,
    read: Callable[[Mapping[str, Any]], tuple[str, int | None]],
    spent: Callable[[int], None],
    timeout: float = TIMEOUT,
) -> str:
    """Calls a model and returns its answer. ``read`` extracts the text and, if given, the tokens used."""
    try:
        text, tokens = connection.ask(
            body, lambda answer: _parsed(answer, read), most_bytes=MOST_BYTES, timeout=timeout
        )
    except Fault as fault:
        if fault.in_vain:
            spent(0)
        message = f"The language model at {host} {fault}."
        if fault.refused:
            raise Invalid(message) from fault
        raise Unavailable(message, retry_after=fault.retry_after) from fault
    if tokens is not None:
        spent(tokens)
    return text


def _parsed(answer: bytes, read: Callable[[Mapping[str, Any]], tuple[str, int | None]]) -> tuple[str, int | None]:
    try:
        return read(orjson.loads(answer))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise Fault("sent a response in an unknown format") from error


def _read(answer: Mapping[str, Any]) -> tuple[str, int | None]:
    text = answer["choices"][0]["message"]["content"]
    usage = answer.get("usage")
    return text or "", None if usage is None else int(usage["total_tokens"])
