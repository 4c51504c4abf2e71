"""Pieces of a note: words, numbers, names, quotations and marks, found in one pass."""

import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import regex

from hivelore.observations.contradiction.chinese_numbers import number_at
from hivelore.observations.contradiction.units import EVERY, PORT_WORDS, SPANS, WEEKDAYS
from hivelore.observations.contradiction.words import MEANINGS

LONGEST = 1_000
"""Characters that are parsed; the rest of a longer note is not compared."""
_WHOLE_CHINESE_WORD = 4
_CLASSIFIED_SPANS = ("个小时", "个月", "个星期")
"""Spans after the classifier 个, which has no meaning here."""
_MEASURING = frozenset(word for words in (SPANS, EVERY, WEEKDAYS, PORT_WORDS) for word in words)


class Kind(Enum):
    WORD = "word"
    NUMBER = "number"
    """Digits with attached letters: 60s, 50m, 95%."""
    TIME = "time of day"
    DATE = "date"
    NAME = "name"
    """A path, an address, a version, a flag, an identifier."""
    QUOTE = "quotation"
    """A quoted word."""
    MARK = "mark"
    """Punctuation that ends a part of a sentence."""


class Piece(NamedTuple):
    kind: Kind
    text: str


_PILED_MARKS = regex.compile(r"(\p{M}{4})\p{M}++")
_CONTRACTIONS = (
    (regex.compile(r"\b(ca|wo|sha)n['’]t\b"), {"ca": "can not", "wo": "will not", "sha": "shall not"}),
    (regex.compile(r"()n['’]t\b"), {"": " not"}),
    (regex.compile(r"\b(cannot)\b"), {"cannot": "can not"}),
    (regex.compile(r"\b(n)['’](?=\w)"), {"n": "ne "}),
    (regex.compile(r"\b(?:d|l|s|j|c|qu)['’]()(?=\w)"), {"": ""}),
)
_WRITTEN_OTHERWISE = (
    (regex.compile(r"(?<=\d)\s?([ap])\.\s?m\b\.?"), r" \1m"),
    (regex.compile(r"(?<=\d:\d\d)(?=[ap]m\b)"), " "),
    (regex.compile(r"(?<![\w.:/-])(\d{1,4}(?:\.\d{1,3})?)\s?[-–]\s?(?=\d{1,4}(?:\.\d{1,3})?\s?\p{L})"), r"\1 to "),
    (regex.compile(r"(?<![\w/.:@-])([a-z][a-z0-9-]*):(?=\d{4,5}(?![\w/:-]|\.\w))"), r"\1 port "),
)
_PIECE = regex.compile(
    r"""
      "(?P<quote>[^"\n]{1,120})"
    | (?P<date>(?<![\w-])\d{4}-\d{2}-\d{2}(?![\w-]))
    | (?P<time>(?<![\w:.])\d{1,2}:\d{2}(?::\d{2})?+(?![\w:]|\.\d))
    | (?P<name>
          \d{2,5}/(?:tcp|udp)\b
        | (?<!\S):\d{2,5}\b
        | (?<![\w])--?[a-z][\w-]*+
        | v\d++(?:\.\d++)*+(?![\w])
        | \d++(?:\.\d++){2,}+(?:/\d++)?+(?![\w])
        | [~.]?/(?:[\w.@-]++/?)++
        | \p{Latin}[\w]*+(?:(?:[/_@:\\]++|\.(?=\w)|:(?=\d))[\w-]++)++
        | (?=[a-z_-]*+\d)[a-z][\w]*+(?:-\w++)*+
      )
    | (?P<number>
          \d{1,3}(?:,\d{3})++(?!\w)
        | \d++(?:[.,]\d++)?+(?:\s?%|\s?°[cf]?|[^\W\d_\p{Han}]++)?+(?![\w&&[\p{Latin}]])
      )
    | (?P<han>\p{Han}++)
    | (?P<word>[^\W\d_\p{Han}]++)
    | (?P<mark>[,;:!?。，；：！？()]|\.(?!\w)|\s[-–—]{1,2}\s|[–—])
    """,
    regex.VERBOSE | regex.V1,
)


def folded(text: str) -> str:
    """Returns a text with one spelling for equal characters: width, case, white space, quotation marks."""
    text = unicodedata.normalize("NFKC", _PILED_MARKS.sub(r"\1", text[: 4 * LONGEST]))
    text = " ".join(text.casefold().split())[:LONGEST]
    return text.translate(_LOOKS)


_LOOKS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "`": " ", "’": "'", "→": " to "})


def pieces(text: str) -> list[Piece]:
    """Returns the pieces of a folded text."""
    for pattern, words in _CONTRACTIONS:
        text = pattern.sub(lambda found, words=words: words[found[1]], text)
    for pattern, usual in _WRITTEN_OTHERWISE:
        text = pattern.sub(usual, text)
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    for found in _PIECE.finditer(text):
        kind, said = found.lastgroup, found[found.lastgroup or 0]
        match kind:
            case "han":
                yield from _chinese(said)
            case "quote":
                yield from _quoted(said)
            case "number":
                yield Piece(Kind.NUMBER, "".join(said.split()))
            case "name":
                yield Piece(Kind.NAME, said.rstrip("/:.") or said)
            case "time" | "date":
                yield Piece(Kind.TIME if kind == "time" else Kind.DATE, said)
            case "word":
                yield Piece(Kind.WORD, said)
            case _:
                yield Piece(Kind.MARK, said.strip())


def _quoted(said: str) -> Iterator[Piece]:
    for piece in _pieces(said):
        if piece.kind is not Kind.MARK:
            yield piece._replace(kind=Kind.QUOTE) if piece.kind is Kind.WORD else piece


def _chinese(run: str) -> Iterator[Piece]:
    """Returns numbers, then known words, the longest first, then single characters."""
    at = 0
    while at < len(run):
        lengths = range(_WHOLE_CHINESE_WORD, 1, -1)
        length = next((one for one in lengths if _is_known(run[at : at + one])), 1)
        number = number_at(run, at)
        if number is not None and number.length > length:
            yield Piece(Kind.WORD if number.is_ordinal else Kind.NUMBER, number.digits)
            at += number.length
            continue
        if run.startswith(_CLASSIFIED_SPANS, at):
            at += 1
            continue
        yield Piece(Kind.WORD, run[at : at + length])
        at += length


def _is_known(word: str) -> bool:
    return (word,) in MEANINGS or word in _MEASURING
