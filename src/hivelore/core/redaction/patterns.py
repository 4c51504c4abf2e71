"""Helpers for patterns: compilation, and fast tests for the words that a pattern needs."""

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from functools import cache
from typing import Final

Span = tuple[str, int, int]
"""Kind, start and stop of a secret."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def decoded(base64: str) -> bytes:
    """Decodes either alphabet of base64, with or without padding; empty if the text is not base64."""
    try:
        return a2b_base64(base64.replace("-", "+").replace("_", "/") + "==")
    except NotBase64:
        return b""


HEAD: Final = 3
"""Length of the word beginnings in ``Rendition.heads``."""
BLANKS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
"""Translation of all other ASCII characters to spaces."""


def key_of(literal: str) -> str:
    """Returns a string that ``Rendition.words`` contains whenever the text contains this lower-case literal."""
    words = literal.translate(BLANKS).split()
    begins = bool(words) and literal.startswith(words[0])
    return "" if not words else words[0] if begins else f" {words[0]}"


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def word_list(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))
