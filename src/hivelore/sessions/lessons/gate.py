"""What may be kept of a session at all (B18): no talk, no questions, nothing that only says the prompt again, nothing
twice. The same for what rules find and for what a model writes."""

from collections.abc import Collection, Iterable, Iterator

from hivelore.search.tokenizer import STOP_WORDS, distinct_terms
from hivelore.sessions.lessons.claims import Claim, claim_of, claims
from hivelore.sessions.lessons.cues import TALK

LEAST = 20
"""Characters, or fewer, say nothing (A40)."""
LONGEST = 400
PROMPT = 2_000
"""Characters of a message of a user that points are compared with."""
_WORDS = 3
"""Fewer different words than that are no statement."""
_ASKING = ("?", "？", ":", "：")


def prompted(messages: Iterable[str]) -> list[Claim]:
    """What users claimed in their messages."""
    return [claim for message in messages for claim in claims(message[:PROMPT])]


def worth(points: Iterable[str], prompts: Collection[Claim]) -> Iterator[str]:
    """The points that say something, in their order. ``prompts``: what users said."""
    taken: list[Claim] = []
    for point in points:
        said, parts = claim_of(point), claims(point)
        if not says_something(point) or all(any(part.echoes(prompt) for prompt in prompts) for part in parts):
            continue
        if not any(said.echoes(other) for other in taken):
            taken.append(said)
            yield point


def says_something(sentence: str) -> bool:
    """Whether a sentence could be news to somebody."""
    text = sentence.strip()
    return weight(text) > LEAST and not text.endswith(_ASKING) and not TALK.search(text) and len(words(text)) >= _WORDS


def words(text: str) -> frozenset[str]:
    """What it speaks of."""
    return distinct_terms(text) - STOP_WORDS


def weight(text: str) -> int:
    """Characters, of which an ideograph says as much as three."""
    return len(text) if text.isascii() else len(text) + 2 * sum(map(_is_ideograph, text))


def _is_ideograph(letter: str) -> bool:
    return "\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af"
