"""Injection of notes that later statements update, or may update: the later one comes first, and both say so."""

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.links.decisions import DOUBT_INJECTED
from hivelore.links.model import LaterStatement, LinkKind
from hivelore.memories.model import Memory, MemoryId, Scope
from hivelore.sessions.injection import Injection, Note, Section, compose, excerpt, place_later_statements
from hivelore.sessions.model import AgentEvent, EventId, EventKind
from support.clocks import SteppingClock
from support.fences import NONCE, inside
from support.links import a_link, put_links
from support.memories import a_memory, instant, operational
from support.relevance import DecidedReader
from support.stores import KEYWORDS, STORES, present
from support.world import AS_ADA, AS_BOB, World

HERE = Clean("example.com/bees/hive")
QUESTION = "which tool builds the web app"
OLD, NEW, NEWEST = "npm builds the web app", "yarn since May", "everything moved to bun"
SURE, NO = 12.0, -12.0
DAY = timedelta(days=1)
DOUBTS = [LinkKind.MAY_UPDATE, LinkKind.CONFLICTS_WITH]


@pytest.fixture
def world(clock: SteppingClock, tmp_path: Path) -> Generator[World]:
    """A world whose relevance model finds only what npm builds."""
    kind, reader = KEYWORDS["postings"], DecidedReader({"npm": SURE}, NO)
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield World(store, kind.index(), clock, relevance_reader=reader)


class Session:
    """One session. Its start is not recorded: the first prompt makes up for it."""

    def __init__(self, world: World, prompt: str = "hello") -> None:
        self._world, self._ids = world, count(1)
        self.context = self.send(prompt)

    def send(self, text: str = QUESTION) -> list[str]:
        """Returns the injected lines."""
        event = AgentEvent(
            id=EventId(f"e{next(self._ids)}"),
            kind=EventKind.PROMPTED,
            program="claude-code",
            session=Clean("s1"),
            at=self._world.clock.now(),
            project=HERE,
            text=Clean(text),
        )
        context = self._world.capture.handle(event, AS_ADA).context
        return inside(context)[1].splitlines() if context else []


def remembered(world: World, *texts: str, **more: Any) -> list[Memory]:
    """Stores memories, each a day after the one before it."""
    memories = list[Memory]()
    for text in texts:
        memories.append(world.remember(text, project=HERE, **more))
        world.clock.advance(DAY)
    return memories


def link(world: World, newer: Memory, older: Memory, kind: LinkKind = LinkKind.UPDATES, certainty: float = 0.9) -> None:
    ends = (present(world.store, one) for one in (newer, older))
    put_links(world.store, a_link(*ends, kind=kind, certainty=certainty))


# prompts


def test_an_updated_note_follows_its_successor_with_a_mark(world: World) -> None:
    session = Session(world)
    old, new = remembered(world, OLD, NEW)
    link(world, new, old)
    assert session.send() == [
        "## Relevant Past Knowledge",
        f"- [{new.id} 2026-03-02] {NEW}",
        f"- [{old.id} 2026-03-01, updated 2026-03-02 by {new.id}] {OLD}",
    ]


@pytest.mark.parametrize("kind", DOUBTS)
def test_a_note_that_may_be_updated_follows_what_may_update_it(world: World, kind: LinkKind) -> None:
    session = Session(world)
    old, new = remembered(world, OLD, NEW)
    link(world, new, old, kind, DOUBT_INJECTED)
    assert session.send() == [
        "## Relevant Past Knowledge",
        f"- [{new.id} 2026-03-02] {NEW}",
        f"- [{old.id} 2026-03-01, may be updated 2026-03-02 by {new.id}] {OLD}",
    ]


def test_a_note_that_may_be_updated_follows_it_at_the_start_too(world: World) -> None:
    old, new = remembered(world, f"Always remember: {OLD}", NEW)
    link(world, new, old, LinkKind.MAY_UPDATE)
    lines = [line for line in Session(world).context if line.startswith("- ")]
    assert lines[0].startswith(f"- [{new.id} ")
    assert f", may be updated 2026-03-02 by {new.id}] " in lines[1]


def test_a_weak_or_a_rejected_doubt_brings_in_nothing(world: World) -> None:
    session = Session(world)
    old, new, other = remembered(world, OLD, NEW, NEWEST)
    link(world, new, old, LinkKind.MAY_UPDATE, DOUBT_INJECTED - 0.01)
    link(world, other, old, LinkKind.MAY_UPDATE, 0.9)
    world.links.reject(old.id, other.id, AS_ADA)
    assert session.send()[1:] == [f"- [{old.id} 2026-03-01] {OLD}"]


def test_a_doubt_brings_in_nothing_without_the_earlier_note(world: World) -> None:
    session = Session(world)
    old, new = remembered(world, OLD, NEW)
    assert session.send()[1:] == [f"- [{old.id} 2026-03-01] {OLD}"]
    link(world, new, old, LinkKind.MAY_UPDATE)
    assert session.send() == []


def test_a_doubt_about_a_known_note_brings_in_nothing_although_a_search_finds_both(world: World) -> None:
    session = Session(world)
    (old,) = remembered(world, OLD)
    assert session.send()[1:] == [f"- [{old.id} 2026-03-01] {OLD}"]
    (new,) = remembered(world, "which tool is it?")
    link(world, new, old, LinkKind.MAY_UPDATE)
    assert session.send() == []


@pytest.mark.parametrize("reason", ["private", "expired", "disproved", "less reliable"])
def test_a_doubt_by_a_memory_that_does_not_count_brings_in_nothing(world: World, reason: str) -> None:
    session = Session(world)
    (old,) = remembered(world, OLD, scope=Scope.SWARM)
    if reason == "private":
        new = world.remember(NEW, AS_BOB)
    elif reason == "expired":
        new = world.remember(NEW, scope=Scope.SWARM, expires_at=world.clock.now() + DAY)
    elif reason == "less reliable":
        new = world.remember(NEW, project=Clean("another"), scope=Scope.SWARM)
    else:
        off = operational(base=0.1, since=world.clock.now(), is_off=True)
        new = world.remember(NEW, scope=Scope.SWARM, operational=off)
    link(world, new, old, LinkKind.MAY_UPDATE)
    world.clock.advance(2 * DAY)
    assert session.send()[1:] == [f"- [{old.id} 2026-03-01] {OLD}"]


def test_what_may_update_a_note_is_replaced_by_what_updates_that(world: World) -> None:
    session = Session(world)
    old, new, newest = remembered(world, OLD, NEW, NEWEST)
    link(world, new, old, LinkKind.MAY_UPDATE)
    link(world, newest, new)
    assert session.send()[1:] == [
        f"- [{newest.id} 2026-03-03] {NEWEST}",
        f"- [{old.id} 2026-03-01, may be updated 2026-03-03 by {newest.id}] {OLD}",
    ]


def test_a_note_has_one_later_statement_and_a_certain_one_counts_more(world: World) -> None:
    session = Session(world)
    old, new, newest = remembered(world, OLD, NEW, NEWEST)
    link(world, new, old)
    link(world, newest, old, LinkKind.MAY_UPDATE)
    assert session.send()[1:] == [
        f"- [{new.id} 2026-03-02] {NEW}",
        f"- [{old.id} 2026-03-01, updated 2026-03-02 by {new.id}] {OLD}",
    ]


def test_notes_that_update_each_other_are_injected_in_order_of_time(world: World) -> None:
    session = Session(world)
    old, new = remembered(world, OLD, NEW)
    link(world, new, old)
    link(world, old, new)
    assert [line[:8] for line in session.send()[1:]] == [f"- [{new.id}", f"- [{old.id}"]


def test_a_successor_whose_text_is_in_the_block_is_named_by_that_memory(world: World) -> None:
    known = world.observe(NEW, service=None).memory
    session = Session(world)
    assert any(NEW in line for line in session.context)
    world.clock.advance(DAY)
    old, new = remembered(world, OLD, NEW)
    link(world, new, old)
    other = Session(World(world.store, world.keywords, world.clock, first_id=500), QUESTION)
    (line,) = [line for line in other.context if OLD in line]
    assert f"updated 2026-03-03 by {known.id}]" in line
    assert sum(NEW in line for line in other.context) == 1


# the block of operational memory


def test_an_updated_memory_in_the_block_is_marked_and_follows_its_successor_without_other_budgets(world: World) -> None:
    world.settings = world.settings.model_copy(update={"prompt_tokens": 0, "briefing_tokens": 0})
    old = world.observe("Takes 60 s to start").memory
    world.clock.advance(DAY)
    new = world.remember("It starts in 3 s since the new disk", scope=Scope.SWARM)
    link(world, new, old)
    assert Session(world).context[2:] == [
        "### jellyfin",
        f"- [{new.category}] {new.content} ({new.id} 2026-03-02)",
        f"- [timing] {old.content} (confidence: 0.7, updated 2026-03-02 by {new.id})",
    ]


# places of the later statements


def numbered(number: int, text: str = "") -> Memory:
    return a_memory(text or f"note {number}", id=MemoryId(f"n{number}"), name=Clean("n"), created_at=instant(number))


def note(number: int, text: str = "") -> Note:
    return replace(excerpt(numbered(number, text)), label=f"n{number}")


def later(number: int, *, is_certain: bool = True, text: str = "") -> LaterStatement:
    return LaterStatement(numbered(number, text), instant(number), is_certain)


def ids(sections: Sequence[Section]) -> list[list[str]]:
    return [[one.memory.id for one in section.notes] for section in sections]


@pytest.mark.parametrize("is_certain", [True, False])
def test_a_later_statement_is_added_once_before_each_note(is_certain: bool) -> None:
    sections = [Section("A", [note(1), note(2)]), Section("B", [note(3)])]
    placed = place_later_statements(sections, {MemoryId("n2"): later(9, is_certain=is_certain)})
    assert ids(placed) == [["n1", "n9", "n2"], ["n3"]]
    assert [one.only_with for one in placed[0].notes] == [None, None if is_certain else "n2", None]
    assert [one.later is None for one in placed[0].notes] == [True, True, False]


def test_a_later_statement_that_is_a_note_is_moved(world: World) -> None:
    sections = [Section("A", [note(1)]), Section("B", [note(3), note(2)])]
    chain = {MemoryId("n1"): later(2), MemoryId("n2"): later(3)}
    assert ids(place_later_statements(sections, chain)) == [["n3", "n2", "n1"], []]
    pointers = [Section("A", [note(1)]), Section("B", [replace(note(2), is_pointer=True)])]
    assert ids(place_later_statements(pointers, chain)) == [["n2", "n1"], ["n2"]]


def injected(
    notes: Sequence[Note], tokens: int, known: Sequence[MemoryId] = (), before: Sequence[Note] = ()
) -> list[str]:
    block = Injection("block" if before else None, before)
    shown = compose([Section("Notes", notes)], tokens, NONCE, block, known).notes[len(before) :]
    return [one.memory.id for one in shown]


def cost(one: Note) -> int:
    return estimate(f"- [{one.label}] n: {one.text}")


OLDER, SHORT, LONG = note(1, "older " * 20), "newer " * 15, "newer " * 90


@pytest.mark.parametrize(
    ("tokens", "newer", "shown"),
    [
        (1_000, SHORT, ["n2", "n1"]),
        (cost(OLDER), SHORT, ["n2"]),
        (cost(OLDER) - 1, SHORT, []),
        (cost(OLDER), LONG, ["n1"]),
        (0, SHORT, []),
    ],
    ids=["both", "only one", "not the older one", "not the later one", "nothing"],
)
def test_of_a_pair_in_doubt_the_later_one_is_injected_if_one_fits(tokens: int, newer: str, shown: list[str]) -> None:
    later_one = later(2, is_certain=False, text=newer)
    (section,) = place_later_statements([Section("Notes", [OLDER])], {OLDER.memory.id: later_one})
    labelled = [replace(one, label=str(one.memory.id)) for one in section.notes]
    assert injected(labelled, tokens) == shown
    assert injected([one for one in labelled if one.only_with is not None], tokens) == []


def test_an_updated_note_is_shown_if_the_text_of_its_successor_is_known() -> None:
    updated = replace(note(1), later=later(3, text="the same"))
    copies = [note(2, "the same"), note(3, "The  same"), updated]
    assert injected(copies, 1_000) == ["n2", "n1"]
    assert injected(copies[1:], 1_000, before=copies[:1]) == ["n1"]
    assert injected([updated], 1_000) == []
    assert injected([updated], 1_000, known=[MemoryId("n3")]) == ["n1"]


numbers = st.integers(0, 7)


@given(
    st.lists(numbers, unique=True, max_size=6),
    st.dictionaries(numbers, st.tuples(st.integers(0, 12), st.booleans()), max_size=6),
    st.integers(0, 200),
    st.lists(st.integers(1, 40), min_size=13, max_size=13),
)
def test_later_statements_precede_their_notes(
    some: list[int], links: dict[int, tuple[int, bool]], tokens: int, lengths: list[int]
) -> None:
    """Statements are numbered in the order of time."""
    texts = [f"text {number} " * lengths[number] for number in range(13)]
    newer = {
        MemoryId(f"n{older}"): later(number, is_certain=is_certain, text=texts[number])
        for older, (number, is_certain) in links.items()
        if number > older
    }
    placed = place_later_statements([Section("Notes", [note(one, texts[one]) for one in some])], newer)
    labelled = [replace(one, label=str(one.memory.id)) for one in placed[0].notes]
    shown = injected(labelled, tokens)
    everything = injected(labelled, 100_000)
    chosen = {f"n{one}" for one in some}
    assert len(placed[0].notes) <= 2 * len(some)
    assert set(everything) == chosen | {str(one.memory.id) for older, one in newer.items() if older in chosen}
    for older, one in newer.items():
        if older in shown and (one.is_certain or one.memory.id in shown):
            assert shown.index(one.memory.id) < shown.index(older)
    for extra in {*shown} - chosen:
        assert any(older in chosen and one.memory.id == extra for older, one in newer.items())
