"""Texts made ready for an embeddings request: on one line, short enough, grouped into requests."""

from collections.abc import Iterator, Sequence

import regex

BYTES_PER_TOKEN = 2
"""English has 4 UTF-8 bytes a token, code 3.2, Chinese about 3, random hexadecimal 2: an estimate that is rarely
too low, and where it is, the server refuses the request and the halves of it pass."""

GRAPHEME = regex.compile(r"\X")
LONGEST_GRAPHEME = 64


def estimated_tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def prepared(text: str, prefix: str, most_tokens: int) -> str:
    """The prefix and the text on one line, cut between two graphemes where it is over ``most_tokens``."""
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
    """Consecutive positions that fit into one request each."""
    start = tokens = 0
    for position, text in enumerate(texts):
        more = estimated_tokens(text)
        if position > start and (position - start == most_inputs or tokens + more > most_tokens):
            yield range(start, position)
            start, tokens = position, 0
        tokens += more
    if texts:
        yield range(start, len(texts))
