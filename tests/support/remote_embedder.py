"""Helpers for tests of the remote embedder: a key, a constructor, and its pauses."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import stamina
import stamina.instrumentation
from stamina.instrumentation import RetryDetails

from hivelore.core.text import Clean
from hivelore.models.openai.provider import OpenAIEmbedder

KEY = "sk-test-4f7a9c2e81d05b63"
HELLO = Clean("hello")

Make = Callable[..., OpenAIEmbedder]
"""Makes an embedder for the server of the test, with any argument of the constructor changed."""


@contextmanager
def real_pauses() -> Generator[list[float]]:
    """Waits for the real pauses between retries and lists them, in seconds."""
    seen: list[float] = []

    def note(details: RetryDetails) -> None:
        seen.append(details.wait_for)

    stamina.instrumentation.set_on_retry_hooks([note])
    try:
        with stamina.set_testing(False):
            yield seen
    finally:
        stamina.instrumentation.set_on_retry_hooks(None)
