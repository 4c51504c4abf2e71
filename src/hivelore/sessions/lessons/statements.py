"""Statements: the sentences of a conversation, the units from which lessons are drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from hivelore.memories.summary import sentences
from hivelore.sessions.model import Speaker, Turn

_BREAK = regex.compile(
    r"(?<=\b\p{L}{2,}[.!?…]+[\"')\]]*)\s+(?=\S)|(?<=[)\]`0-9%][.!?]+)\s+(?=\p{L})|(?<=\?)\s+",
)
"""End of a sentence in a chat, where sentences often begin with a small letter."""
_ABBREVIATION = regex.compile(r"\b(?:e\.g|i\.e|etc|cf|vs|approx|resp|dr|mr|mrs|ms|no|fig|btw|z\.b|bzw)\.\Z", regex.I)


@dataclass(frozen=True, slots=True)
class Statement:
    turn: int
    """Index of its turn."""
    place: int
    """Position in the turn."""
    speaker: Speaker
    text: str


def statements_of(turns: Sequence[Turn]) -> list[Statement]:
    """Returns the sentences of the user and the agent in order, without code and tool output."""
    return [
        Statement(number, place, turn.speaker, text)
        for number, turn in enumerate(turns)
        if turn.tool is None
        for place, text in enumerate(_split(turn.text))
    ]


def _split(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        held = ""
        for part in _BREAK.split(sentence):
            held = f"{held} {part}".strip()
            if not _ABBREVIATION.search(held):
                yield held
                held = ""
        if held:
            yield held
