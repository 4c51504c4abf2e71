"""The linker: which memories it compares, the links it makes and drops, and what it does when something fails."""

from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread

import pytest

from hivelore.core.text import Clean
from hivelore.embeddings.active_model import ActiveModel
from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.links import linker as linking
from hivelore.links.comparer import Comparer
from hivelore.links.decisions import LONGEST
from hivelore.links.judge import READ_IN_FULL, Verdict
from hivelore.links.linker import (
    LEASE,
    LEASE_NAME,
    LINKED,
    NEAREST,
    NEW,
    READ_AT_MOST,
    SHARING,
    VECTORS_AWAITED,
    Linker,
)
from hivelore.links.model import Link, LinkKind
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, Scope
from hivelore.storage.leader_lease import LeaderLease
from support.links import links_of
from support.memories import a_memory
from support.pair_readers import TableReader
from support.stores import add, present
from support.waiting import until
from support.world import AS_ADA, AS_BOB, World

NPM, PNPM, YARN = "We use npm", "We moved from npm to pnpm", "We moved from pnpm to yarn"
OWL = "The owl sleeps in the barn"
LONG = "The otter swims in the river at dawn. " * 12
HOUR = timedelta(hours=1)
UPDATES = {(NPM, PNPM): Verdict.UPDATE}


def a_linker(world: World, reader: TableReader | None, holder: str = "one") -> Linker:
    return Linker(
        store=world.store,
        keywords=world.keywords,
        active_model=world.active_model,
        comparer=Comparer(reader),
        leader_lease=LeaderLease(world.store, world.clock, holder, LEASE_NAME, LEASE),
        clock=world.clock,
    )


def finish(linker: Linker) -> None:
    while linker.step():
        pass


def link_all(world: World, reader: TableReader) -> None:
    finish(a_linker(world, reader))


def links(world: World, memory: Memory) -> list[Link]:
    return [one.link for one in links_of(world.store, present(world.store, memory))]


def ends(world: World, memory: Memory) -> set[tuple[str, str, str]]:
    return {(one.source, one.kind, one.target) for one in links(world, memory)}


def edit(world: World, memory: Memory, content: str) -> Memory:
    return world.memory_service.edit(memory.id, Edit(content=content), AS_ADA)


def forget(world: World, memory: Memory) -> None:
    world.memory_service.forget(memory.id, AS_ADA)


def uncompared(world: World, reader: TableReader) -> int:
    with world.store.read() as view:
        return view.count_uncompared(Clean(reader.name))


def pairs(reader: TableReader) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in reader.read}


# which memories are compared


def test_a_memory_is_compared_with_those_nearest_in_meaning(world: World) -> None:
    reader = TableReader()
    for letter in "abcdefghijkl":
        world.remember(f"heronsleep{letter}")
    linker = a_linker(world, reader)
    finish(linker)
    reader.read.clear()
    world.remember("heronsleepz")
    finish(linker)
    assert len(reader.read) == NEAREST
    assert {newer for _, newer in reader.read} == {"heronsleepz"}


def test_a_memory_is_compared_with_those_that_share_most_of_its_words(world: World) -> None:
    reader = TableReader()
    world = World(world.store, world.keywords, world.clock)
    sharing = {f"The otter swims at {place}" for place in ("dawn", "dusk", "night", "noon", "sea")[: SHARING + 1]}
    for text in sorted(sharing):
        world.remember(text)
    for word in "abcdefg":
        world.remember(f"The {word} otter")
    world.remember(OWL)
    linker = a_linker(world, reader)
    finish(linker)
    reader.read.clear()
    world.remember("The otter swims slowly")
    finish(linker)
    assert len(reader.read) == SHARING
    assert {older for older, _ in reader.read} < sharing


def test_each_pair_is_compared_once(world: World) -> None:
    reader = TableReader()
    for text in (NPM, PNPM, YARN, OWL):
        world.remember(text)
    linker = a_linker(world, reader)
    finish(linker)
    assert len(reader.read) == len(pairs(reader)) == 6
    for again in (linker, a_linker(world, reader)):
        assert not again.step()
    assert len(reader.read) == 6


def test_only_memories_of_the_same_viewers_and_of_a_common_project_are_compared(world: World) -> None:
    reader = TableReader()
    for number, (viewer, scope, project) in enumerate(
        [
            (AS_ADA, Scope.AGENT, None),
            (AS_ADA, Scope.AGENT, "tv"),
            (AS_ADA, Scope.AGENT, "web"),
            (AS_BOB, Scope.AGENT, "tv"),
            (AS_ADA, Scope.SWARM, "tv"),
            (AS_BOB, Scope.SWARM, "tv"),
        ]
    ):
        world.remember(f"We use npm {number}", viewer, scope=scope, project=project)
    link_all(world, reader)
    compared = [(0, 1), (0, 2), (4, 5)]
    assert pairs(reader) == {frozenset((f"We use npm {one}", f"We use npm {other}")) for one, other in compared}


def test_facts_of_one_chain_of_valid_times_are_not_compared(world: World) -> None:
    reader = TableReader(UPDATES)
    for text in (NPM, PNPM):
        world.remember(text, subject="package.manager")
    link_all(world, reader)
    assert reader.read == []


def test_long_memories_are_compared_with_fewer(world: World) -> None:
    reader = TableReader()
    world = World(world.store, world.keywords, world.clock)
    for number in range(SHARING):
        world.remember(f"{LONG} {number}")
    linker = a_linker(world, reader)
    finish(linker)
    reader.read.clear()
    world.remember(f"{LONG} z")
    finish(linker)
    assert len(reader.read) == READ_AT_MOST // (2 * READ_IN_FULL) < SHARING


def test_an_edited_memory_is_compared_with_all_that_it_has_links_with(world: World) -> None:
    reader = TableReader(others=Verdict.CONFLICT)
    world = World(world.store, world.keywords, world.clock)
    linker = a_linker(world, reader)
    for number in range(SHARING):
        world.remember(f"{LONG} {number}")
        finish(linker)
    last = world.remember(f"{LONG} z")
    finish(linker)
    linked = links(world, last)
    assert len(linked) == READ_AT_MOST // (2 * READ_IN_FULL)
    edit(world, last, f"{LONG} y")
    finish(a_linker(world, TableReader()))
    assert links(world, last) == []


@pytest.mark.parametrize("length", [LONGEST + 1, 100_000])
def test_a_long_memory_is_not_compared(world: World, length: int) -> None:
    reader = TableReader(others=Verdict.CONFLICT)
    world.remember(NPM)
    world.remember(f"{PNPM} {'because of the lock file ' * 4_000}"[:length])
    link_all(world, reader)
    assert (reader.read, uncompared(world, reader)) == ([], 0)


def test_without_a_model_nothing_is_compared(world: World) -> None:
    world.remember(NPM)
    assert not a_linker(world, None).step()


# links


@pytest.mark.parametrize(
    ("verdict", "kind", "why"),
    [
        (Verdict.SAME, LinkKind.SAME_AS, "the same in other words"),
        (Verdict.UPDATE, LinkKind.UPDATES, "npm -> pnpm"),
        (Verdict.CONFLICT, LinkKind.CONFLICTS_WITH, "npm vs pnpm"),
    ],
)
def test_a_verdict_becomes_a_link_of_the_later_memory(world: World, verdict: Verdict, kind: LinkKind, why: str) -> None:
    older, newer = world.remember(NPM), world.remember(PNPM)
    link_all(world, TableReader({(NPM, PNPM): verdict}))
    (link,) = links(world, older)
    assert (link.source, link.target, link.kind, link.why) == (newer.id, older.id, kind, why)
    assert (link.certainty, link.model, link.at, link.counts) == (0.994, "table-1", world.clock.now(), True)


def test_a_different_statement_makes_no_link(world: World) -> None:
    older, _ = world.remember(NPM), world.remember(PNPM)
    link_all(world, TableReader({(NPM, PNPM): Verdict.DIFFERENT}))
    assert links(world, older) == []


def test_a_doubt_is_kept_as_one(world: World) -> None:
    older, newer = world.remember(NPM), world.remember(PNPM)
    link_all(world, TableReader({(NPM, PNPM): Verdict.UNCERTAIN}))
    assert ends(world, older) == {(newer.id, "may-update", older.id)}


def test_quantities_and_equal_words_are_compared_without_the_model(world: World) -> None:
    reader = TableReader(others=Verdict.DIFFERENT)
    texts = ("Takes 60s to start", "takes 1 min to start", "Takes 10 minutes to start")
    slow, same, other = (world.remember(text) for text in texts)
    link_all(world, reader)
    assert ends(world, slow) == {(same.id, "same-as", slow.id), (other.id, "conflicts-with", slow.id)}
    assert reader.read == []


@pytest.mark.parametrize(
    ("older_project", "newer_project", "kind"),
    [(None, "tv", "conflicts-with"), ("tv", None, "updates"), ("tv", "tv", "updates"), (None, None, "updates")],
)
def test_a_memory_of_a_project_updates_none_of_all_projects(
    world: World, older_project: str | None, newer_project: str | None, kind: str
) -> None:
    older, newer = world.remember(NPM, project=older_project), world.remember(PNPM, project=newer_project)
    link_all(world, TableReader(UPDATES))
    assert ends(world, older) == {(newer.id, kind, older.id)}


@pytest.mark.parametrize("step", [1, -1])
def test_memories_of_equal_dates_are_compared_in_the_order_of_their_ids(world: World, step: int) -> None:
    """Whichever arrived first, as in a store to which memories were moved."""
    older, newer = (a_memory(text, created_at=world.clock.now()) for text in (NPM, PNPM))
    for one in (older, newer)[::step]:
        add(world.store, one)
    world.embed()
    reader = TableReader(UPDATES)
    link_all(world, reader)
    assert reader.read == [(NPM, PNPM)]
    assert ends(world, older) == {(newer.id, "updates", older.id)}


def test_a_memory_that_arrives_late_is_the_earlier_statement(world: World) -> None:
    reader = TableReader(UPDATES)
    newer = world.remember(PNPM)
    world.clock.advance(-HOUR)
    older = world.remember(NPM)
    link_all(world, reader)
    assert reader.read == [(NPM, PNPM)]
    assert ends(world, older) == {(newer.id, "updates", older.id)}


def test_a_statement_is_as_new_as_its_text(world: World) -> None:
    reader = TableReader({**UPDATES, (PNPM, YARN): Verdict.UPDATE})
    first, second = world.remember(NPM), world.remember(PNPM)
    link_all(world, reader)
    world.clock.advance(HOUR)
    edit(world, first, YARN)
    world.embed()
    link_all(world, reader)
    assert ends(world, first) == {(first.id, "updates", second.id)}


# links that are dropped and kept


@pytest.mark.parametrize("passed", [HOUR, timedelta(0), -HOUR])
@pytest.mark.parametrize("is_restarted", [True, False])
def test_an_edit_that_removes_the_reason_drops_the_link(world: World, passed: timedelta, is_restarted: bool) -> None:
    reader = TableReader(UPDATES)
    older, newer = world.remember(NPM), world.remember(PNPM)
    linker = a_linker(world, reader)
    finish(linker)
    world.clock.advance(passed)
    edit(world, newer, OWL)
    world.embed()
    finish(a_linker(world, reader) if is_restarted else linker)
    assert links(world, older) == []


@pytest.mark.parametrize("passed", [HOUR, timedelta(0), -HOUR])
def test_a_link_is_kept_whatever_the_clock_shows(world: World, passed: timedelta) -> None:
    """The pair is compared for one memory, and not again for the other."""
    reader = TableReader({(PNPM, NPM): Verdict.CONFLICT, **UPDATES})
    older = world.remember(OWL)
    world.clock.advance(HOUR)
    edit(world, older, NPM)
    world.clock.advance(passed)
    world.remember(PNPM)
    link_all(world, reader)
    assert len(links(world, older)) == len(reader.read) == 1


def test_an_edit_of_other_parts_keeps_the_link(world: World) -> None:
    reader = TableReader(UPDATES)
    older, newer = world.remember(NPM), world.remember(PNPM)
    link_all(world, reader)
    world.memory_service.edit(newer.id, Edit(tags=("build",)), AS_ADA)
    link_all(world, reader)
    assert ends(world, older) == {(newer.id, "updates", older.id)}


def test_a_memory_that_becomes_too_long_has_no_links(world: World) -> None:
    reader = TableReader(UPDATES)
    older, newer = world.remember(NPM), world.remember(PNPM)
    link_all(world, reader)
    edit(world, newer, PNPM + " because of its lock file" * 100)
    world.embed()
    link_all(world, reader)
    assert links(world, older) == []


def test_a_changed_model_judges_anew_and_drops_what_it_does_not_confirm(world: World) -> None:
    first = TableReader({**UPDATES, (NPM, YARN): Verdict.UPDATE, (NPM, OWL): Verdict.CONFLICT})
    npm, pnpm, yarn, owl = (world.remember(text) for text in (NPM, PNPM, YARN, OWL))
    link_all(world, first)
    assert len(links(world, npm)) == 3
    other = TableReader({**UPDATES, (NPM, YARN): Verdict.CONFLICT}, name="table-2")
    link_all(world, other)
    assert ends(world, npm) == {(pnpm.id, "updates", npm.id), (yarn.id, "conflicts-with", npm.id)}
    assert {one.model for one in links(world, npm)} == {"table-2"}
    assert len(pairs(other)) == 6
    assert links(world, owl) == []


def test_a_rejected_link_is_not_made_again_and_stays_rejected(world: World) -> None:
    older, newer = world.remember(NPM), world.remember(PNPM)
    reader = TableReader(UPDATES)
    link_all(world, reader)
    world.links.reject(newer.id, older.id, AS_ADA)
    (rejected,) = links(world, older)
    link_all(world, TableReader(UPDATES, name="table-2"))
    world.clock.advance(HOUR)
    edit(world, newer, f"{PNPM}.")
    world.embed()
    link_all(world, TableReader({(NPM, f"{PNPM}."): Verdict.UPDATE}, name="table-2"))
    assert links(world, older) == [rejected]
    link_all(world, TableReader({(NPM, f"{PNPM}."): Verdict.CONFLICT}, name="table-3"))
    assert links(world, older) == [rejected]


def test_a_rejected_repetition_is_not_made_again(world: World) -> None:
    reader = TableReader(others=Verdict.SAME)
    older, newer = world.remember(NPM), world.remember(PNPM)
    link_all(world, reader)
    world.links.reject(newer.id, older.id, AS_ADA)
    (rejected,) = links(world, older)
    world.memory_service.edit(newer.id, Edit(tags=("build",)), AS_ADA)
    link_all(world, reader)
    assert links(world, older) == [rejected]


def test_a_memory_with_many_links_is_compared_with_the_latest_of_them(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    hub, linker = world.remember(OWL), a_linker(world, TableReader(others=Verdict.CONFLICT))
    for number in range(LINKED + 5):
        world.remember(f"{OWL} {number}")
        finish(linker)
    assert len(links(world, hub)) > LINKED
    reader = TableReader(others=Verdict.CONFLICT)
    edit(world, hub, f"{OWL} again")
    finish(a_linker(world, reader))
    assert LINKED <= len(reader.read) <= LINKED + SHARING


# changes meanwhile


def test_a_memory_that_was_forgotten_meanwhile_has_no_links(world: World) -> None:
    memories = {text: world.remember(text) for text in (NPM, PNPM, YARN)}
    reader = TableReader(
        {**UPDATES, (PNPM, YARN): Verdict.UPDATE}, before=lambda older, newer: forget_once(world, memories[PNPM])
    )
    link_all(world, reader)
    assert uncompared(world, reader) == 0
    assert links(world, memories[NPM]) == links(world, memories[YARN]) == []


def forget_once(world: World, memory: Memory) -> None:
    with world.store.read() as view:
        is_there = view.get(memory.id) is not None
    if is_there:
        forget(world, memory)


def test_the_middle_of_a_chain_can_be_forgotten(world: World) -> None:
    reader = TableReader({**UPDATES, (PNPM, YARN): Verdict.UPDATE, (NPM, YARN): Verdict.UPDATE})
    npm, pnpm, yarn = (world.remember(text) for text in (NPM, PNPM, YARN))
    link_all(world, reader)
    forget(world, pnpm)
    link_all(world, reader)
    assert ends(world, npm) == ends(world, yarn) == {(yarn.id, "updates", npm.id)}


@pytest.mark.parametrize("edited", [NPM, PNPM])
def test_a_memory_that_is_edited_meanwhile_is_compared_again(world: World, edited: str) -> None:
    memories = {text: world.remember(text) for text in (NPM, PNPM)}
    left = [edited]

    def edit_once(*_: str) -> None:
        while left:
            edit(world, memories[left.pop()], OWL)
            world.embed()

    reader = TableReader(UPDATES, before=edit_once)
    link_all(world, reader)
    assert links(world, memories[NPM]) == []
    assert uncompared(world, reader) == 0
    assert len(reader.read) == 2


# failures


@pytest.mark.parametrize("error", [Unavailable("not now"), Broken("damaged")])
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_nothing_is_lost_if_the_model_fails(world: World, error: HiveloreError, failing: int) -> None:
    """``failing``: the call that fails."""
    verdicts = {**UPDATES, (PNPM, YARN): Verdict.UPDATE, (NPM, YARN): Verdict.UPDATE}
    reader, calls = TableReader(verdicts), list[int]()

    def fail(*_: str) -> None:
        calls.append(len(calls))
        if calls[-1] == failing:
            raise error

    reader.before = fail
    npm, pnpm, yarn = (world.remember(text) for text in (NPM, PNPM, YARN))
    linker = a_linker(world, reader)
    with pytest.raises(type(error)):
        finish(linker)
    assert uncompared(world, reader) > 0
    finish(linker)
    assert ends(world, npm) == {(one.id, "updates", npm.id) for one in (pnpm, yarn)}
    assert ends(world, yarn) == {(yarn.id, "updates", one.id) for one in (npm, pnpm)}


def running(linker: Linker, stop: Event, report: Callable[[Exception | None], None] = lambda _: None) -> Thread:
    thread = Thread(target=linker.run, args=(stop, 0.01, report))
    thread.start()
    return thread


def test_failures_are_reported_and_the_work_is_resumed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "FIRST_PAUSE", 0.001)
    errors: list[Exception] = [Unavailable("not now"), Broken("damaged")]
    expected, reported, stop = list(errors), list[Exception | None](), Event()

    def fail(*_: str) -> None:
        if errors:
            raise errors.pop(0)

    older, newer = world.remember(NPM), world.remember(PNPM)
    thread = running(a_linker(world, TableReader(UPDATES, before=fail)), stop, reported.append)
    until(lambda: ends(world, older) == {(newer.id, "updates", older.id)})
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert reported[:2] == expected
    assert set(reported[2:]) == {None}


class PausesOnly(Event):
    """Keeps how long it was waited for, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0.0)
        return self.is_set()


@pytest.mark.parametrize(("age", "pauses"), [(timedelta(0), []), (NEW, [0.0, 3.0])])
def test_old_memories_are_compared_half_of_the_time(world: World, age: timedelta, pauses: list[float]) -> None:
    stop = PausesOnly()
    reader = TableReader(before=lambda older, newer: world.clock.advance(timedelta(seconds=3)))
    for text in (NPM, PNPM):
        world.remember(text)
    world.clock.advance(age)
    a_linker(world, reader).step(stop)
    assert sorted(stop.pauses) == pauses


def test_it_stops_between_two_memories_and_continues_later(world: World) -> None:
    stop, verdicts = Event(), {**UPDATES, (PNPM, YARN): Verdict.UPDATE}
    reader = TableReader(verdicts, before=lambda older, newer: stop.set())
    npm, pnpm, yarn = (world.remember(text) for text in (NPM, PNPM, YARN))
    thread = running(a_linker(world, reader), stop)
    thread.join(10)
    assert not thread.is_alive()
    assert (len(reader.read), uncompared(world, reader)) == (2, 2)
    finish(a_linker(world, reader))
    assert ends(world, pnpm) == {(pnpm.id, "updates", npm.id), (yarn.id, "updates", pnpm.id)}


def test_only_one_process_compares(world: World) -> None:
    reader = TableReader()
    world.remember(NPM)
    first, second = (a_linker(world, reader, holder) for holder in ("one", "two"))
    assert first.step()
    world.remember(PNPM)
    assert second.step() is not world.store.is_shared


# vectors


def test_a_new_memory_waits_for_its_vectors(world: World) -> None:
    reader = TableReader()
    world.remember("heronsleepa")
    linker = a_linker(world, reader)
    finish(linker)
    world.memory_service.remember(Draft(content="heronsleepb"), AS_ADA)
    assert not linker.step()
    world.embed()
    finish(linker)
    assert reader.read == [("heronsleepa", "heronsleepb")]


def test_a_memory_without_vectors_is_compared_by_its_words_in_the_end(world: World) -> None:
    reader = TableReader(UPDATES)
    world.remember(NPM)
    linker = a_linker(world, reader)
    finish(linker)
    world.memory_service.remember(Draft(content=PNPM), AS_ADA)
    assert not linker.step()
    world.clock.advance(VECTORS_AWAITED + timedelta(seconds=1))
    finish(linker)
    assert reader.read == [(NPM, PNPM)]


def test_memories_do_not_wait_during_an_outage_of_the_embedder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TableReader(UPDATES)
    world.remember(NPM)
    world.memory_service.remember(Draft(content=PNPM), AS_ADA)
    monkeypatch.setattr(ActiveModel, "outage", "the embedder does not answer")
    link_all(world, reader)
    assert reader.read == [(NPM, PNPM)]


def test_no_memory_is_compared_before_the_index_is_built(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TableReader()
    for letter in "ab":
        world.remember(f"heronsleep{letter}")
    world.clock.advance(HOUR)
    linker = a_linker(world, reader)
    monkeypatch.setattr(ExactVectors, "ready", False)
    assert not linker.step()
    monkeypatch.setattr(ExactVectors, "ready", True)
    finish(linker)
    assert reader.read == [("heronsleepa", "heronsleepb")]
