"""Putting a newer telling before the older one, among the best of an answer (``policies.updates``)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from hivelore.domain.index import DocumentKey, Vector
from hivelore.domain.memory import Memory, Standing
from hivelore.domain.search import Score
from hivelore.policies.terms import distinct_terms
from hivelore.policies.updates import LONGEST, Updating, is_update, reach


class Ranked(NamedTuple):
    key: DocumentKey
    standing: Standing
    score: Score


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Best first, newer first where that is a tie."""
    best = sorted(ranked, key=lambda one: one.score.total, reverse=True)
    if all(one.score.total > next_.score.total for one, next_ in pairwise(best)):
        return best
    return sorted(best, key=lambda one: (-one.score.total, -one.standing.created_at.timestamp(), one.standing.id))


def renewed(
    ranked: Sequence[Ranked],
    asked: frozenset[str],
    vectors: Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]],
    memories: Mapping[DocumentKey, Memory],
    constants: Updating,
) -> list[Ranked]:
    """The order with each newer telling before what it updates; ``ranked`` is in order, ``asked`` are the terms of the
    question. ``vectors`` gives the nearest passage of each, as far as it has one; ``memories`` has the first
    ``constants.among``. Two that have a subject are facts about different things, or of different times."""
    furthest = reach([one.score.total for one in ranked], constants)
    pairs = [
        (one, other)
        for one, other in combinations(ranked[: constants.among], 2)
        if other.standing.created_at > one.standing.created_at
        and (memories[one.key].subject is None or memories[other.key].subject is None)
        and one.score.total - other.score.total <= furthest
        and max(one.standing.length, other.standing.length) <= LONGEST
    ]
    pairs = _alike(pairs, vectors, constants) if pairs else []
    if not pairs:
        return list(ranked)
    terms = {key: distinct_terms(memories[key].content) for key in {one.key for pair in pairs for one in pair}}
    lifted: dict[DocumentKey, float] = {}
    for older, newer in pairs:
        if newer.key not in lifted and is_update(terms[older.key], terms[newer.key], asked, constants):
            lifted[newer.key] = lifted.get(older.key, older.score.total)
    return in_order([_lifted(one, lifted.get(one.key)) for one in ranked])


def _alike(
    pairs: Sequence[tuple[Ranked, Ranked]],
    vectors: Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]],
    constants: Updating,
) -> list[tuple[Ranked, Ranked]]:
    found = vectors(list({one.key for pair in pairs for one in pair}))
    return [
        (one, other)
        for one, other in pairs
        if one.key in found and other.key in found and float(found[one.key] @ found[other.key]) >= constants.likeness
    ]


def _lifted(one: Ranked, total: float | None) -> Ranked:
    if total is None or total <= one.score.total:
        return one
    return one._replace(score=one.score._replace(total=total, update=total - one.score.total))
