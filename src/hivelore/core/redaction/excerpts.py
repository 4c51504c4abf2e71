"""Excerpts of long texts, cut before they are redacted, because redaction takes seconds for each megabyte.

A cut may separate a secret from what shows that it is one, such as the name before it. An excerpt therefore has a
margin: redact it, then cut it to the length that is needed.
"""

from typing import Final

from hivelore.core.redaction.judgement import compiled

MARGIN: Final = 4_000
"""Characters beyond the cut, at most."""
_LONGEST_KEY: Final = 32_000
_HEADER_LENGTH: Final = 80
_HEADER: Final = r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY"
_FOOTER: Final = r"-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}"


def beginning(text: str, length: int) -> str:
    """Returns the first ``length`` characters with a margin, which ends with a whole line if it can."""
    end = text.rfind("\n", length, length + MARGIN)
    return text[: length + MARGIN if end < 0 else end] if len(text) > length + MARGIN else text


def ending(text: str, length: int) -> str:
    """Returns the last ``length`` characters with a margin; see ``safe_start``."""
    return text[safe_start(text, len(text) - length - MARGIN) :]


def safe_start(text: str, start: int) -> int:
    """Returns where a text may be cut near ``start``: before a whole line if there is one within the margin, and after
    a private key, whose rest could not be recognized."""
    if start <= 0:
        return 0
    line_end = text.find("\n", start - 1, start + MARGIN)
    start = start if line_end < 0 else line_end + 1
    near = compiled(_HEADER).finditer(text, max(start - _LONGEST_KEY, 0), start + _HEADER_LENGTH)
    header = max((one.end() for one in near if one.start() < start), default=None)
    if header is None:
        return start
    footer = compiled(_FOOTER).search(text, header)
    return len(text) if footer is None else max(start, footer.end())
