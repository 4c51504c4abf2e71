"""Parser: turns a note into a statement with words, parts, and their polarity."""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from hivelore.observations.contradiction.negation import NOT, denying, negate
from hivelore.observations.contradiction.pieces import LONGEST, Kind, Piece, folded, pieces
from hivelore.observations.contradiction.quantities import quantities
from hivelore.observations.contradiction.sequences import flows, is_rank, orders
from hivelore.observations.contradiction.statement import JOINS, LIMITS, OR, QUANTITY, ParsedNote, Role, Term, Word
from hivelore.observations.contradiction.words import (
    ALL,
    ARTICLES,
    BECAUSE,
    CONCESSIONS,
    IF,
    INSTEAD,
    LONGEST_PHRASE,
    MEANINGS,
    ONLY,
    OTHERWISE,
    POLAR_WEIGHT,
    PRONOUNS,
    THE_OTHERS,
    UNRELATED,
    WEAK_WEIGHT,
    Sense,
    stems,
    words_of,
)

_NAME_WEIGHT = 1.5


_CHARACTER_WEIGHT = 0.5


_SUBORDINATE = 0.3


_MOST_ORDERS = 8
"""Maximum per statement; the rest of a longer text is ignored."""


@lru_cache(maxsize=1 << 9)
def read(text: str) -> ParsedNote:
    """Parses a note. Caches the last few hundred, because a note is compared with every other one of its kind."""
    plain = folded(text)
    found = pieces(plain)
    measures, taken = quantities(found)
    words, at_word = _words(found, taken)
    _divide(words)
    _unite(words)
    _switch(words)
    denials = tuple(islice(denying(words), _MOST_ORDERS))
    denied = negate(words)
    kept = [one for one in measures if not _is_denied(words, at_word[one.at])]
    terms = tuple(_term(word) for word in words if word.counts)
    said = tuple(piece.text for piece in found if piece.kind is not Kind.MARK)
    return ParsedNote(
        words=said,
        concepts=frozenset(word.concept for word in words if word.kind is Kind.WORD and word.concept),
        places_of=tuple(
            (word.concept, word.segment, word.unit) for word in words if word.kind is Kind.WORD and word.concept
        ),
        after_only=_next_to(words, ONLY),
        after_all=_next_to(words, ALL),
        concedes=_says_one_of(said, CONCESSIONS) or ("while" in said and "still" in said[said.index("while") :]),
        unrelates=_says_one_of(said, UNRELATED),
        terms=terms,
        quantities=tuple(kept),
        places=tuple(words[at_word[one.at]].segment for one in kept),
        orders=tuple(islice(orders(words), _MOST_ORDERS)),
        denied=denied,
        denials=denials,
        flows=tuple(islice(flows(words), _MOST_ORDERS)),
        is_whole=len(" ".join(text.split())) <= LONGEST,
    )


def _says_one_of(said: Sequence[str], phrases: Collection[str]) -> bool:
    text = f" {' '.join(said)} "
    return any(f" {phrase} " in text for phrase in phrases)


def _next_to(words: Sequence[Word], of: Collection[str]) -> frozenset[str]:
    """Returns the next two things after one of these words."""
    found: set[str] = set()
    for place, word in enumerate(words):
        if word.text in of:
            rest = (one for one in words[place + 1 :] if one.counts and one.segment == word.segment)
            found.update(one.concept for one in islice(rest, 2))
    return frozenset(found)


def _is_denied(words: Sequence[Word], place: int) -> bool:
    """*Not 5432*, *instead of on 5432*."""
    before = [one for one in words[max(0, place - 3) : place] if one.text not in LIMITS and one.concept != "port"]
    return bool(before) and (before[-1].text in NOT or before[-1].concept in INSTEAD)


def _words(found: Sequence[Piece], taken: set[int]) -> tuple[list[Word], list[int]]:
    """Returns the words; phrases are one word, quantities are omitted. Also returns the word of each piece."""
    words: list[Word] = []
    at_word: list[int] = []
    at = 0
    while at < len(found):
        if at in taken:
            at_word.append(len(words))
            words.append(Word(found[at].text, Kind.NUMBER, QUANTITY))
            at += 1
            continue
        length, meaning = _phrase(found, at, taken)
        at_word += [len(words)] * length
        words.append(Word(" ".join(piece.text for piece in found[at : at + length]), found[at].kind, meaning))
        at += length
    return words, at_word


def _phrase(found: Sequence[Piece], at: int, taken: set[int]) -> tuple[int, Sense]:
    """Returns the longest known phrase that begins here, and its number of pieces."""
    piece = found[at]
    if piece.kind is Kind.MARK:
        return 1, Sense(piece.text, 1, 0.0, polar=False)
    if piece.kind is Kind.QUOTE:
        return 1, _quoted(piece.text)
    if piece.kind is not Kind.WORD:
        return 1, Sense(piece.text, 1, _NAME_WEIGHT, polar=False)
    roots: tuple[str, ...] = ()
    best: tuple[int, Sense] | None = None
    for end in range(at, min(at + LONGEST_PHRASE, len(found))):
        if found[end].kind is not Kind.WORD or end in taken:
            break
        roots += stems(found[end].text)
        if roots in MEANINGS:
            best = end - at + 1, MEANINGS[roots]
    if best is not None:
        return best
    concept = "".join(stems(piece.text)) or piece.text
    is_character = len(piece.text) == 1 and not piece.text.isascii()
    return 1, Sense(concept, 1, _CHARACTER_WEIGHT if is_character else 1.0, polar=False)


def _quoted(word: str) -> Sense:
    """Returns the sense of a quoted word, which is neither affirmed nor denied."""
    roots = stems(word)
    known = MEANINGS.get(roots, Sense("".join(roots) or word, 0, 1.0, polar=False))
    return Sense(known.concept, 0, known.weight, polar=False) if known.weight else QUANTITY


def _divide(words: Sequence[Word]) -> None:
    """Divides words into sentences, segments and roles."""
    segment = sentence = 0
    role = Role.MAIN
    for place, word in enumerate(words):
        if word.kind is Kind.MARK:
            segment += 1
            role = Role.MAIN
            sentence += word.text in ".;。；"
        elif _says_otherwise(words, place):
            role = Role.OTHERWISE
        elif word.concept in INSTEAD or (
            word.concept in JOINS and not (word.text == "while" and place and words[place - 1].kind is not Kind.MARK)
        ):
            segment += 1
        elif word.concept in IF:
            segment, role = segment + 1, Role.CONDITION
        elif word.concept in BECAUSE or _gives_reason(words, place):
            segment, role = segment + 1, Role.REASON
        elif word.concept in OTHERWISE or word.text in OR:
            segment, role = segment + 1, Role.OTHERWISE
            if word.concept in OTHERWISE:
                for earlier in _same_segment_before(words, place):
                    earlier.role = Role.OTHERWISE
        word.segment, word.sentence, word.role = segment, sentence, role


def _says_otherwise(words: Sequence[Word], place: int) -> bool:
    """Handles *larger ones fail* and *without it there is none*: these describe the other case."""
    if not place or words[place - 1].kind is not Kind.MARK:
        return False
    after = words[place + 1].text if place + 1 < len(words) else ""
    return words[place].text in THE_OTHERS or (words[place].text in _WITH and after in PRONOUNS)


_WITH = words_of("with without mit ohne avec sans con sin")


def _gives_reason(words: Sequence[Word], place: int) -> bool:
    """Returns True for a reason: *as it is full*."""
    after = words[place + 1].text if place + 1 < len(words) else ""
    return words[place].text == "as" and bool(place) and after in _SUBJECTS


_SUBJECTS = frozenset(("it", "they", "there", "this", "we", "you"))


def _unite(words: Sequence[Word]) -> None:
    """Joins a condition and its consequence into one clause."""
    units: dict[int, int] = {}
    sentences: dict[int, int] = {}
    open_condition: int | None = None
    for word in words:
        if word.kind is Kind.MARK or word.segment in units:
            continue
        is_first = word.sentence not in sentences
        before = sentences.get(word.sentence, word.segment)
        unit = word.segment
        if open_condition is not None and not is_first:
            unit = open_condition
        elif word.role is Role.CONDITION and not is_first:
            unit = before
        open_condition = unit if word.role is Role.CONDITION and is_first else None
        units[word.segment] = sentences[word.sentence] = unit
    for word in words:
        word.unit = units.get(word.segment, word.segment)


def _same_segment_before(words: Sequence[Word], place: int) -> Iterator[Word]:
    for earlier in reversed(words[:place]):
        if earlier.kind is Kind.MARK or earlier.concept in JOINS:
            return
        if earlier.segment == 0:
            return
        yield earlier


_ON = Sense("power", 1, POLAR_WEIGHT, polar=True)


_OFF_BY = {"by"}


_FIRST = Sense("first", 1, WEAK_WEIGHT, polar=False)
_LAST = Sense("last", 1, 0.0, polar=False)


_WHERE_ON_ENDS = IF | {"during", "for", "again", "while"}


def _switch(words: Sequence[Word]) -> None:
    """*On* is a state at the end of a part of a sentence; an hour *off* is none."""
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else None
        if word.text == "off" and (
            (place and words[place - 1].meaning is QUANTITY) or (after and after.text in ARTICLES | _OFF_BY)
        ):
            word.meaning = QUANTITY
        if word.concept == "place_first" and not is_rank(words, place):
            word.meaning = _FIRST if word.text.startswith("first") else _LAST
        if word.text != "on":
            continue
        if after is None or after.kind is Kind.MARK or after.concept in _WHERE_ON_ENDS or after.segment != word.segment:
            word.meaning = _ON


def _term(word: Word) -> Term:
    weight = word.meaning.weight * (_SUBORDINATE if word.role in (Role.REASON, Role.OTHERWISE) else 1.0)
    return Term(
        concept=word.concept,
        sign=word.sign * word.meaning.sign,
        weight=weight,
        polar=word.meaning.polar,
        opposite=word.meaning.sign,
        role=word.role,
        unit=word.unit,
        segment=word.segment,
        shown=word.text,
        is_name=word.kind is Kind.NAME,
        negated=word.sign < 0,
        is_denied=word.is_denied,
    )
