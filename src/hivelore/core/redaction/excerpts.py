"""Excerpts of long texts that are redacted after they are cut.

A cut may separate a secret from what shows that it is one. Cut with ``MARGIN`` more than is needed, redact, then cut to
length.
"""

import re
from functools import cache
from typing import Final

MARGIN: Final = 4_000
"""Characters beyond an excerpt in which redaction looks for what belongs to a secret."""
_KEY: Final = "PRIVATE KEY"
_KEY_HEADER: Final = r"BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY"
_HEADER_LENGTH: Final = 60
_KEY_END: Final = r"-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}"


def beginning(text: str, length: int) -> str:
    """Returns at most this many characters from the beginning, as whole lines unless a line is longer than the
    margin."""
    if len(text) <= length:
        return text
    end = text.rfind("\n", max(length - MARGIN, 0), length + 1)
    return text[: length if end < 0 else end]


def ending(text: str, length: int) -> str:
    """Returns at most this many characters from the end, as whole lines unless a line is longer than the margin. A
    private key of which the beginning would be missing is left out."""
    if len(text) <= length:
        return text
    start = len(text) - length
    line = text.find("\n", start - 1, start + MARGIN)
    return text[_key_end(text, start if line < 0 else line + 1) :]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _key_end(text: str, start: int) -> int:
    """Returns the end of the private key that begins before ``start`` and ends after it; ``start`` if there is none."""
    at = text.rfind(_KEY, 0, start + _HEADER_LENGTH)
    header = None if at < 0 else _compiled(_KEY_HEADER).search(text, max(at - _HEADER_LENGTH, 0), at + len(_KEY))
    if header is None or header.end() < at + len(_KEY) or header.start() - len("-----") >= start:
        return start
    end = _compiled(_KEY_END).search(text, header.end())
    return len(text) if end is None else max(start, end.end())
