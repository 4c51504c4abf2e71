"""What may be kept of a session at all (B18): no talk, no questions, nothing that only says the prompt again, nothing
twice. The same for what rules find and for what a model writes."""

from collections.abc import Collection, Iterable, Iterator

from hivelore.policies.distilling.cues import TALK
from hivelore.policies.terms import STOP_WORDS, distinct_terms

LEAST = 20
"""Characters, or fewer, say nothing (A40)."""
LONGEST = 400
PROMPT = 2_000
"""Characters of a message of a user that points are compared with."""
_SAME = 0.8
"""So much of the words of a point in one that is known: it says nothing new."""
_WORDS = 3
"""Fewer different words than that are no statement."""
_ASKING = ("?", "？", ":", "：")

Words = frozenset[str]


def worth(points: Iterable[str], prompts: Collection[Words], known: Collection[Words] = ()) -> Iterator[str]:
    """The points that say something, in their order. ``prompts``: what users said, ``known``: what is kept anyway."""
    taken = list(known)
    for point in points:
        said = words(point)
        if not says_something(point) or any(repeats(said, prompt) for prompt in prompts):
            continue
        if not any(repeats(said, other) or repeats(other, said) for other in taken):
            taken.append(said)
            yield point


def says_something(sentence: str) -> bool:
    """Whether a sentence could be news to somebody."""
    text = sentence.strip()
    return weight(text) > LEAST and not text.endswith(_ASKING) and not TALK.search(text) and len(words(text)) >= _WORDS


def words(text: str) -> Words:
    """What it speaks of."""
    return distinct_terms(text) - STOP_WORDS


def repeats(point: Words, other: Words) -> bool:
    """Whether a point says nothing that the other does not say."""
    return bool(point) and len(point & other) >= _SAME * len(point)


def weight(text: str) -> int:
    """Characters, of which an ideograph says as much as three."""
    return len(text) if text.isascii() else len(text) + 2 * sum(map(_is_ideograph, text))


def _is_ideograph(letter: str) -> bool:
    return "\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af"
