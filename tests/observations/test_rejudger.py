"""Observations judged anew: one outcome in any order of arrival, although the model fails; and what stays as it is."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import count, product
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.changes.model import Batch, BatchKind
from hivelore.core.text import Clean
from hivelore.errors import Unavailable
from hivelore.links.judge import Verdict
from hivelore.observations import service as observing
from hivelore.observations.model import MatchingMode
from hivelore.observations.rejudger import LEASE, LEASE_NAME, Rejudger
from hivelore.observations.service import MAX_READ
from hivelore.storage.leader_lease import LeaderLease
from support.clocks import START
from support.laws import examples
from support.pair_readers import TableReader
from support.reports import Report, arrive, memories, open_doubts
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World, hashing

DAY = timedelta(days=1)
SERVICE = "jellyfin"
OLD, NEW, OTHER = "Anonymous access is enabled", "Anonymous access is disabled", "Anonymous visitors may read"
_numbers = count(1)


def with_reader(world: World, reader: TableReader | None, **more: MatchingMode) -> World:
    return World(
        world.store,
        world.keywords,
        world.clock,
        embedder=hashing(),
        reader=reader,
        first_id=next(_numbers) * 9_000,
        **more,
    )


def a_rejudger(world: World, holder: str = "one") -> Rejudger:
    return Rejudger(
        store=world.store,
        comparison=world.comparison,
        group_writer=world.group_writer,
        proposal_queue=world.proposal_queue,
        journal=world.journal,
        naming=world.naming,
        lifecycle=world.settings.lifecycle,
        leader_lease=LeaderLease(world.store, world.clock, holder, LEASE_NAME, LEASE),
        written=lambda: None,
    )


def finish(rejudger: Rejudger) -> None:
    while rejudger.step():
        pass


def rejudge(world: World) -> None:
    finish(a_rejudger(world))


def unjudged(world: World) -> int:
    with world.store.read() as view:
        return len(view.unjudged(Clean(world.comparison.model or ""), 1_000))


def batches(world: World) -> Sequence[Batch]:
    """Returns what was judged anew and can be undone, newest first."""
    found = world.undo_service.page(AS_OPERATOR, None, 100).batches
    return [one for one in found if one.kind is BatchKind.REJUDGED]


class Failure:
    """Lets a model fail at random until it is repaired."""

    def __init__(self, random: Random, share: float) -> None:
        self._random = random
        self.share = share

    def __call__(self, older: str, newer: str) -> None:
        if self._random.random() < self.share:
            raise Unavailable("not now")


WORDS = ("Listens", "Answers", "Restarts", "Waits", "Sleeps")


@st.composite
def verdicts(draw: st.DrawFn) -> Mapping[tuple[str, str], Verdict]:
    kinds = st.sampled_from(list(Verdict))
    return {pair: draw(kinds) for pair in product(WORDS, repeat=2) if pair[0] != pair[1]}


reports = st.lists(
    st.builds(
        Report,
        st.sampled_from(WORDS),
        st.integers(1, 6).map(lambda weeks: START - weeks * 9 * DAY),
        st.sampled_from([AS_ADA, AS_BOB, AS_LEA]),
        st.sampled_from([None, "a", "b"]),
    ),
    max_size=7,
)


def in_order(one: Report) -> tuple[object, ...]:
    return one.at, one.text, one.viewer.agent, one.session or ""


def one_outcome(
    world: World, reported: Sequence[Report], table: Mapping[tuple[str, str], Verdict], random: Random, bound: int
) -> None:
    """Compares reports in order of time with two spools that are merged and delivered twice, while the model fails."""
    number = next(_numbers)
    # Only texts with a word in common are read.
    ending = {word: f"on node{number}" if word != WORDS[-1] else f"at night{number}" for word in WORDS}
    texts = {word: f"{word} {ending[word]}" for word in WORDS}
    reader, failure = TableReader(), Failure(random, 0.0)
    reader.table = {(texts[older], texts[newer]): verdict for (older, newer), verdict in table.items()}
    reader.before = failure
    world = with_reader(world, reader)
    reported = [one._replace(text=texts[one.text]) for one in reported]
    spools: tuple[list[Report], list[Report]] = ([], [])
    for one in reported:
        random.choice(spools).append(one)
    delivered = [spool + spool[random.randint(0, len(spool)) :] for spool in spools]
    arrived: list[Report] = []
    while any(delivered):
        arrived.append(random.choice([spool for spool in delivered if spool]).pop(0))
    expected, merged = f"in order {number}", f"merged {number}"
    arrive(world, expected, sorted(reported, key=in_order))
    outcome = memories(world, expected), open_doubts(world, expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observing, "MAX_READ", bound)
        failure.share = random.choice([0.0, 0.4, 1.0])
        arrive(world, merged, arrived)
        failure.share = 0.0
    rejudge(world)
    assert (memories(world, merged), open_doubts(world, merged)) == outcome
    assert (memories(world, expected), open_doubts(world, expected)) == outcome
    done, read = len(batches(world)), len(reader.read)
    with world.store.read() as view:
        keys = view.unjudged(Clean("none"), 10_000)
    world.store.write(lambda tx: tx.put_judged(keys, None))
    rejudge(world)
    assert (memories(world, merged), open_doubts(world, merged)) == outcome
    assert (len(batches(world)), len(reader.read), unjudged(world)) == (done, read, 0)


@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(reports, verdicts(), st.randoms(use_true_random=False), st.sampled_from([0, 1, MAX_READ]))
def test_one_outcome_in_any_order_although_the_model_fails(
    world: World,
    reported: list[Report],
    table: Mapping[tuple[str, str], Verdict],
    random: Random,
    bound: int,
) -> None:
    one_outcome(world, reported, table, random, bound)
