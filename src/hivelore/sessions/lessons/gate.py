"""What may be kept of a session at all (B18): no talk, no questions, nothing that only says the prompt again, nothing
twice. The same for what rules find and for what a model writes."""

from collections.abc import Collection, Iterable, Iterator

from hivelore.search.tokenizer import STOP_WORDS, distinct_terms
from hivelore.sessions.lessons.claims import Claim, parse_claim, parse_claims
from hivelore.sessions.lessons.cues import SMALL_TALK

MIN_WEIGHT = 20
"""Characters, or fewer, say nothing (A40)."""
MAX_SENTENCE = 400
MAX_PROMPT = 2_000
"""Characters of a message of a user that points are compared with."""
_MIN_WORDS = 3
"""Fewer different words than that are no statement."""
_QUESTION_ENDS = ("?", "？", ":", "：")


def parse_prompts(messages: Iterable[str]) -> list[Claim]:
    """What users claimed in their messages."""
    return [claim for message in messages for claim in parse_claims(message[:MAX_PROMPT])]


def select_points(points: Iterable[str], prompts: Collection[Claim]) -> Iterator[str]:
    """The points that say something, in their order. ``prompts``: what users said."""
    taken: list[Claim] = []
    for point in points:
        said, parts = parse_claim(point), parse_claims(point)
        if not is_informative(point) or all(any(part.is_contained_in(prompt) for prompt in prompts) for part in parts):
            continue
        if not any(said.is_contained_in(other) for other in taken):
            taken.append(said)
            yield point


def is_informative(sentence: str) -> bool:
    """Whether a sentence could be news to somebody."""
    text = sentence.strip()
    return (
        text_weight(text) > MIN_WEIGHT
        and not text.endswith(_QUESTION_ENDS)
        and not SMALL_TALK.search(text)
        and len(content_terms(text)) >= _MIN_WORDS
    )


def content_terms(text: str) -> frozenset[str]:
    """What it speaks of."""
    return distinct_terms(text) - STOP_WORDS


def text_weight(text: str) -> int:
    """Characters, of which an ideograph says as much as three."""
    return len(text) if text.isascii() else len(text) + 2 * sum(map(_is_ideograph, text))


def _is_ideograph(letter: str) -> bool:
    return "\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af"
