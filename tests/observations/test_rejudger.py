"""Observations judged anew: one outcome in any order of arrival, although the model fails; and what stays as it is."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import count
from random import Random
from threading import Event, Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.changes.model import Batch, BatchKind
from hivelore.core.text import Clean
from hivelore.errors import Unavailable
from hivelore.links.judge import Verdict
from hivelore.memories.drafts import Edit
from hivelore.memories.model import MemoryId, Scope
from hivelore.observations import rejudger as rejudging
from hivelore.observations import service as observing
from hivelore.observations.curation import RatedQuery
from hivelore.observations.model import MatchingMode
from hivelore.observations.outcomes import Change, Effect, ObservationInput
from hivelore.observations.rejudger import LEASE, LEASE_NAME, Rejudger
from hivelore.observations.service import MAX_READ
from hivelore.review.model import Decision, ProposalKind
from hivelore.storage.leader_lease import LeaderLease
from support.clocks import START
from support.laws import examples
from support.pair_readers import TableReader
from support.reports import Report, arrive, memories, open_doubts
from support.waiting import until
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World, hashing

DAY = timedelta(days=1)
SERVICE = "jellyfin"
OLD, NEW, OTHER = "Anonymous access is enabled", "Anonymous access is disabled", "Anonymous visitors may read"
_numbers = count(1)


def with_reader(world: World, reader: TableReader | None, matching: MatchingMode = MatchingMode.MEANING) -> World:
    return World(
        world.store,
        world.keywords,
        world.clock,
        embedder=hashing(),
        reader=reader,
        first_id=next(_numbers) * 9_000,
        matching=matching,
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
        clock=world.clock,
        written=lambda: None,
    )


def finish(rejudger: Rejudger) -> None:
    while rejudger.step():
        pass


def rejudge(world: World) -> None:
    finish(a_rejudger(world))


def unjudged(world: World) -> int:
    with world.store.read() as view:
        return len(view.unjudged(world.comparison.mark or Clean("")))


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
    return {
        (older, newer): draw(st.sampled_from(list(Verdict))) for older in WORDS for newer in WORDS if older != newer
    }


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
        keys = view.unjudged(Clean("none"))
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


EIGHT = [
    Report(WORDS[number % 5], START - (60 - 7 * number) * DAY, (AS_ADA, AS_BOB, AS_LEA)[number % 3], f"s{number % 4}")
    for number in range(8)
]
MIXED = {
    (older, newer): list(Verdict)[(WORDS.index(older) + 2 * WORDS.index(newer)) % 5]
    for older in WORDS
    for newer in WORDS
    if older != newer
}


@pytest.mark.slow
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.permutations(EIGHT), st.randoms(use_true_random=False))
def test_every_order_of_eight_observations_has_one_outcome_although_the_model_fails(
    world: World, arrived: list[Report], random: Random
) -> None:
    one_outcome(world, arrived, MIXED, random, 1)


def observe(world: World, *texts: str) -> list[MemoryId]:
    return [
        world.observe(text, viewer=(AS_ADA, AS_BOB, AS_LEA)[number % 3]).memory.id for number, text in enumerate(texts)
    ]


def confidences(world: World) -> dict[str, float]:
    page = world.curation.page(RatedQuery(), AS_OPERATOR, None)
    return {one.memory.content: one.confidence for one in page.memories}


def broken(*_: str) -> None:
    raise Unavailable("not now")


def works(*_: str) -> None:
    """The model answers."""


def test_what_a_failing_model_did_not_judge_is_judged_later(world: World) -> None:
    reader = TableReader({(OLD, NEW): Verdict.CONFLICT, (OLD, OTHER): Verdict.SAME}, before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW, OTHER)
    rejudger = a_rejudger(world)
    with pytest.raises(Unavailable):
        rejudger.step()
    assert confidences(world) == {OLD: 0.7, NEW: 0.7, OTHER: 0.7}
    reader.before = works
    assert not rejudger.step()
    world.clock.advance(timedelta(seconds=rejudging.FIRST_PAUSE))
    assert rejudger.step()
    assert confidences(world) == {OLD: 0.6, NEW: 0.7}
    assert not rejudger.step()
    (batch,) = batches(world)
    assert (batch.changes, batch.actor, batch.reason) == (2, None, "The observations were judged anew.")
    assert unjudged(world) == 0


def test_another_model_judges_anew(world: World) -> None:
    texts = observe(with_reader(world, TableReader({(OLD, NEW): Verdict.SAME})), OLD, NEW)
    assert len(set(texts)) == 1
    world = with_reader(world, TableReader({(OLD, NEW): Verdict.UPDATE}, name="table-2"))
    rejudge(world)
    assert confidences(world) == {OLD: 0.5, NEW: 0.7}
    assert {one.memory.owner for one in world.curation.page(RatedQuery(), AS_OPERATOR, None).memories} == {"ada", "bob"}
    world = with_reader(world, TableReader({(OLD, NEW): Verdict.SAME}, name="table-1"))
    rejudge(world)
    assert confidences(world) == {OLD: 0.8}


def test_a_pair_is_read_once_by_a_model(world: World) -> None:
    reader = TableReader()
    world = with_reader(world, reader)
    observe(world, OLD, NEW, OTHER)
    read = list(reader.read)
    assert len(read) == len(set(read)) == 3
    observe(world, NEW, OLD)
    world.observe(OLD, at=world.clock.now() - DAY)
    rejudge(world)
    assert len(reader.read) == len(set(reader.read)) == 6


def test_one_observation_waits_for_few_reads_and_the_rest_is_read_later(world: World) -> None:
    texts = [f"Backup {number} goes to disk {number}" for number in range(MAX_READ + 3)]
    reader = TableReader({(texts[0], "Backups fail"): Verdict.CONFLICT}, others=Verdict.DIFFERENT)
    world = with_reader(world, reader)
    observe(world, *texts)
    rejudge(world)
    reader.read.clear()
    late = world.observe("Backup to disk fails")
    assert (late.effect, len(reader.read)) == (Effect.NEW, MAX_READ)
    assert unjudged(world) == 1
    rejudge(world)
    assert (len(reader.read), unjudged(world)) == (len(texts), 0)


def test_an_undone_judgement_is_not_made_again(world: World) -> None:
    reader = TableReader({(OLD, NEW): Verdict.SAME, (OLD, OTHER): Verdict.CONFLICT}, before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW, OTHER)
    before = memories(world, SERVICE)
    reader.before = works
    rejudge(world)
    after = memories(world, SERVICE)
    assert after != before
    (batch,) = batches(world)
    done = world.undo_service.undo(batch.id, AS_OPERATOR)
    assert memories(world, SERVICE) == before
    rejudge(world)
    assert memories(world, SERVICE) == before
    rejudge(with_reader(world, TableReader(reader.table, name="table-2")))
    assert memories(world, SERVICE) == before
    assert done.by is not None
    world.undo_service.undo(done.by, AS_OPERATOR)
    assert memories(world, SERVICE) == after


def test_decisions_of_operators_and_reviewers_stay(world: World) -> None:
    world = with_reader(world, TableReader(others=Verdict.UNCERTAIN))
    first, second, third = observe(world, OLD, NEW, OTHER)
    (doubt, *_) = world.review_inbox.page(AS_OPERATOR, None, 9, kind=ProposalKind.CONTRADICTION).proposals
    assert [one.memory for one in doubt.memories] in ([first, third], [second, third])
    for one in world.review_inbox.page(AS_OPERATOR, None, 9).proposals:
        if [each.memory for each in one.memories] == [first, second]:
            world.review_inbox.decide(one.id, Decision.REJECTED, AS_OPERATOR)
    world.curation.change(third, Change(confidence=0.9, persistent=True), AS_OPERATOR)
    world = with_reader(world, TableReader(others=Verdict.CONFLICT, name="table-2"))
    rejudge(world)
    assert confidences(world) == {OLD: 0.5, NEW: 0.5, OTHER: 0.9}
    world = with_reader(world, TableReader(others=Verdict.SAME, name="table-3"))
    rejudge(world)
    assert world.curation.get(third, AS_OPERATOR).memory.content == OTHER


def test_an_edited_memory_is_contradicted_by_nothing_that_was_known(world: World) -> None:
    world = with_reader(world, TableReader())
    first, _ = observe(world, OLD, NEW)
    world.memory_service.edit(first, Edit(content="Anonymous access is on"), AS_OPERATOR)
    world = with_reader(world, TableReader(others=Verdict.CONFLICT, name="table-2"))
    rejudge(world)
    assert confidences(world) == {"Anonymous access is on": 0.7, NEW: 0.7}


def test_what_an_operator_stores_contradicts_nothing(world: World) -> None:
    world = with_reader(world, TableReader(others=Verdict.CONFLICT))
    observe(world, OLD)
    world.clock.advance(DAY)
    said = ObservationInput(NEW, "timing", SERVICE, confidence=0.9)
    world.curation.create(said, AS_OPERATOR)
    rejudge(world)
    assert confidences(world) == {OLD: 0.7, NEW: 0.9}


def test_a_forgotten_memory_takes_the_answers_about_it_along(world: World) -> None:
    reader = TableReader()
    world = with_reader(world, reader)
    first, _, _ = observe(world, OLD, NEW, OTHER)
    pairs = [(OLD, NEW), (OLD, OTHER), (NEW, OTHER)]
    world.curation.forget_one(first, AS_OPERATOR)
    with world.store.read() as view:
        found = view.verdicts(Clean(reader.name), [(Clean(one), Clean(other)) for one, other in pairs])
    assert set(found) == {(NEW, OTHER)}


def test_no_word_of_a_forgotten_memory_is_left_in_previous_states(world: World) -> None:
    reader = TableReader({(OLD, NEW): Verdict.SAME})
    observe(with_reader(world, reader), OLD, NEW)
    world = with_reader(world, TableReader(name="table-2"))
    rejudge(world)
    (batch,) = batches(world)
    with world.store.read() as view:
        assert len(view.preimages(batch.id)) == 2
    (newer,) = (
        one for one in world.curation.page(RatedQuery(), AS_OPERATOR, None).memories if one.memory.content == NEW
    )
    world.curation.forget_one(newer.memory.id, AS_OPERATOR)
    with world.store.read() as view:
        assert view.preimages(batch.id) == []


def test_doubts_that_another_model_does_not_have_are_withdrawn(world: World) -> None:
    world = with_reader(world, TableReader(others=Verdict.UNCERTAIN))
    observe(world, OLD, NEW)
    assert open_doubts(world, SERVICE) == {(OLD, NEW)}
    rejudge(with_reader(world, TableReader(name="table-2")))
    assert open_doubts(world, SERVICE) == set()
    rejudge(with_reader(world, TableReader(others=Verdict.UNCERTAIN, name="table-3")))
    assert open_doubts(world, SERVICE) == {(OLD, NEW)}


def test_nothing_is_judged_anew_without_a_model(world: World) -> None:
    assert not a_rejudger(with_reader(world, None)).step()
    structural = with_reader(world, TableReader(), matching=MatchingMode.STRUCTURAL)
    observe(structural, OLD)
    assert not a_rejudger(structural).step()


def test_a_private_memory_is_due_only_once(world: World) -> None:
    world = with_reader(world, TableReader())
    (first,) = observe(world, OLD)
    world.memory_service.edit(first, Edit(scope=Scope.AGENT), AS_OPERATOR)
    rejudge(with_reader(world, TableReader(name="table-2")))
    assert unjudged(with_reader(world, TableReader(name="table-2"))) == 0


def test_only_one_process_judges_at_a_time(world: World) -> None:
    reader = TableReader(before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW)
    first, second = (a_rejudger(world, holder) for holder in ("one", "two"))
    with pytest.raises(Unavailable):
        first.step()
    reader.before = works
    assert second.step() is not world.store.is_shared


def test_the_worker_pauses_after_a_failure_and_reports_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejudging, "FIRST_PAUSE", 0.0)
    reader = TableReader({(OLD, NEW): Verdict.CONFLICT}, before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW)
    stop, reported = Event(), list[Exception | None]()
    thread = Thread(target=a_rejudger(world).run, args=(stop, 0.01, reported.append))
    thread.start()
    until(lambda: any(reported))
    reader.before = works
    until(lambda: unjudged(world) == 0)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert isinstance(reported[0], Unavailable)
    assert confidences(world) == {OLD: 0.5, NEW: 0.7}
