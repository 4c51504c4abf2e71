"""Orders of a note: sequence, direction and comparison."""

from collections.abc import Iterator, Sequence

from hivelore.observations.contradiction.pieces import Kind
from hivelore.observations.contradiction.statement import JOINS, LIMITS, QUANTITY, VERBS, Order, Role, Word
from hivelore.observations.contradiction.words import (
    AFTER,
    BEFORE,
    PRONOUNS,
    RELATIVE,
    THEN,
    UNTIL,
    WEIGHT,
    WINS,
    words_of,
)


def orders(words: Sequence[Word]) -> Iterator[Order]:
    for place, word in enumerate(words):
        if word.kind is Kind.MARK or word.role is Role.CONDITION:
            # "Devices are gone if it starts before the broker" is no order to start in.
            continue
        if (word.concept in BEFORE or word.concept in AFTER) and not _is_count(words, place):
            if word.text in UNTIL and word.sign > 0:
                continue
            left, right = _sides(words, place)
            if word.concept in THEN and left and not right:
                yield Order(frozenset(), left)
            elif right:
                is_before = (word.concept in BEFORE) is (word.sign > 0)
                yield Order(left, right) if is_before else Order(right, left)
        elif word.text in _DEPENDS:
            right = _placed(words[place + 1 : place + 5])
            left = _placed([one for one in words[:place] if one.segment == word.segment])
            if right - left and left - right:
                yield Order(frozenset(right - left), frozenset(left - right))
        elif word.concept == "place_first" and is_rank(words, place):
            here = {one.concept for one in words if one.segment == word.segment and _has_place(one)}
            rest = {
                one.concept
                for one in words
                if one.segment != word.segment and _has_place(one) and one.role is Role.MAIN
            }
            if here and rest:
                is_first = word.meaning.sign > 0
                earlier, later = (here, rest) if is_first else (rest, here)
                yield Order(frozenset(earlier - later), frozenset(later - earlier))


def _placed(words: Sequence[Word]) -> set[str]:
    """Returns the words that have a place in an order, or all of them if none has."""
    return {one.concept for one in words if _has_place(one)} or {
        one.concept for one in words if one.counts and not one.meaning.polar
    }


_DEPENDS = words_of("depends depend relies rely dépend depende")


def _has_place(word: Word) -> bool:
    return word.meaning.weight >= WEIGHT and word.concept not in _BEGINNINGS


_BEGINNINGS = frozenset(("start", "stop", "restart", "install", "deploy"))
"""Verbs for things done in an order."""


def _is_count(words: Sequence[Word], place: int) -> bool:
    """*Once* that means one time."""
    if words[place].text != "once":
        return False
    after = words[place + 1] if place + 1 < len(words) else None
    return after is None or after.kind is Kind.MARK or after.concept in _AFTER_ONE_TIME


_AFTER_ONE_TIME = BEFORE | AFTER | {"more", "again", "per", "each", "every", "first"}


def is_rank(words: Sequence[Word], place: int) -> bool:
    """It goes first, and is not the first of something."""
    after = words[place + 1] if place + 1 < len(words) else None
    if after is None or after.kind is Kind.MARK or after.concept in JOINS or after.concept in THEN:
        return True
    return place == 0 or words[place - 1].kind is Kind.MARK


def _main_after(words: Sequence[Word], end: int, sentence: int) -> list[Word]:
    """Returns the main clause after the clause that begins a sentence: *before a node is rebooted set noout*."""
    rest = [one for one in words[end:] if one.sentence == sentence]
    marks = [at for at, one in enumerate(rest) if one.kind is Kind.MARK]
    first = rest[: marks[0]] if marks else rest
    said = [one for one in first if one.counts]
    return said[1:] if len(said) > 1 else rest[marks[0] :] if marks else []


def _sides(words: Sequence[Word], place: int) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the words left and right of a word. At the beginning of a sentence, the left ones follow the comma."""
    word = words[place]
    right: list[Word] = []
    end = len(words)
    for at in range(place + 1, len(words)):
        if words[at].kind is Kind.MARK or words[at].role is not word.role:
            end = at
            break
        if any(one.counts for one in right) and (
            words[at].concept == "need"
            or words[at].text in VERBS
            or words[at].text in LIMITS
            or words[at].concept in JOINS
        ):
            end = at
            break
        if words[at].meaning is QUANTITY and not right:
            return frozenset(), frozenset()
        right.append(words[at])
    left: list[Word] = []
    for one in reversed(words[:place]):
        if one.sentence != word.sentence or (one.kind is Kind.MARK and word.concept not in THEN and left):
            break
        left.append(one)
    if not any(one.counts for one in left):
        left = _main_after(words, end, word.sentence)
    elif word.concept in THEN and not any(one.counts for one in right):
        left = [one for one in left if one.segment == word.segment]
    if any(one.text in RELATIVE for one in left) and any(one.text in PRONOUNS for one in right):
        # It may be either of two.
        return frozenset(), frozenset()
    lefts, rights = _placed([one for one in left if one.role is word.role]), _placed(right)
    return frozenset(lefts - rights), frozenset(rights - lefts)


_FROM = words_of("from von de desde")


_TO = words_of("to into nach à a hacia")


_COMPARED = ("speed", "amount")


def flows(words: Sequence[Word]) -> Iterator[Order]:
    for place, word in enumerate(words):
        if word.text == "over" and not WINS.isdisjoint(one.text for one in words[max(0, place - 2) : place]):
            left = {one.concept for one in words[:place] if one.counts and one.sentence == word.sentence}
            right = {one.concept for one in words[place + 1 :] if one.counts and one.sentence == word.sentence}
            if left - right and right - left:
                yield Order(frozenset(left - right), frozenset(right - left))
        elif word.text == "than":
            left = {one.concept for one in words[:place] if one.counts and not one.meaning.polar}
            right = {one.concept for one in words[place + 1 :] if one.counts and not one.meaning.polar}
            sign = next((one.meaning.sign for one in reversed(words[:place]) if one.concept in _COMPARED), 0)
            if sign and left - right and right - left:
                lesser, greater = (left - right, right - left)[::-sign]
                yield Order(frozenset(lesser), frozenset(greater))
        elif word.text in _FROM or word.text in _TO:
            left = {one.concept for one in words[:place] if one.kind is Kind.NAME and one.sentence == word.sentence}
            right = {one.concept for one in words[place + 1 : place + 3] if one.kind is Kind.NAME}
            if left - right and right - left:
                sides = frozenset(left - right), frozenset(right - left)
                yield Order(*(sides if word.text in _TO else sides[::-1]))
