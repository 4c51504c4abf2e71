"""How the patterns of this package are run."""

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

Span = tuple[str, int, int]
"""Kind, start and stop of a secret."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def matches_after(word: str, pattern: str, text: str) -> Iterator[re.Match[str]]:
    """The matches that begin right behind each occurrence of a word."""
    at = text.find(word)
    if at < 0:
        return
    match_at = compiled(pattern).match
    while at >= 0:
        at += len(word)
        if match := match_at(text, at):
            yield match
        at = text.find(word, at)


def decoded(base64: str) -> bytes:
    """Nothing where it is not base64, of either alphabet, with or without padding."""
    try:
        return a2b_base64(base64.replace("-", "+").replace("_", "/") + "==")
    except NotBase64:
        return b""


HEAD: Final = 3
"""Characters of the beginning of a word."""
_BLANKS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}


def vocabulary(low: str) -> tuple[str, frozenset[str]]:
    """Each word of a text once, with a blank before it, and what its words begin with: searching these for what
    rarely occurs is much faster."""
    words = set(low.translate(_BLANKS).split())
    return f" {' '.join(words)}", frozenset([word[:HEAD] for word in words])


def key_of(literal: str) -> str:
    """What a vocabulary holds wherever a text holds this literal in lower case."""
    words = literal.translate(_BLANKS).split()
    begins = bool(words) and literal.startswith(words[0])
    return "" if not words else words[0] if begins else f" {words[0]}"


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def positions(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Where these words stand, in order."""
    found: list[tuple[int, int]] = []
    for word in words:
        at = text.find(word)
        while at >= 0:
            found.append((at, at + len(word)))
            at = text.find(word, at + len(word))
    found.sort()
    return found
