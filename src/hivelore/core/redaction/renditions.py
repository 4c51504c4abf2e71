"""Readings of a text: as displayed, with escapes resolved, and with the pieces of a split value joined.

Each rendition maps its positions to the text, so that a secret found in the rendition can be masked in the text.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from hivelore.core.redaction.judgement import BLANKS, FOREIGN_NAMES, HEAD, KEYED_STEMS, compiled

_INVISIBLE = (
    "\u00ad\u0300-\u036f\u061c\u115f\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e007f"
)
"""Zero-width characters, which copied text may have in the middle of a secret."""
_ANSI = (
    r"(?:\x1b\[|\x9b)[0-?]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\)|\x1b[@-Z\\^_]|"
    r"[^\n\x08]\x08|\x1b[()][0-9A-B]"
)
_UNSEEN = rf"[{_INVISIBLE}]|{_ANSI}"
_ESCAPES = (
    r"%([2-7][0-9A-Fa-f])|\\\\{0,3}(?:u(?![dD][89a-fA-F])([0-9A-Fa-f]{4})|x([2-7][0-9A-Fa-f])|([\"'/])|([nrt]))"
    r"|\\\\(?:e|033|x1[bB]|u001[bB])\[[0-9;]{0,12}m"
    r"|&(?:(quot|amp|lt|gt|apos)|#(?:([3-9][0-9]|1[01][0-9]|12[0-6])|[xX]([2-7][0-9A-Fa-f])));"
)
_ENTITIES = {
    "quot": '"',
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "apos": "'",
}
_SIGNS_OF_ESCAPES = ("%3", "%2", "\\u", "\\x", "&quot;", "&amp;", "&#", "&lt;", "&apos;", '\\"', "\\'", "\\n")
_BETWEEN_LITERALS = (
    r"(?:[ \t]{0,20}(?:\.\.|<>|\|\||[+.&~])[ \t]{0,20}(?:[\\`^]?\r?\n[ \t]{0,80})?"
    r"|[ \t]{0,20}[\\`^]?\r?\n[ \t]{0,80}(?:"
    r"(?:\.\.|<>|\|\||[+.&~])[ \t]{0,20})?)[bfru]?"
)
_LINE_GOES_ON = r"[ \t|>#*/+\u2502]{0,12}(?=[\w+/-]{0,80}[0-9])(?=[\w+/=.-]{6,200}[\"'`)};,]{0,3}[ \t]{0,4}(?:\r?\n|$))"
_SEAM = (
    rf"[\\^]\r?\n[ \t]{{0,40}}|\"{_BETWEEN_LITERALS}\"|'{_BETWEEN_LITERALS}'"
    rf"|\n(?<=[\w+/-]{{10}}\n){_LINE_GOES_ON}|\r\n(?<=[\w+/-]{{10}}\r\n){_LINE_GOES_ON}"
)
"""Text between the pieces of a value: a continued line (``\\``), adjacent literals (``"a" + "b"``), a wrapped line."""
_LINES_AROUND: Final = 4
"""Lines before and after the line of an escape that a rendition contains."""
_GAP: Final = "\n\0\n"
"""Replaces the lines between; no pattern matches across it."""
_PLAIN_LETTERS = (
    str.maketrans(
        "àáâãäåçèéêëìíîïñòóôõöøùúûüýÿąćęłńśźżÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝĄĆĘŁŃŚŹŻİ"
        "ăāčďđěēėğģīįķļľňőřŕşșšťţțůűūųžıĂČĎĐĚĞŇŐŘŞȘŠŤŢȚŮŰŽ‐‑‒–—−│┃║├┝┣┤┥┫┼╋╂─━═",
        "aaaaaaceeeeiiiinoooooouuuuyyacelnszzAAAAAACEEEEIIIINOOOOOOUUUUYACELNSZZI"
        "aacddeeeggiikllnorrssstttuuuuziACDDEGNORSSSTTTUUZ------||||||||||||---",
    )
    | {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | {0x3000: " ", 0xA0: " ", 0x202F: " "}
)


class Rendition:
    """One rendition of a text."""

    __slots__ = ("_added", "_marks", "_replaced", "heads", "low", "names", "plain", "view", "words")

    def __init__(self, plain: str, marks: list[int], added: list[int], *, replaced: bool = False) -> None:
        """``added[i]``: offset from positions at ``marks[i]`` or later to the text. ``replaced``: True if a character
        before each mark replaces the original characters, False if they were removed."""
        self.plain = plain
        self.view = plain if plain.isascii() else plain.translate(_PLAIN_LETTERS)
        """``plain`` without accents and full-width letters; positions are equal."""
        self.low = self.view.lower()
        words = set(self.low.translate(BLANKS).split())
        self.words = f" {' '.join(words)}"
        """Each word once, after a space. A search here is much faster than in the text."""
        self.heads = frozenset([word[:HEAD] for word in words])
        """Beginnings of the words."""
        stems = [stem for key, stem in KEYED_STEMS if key in self.words]
        self.names = positions(self.low, stems if self.low.isascii() else (*stems, *FOREIGN_NAMES))
        """Positions of the stems of possible names of secrets, in order."""
        self._marks = marks
        self._added = added
        self._replaced = replaced

    def place(self, start: int, stop: int) -> tuple[int, int]:
        """Returns the span in the text of a span in this rendition."""
        return self._place(start), self._place(stop) if self._replaced else self._place(stop - 1) + 1

    def _place(self, at: int) -> int:
        index = bisect_right(self._marks, at)
        return at + self._added[index - 1] if index else at


def positions(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Returns the spans of these words, in order."""
    found: list[tuple[int, int]] = []
    for word in words:
        at = text.find(word)
        while at >= 0:
            found.append((at, at + len(word)))
            at = text.find(word, at + len(word))
    found.sort()
    return found


def renditions(text: str) -> Iterator[Rendition]:
    """Yields the renditions of a text. Masks in it are replaced by NUL."""
    shown = _with(text, _UNSEEN, "", whole=True) if not text.isascii() or "\x1b" in text or "\b" in text else None
    yield shown or Rendition(text, [], [])
    if shown is not None and "\x1b" in text and (apart := _with(text, _ANSI, " ")):
        yield apart
    if "\x1b]" in text and (opened := _with(text, r"\x1b[\]\\]|\x07", " ")):
        yield opened
    if any(sign in text for sign in _SIGNS_OF_ESCAPES) and (resolved := _with(text, _ESCAPES, _resolved)):
        yield resolved
    if "\n" in text or '"' in text or "'" in text:
        whole = _with(text, _SEAM, "")
        if whole:
            yield whole


def as_shown(text: str) -> str:
    """Removes invisible characters."""
    return text if text.isascii() and "\x1b" not in text and "\b" not in text else compiled(_UNSEEN).sub("", text)


def _with(
    text: str, pattern: str, put: "str | Callable[[re.Match[str]], str]", *, whole: bool = False
) -> Rendition | None:
    """Returns the lines with matches and those around them, or all lines if ``whole``; None without a match."""
    pieces: list[str] = []
    marks: list[int] = []
    added: list[int] = []
    end = length = 0
    until = len(text) if whole else -1
    for match in compiled(pattern).finditer(text):
        first, last = match.span()
        if first > until:
            rest = text[end : max(end, until)]
            start = max(until, _line_before(text, first))
            pieces += (rest, _GAP)
            length += len(rest) + len(_GAP)
            end = start
            marks.append(length)
            added.append(end - length)
        instead = put if isinstance(put, str) else put(match)
        pieces += (text[end:first], instead)
        length += first - end + len(instead)
        end = last
        until = until if whole else max(until, _line_after(text, last))
        marks.append(length)
        added.append(end - length)
    return Rendition("".join((*pieces, text[end:until])), marks, added, replaced=put != "") if marks else None


def _line_before(text: str, at: int) -> int:
    for _ in range(_LINES_AROUND):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _line_after(text: str, at: int) -> int:
    for _ in range(_LINES_AROUND):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _resolved(escape: re.Match[str]) -> str:
    percent, four, two, quote, blank, entity, decimal, hexadecimal = escape.groups()
    if entity:
        return _ENTITIES[entity]
    if decimal or hexadecimal:
        return chr(int(decimal) if decimal else int(hexadecimal, 16))
    if blank:
        return "\n" if blank != "t" else "\t"
    shown = chr(int(percent or four or two, 16)) if percent or four or two else " "
    return quote or (shown if shown.isprintable() else " ")
