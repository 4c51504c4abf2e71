"""Language models of OpenAI, or of any server that speaks its protocol: Ollama, vLLM, LM Studio, llama.cpp."""

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
"""Tokens that a model may answer with, those that it thinks with included."""
MOST_BYTES = 1_000_000
AROUND = 1_000
"""Tokens, at most, that a server puts around the prompt: roles, and the schema."""
TIMEOUT = 60.0
OWN_TIMEOUT = 100.0
"""Of a server of one's own, where a model may run on processors alone."""


class ChatModel:
    """Implements ``storage.ports.LanguageModel`` over HTTP; ``close`` it in the end."""

    def __init__(self, *, clock: Clock, base_url: str, api_key: str | None, model: str) -> None:
        """Raises Invalid, with ``field``, for what cannot work."""
        if not model.strip():
            raise Invalid("No model is named for the summaries: set HIVELORE_SUMMARIZER_MODEL.", field="model")
        url = endpoint(base_url, "/chat/completions")
        key = usable_key(api_key)
        self._is_openai = is_openai(url)
        if self._is_openai and key is None:
            raise Invalid("Summaries by OpenAI need a key: set OPENAI_API_KEY.", field="api_key")
        self._host = url.host
        self._model = model
        # OpenAI's newer models refuse the old name, and other servers do not know the new one.
        self._limit = "max_completion_tokens" if self._is_openai else "max_tokens"
        self._connection = Connection(url, key, clock, attempts=1)

    @property
    def name(self) -> str:
        return f"openai {self._model}"

    def most(self, prompt: Clean) -> int:
        return len(prompt.encode()) + AROUND + MOST_ANSWER  # No token is less than a byte.

    def answer(self, prompt: Clean, schema: Mapping[str, Json], spent: Callable[[int], None]) -> str:
        form = {"name": "answer", "strict": True, "schema": unmeasured(schema) if self._is_openai else schema}
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            self._limit: MOST_ANSWER,
            "response_format": {"type": "json_schema", "json_schema": form},
        }
        timeout = TIMEOUT if self._is_openai else OWN_TIMEOUT
        return asked(self._connection, self._host, orjson.dumps(body), _read, spent, timeout)

    def close(self) -> None:
        """Closing twice is fine."""
        self._connection.close()


def unmeasured(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Without the lengths of strings, which OpenAI's strict schemas do not know."""
    return {
        name: unmeasured(value) if isinstance(value, dict) else value
        for name, value in schema.items()
        if name != "maxLength"
    }


def asked(
    connection: Connection,
    host: str,
    body: bytes,
    read: Callable[[Mapping[str, Any]], tuple[str, int | None]],
    spent: Callable[[int], None],
    timeout: float = TIMEOUT,
) -> str:
    """What a model answered. ``read`` finds the text and, where it is told, the tokens that it took."""
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
        raise Fault("answered with something that is no answer of a language model") from error


def _read(answer: Mapping[str, Any]) -> tuple[str, int | None]:
    text = answer["choices"][0]["message"]["content"]
    usage = answer.get("usage")
    return text or "", None if usage is None else int(usage["total_tokens"])
