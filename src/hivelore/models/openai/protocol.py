"""The protocol of an OpenAI-compatible embeddings endpoint: prepared inputs, requests, responses and errors."""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, cast

import numpy as np
import orjson
import regex
from numpy.typing import NDArray

from hivelore.core.vectors import LITTLE_ENDIAN_FLOAT32, normalize
from hivelore.errors import Invalid
from hivelore.indexing.model import Vector

REFUSES_TEXT = frozenset({400, 413, 422})
REFUSES_KEY = frozenset({401, 403})
MAY_PASS = frozenset({408, 409, 425, 429})
NOT_A_NUMBER = re.compile(r"\bNaN\b", re.IGNORECASE)
LONGEST_RETRY_AFTER = 86_400.0


class Fault(Exception):
    """A failed request.

    ``refused``: one of its texts may be the cause, so the halves are worth trying. ``passing``: the same request may
    succeed a moment later; ``retry_after`` is in seconds, if the server gave it. Neither: a setting is wrong.
    ``in_vain``: the server has not started to work on it.
    """

    def __init__(
        self,
        message: str,
        *,
        refused: bool = False,
        passing: bool = False,
        retry_after: float | None = None,
        in_vain: bool = False,
    ) -> None:
        super().__init__(message)
        self.refused = refused
        self.passing = passing
        self.retry_after = retry_after
        self.in_vain = in_vain


def request_body(texts: Sequence[str], model: str, dimensions: int | None) -> bytes:
    """Builds a request. ``dimensions`` None: not sent, since other servers reject it for many models."""
    body: dict[str, object] = {"model": model, "input": texts, "encoding_format": "base64"}
    if dimensions is not None:
        body["dimensions"] = dimensions
    return orjson.dumps(body)


def read_vectors(body: bytes, count: int, dimension: int) -> Vector:
    """Returns one unit vector per text as rows, in order. Raises Fault for any other response."""
    rows: list[NDArray[np.float32] | None] = [None] * count
    for item in items(body, count):
        index = item.get("index")
        if type(index) is not int or not 0 <= index < count or rows[index] is not None:
            raise Fault("answered with an index that is missing, doubled or too high", passing=True)
        row = numbers(item.get("embedding"))
        if row.shape != (dimension,):
            raise Fault(
                f"answered with {row.size:,} numbers a vector where the dimension is set to {dimension:,}: "
                "set the dimension to what the model gives"
            )
        rows[index] = row
    try:
        return normalize(np.stack([row for row in rows if row is not None]))
    except Invalid as invalid:
        # A single text is worth a retry; for several texts, trying the halves is the retry.
        raise Fault(f"answered with an unusable vector: {invalid}", refused=True, passing=count == 1) from invalid


def items(body: bytes, count: int) -> list[dict[str, Any]]:
    try:
        answer: Any = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Fault(f"answered with something that is not JSON ({error})", passing=True) from error
    data: Any = cast(dict[str, Any], answer).get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in cast(list[Any], data)):
        raise Fault("answered without a list of embeddings", passing=True)
    found = cast(list[dict[str, Any]], data)
    if len(found) != count:
        raise Fault(f"answered with {len(found):,} vectors for {count:,} texts", passing=True)
    return found


def numbers(embedding: object) -> NDArray[np.float32]:
    """Returns the numbers of one embedding, sent as base64 or as a list; null, used by some servers for NaN, becomes
    NaN."""
    try:
        if isinstance(embedding, str):
            return np.frombuffer(b64decode(embedding, validate=True), dtype=LITTLE_ENDIAN_FLOAT32).astype(np.float32)
        if isinstance(embedding, list):
            with np.errstate(over="ignore"):
                return np.array(cast(list[Any], embedding), dtype=np.float64).astype(np.float32)
    except (binascii.Error, ValueError, TypeError):
        raise Fault("answered with a damaged embedding", passing=True) from None
    raise Fault("answered with an item that has no embedding", passing=True)


def fault_of(status: int, headers: Mapping[str, str], said: str, now: datetime, key: str) -> Fault:
    """Interprets a status other than 200. ``said`` is the message of the server or empty; ``key`` is the setting of the
    key."""
    quoted = f": {said}" if said else ""
    if status in REFUSES_KEY:
        # The message of the server is left out, since it may repeat the key.
        return Fault(f"does not accept the key (status {status}): set {key} to one that is valid there", in_vain=True)
    if status in REFUSES_TEXT:
        return Fault(f"refused the request (status {status}){quoted}", refused=True, in_vain=True)
    if status == 500 and NOT_A_NUMBER.search(said):
        # Ollama reports a text of the batch that became NaN this way, permanently.
        return Fault(f"could not embed (status {status}){quoted}", refused=True)
    if status >= 500 or status in MAY_PASS:
        wait = retry_after(headers.get("retry-after"), now)
        message = f"is not answering now (status {status}){quoted}"
        return Fault(message, passing=True, retry_after=wait, in_vain=status < 500)
    return Fault(f"does not offer this (status {status}){quoted}: check the base URL and the model", in_vain=True)


def message_in(body: bytes) -> str:
    """Extracts the message of an error response: ``error.message``, ``error``, ``message`` or plain text."""
    try:
        said: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = body.decode(errors="replace")
    for name in ("error", "message"):
        if isinstance(said, dict) and name in said:
            said = cast(dict[str, Any], said)[name]
    words = said if isinstance(said, str) else orjson.dumps(said).decode()
    return " ".join(words.split()).rstrip(".")


def retry_after(value: str | None, now: datetime) -> float | None:
    """Returns the seconds of a Retry-After header, a number or a date; None if it is unusable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds()
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER) if isfinite(seconds) else None


BYTES_PER_TOKEN = 2
"""A low estimate: English has 4 UTF-8 bytes per token, code 3.2, Chinese about 3, random hexadecimal 2. If a request is
still too long, the server refuses it and its halves are sent."""

GRAPHEME = regex.compile(r"\X")
LONGEST_GRAPHEME = 64


def estimated_tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def prepared(text: str, prefix: str, most_tokens: int) -> str:
    """Returns the prefix and the text on one line, cut between graphemes if it exceeds ``most_tokens``."""
    line = text.strip().replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
    return shortened(prefix + line, most_tokens)


def shortened(text: str, most_tokens: int) -> str:
    room = most_tokens * BYTES_PER_TOKEN
    encoded = text.encode()
    if len(encoded) <= room:
        return text
    kept = len(encoded[:room].decode(errors="ignore"))
    ends = [grapheme.end() for grapheme in GRAPHEME.finditer(text, 0, kept + LONGEST_GRAPHEME)]
    return text[: max((end for end in ends if end <= kept), default=kept)]


def batches(texts: Sequence[str], most_inputs: int, most_tokens: int) -> Iterator[range]:
    """Yields consecutive ranges of positions that fit into one request each."""
    start = tokens = 0
    for position, text in enumerate(texts):
        more = estimated_tokens(text)
        if position > start and (position - start == most_inputs or tokens + more > most_tokens):
            yield range(start, position)
            start, tokens = position, 0
        tokens += more
    if texts:
        yield range(start, len(texts))
