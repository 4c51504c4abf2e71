"""Embeddings of OpenAI or of any server with its protocol."""

import hashlib
from collections.abc import Sequence

import httpx2

from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Invalid, Unavailable
from hivelore.indexing.model import Vector
from hivelore.models.openai.connection import Connection
from hivelore.models.openai.protocol import Fault, batches, prepared, read_vectors, request_body

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
MOST_INPUTS = 2_048
MOST_TOKENS = 300_000
MOST_INPUT_TOKENS = 8_191

HARMLESS_TEXT = "memory"
BYTES_PER_NUMBER = 32
"""Upper bound of the bytes of a number in JSON, with its comma."""
SPARE_BYTES = 16 * 1024 * 1024
"""Additional bytes of a response, so that vectors longer than configured are read and get a specific error."""


class OpenAIEmbedder:
    """Implements ``models.ports.EmbeddingProvider`` over HTTP. Thread-safe; ``close`` it in the end.

    A call retries rarely and briefly. Longer outages raise Unavailable, and the embedding queue retries.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        base_url: str,
        api_key: str | None,
        model: str,
        dimension: int,
        send_dimensions: bool,
        query_prefix: str = "",
        document_prefix: str = "",
        timeout: float = 30.0,
        query_timeout: float = 3.0,
        batch_inputs: int = MOST_INPUTS,
        batch_tokens: int = MOST_TOKENS,
        input_tokens: int = MOST_INPUT_TOKENS,
    ) -> None:
        """``dimension`` is that of the vectors; with ``send_dimensions`` the server is asked to shorten them to it.

        ``timeout`` is the limit in seconds for one request of documents with its retries, ``query_timeout`` for a
        query. Raises Invalid, with ``field``, for unusable settings.
        """
        if not model.strip():
            raise Invalid("The name of the embedding model is missing.", field="model")
        within("dimension", dimension, 1, 65_536)
        within("batch_inputs", batch_inputs, 1, MOST_INPUTS)
        within("batch_tokens", batch_tokens, 1, MOST_TOKENS)
        within("input_tokens", input_tokens, 1, MOST_TOKENS)
        within("timeout", timeout, 0.001, 3_600)
        within("query_timeout", query_timeout, 0.001, 3_600)
        url = endpoint(base_url, "/embeddings")
        key = usable_key(api_key)
        self._host = url.host
        self._key_missing = is_openai(url) and key is None
        self._model = model
        self._dimension = dimension
        self._send_dimensions = send_dimensions
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._timeout = timeout
        self._query_timeout = query_timeout
        self._batch_inputs = batch_inputs
        self._batch_tokens = batch_tokens
        self._input_tokens = input_tokens
        self._fingerprint = fingerprint(url, model, dimension, query_prefix, document_prefix)
        self._connection = Connection(url, key, clock)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_query(self, text: Clean) -> Vector:
        if not text.strip():
            raise Invalid("A blank text cannot be embedded.", field="text")
        line = prepared(text, self._query_prefix, self._input_tokens)
        try:
            return self._embed([line], 0, self._query_timeout)[0]
        except Invalid as invalid:
            raise Invalid(str(invalid), field="text") from invalid

    def embed_documents(self, texts: Sequence[Clean]) -> list[Vector]:
        for position, text in enumerate(texts):
            if not text.strip():
                raise Invalid("A blank text cannot be embedded.", field=str(position))
        lines = [prepared(text, self._document_prefix, self._input_tokens) for text in texts]
        vectors: list[Vector] = []
        for batch in batches(lines, self._batch_inputs, self._batch_tokens):
            vectors += self._embed(lines[batch.start : batch.stop], batch.start, self._timeout)
        return vectors

    def close(self) -> None:
        """Closes all connections. Later calls raise Unavailable, and running ones do so by their time-out. Closing
        twice is allowed."""
        self._connection.close()

    def _embed(self, lines: Sequence[str], first: int, timeout: float) -> list[Vector]:
        """Sends one request. If it is refused, sends each half, down to the text that causes it."""
        try:
            return self._ask(lines, timeout)
        except Fault as fault:
            if not fault.refused:
                raise self._unavailable(fault) from fault
            if len(lines) == 1:
                raise self._verdict(fault, first, timeout) from fault
        middle = len(lines) // 2
        return self._embed(lines[:middle], first, timeout) + self._embed(lines[middle:], first + middle, timeout)

    def _verdict(self, refusal: Fault, position: int, timeout: float) -> Invalid | Unavailable:
        """Decides whether a refused text or the settings are at fault: with wrong settings, a harmless text is
        refused too."""
        try:
            self._ask([HARMLESS_TEXT], timeout)
        except Fault as fault:
            if fault.refused:
                return Unavailable(f"{self._host} {refusal}. It refuses any text: check the model and its dimension.")
            return self._unavailable(fault)
        return Invalid(f"This text cannot be embedded: {self._host} {refusal}.", field=str(position))

    def _ask(self, lines: Sequence[str], timeout: float) -> list[Vector]:
        if self._key_missing:
            raise Fault("needs a key: set OPENAI_API_KEY, or choose another embedder")
        count = len(lines)
        return list(
            self._connection.ask(
                request_body(lines, self._model, self._dimension if self._send_dimensions else None),
                lambda body: read_vectors(body, count, self._dimension),
                most_bytes=SPARE_BYTES + count * self._dimension * BYTES_PER_NUMBER,
                timeout=timeout,
            )
        )

    def _unavailable(self, fault: Fault) -> Unavailable:
        return Unavailable(f"The embedding server {self._host} {fault}.", retry_after=fault.retry_after)


def within(field: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise Invalid(f"{field} is {value:,}; it must be from {least:,} to {most:,}.", field=field)


def endpoint(base_url: str, path: str) -> httpx2.URL:
    """Returns the URL of an API path below a base URL. Raises Invalid for an unusable base URL."""
    try:
        url = httpx2.URL(base_url.strip())
    except httpx2.InvalidURL as error:
        raise Invalid("The base URL of the server is not a URL.", field="base_url") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise Invalid("The base URL must begin with http:// or https:// and a host.", field="base_url")
    if url.userinfo or url.query or url.fragment:
        # They could contain secrets, which would appear in messages.
        raise Invalid("The base URL must have no user, query or fragment; the key has a setting.", field="base_url")
    return url.copy_with(path=url.path.rstrip("/") + path)


def usable_key(api_key: str | None) -> str | None:
    """Returns the trimmed key, or None if it is blank. Raises Invalid, without showing it, if a header cannot
    contain it."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise Invalid("The API key contains invalid characters. Copy it again.", field="api_key")
    return key or None


def is_openai(url: httpx2.URL) -> bool:
    """Returns True for hosts of OpenAI, including regional ones, which serve the same models."""
    return url.host == OPENAI_HOST or url.host.endswith(f".{OPENAI_HOST}")


def fingerprint(url: httpx2.URL, model: str, dimension: int, query_prefix: str, document_prefix: str) -> str:
    """Returns the fingerprint of a model. It includes the URL of other servers, where a model name may have other
    weights."""
    parts = ["openai", model, str(dimension), short_hash(query_prefix, document_prefix)]
    if not is_openai(url):
        parts.append(short_hash(url.scheme, url.netloc.decode("ascii"), url.path))
    return ":".join(parts)


def short_hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
