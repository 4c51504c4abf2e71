"""The one line that stands for a memory in a list when nobody wrote one: its first informative sentence."""

import re
from collections.abc import Iterator

import regex

SUMMARY_LENGTH = 200
"""Characters, the mark of a cut included."""

_ELLIPSIS = "…"
_READ = 1_000
"""A sentence is looked for in so many characters of a paragraph; it is cut long before."""
_INFORMATIVE = 20
"""Letters and digits that a sentence needs to say something; an ideograph says as much as three."""
_IDEOGRAPH = 3

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(?:.*\r?\n)*?---[ \t]*(?:\r?\n|\Z)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_RULE = re.compile(r"[\s\-=*_|:+~#>]*\Z")
_LIST_MARK = re.compile(r"\s*(?:>\s?|[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)([^*_]{1,200})(?<=\S)\1")
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{0,500}\)")
_COMMENT = re.compile(r"<!--.*?-->")
_SENTENCE_END = regex.compile(
    r"(?<!\b(?:e\.g|i\.e|etc|cf|vs|resp|approx|no|fig|dr|mr|mrs|ms|st))[.!?…][\"')\]]*(?=\s+[^\s\p{Ll}])|[。！？]",
    regex.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|thanks|thank you|good (?:morning|evening|afternoon)|sure|ok|okay|great|got it|of course"
    r"|certainly|here (?:is|are|'s)|below (?:is|are)|i (?:have|will|'ve|'ll)|let me)\b",
    re.IGNORECASE,
)
_GRAPHEME = regex.compile(r"\X")
_IDEOGRAPHS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")


def summarise(content: str) -> str:
    """At most ``SUMMARY_LENGTH`` characters on one line, cut at a word; empty only for blank content.

    Headings, code, tables' rules, front matter and greetings are passed over while there is anything else.
    """
    longest = ""
    for sentence in _sentences(content):
        if _weight(sentence) >= _INFORMATIVE and not ...
