"""Observations judged again: one outcome in any order of arrival, although the model fails; and what stays as it is."""

from collections import Counter
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
from hivelore.errors import Broken, Unavailable
from hivelore.links.judge import Verdict
from hivelore.memories import normalizer
from hivelore.memories.drafts import Edit
from hivelore.memories.model import MemoryId, Scope
from hivelore.observations import groups, stored_groups
from hivelore.observations import rejudger as rejudging
from hivelore.observations import service as observing
from hivelore.observations.curation import RatedQuery
from hivelore.observations.groups import NEAREST
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
    """Returns what was judged again and can be undone, newest first."""
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
    assert (batch.changes, batch.actor, batch.reason) == (2, None, "The observations were judged again.")
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


def test_an_observation_is_compared_with_the_nearest_memories(world: World) -> None:
    texts = [f"Backup {number} goes to disk {number}" for number in range(NEAREST + 3)]
    far, near = "Backup by itself uses other words", "Backup to disk fails"
    reader = TableReader({(far, near): Verdict.CONFLICT})
    world = with_reader(world, reader)
    observe(world, far, *texts)
    reader.read.clear()
    assert world.observe(near).effect is Effect.NEW
    assert len(reader.read) == NEAREST
    assert far not in {older for older, _ in reader.read}
    assert unjudged(world) == 0


def test_a_late_observation_waits_for_few_reads_and_the_rest_is_read_later(world: World) -> None:
    texts = [f"Backup {number} goes to disk {number}" for number in range(MAX_READ + 3)]
    late = "Backup to disk fails"
    reader = TableReader({(late, texts[0]): Verdict.CONFLICT})
    world = with_reader(world, reader)
    observe(world, *texts)
    reader.read.clear()
    at = world.clock.now() - DAY
    assert world.observe(late, at=at).effect is Effect.NEW
    assert (len(reader.read), unjudged(world)) == (MAX_READ, 1)
    rejudge(world)
    assert unjudged(world) == 0
    assert confidences(world)[late] == 0.5


def test_a_flood_is_read_in_proportion_to_its_size(world: World) -> None:
    reader = TableReader(before=broken)
    world = with_reader(world, reader)
    observe(world, *(f"Host number{count} sleeps" for count in range(40)))
    reader.read.clear()
    reader.before = works
    rejudge(world)
    assert len(reader.read) == sum(min(count, NEAREST) for count in range(40))


@pytest.mark.parametrize("nearest", [1, 3])
def test_one_outcome_in_any_order_when_few_are_near(
    world: World, monkeypatch: pytest.MonkeyPatch, nearest: int
) -> None:
    monkeypatch.setattr(groups, "NEAREST", nearest)
    monkeypatch.setattr(rejudging, "MAX_CHANGED", nearest)
    for seed in range(3):
        one_outcome(world, EIGHT, MIXED, Random(seed), MAX_READ)


def test_many_changes_are_stored_in_several_transactions_and_undone_as_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejudging, "MAX_CHANGED", 2)
    texts = [f"Host number{count} sleeps" for count in range(6)]
    pairs = {(texts[at], texts[at + 1]): Verdict.SAME for at in (0, 2, 4)}
    reader = TableReader(pairs, before=broken)
    world = with_reader(world, reader)
    observe(world, *texts)
    before = memories(world, SERVICE)
    reader.before = works
    rejudge(world)
    assert confidences(world) == {texts[0]: 0.8, texts[2]: 0.8, texts[4]: 0.8}
    (batch,) = batches(world)
    world.undo_service.undo(batch.id, AS_OPERATOR)
    assert memories(world, SERVICE) == before


def test_nothing_is_locked_while_the_model_reads(world: World) -> None:
    reader = TableReader({(OLD, NEW): Verdict.CONFLICT}, before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW)

    def arrives(older: str, newer: str) -> None:
        reader.before = works
        world.observe(OLD, viewer=AS_LEA, at=world.clock.now() - DAY)

    reader.before = arrives
    rejudge(world)
    assert confidences(world) == {OLD: 0.6, NEW: 0.7}
    assert unjudged(world) == 0


def test_beyond_a_limit_the_newest_observations_are_judged_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_groups, "MAX_REJUDGED", 2)
    reader = TableReader({(OLD, NEW): Verdict.CONFLICT, (NEW, OTHER): Verdict.CONFLICT}, before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW, OTHER)
    reader.before = works
    rejudge(world)
    assert confidences(world) == {OLD: 0.7, NEW: 0.5, OTHER: 0.7}
    assert unjudged(world) == 0


def test_no_service_waits_for_a_busy_one(world: World) -> None:
    reader = TableReader(before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW)
    for number in range(2):
        world.observe(f"Flood {number}", service="busy")
    reader.before = works
    reader.read.clear()
    rejudger = a_rejudger(world)
    for number in range(3):
        rejudger.step()
        world.observe(f"Flood again {number}", service="busy", at=START - (number + 1) * DAY)
    assert (OLD, NEW) in reader.read
    assert unjudged(world) == 1


def test_a_service_that_fails_pauses_alone(world: World) -> None:
    reader = TableReader({(OLD, NEW): Verdict.CONFLICT}, before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW)
    for text in ("Poison one", "Poison two"):
        world.observe(text, service="poison")

    def fails(older: str, newer: str) -> None:
        if "Poison" in older:
            raise Broken("bad input")

    reader.before = fails
    rejudger = a_rejudger(world)
    with pytest.raises(Broken):
        rejudger.step()
    assert rejudger.step()
    assert confidences(world)[OLD] == 0.5
    assert not rejudger.step()
    assert unjudged(world) == 1


def test_names_that_are_stored_are_not_validated_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    category = "timi\u200bng"
    world = with_reader(world, TableReader({(OLD, NEW): Verdict.SAME}))
    with monkeypatch.context() as patch:
        patch.setattr(normalizer, "check_name", works)  # As before names were validated.
        for text in (OLD, NEW):
            world.observe(text, category=category)
    rejudge(with_reader(world, TableReader(name="table-2")))
    found = world.curation.page(RatedQuery(category=category), AS_OPERATOR, None).memories
    assert {(one.memory.content, one.memory.category) for one in found} == {(OLD, category), (NEW, category)}


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


def reject_doubt(world: World, older: str, newer: str, reason: str | None = None) -> None:
    """Decides that a memory does not contradict an earlier one."""
    for one in world.review_inbox.page(AS_OPERATOR, None, 9, kind=ProposalKind.CONTRADICTION).proposals:
        case = world.review_inbox.detail(one.id, AS_OPERATOR)
        if [each.content for each in case.memories] == [older, newer]:
            world.review_inbox.decide(one.id, Decision.REJECTED, AS_OPERATOR, reason=reason)
            return
    raise AssertionError("no such doubt")


def test_what_a_reviewer_decided_stays_whatever_a_model_answers(world: World) -> None:
    world = with_reader(world, TableReader({(OLD, NEW): Verdict.UNCERTAIN}))
    observe(world, OLD, NEW)
    reject_doubt(world, OLD, NEW)
    before = memories(world, SERVICE)
    for number, verdict in enumerate(Verdict):
        rejudge(with_reader(world, TableReader({(OLD, NEW): verdict}, name=f"other-{number}")))
        assert (memories(world, SERVICE), open_doubts(world, SERVICE)) == (before, set())


def test_what_a_reviewer_merged_stays(world: World) -> None:
    world = with_reader(world, TableReader({(OLD, NEW): Verdict.UNCERTAIN}))
    observe(world, OLD, NEW)
    (doubt,) = world.review_inbox.page(AS_OPERATOR, None, 9, is_open=True).proposals
    world.review_inbox.decide(doubt.id, Decision.MERGED, AS_OPERATOR)
    rejudge(with_reader(world, TableReader({(OLD, NEW): Verdict.CONFLICT}, name="table-2")))
    assert confidences(world) == {OLD: 0.8}


def test_what_an_operator_set_stays(world: World) -> None:
    world = with_reader(world, TableReader())
    _, second = observe(world, OLD, NEW)
    world.curation.change(second, Change(confidence=0.9, persistent=True), AS_OPERATOR)
    rejudge(with_reader(world, TableReader(others=Verdict.SAME, name="table-2")))
    found = world.curation.get(second, AS_OPERATOR)
    assert (found.memory.content, found.confidence) == (NEW, 0.9)


@pytest.mark.parametrize("change", ["late", "tags", "later"])
def test_a_decided_doubt_is_not_opened_again(world: World, change: str) -> None:
    world = with_reader(world, TableReader({(OLD, NEW): Verdict.UNCERTAIN}))
    first, _ = observe(world, OLD, NEW)
    reject_doubt(world, OLD, NEW)
    if change == "tags":
        world.memory_service.edit(first, Edit(tags=("x",)), AS_OPERATOR)
    elif change == "late":
        world.observe(OLD, viewer=AS_BOB, at=START - 9 * DAY)
    else:
        world.observe(NEW, viewer=AS_LEA)
    rejudge(world)
    rejudge(with_reader(world, TableReader({(OLD, NEW): Verdict.UNCERTAIN}, name="table-2")))
    assert open_doubts(world, SERVICE) == set()
    rejudge(with_reader(world, TableReader({(OLD, NEW): Verdict.CONFLICT}, name="table-3")))
    assert min(confidences(world).values()) == 0.7


def test_a_rejection_with_the_words_of_the_worker_is_a_decision(world: World) -> None:
    world = with_reader(world, TableReader(others=Verdict.UNCERTAIN))
    observe(world, OLD, NEW)
    reject_doubt(world, OLD, NEW, "The observations were judged again.")
    rejudge(with_reader(world, TableReader(others=Verdict.UNCERTAIN, name="table-2")))
    assert open_doubts(world, SERVICE) == set()


def test_doubts_are_proposed_in_the_name_of_the_later_author_up_to_a_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = TableReader(others=Verdict.UNCERTAIN, before=broken)
    world = with_reader(world, reader)
    for number in range(4):
        world.observe(f"Host number{number} sleeps", viewer=AS_ADA)
    world.observe("Host number9 sleeps", viewer=AS_BOB)
    reader.before = works
    monkeypatch.setattr("hivelore.review.proposals.MAX_OPEN", 2)
    rejudge(world)
    found = world.review_inbox.page(AS_OPERATOR, None, 9, is_open=True).proposals
    assert Counter(one.actor for one in found) == {"ada": 2, "bob": 2}


def test_an_answer_about_a_text_that_was_forgotten_meanwhile_is_not_stored(world: World) -> None:
    reader = TableReader(before=broken)
    world = with_reader(world, reader)
    _, second = observe(world, OLD, NEW)

    def forgets(older: str, newer: str) -> None:
        reader.before = works
        world.curation.forget_one(second, AS_OPERATOR)

    reader.before = forgets
    rejudge(world)
    with world.store.read() as view:
        assert view.verdicts(Clean(reader.name), [(Clean(OLD), Clean(NEW))]) == {}


def test_a_late_observation_does_not_make_an_undone_judgement_again(world: World) -> None:
    first = "Access is enabled"
    table = {(OLD, NEW): Verdict.SAME, (first, OLD): Verdict.SAME, (first, NEW): Verdict.SAME}
    reader = TableReader(table, before=broken)
    world = with_reader(world, reader)
    observe(world, OLD, NEW)
    reader.before = works
    rejudge(world)
    (batch,) = batches(world)
    world.undo_service.undo(batch.id, AS_OPERATOR)
    world.observe(first, viewer=AS_BOB, at=START - 99 * DAY)
    rejudge(world)
    assert {OLD, NEW} <= confidences(world).keys()


def test_another_matching_mode_and_other_aliases_judge_anew(world: World) -> None:
    reader = TableReader({(OLD, NEW): Verdict.CONFLICT})
    world = with_reader(world, reader, MatchingMode.CAUTIOUS)
    observe(world, OLD, NEW)
    assert (confidences(world)[OLD], unjudged(world)) == (0.7, 0)
    world = with_reader(world, reader)
    rejudge(world)
    assert (confidences(world)[OLD], unjudged(world)) == (0.5, 0)
    world.observe(OLD, service="db-a")
    world.observe(NEW, service="db-b", viewer=AS_BOB)
    first_id = next(_numbers) * 9_000
    joined = World(world.store, world.keywords, world.clock, reader=reader, first_id=first_id, aliases=("db-a=db-b",))
    rejudge(joined)
    page = joined.curation.page(RatedQuery(service="db-b"), AS_OPERATOR, None)
    assert {one.memory.content: one.confidence for one in page.memories} == {OLD: 0.5, NEW: 0.7}


def test_answers_of_a_replaced_model_are_deleted_when_nothing_is_left(world: World) -> None:
    old, new = TableReader(), TableReader(name="table-2")
    observe(with_reader(world, old), OLD, NEW)
    world = with_reader(world, new)
    rejudge(world)
    with world.store.read() as view:
        found = [len(view.verdicts(Clean(one.name), [(Clean(OLD), Clean(NEW))])) for one in (old, new)]
    assert found == [0, 1]


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
