"""Generated summaries: the first informative sentence of a text."""

import re
from collections.abc import Iterator, Sequence

import regex

SUMMARY_LENGTH = 200
LONGEST_NAME = 80

_READ_LENGTH = 50_000
_PARAGRAPH_READ_LENGTH = 1_000
"""Characters read to find a summary."""
_MIN_WEIGHT = 20
"""Letters and digits of an informative sentence; an ideograph counts as three."""
_FRONT_MATTER_LINES = 100
_ELLIPSIS = "…"

_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_RULE_OR_TABLE = re.compile(r"\s*(?:\||[-=*_~+:.#>\s]*\Z)")
_LIST_MARK = re.compile(r"\s*(?:>\s?|[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)")
_LINK = re.compile(r"(?:!\[|\[)([^\[\]]*)\]\([^()\s]*\)")
# Lookbehind comes last: a pattern that begins with fixed characters is much faster.
_EMPHASIS = re.compile(r"\*\*(?:(?=\S)|(?<=\S\*\*))|__(?:(?=\S)(?<!\w__)|(?<=\S__)(?!\w))")
_SENTENCE_END = regex.compile(
    r"(?<!\b(?i:e\.g|i\.e|etc|cf|vs|approx|resp|dr|mr|mrs|ms|no|fig))[.!?…]+[\"')\]]*(?=\s+[^\s\p{Ll}])|[。！？]"
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|thanks|thank you|good (?:morning|afternoon|evening)|sure|ok|okay|great)\b.{0,40}\Z",
    re.IGNORECASE,
)
_IDEOGRAPH = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_WEIGHTLESS = dict.fromkeys(code for code in range(128) if not chr(code).isalnum())
_GRAPHEME = regex.compile(r"\X")


def summarise(content: str) -> str:
    """Returns one line of at most ``SUMMARY_LENGTH`` characters, cut after a word; empty only if the content is blank.

    Front matter, headings, code, tables, greetings and announcements ("Steps:") are skipped if there is other text.
    """
    lines = _without_front_matter(content.strip()[:_READ_LENGTH].splitlines())
    best = ""
    for paragraph in _paragraphs(lines):
        for sentence in _sentences(paragraph):
            if _is_informative(sentence):
                return _shorten(sentence)
            best = max(best, sentence, key=_weight)
    if _weight(best) == 0:
        headings = (_HEADING.sub("", line, count=1) for line in lines if _HEADING.match(line))
        code = (line for line in lines if not _FENCE.match(line))
        best = next((line for line in (*headings, *code) if _weight(line[:_PARAGRAPH_READ_LENGTH])), best)
    return _shorten(best) or _shorten(content.strip())


def sentences(content: str) -> Iterator[str]:
    """Yields the sentences of running text and list items, without code, tables and headings."""
    for paragraph in _paragraphs(content.strip()[:_READ_LENGTH].splitlines()):
        yield from (sentence for sentence in _sentences(paragraph) if sentence)


def name_from_summary(summary: str) -> str:
    """Returns the beginning of a generated summary as a name of at most ``LONGEST_NAME`` characters."""
    if len(summary) <= LONGEST_NAME:
        return summary
    cut = summary[: LONGEST_NAME - 1]
    return (cut.rsplit(" ", 1)[0] or cut).rstrip() + _ELLIPSIS


def _without_front_matter(lines: list[str]) -> list[str]:
    if lines and lines[0].rstrip() == "---":
        for number, line in enumerate(lines[1:_FRONT_MATTER_LINES], start=1):
            if line.rstrip() == "---":
                return lines[number + 1 :]
    return lines


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Yields running text and list items without marks, each on one line."""
    fence = ""
    text: list[str] = []
    for line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        is_text = not (mark or fence or _HEADING.match(line) or _RULE_OR_TABLE.match(line))
        item = _LIST_MARK.match(line)
        if text and (item or not is_text):
            yield " ".join(text)
            text.clear()
        if is_text:
            text.append(line[item.end() if item else 0 :][:_PARAGRAPH_READ_LENGTH])
    if text:
        yield " ".join(text)


def _sentences(paragraph: str) -> Iterator[str]:
    plain = _EMPHASIS.sub("", _LINK.sub(r"\1", _COMMENT.sub(" ", paragraph[:_PARAGRAPH_READ_LENGTH])))
    start = 0
    for end in _SENTENCE_END.finditer(plain):
        yield plain[start : end.end()].strip()
        start = end.end()
    yield plain[start:].strip()


def _is_informative(sentence: str) -> bool:
    return _weight(sentence) >= _MIN_WEIGHT and not sentence.endswith((":", "：")) and not _GREETING.match(sentence)


def _weight(sentence: str) -> int:
    if sentence.isascii():
        return len(sentence.translate(_WEIGHTLESS))
    return sum(map(str.isalnum, sentence)) + 2 * len(_IDEOGRAPH.findall(sentence))


def _shorten(sentence: str) -> str:
    line = " ".join(sentence[: 4 * _PARAGRAPH_READ_LENGTH].split())
    if len(line) <= SUMMARY_LENGTH:
        return line
    room = SUMMARY_LENGTH - len(_ELLIPSIS)
    whole = room if line.isascii() else _grapheme_end(line, room)
    word = line.rfind(" ", room // 2, whole + 1)
    return line[: word if word > 0 else whole].rstrip(" ,;:-") + _ELLIPSIS


def _grapheme_end(line: str, room: int) -> int:
    return max((end.end() for end in _GRAPHEME.finditer(line[: 2 * room]) if end.end() <= room), default=room)
