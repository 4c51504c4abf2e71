"""How the patterns of this package are run."""

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Iterator
from functools import cache

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
        return a2b_base64(base64[:4096].replace("-", "+").replace("_", "/") + "==")
    except NotBase64:
        return b""
