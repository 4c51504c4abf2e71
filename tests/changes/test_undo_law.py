"""Laws of undo: after it, the export is as before."""

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import HiveloreError
from hivelore.links.model import LinkKind
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, Scope
from hivelore.observations.model import ObservationKind
from hivelore.observations.outcomes import Change
from hivelore.review.model import Decision, ProposalKind
from hivelore.search.model import EVERYTHING
from support.batches import batches_of
from support.clocks import START, SteppingClock
from support.links import a_link, put_links
from support.memories import an_observation, evidence, operational
from support.stores import KEYWORDS, STORES, law, present
from support.undo_service import export_hash, known
from support.world import AS_ADA, AS_BOB, AS_OPERATOR, World, hashing

ENGINES = ("exact", "fts5", "postings", "postings on postgres")
FEWER = 4
"""On a server, where each statement travels."""
MINUTE = timedelta(minutes=1)


class Deed(NamedTuple):
    what: str
    which: int
    number: int


HAPPENS = (
    "tell",
    "tell",
    "tell",
    "fact",
    "fact",
    "fact",
    "run",
    "twin",
    "edit",
    "see",
    "use",
    "forget",
    "ask",
    "judge",
    "clock",
)
DONE = ("purge", "merge", "edit", "fact", "retell", "operate", "decide", "undo")
lives = st.builds(Deed, st.sampled_from(HAPPENS), st.integers(0, 9), st.integers(0, 5))
deeds = st.builds(Deed, st.sampled_from(DONE), st.integers(0, 9), st.integers(0, 5))

ANIMALS = ("heron", "owl", "fox", "hare", "newt", "toad")
EDITS: tuple[dict[str, Any], ...] = (
    {"content": "The badger digs at night.", "reason": "saw it"},
    {"tags": ["a", "b"], "metadata": {"x": [1]}},
    {"scope": Scope.SWARM},
    {"subject": "heron.place", "valid_from": START - timedelta(days=1)},
    {"subject": None, "project": "hive"},
    {"content": "The port is 7777. " * 300},
)
CHANGES = (
    Change(observation="Takes 95 s to start."),
    Change(confidence=0.2),
    Change(active=False),
    Change(persistent=True, category="quirk"),
    Change(service="other"),
    Change(active=True),
)


@contextmanager
def world_of(engine: str) -> Generator[World]:
    kind, clock = KEYWORDS[engine], SteppingClock()
    shm = Path("/dev/shm")
    with (
        TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder,
        closing(STORES[kind.store].open(Path(folder), clock)) as store,
    ):
        yield World(store, kind.index(), clock, embedder=hashing(), share=1.0)


def memories(world: World) -> list[Memory]:
    with world.store.read() as view:
        return list(view.page(EVERYTHING, None, 1_000))


def live(world: World, deed: Deed) -> None:
    """Runs one earlier action; an action that is not allowed is skipped."""
    world.clock.advance(MINUTE)
    there = memories(world)
    one = there[deed.which % len(there)] if there else None
    with suppress(HiveloreError):
        if deed.what in _TELLING:
            draft = _TELLING[deed.what](deed)
            viewer = (AS_ADA, AS_BOB)[deed.which % 2]
            world.memory_service.remember(draft, viewer)
            if deed.number % 2:
                world.embed()
        elif deed.what == "clock":
            world.clock.advance(timedelta(minutes=30))
        elif one is not None:
            _live_on(world, deed, one)


def _tell(deed: Deed) -> Draft:
    expires = START + MINUTE * 20 * deed.number if deed.number else None
    return Draft(
        content=f"The {ANIMALS[deed.number]} sleeps under bridge {deed.which}.",
        scope=list(Scope)[deed.which % 2],
        session=(None, "s1", "s2")[deed.number % 3],
        tags=("t",) * (deed.which % 2),
        expires_at=expires,
        external_id=f"x{deed.which}" if deed.number == 5 else None,
    )


def _fact(deed: Deed) -> Draft:
    since = START - MINUTE * 3 * deed.which if deed.number % 2 else None
    expires = START + MINUTE * 25 if deed.number > 3 else None
    return Draft(
        content=f"It is at {deed.which}.",
        subject=None if deed.number == 2 else "heron.place",
        supersedes=f"m{deed.which:04}" if deed.number % 3 == 0 else None,
        valid_from=since,
        expires_at=expires,
    )


def _run(deed: Deed) -> Draft:
    return Draft(
        content=f"Takes {deed.which}0 s to start.",
        scope=Scope.SWARM,
        category="timing",
        operational=operational(("jellyfin", "plex")[deed.number % 2]),
    )


def _twin(deed: Deed) -> Draft:
    words = ("The heron sleeps.", "the HERON sleeps", "The heron sleeps!")[deed.number % 3]
    known = operational("jellyfin") if deed.which > 6 else None
    scope = Scope.SWARM if known is not None else Scope.AGENT
    return Draft(content=words, session=f"s{deed.which}", operational=known, scope=scope, tags=(f"t{deed.number}",))


_TELLING: dict[str, Callable[[Deed], Draft]] = {"tell": _tell, "fact": _fact, "run": _run, "twin": _twin}


def _live_on(world: World, deed: Deed, one: Memory) -> None:
    with world.store.read() as view:
        stored = view.get(one.id)
    assert stored is not None
    match deed.what:
        case "edit":
            world.memory_service.edit(one.id, Edit(**EDITS[deed.number]), AS_OPERATOR)
        case "see" if stored.memory.operational is not None:
            held, seen = stored.memory.operational.held, an_observation(ObservationKind.REINFORCED, world.clock.now())
            world.store.write(lambda tx: tx.add_observation(stored.key, held, seen))
        case "use":
            world.store.write(lambda tx: tx.add_evidence({stored.key: [evidence(session=f"s{deed.number}")]}))
        case "ask":
            others = [other for other in memories(world) if other.operational is not None][:2]
            with world.store.read() as view:
                about = [found for found in (view.get(other.id) for other in others) if found is not None]
            if len(about) == 2:
                world.store.write(
                    lambda tx: world.proposal_queue.propose(
                        tx, ProposalKind.CONTRADICTION, about, AS_ADA, why=Clean("so")
                    )
                )
        case "judge":
            others = [present(world.store, other) for other in memories(world) if other != one]
            kind, rejected_at = list(LinkKind)[deed.number % 3], START if deed.number > 3 else None
            # An undone removal restores links without this.
            why = Clean("")
            put_links(
                world.store,
                *(a_link(stored, other, kind=kind, why=why, rejected_at=rejected_at) for other in others[:2]),
            )
        case "forget":
            world.memory_service.forget(one.id, AS_OPERATOR)
        case _:
            pass


def do(world: World, deed: Deed) -> None:
    """Runs one action that can be undone; an action that is not allowed is skipped."""
    world.clock.advance(MINUTE)
    there = memories(world)
    if not there:
        return
    one = there[deed.which % len(there)]
    with suppress(HiveloreError):
        match deed.what:
            case "purge":
                world.maintenance.apply(MaintenancePlan(purge_expired=True), AS_OPERATOR)
            case "merge" | "decide":
                if deed.what == "merge":
                    world.maintenance.apply(MaintenancePlan(merge=True), AS_OPERATOR)
                for proposal in world.review_inbox.page(AS_OPERATOR, None, 100, is_open=True).proposals:
                    is_twin = proposal.kind is ProposalKind.DUPLICATE
                    how = Decision.MERGED if not is_twin and deed.number % 2 else Decision.ACCEPTED
                    world.review_inbox.decide(proposal.id, how, AS_OPERATOR)
            case "edit":
                world.memory_service.edit(one.id, Edit(**EDITS[deed.number]), AS_OPERATOR)
            case "operate":
                world.curation.change(one.id, CHANGES[deed.number], AS_OPERATOR)
            case "undo":
                world.undo_service.undo(one.id, AS_OPERATOR)
            case "fact":
                world.memory_service.remember(_fact(deed), AS_ADA)
            case _:
                text = f"Retold {deed.number}."
                world.memory_service.remember(Draft(content=text, external_id=f"x{deed.which}"), AS_ADA)


class Before(NamedTuple):
    """The state before an action."""

    hashed: str
    known: object
    batches: frozenset[str]


def before(world: World) -> Before:
    return Before(export_hash(world), known(world), frozenset(str(one.id) for one in batches_of(world.store)))


def done_all(world: World, deeds: list[Deed]) -> list[Before]:
    """Do these; what there was before each that can be taken back. Nothing from before one that cannot: it is new."""
    states: list[Before] = []
    for deed in deeds:
        state = before(world)
        do(world, deed)
        if len(batches_of(world.store)) > len(state.batches):
            states.append(state)
        elif known(world) != state.known:
            states = []
    return states


def take_back(world: World, state: Before, ours: set[str]) -> None:
    """All that was done since, the last first."""
    for one in batches_of(world.store):
        if one.id not in state.batches | ours and one.undone_at is None:
            event(one.kind.value)
            world.clock.advance(MINUTE)
            by = world.undo_service.undo(one.id, AS_OPERATOR).by
            assert by is not None
            ours.add(by)


@pytest.mark.parametrize("engine", ENGINES)
def test_any_changes_are_undone_step_by_step(engine: str) -> None:
    """Each change, the last one first: after each everything is as it was before that change."""

    @settings(law, max_examples=law.max_examples * 2 // (FEWER if "postgres" in engine else 1))
    @given(happened=st.lists(lives, max_size=14), doing=st.lists(deeds, min_size=1, max_size=3), embeds=st.booleans())
    def holds(happened: list[Deed], doing: list[Deed], embeds: bool) -> None:
        with world_of(engine) as world:
            for deed in happened:
                live(world, deed)
            states = done_all(world, doing)
            if embeds:
                world.embed()
            ours: set[str] = set()
            for state in reversed(states):
                take_back(world, state, ours)
                assert export_hash(world) == state.hashed
                assert known(world) == state.known

    holds()


@pytest.mark.parametrize("engine", ENGINES)
def test_undoing_an_undo_restores_the_change(engine: str) -> None:
    @settings(law, max_examples=law.max_examples // (FEWER if "postgres" in engine else 1))
    @given(happened=st.lists(lives, max_size=14), doing=deeds)
    def holds(happened: list[Deed], doing: Deed) -> None:
        with world_of(engine) as world:
            for deed in happened:
                live(world, deed)
            states = done_all(world, [doing])
            after, ours = known(world), set[str]()
            for state in states:
                take_back(world, state, ours)
            for by in sorted(ours, reverse=True):
                world.clock.advance(MINUTE)
                world.undo_service.undo(by, AS_OPERATOR)
            assert known(world) == after

    holds()


@pytest.mark.parametrize("what", ["purge", "merge"])
@pytest.mark.parametrize("engine", ENGINES)
def test_any_maintenance_is_undone(engine: str, what: str) -> None:
    """However many twins there are, and whatever has expired."""

    @settings(law, max_examples=law.max_examples // (FEWER if "postgres" in engine else 1))
    @given(happened=st.lists(lives, max_size=12), number=st.integers(0, 5))
    def holds(happened: list[Deed], number: int) -> None:
        with world_of(engine) as world:
            for deed in (*happened, Deed("twin", 1, number), Deed("tell", 2, 1), Deed("twin", 3, number)):
                live(world, deed)
            world.clock.advance(timedelta(hours=2))
            state, ours = before(world), set[str]()
            do(world, Deed(what, 0, number))
            assert export_hash(world) != state.hashed
            take_back(world, state, ours)
            assert export_hash(world) == state.hashed
            assert known(world) == state.known

    holds()
