"""Whether a sentence may contain information worth storing (B18)."""

from hivelore.search.tokenizer import STOP_WORDS, distinct_terms
from hivelore.sessions.lessons.cues import SMALL_TALK

MIN_WEIGHT = 20
"""Texts of this weight or less carry no information (A40)."""
MAX_SENTENCE = 400
_MIN_WORDS = 3
"""Distinct words that a statement needs."""
_QUESTION_ENDS = ("?", "？", ":", "：")


def is_informative(sentence: str) -> bool:
    """Returns True if a sentence may contain new information."""
    text = sentence.strip()
    return (
        text_weight(text) > MIN_WEIGHT
        and not text.endswith(_QUESTION_ENDS)
        and not SMALL_TALK.search(text)
        and len(content_terms(text)) >= _MIN_WORDS
    )


def content_terms(text: str) -> frozenset[str]:
    """Returns the terms of a text without stop words."""
    return distinct_terms(text) - STOP_WORDS


def text_weight(text: str) -> int:
    """Returns the number of characters, counting an ideograph as three."""
    if text.isascii():
        return len(text)
    return len(text) + 2 * sum("\u3040" <= one <= "\u9fff" or "\uac00" <= one <= "\ud7af" for one in text)
