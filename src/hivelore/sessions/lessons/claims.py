"""Claims: sentences in normalized form, to find repetitions, and the filter for points worth storing (B18).

Normalization drops only what does not change a claim: typographic marks, fillers, politeness, English articles. Every
other word counts in its position; a different number, name, negation or order is a different claim.
"""

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from hivelore.memories.summary import sentences
from hivelore.search.tokenizer import STOP_WORDS, distinct_terms
from hivelore.sessions.lessons.cues import SMALL_TALK

_BULLETS = regex.compile(r"\A\s*(?:(?:[-*+•·‣–—>]|\d{1,3}[.)]|\#{1,6})\s+|・\s*)+")
_FILLER_OPENING = regex.compile(
    r"\A(?:\s*(?:(?:please\s+)?note(?:\s+that\b|\s*[:,])|nb\s*[:,]|fyi\s*[:,]?|"
    r"(?:just\s+)?(?:as\s+)?a\s+reminder\s*[:,]|reminder\s*[:,]|remember\s*[:,]|remember\s+that\b|"
    r"so\s+basically\s*,?|basically\s*,?|hinweis\s*:|wichtig\s*:|"
    r"merke?\s*:|(?:à|a)\s+noter\s*:|(?:à|a)\s+noter\s+que\b|remarque\s*:|nota\s*:|nota\s+bene\s*:|atención\s*:|"
    r"ten\s+en\s+cuenta\s+que\b|примечание\s*:|важно\s*:|обратите\s+внимание\s*:|注意\s*[:,，]|备注\s*[:,，]|"
    r"請注意\s*[:,，]?|请注意\s*[:,，]?|なお\s*[、,]|メモ\s*[::]|注意点\s*[::]|"
    r"as\s+(?:(?:i|we|you)\s+)?(?:already\s+)?(?:noted|mentioned|said|stated|discussed|described|documented|recorded|"
    r"know|known)(?:\s+(?:before|above|earlier|previously|already))?\s*[:,]|"
    r"(?:according\s+to|per|from|in)\s+(?:the|my|our|your)\s+(?:earlier\s+)?(?:notes?|memory|memories)\s*[:,]|"
    r"wie\s+(?:bereits\s+|schon\s+)?(?:erwähnt|gesagt|notiert|beschrieben)\s*[:,]|"
    r"comme\s+(?:déjà\s+)?(?:indiqué|mentionné|dit|noté)\s*[:,]|"
    r"como\s+(?:ya\s+)?(?:se\s+)?(?:dijo|indicó|mencionó|anotó)\s*[:,]|"
    r"как\s+(?:уже\s+)?(?:отмечено|сказано|указано)(?:\s+выше)?\s*[:,]|如前所述\s*[:,，]|前述の通り\s*[、,])\s*)+",
    regex.IGNORECASE,
)
_POLITE = regex.compile(
    r"\b(?:(?:could|can|would)\s+you\s+(?:please\s+)?|please|kindly|thanks|thank\s+you|bitte|danke|"
    r"s['’]il\s+(?:te|vous)\s+pla[iî]t|merci|por\s+favor|gracias|пожалуйста|спасибо)\b"
    r"|(?<![\p{L}])请(?!求)|お願いします|,\s*(?:ok|okay|right)\s*[?.!]?\s*\Z",
    regex.IGNORECASE,
)
_CONTRACTED = (
    (regex.compile(r"\b(?:cannot|can['’]?t)\b", regex.IGNORECASE), "can not"),
    (regex.compile(r"\bwon['’]?t\b", regex.IGNORECASE), "will not"),
    (regex.compile(r"\bshan['’]t\b", regex.IGNORECASE), "shall not"),
    (regex.compile(r"\b(\w+)n['’]t\b", regex.IGNORECASE), r"\1 not"),
    (regex.compile(r"\b(it|that|there|here|what|he|she)['’]s\b", regex.IGNORECASE), r"\1 is"),
    (regex.compile(r"\b(\w+)['’]re\b", regex.IGNORECASE), r"\1 are"),
    (regex.compile(r"\b(\w+)['’]ve\b", regex.IGNORECASE), r"\1 have"),
    (regex.compile(r"\b(\w+)['’]ll\b", regex.IGNORECASE), r"\1 will"),
)
_IDEOGRAPH = r"[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = regex.compile(rf"{_IDEOGRAPH}|(?:(?!{_IDEOGRAPH})\S)+")
_LEADING_MARKS = "\"'`“”„‟‘’‚«»‹›「」『』【】()[]{}*¿¡,;:、，；："
_TRAILING_MARKS = _LEADING_MARKS + ".!。！…"
_QUOTES = regex.compile(r"[\"`“”„‟«»‹›「」『』【】、，。！；：]|\*\*|__(?=\s|\Z)|(?:(?<=\s)|\A)__")
_DASHES = frozenset({"-", "–", "—", "−", "*", "•"})
_ARTICLES = frozenset({"the", "a", "an"})
_IDENTIFIER = regex.compile(r"[\p{L}\p{N}]*(?:\p{Ll}\p{Lu}|[\p{N}_/\\.@\#$%&=+~^|<>-])")
"""Matches words whose case matters: identifiers, paths, flags."""
_NEGATION_LIST = """
no not never none nor neither without except
kein keine keinen keinem keiner nicht nie niemals ohne außer
ne pas jamais aucun aucune sans sauf
nunca jamás ningún ninguna sin excepto
не нет ни никогда без нельзя кроме
不 没 沒 無 无 未 非 勿 别 別
"""
_NEGATIONS = frozenset(_NEGATION_LIST.split())
"""Words that negate a sentence, in the languages of the cues."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Normalized words in order."""

    words: tuple[str, ...]

    def repeats(self, other: "Claim") -> bool:
        """Returns True if both claims have the same words. An empty claim repeats nothing."""
        return bool(self.words) and self.words == other.words

    def is_contained_in(self, other: "Claim") -> bool:
        """Returns True if all words occur in the other claim in the same order, with the same negations."""
        if not self.words or self._negations != other._negations:
            return False
        rest = iter(other.words)
        return all(word in rest for word in self.words)

    @property
    def _negations(self) -> list[str]:
        return [word for word in self.words if word in _NEGATIONS]


@lru_cache(maxsize=1 << 10)
def parse_claim(sentence: str) -> Claim:
    text = unicodedata.normalize("NFKC", sentence)
    text = _POLITE.sub(" ", _FILLER_OPENING.sub(" ", _BULLETS.sub("", text)))
    for pattern, whole in _CONTRACTED:
        text = pattern.sub(whole, text)
    found = (_normalize_word(word) for word in _WORD.findall(_QUOTES.sub(" ", text)))
    return Claim(tuple(word for word in found if word and word not in _ARTICLES))


def parse_claims(text: str) -> list[Claim]:
    """Returns the claims of a text, by sentence."""
    return [one for one in map(parse_claim, sentences(text)) if one.words]


def is_stated(point: str, said: Sequence[Claim]) -> bool:
    """Returns True if a point states only what these claims state."""
    known = set(said)
    whole, parts = parse_claim(point), parse_claims(point)
    return bool(whole.words) and (whole in known or (bool(parts) and all(part in known for part in parts)))


def _normalize_word(word: str) -> str:
    if word in _DASHES:
        return ""
    asks = "?" if word.endswith(("?", "？")) else ""
    bare = word.rstrip("?？").lstrip(_LEADING_MARKS).rstrip(_TRAILING_MARKS)
    if bare == "A":  # Not the article: only the first word of a sentence has a capital.
        return bare + asks
    return (bare if _IDENTIFIER.match(bare) else bare.casefold()) + asks


MIN_WEIGHT = 20
"""Texts of this weight or less carry no information (A40)."""
MAX_SENTENCE = 400
MAX_PROMPT = 2_000
"""Characters of a prompt that points are compared with."""
_MIN_WORDS = 3
"""Distinct words that a statement needs."""
_QUESTION_ENDS = ("?", "？", ":", "：")


def parse_prompts(messages: Iterable[str]) -> list[Claim]:
    """Returns the claims in the user's messages."""
    return [claim for message in messages for claim in parse_claims(message[:MAX_PROMPT])]


def select_points(points: Iterable[str], prompts: Collection[Claim]) -> Iterator[str]:
    """Yields the informative points in order, without repetitions of each other or of the prompts."""
    taken: list[Claim] = []
    for point in points:
        said, parts = parse_claim(point), parse_claims(point)
        if not is_informative(point) or all(any(part.is_contained_in(prompt) for prompt in prompts) for part in parts):
            continue
        if not any(said.is_contained_in(other) for other in taken):
            taken.append(said)
            yield point


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
