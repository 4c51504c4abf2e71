"""Private text: what a person or an agent puts between ``<private>`` and ``</private>`` is removed before anything else
reads a text.

A tag may have attributes, spaces and any case, and may be escaped. Tags nest. Without an end, everything up to the end
of the text is private; an end without a beginning is text.
"""

import re
from functools import cache
from typing import Final

_LESS, _MORE = r"(?:<|&lt;|\\u003c)", r"(?:>|&gt;|\\u003e)"
_TAG: Final = rf"{_LESS}\s{{0,9}}+(?P<end>\\?/\s{{0,9}}+)?private(?:\s[^<>]{{0,999}}?)?(?<!/){_MORE}"
"""A tag that is empty in itself (``<private/>``) contains nothing."""
_PASSES: Final = 3


@cache
def _tag() -> re.Pattern[str]:
    return re.compile(_TAG, re.IGNORECASE)


def remove_private_text(text: str) -> str:
    """Returns the text without private parts and their tags. A text without private parts is returned unchanged."""
    for _ in range(_PASSES):
        left = PrivateTextRemover().read(text)
        if left == text:
            return text
        text = left
    # The parts around a private one may form a tag. A text in which this goes on was made for it.
    begin = next((mark.start() for mark in _tag().finditer(text) if mark["end"] is None), len(text))
    return text[:begin]


class PrivateTextRemover:
    """Removes private parts from a text that arrives in pieces, where no tag is split."""

    def __init__(self) -> None:
        self._depth = 0

    @property
    def is_inside(self) -> bool:
        """True while the end of a private part is missing."""
        return self._depth > 0

    def read(self, piece: str) -> str:
        marks = list(_tag().finditer(piece)) if "<" in piece or "&" in piece or "\\" in piece else []
        last_end = max((mark.start() for mark in marks if mark["end"] is not None), default=-1)
        kept: list[str] = []
        start = 0
        for mark in marks:
            if mark["end"] is None:
                if self._depth == 0:
                    if mark.start() > last_end and _is_type_parameter(mark):
                        continue
                    kept.append(piece[start : mark.start()])
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                start = mark.end()
        if self._depth == 0:
            kept.append(piece[start:])
        return "".join(kept)


def _is_type_parameter(mark: re.Match[str]) -> bool:
    """Returns True for ``PKey<Private>``, as in programs."""
    return mark[0] == "<Private>" and mark.string[mark.start() - 1 : mark.start()].isalnum()
