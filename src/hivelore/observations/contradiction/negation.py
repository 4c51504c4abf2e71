"""Negations of a note and their scope."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hivelore.observations.contradiction.pieces import Kind
from hivelore.observations.contradiction.statement import (
    DENIAL,
    DENIAL_OF_SAME,
    DENIAL_OF_WHICH,
    DENIAL_WITHOUT,
    JOINS,
    LIMITS,
    QUANTITY,
    VERBS,
    Denial,
    Word,
)
from hivelore.observations.contradiction.words import (
    ABLE,
    AFTER,
    ARTICLES,
    AVOID,
    BEFORE,
    COMPARATIVE,
    IGNORED,
    INSTEAD,
    KEEPS,
    NEGATORS,
    OTHER,
    OVER,
    POLAR_WEIGHT,
    RELATIVE,
    UNLESS,
    WEIGHT,
    WITHOUT,
    WOULD,
    Sense,
    words_of,
)

_SCOPE = 5
"""Terms that a negation reaches at most."""


def negate(words: Sequence[Word]) -> frozenset[str]:
    """Applies the negations of a note. A negation reaches to the end of its phrase; terms before it become open.
    Returns the terms denied in favour of others."""
    denied: set[str] = set()
    _without_subject(words)
    for place, word in enumerate(words):
        if word.kind is Kind.MARK or word.concept not in _DENYING:
            continue
        reached = _reached(words, place)
        if _only_limits(words, place, reached) or _turns_order(words, place):
            continue
        _deny(reached)
        if word.concept in INSTEAD or (word.text in NOT and _contrasts(words, place)):
            denied |= {one.concept for one in reached}
        elif word.concept not in WITHOUT:
            _deny_subject(words, place, reached)
    return frozenset(denied)


NO_DENIALS = frozenset(("place_first", "speed", "amount"))
"""Opposites that say no more than which one is meant, or which way."""


def denying(words: Sequence[Word]) -> Iterator[Denial]:
    """Returns the words that deny: a negation, or the opposite of another word."""
    neither = {word.unit for word in words if word.text == "neither"}
    for place, word in enumerate(words):
        if word.kind is Kind.MARK or (word.text == "nor" and word.unit in neither):
            continue
        if word.concept in NEGATORS or word.concept in INSTEAD or word.text in UNLESS | AVOID or _stops(words, place):
            if _is_relative(words, place):
                yield Denial(DENIAL_OF_WHICH, word.segment, word.unit, word.role, frozenset(), word.concept)
            elif not _says_how_far(words, place):
                is_without = word.concept in WITHOUT or word.text in UNLESS
                kind = DENIAL_WITHOUT if is_without else DENIAL
                reached = frozenset(one.concept for one in _reached(words, place) if one.meaning.weight >= POLAR_WEIGHT)
                yield Denial(kind, word.segment, word.unit, word.role, reached, word.concept)
                if not is_without and _is_short(words, place):
                    yield Denial(DENIAL_OF_SAME, word.segment, word.unit, word.role, reached, word.concept)
        elif word.meaning.polar and word.meaning.sign < 0 and word.concept not in NO_DENIALS:
            yield Denial(word.concept, word.segment, word.unit, word.role, frozenset(), word.concept)


def _is_short(words: Sequence[Word], place: int) -> bool:
    """A restart drops them, a reload does not: what it denies is the opposite of something, said before."""
    rest = [one for one in words[place + 1 :] if one.segment == words[place].segment]
    before = [one for one in words[:place] if one.sentence == words[place].sentence]
    return not any(one.counts for one in rest) and any(one.meaning.polar and one.meaning.sign < 0 for one in before)


def _lasts(words: Sequence[Word], place: int) -> bool:
    """After ten minutes without a request; if it is not connected for an hour."""
    if words[place].concept in WITHOUT and place and words[place - 1].meaning is QUANTITY:
        return True
    rest = [one for one in words[place:] if one.segment == words[place].segment]
    before = _AFTER_OR_FOR if words[place].concept in WITHOUT else _FOR
    return words[place].text not in UNLESS and any(
        one.text in before and other.meaning is QUANTITY for one, other in pairwise(rest)
    )


_FOR = words_of("for")
_AFTER_OR_FOR = words_of("for after")


def _is_relative(words: Sequence[Word], place: int) -> bool:
    """It only says which one is meant."""
    before = words[max(0, place - 2) : place]
    return any(one.text in RELATIVE for one in before) and any(one.counts for one in words[:place])


def _says_how_far(words: Sequence[Word], place: int) -> bool:
    """It only says how long, or when, or that there is no other."""
    return _turns_order_at(words, place) is not None or _lasts(words, place) or _is_exclusive(words, place)


def _stops(words: Sequence[Word], place: int) -> bool:
    """Stops answering, fails to answer, keeps it from answering: does not answer."""
    after = words[place + 1].text if place + 1 < len(words) else ""
    if words[place].text in KEEPS:
        rest = [one.text for one in words[place + 1 : place + 8]]
        return any(one == "from" and other.split()[0].endswith("ing") for one, other in pairwise(rest))
    return (words[place].concept == "stop" and after.endswith("ing")) or (_fails(words[place]) and after == "to")


def _is_exclusive(words: Sequence[Word], place: int) -> bool:
    """No other than this: this is so. Not over so much: so much is so."""
    word = words[place]
    rest = [
        one for one in words[place + 1 : place + _NEAR] if one.segment == word.segment and one.kind is not Kind.MARK
    ]
    is_limit = any(one.text in OVER for one in rest) and any(one.meaning is QUANTITY for one in rest)
    says_other = any(one.text in OTHER and (one.text != "outside" or one is not rest[-1]) for one in rest)
    no_but = word.text in _NO and any(one.text == "but" for one in words[place + 1 : place + 4])
    return word.concept not in WITHOUT and (is_limit or says_other or no_but)


_NEAR = 6
_NO = words_of("no none nothing nobody")


def _only_limits(words: Sequence[Word], place: int, reached: Sequence[Word]) -> bool:
    """Returns True if a negation only selects which one is meant, states a need, or excludes all other cases. The terms
    in its scope are then left open."""
    word = words[place]
    here = [one for one in words[:place] if one.segment == word.segment]
    follows = [one for one in words[place + 1 :] if one.segment == word.segment and one.kind is not Kind.MARK]
    sentence = [one for one in words if one.sentence == word.sentence and one is not word]
    if word.concept in IGNORED or any(one.text in RELATIVE for one in words[max(0, place - 2) : place]):
        left_open = list(reached)
    elif word.concept in WITHOUT:
        is_fronted = not any(one.counts for one in words[:place] if one.sentence == word.sentence)
        if is_fronted or any(one.concept in NEGATORS or _fails(one) for one in sentence):
            _not_without(words, word)
            return True
        if any(one.text in ABLE for one in here) and not any(one.text in COMPARATIVE for one in follows):
            return False
        left_open = list(reached)
    elif word.concept not in INSTEAD and any(one.text in COMPARATIVE for one in (*here, *follows)):
        left_open = [*reached, *here]
    else:
        return False
    for one in left_open:
        one.sign = 0
    return True


def _turns_order(words: Sequence[Word], place: int) -> bool:
    """Returns True for *not before*, which means *only after*."""
    turned = _turns_order_at(words, place)
    if turned is None:
        return False
    segment = [one for one in words if one.segment == words[place].segment]
    for one in segment:
        one.sign = 0
    turned.sign = -1
    return True


def _turns_order_at(words: Sequence[Word], place: int) -> Word | None:
    word = words[place]
    if word.concept in WITHOUT or word.concept in INSTEAD or word.kind is Kind.MARK:
        return None
    return next((one for one in words[place + 1 :] if one.segment == word.segment and one.concept in BEFORE), None)


def _deny(reached: Sequence[Word]) -> None:
    """Does not lose messages: it is the losing that is denied."""
    worse = next((at for at, one in enumerate(reached) if one.meaning.polar and one.meaning.sign < 0), len(reached))
    for at, one in enumerate(reached):
        one.sign = -one.sign if at <= worse else 0
    head = next((one for one in reached if one.meaning.weight >= WEIGHT), None)
    if head is not None:
        head.is_denied = True


def _deny_subject(words: Sequence[Word], place: int, reached: Sequence[Word]) -> None:
    helps_only = all(one.concept in _ONLY_SAY_THAT for one in reached)
    for one in words[:place]:
        if one.segment == words[place].segment and one.counts:
            one.sign = -1 if helps_only and one.sign else 0
            one.is_denied = one.is_denied or (helps_only and one.meaning.weight >= WEIGHT)


_DENYING = NEGATORS | INSTEAD | IGNORED


_ONLY_SAY_THAT = frozenset(("remedy", "outcome", "use", "happen"))
"""Verbs that deny their subject."""


_SUBJECT = 2


_STATES = frozenset(("power", "reach", "allow", "survival"))


def _without_subject(words: Sequence[Word]) -> None:
    """Leaves open what is off, unreachable or lost, though no word denies it, and hypothetical statements."""
    for place, word in enumerate(words):
        if word.text in WOULD:
            for one in words:
                if one.segment == word.segment:
                    one.sign = 0
        if word.concept in _STATES and word.meaning.sign < 0:
            before = [one for one in words[:place] if one.segment == word.segment and one.meaning.weight >= WEIGHT]
            for one in before[-_SUBJECT:]:
                one.sign = 0


NOT = words_of("not nicht kein keine pas no 不是")


def _contrasts(words: Sequence[Word], place: int) -> bool:
    """*This, not that*; *not that but this*."""
    before = words[place - 1] if place else None
    begins = before is None or before.kind is Kind.MARK
    ends = next(
        (one for one in words[place + 1 :] if one.kind is Kind.MARK or one.text in ("but", "sondern", "sino")), None
    )
    verb = any(one.text in VERBS for one in words[place + 1 :] if one.segment == words[place].segment)
    return begins and not verb and (before is not None or (ends is not None and ends.kind is not Kind.MARK))


def _fails(word: Word) -> bool:
    return word.concept == "outcome" and word.meaning.sign < 0


def _not_without(words: Sequence[Word], without: Word) -> None:
    """Handles *does not work without it*: it is needed."""
    for one in words:
        if one.sentence == without.sentence and one.concept in NEGATORS:
            one.meaning = Sense("need", 1, 0.0, polar=False)


def _reached(words: Sequence[Word], place: int) -> list[Word]:
    reached: list[Word] = []
    for word in words[place + 1 :]:
        if word.kind is Kind.MARK or word.concept in NEGATORS or word.role is not words[place].role:
            break
        is_limit = word.text in LIMITS or word.concept in BEFORE or word.concept in AFTER or word.concept in JOINS
        is_time = word.concept in BEFORE or word.concept in AFTER
        if is_time and word is not words[place + 1]:
            break
        if reached and (is_limit or (words[place].concept in WITHOUT and word.text in VERBS | ARTICLES)):
            break
        if word.counts:
            reached.append(word)
        if len(reached) == _SCOPE:
            break
    return reached
