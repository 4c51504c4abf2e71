"""Every store does what the in-memory one does, whatever is done to it and in whatever order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.events.model import Event, EventFilter
from hivelore.feedback.recalls import Evidence
from hivelore.indexing.model import ModelKey
from hivelore.links.model import LinkKind
from hivelore.memories.model import Action, Memory, MemoryId, Scope
from hivelore.memories.stored import PassageKey, Stored
from hivelore.observations.model import Held, Observation
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from support.clocks import FixedClock
from support.events import events
from support.laws import examples
from support.links import a_link
from support.memories import (
    ADA,
    BOB,
    EVERYTHING,
    a_memory,
    document,
    evidences,
    held,
    instant,
    next_version,
    observations,
)
from support.observed import observed
from support.reference.store import ReferenceStore
from support.small_world import RUNNING, SESSIONS, SUBJECTS, TAGS
from support.stores import Fresh, law

MODELS = ("m", "n")


class Step(Protocol):
    """Something done to a store; ``ids`` are of all memories ever added. Its answer must be the same everywhere."""

    def do(self, tx: Transaction, ids: Sequence[MemoryId]) -> object: ...


@dataclass(frozen=True)
class Add:
    memory: Memory
    texts: tuple[str, ...]

    def do(self, tx: Transaction, ids: Sequence[MemoryId]) -> object:
        content, chunks = document(*self.texts, passage=2)
        return tx.add(replace(self.memory, content=content), chunks).memory


@dataclass(frozen=True)
class OnOne:
    """Done to one of the memories that were added; nothing where it was forgotten."""

    which: int

    def do(self, tx: Transaction, ids: Sequence[MemoryId]) -> object:
        stored = tx.get(ids[self.which % len(ids)]) if ids else None
        return None if stored is None else self.do_to(tx, stored)

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        raise NotImplementedError


@dataclass(frozen=True)
class Change(OnOne):
    like: Memory
    texts: tuple[str, ...] | None

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        content, chunks = (stored.memory.content, None) if self.texts is None else document(*self.texts, passage=2)
        changed = next_version(
            replace(self.like, id=stored.memory.id, content=content), version=stored.memory.version + 1
        )
        tx.change(stored.key, changed, chunks, Action.EDITED)
        return tx.get(changed.id)


@dataclass(frozen=True)
class Forget(OnOne):
    def do_to(self, tx: Transaction, stored: Stored) -> object:
        return tx.forget(stored.key)


@dataclass(frozen=True)
class Touch(OnOne):
    minute: int

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        return tx.count_reads({stored.key: (1, instant(self.minute))})


@dataclass(frozen=True)
class Renew(OnOne):
    minute: int | None

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        return tx.set_expiry(stored.key, None if self.minute is None else instant(self.minute))


@dataclass(frozen=True)
class Link(OnOne):
    minute: int | None
    to: int | None

    def do(self, tx: Transaction, ids: Sequence[MemoryId]) -> object:
        stored = tx.get(ids[self.which % len(ids)]) if ids else None
        if stored is None:
            return None
        supersedes = None if self.to is None else ids[self.to % len(ids)]
        return tx.set_validity(stored.key, None if self.minute is None else instant(self.minute), supersedes)


@dataclass(frozen=True)
class Observe(OnOne):
    held: Held
    observation: Observation

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        return tx.add_observation(stored.key, self.held, self.observation)


@dataclass(frozen=True)
class Tell(OnOne):
    event: Event

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        tx.log_events([replace(self.event, memory=stored.memory.id)])
        return list(tx.events(EventFilter(seen=Visibility(own=ADA, swarm=True)), None, 3))


@dataclass(frozen=True)
class See(OnOne):
    evidence: Evidence

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        tx.add_evidence({stored.key: [self.evidence]})
        return tx.rank_features_of([stored.key], EVERYTHING)[stored.key]


@dataclass(frozen=True)
class Unsee(OnOne):
    def do_to(self, tx: Transaction, stored: Stored) -> object:
        return tx.drop_evidence(stored.key)


@dataclass(frozen=True)
class Judge(OnOne):
    """Puts or drops a link between two memories."""

    target: int
    kind: LinkKind
    minute: int
    is_rejected: bool
    drops: bool

    def do(self, tx: Transaction, ids: Sequence[MemoryId]) -> object:
        source, target = (tx.get(ids[one % len(ids)]) if ids else None for one in (self.which, self.target))
        if source is None or target is None or source == target:
            return None
        if self.drops:
            tx.drop_link(source.key, target.key, self.kind)
        else:
            rejected_at = instant(2) if self.is_rejected else None
            tx.put_link(a_link(source, target, kind=self.kind, at=instant(self.minute), rejected_at=rejected_at))
        return [one.link for one in tx.links_of([source.key]) if target.key in (one.source, one.target)]


@dataclass(frozen=True)
class OnPassage(OnOne):
    position: int
    model: str

    def do_to(self, tx: Transaction, stored: Stored) -> object:
        passages = [key for chunk in tx.chunks(stored.key) for key in chunk.passages]
        return self.do_to_passage(tx, tx.register_model(self.model, 1), passages[self.position % len(passages)])

    def do_to_passage(self, tx: Transaction, model: ModelKey, passage: PassageKey) -> object:
        raise NotImplementedError


@dataclass(frozen=True)
class Embed(OnPassage):
    number: int

    def do_to_passage(self, tx: Transaction, model: ModelKey, passage: PassageKey) -> object:
        return tx.put_vectors(model, {passage: np.array([self.number], dtype=np.float32)})


@dataclass(frozen=True)
class Fail(OnPassage):
    minute: int

    def do_to_passage(self, tx: Transaction, model: ModelKey, passage: PassageKey) -> object:
        tx.embedding_failed(model, passage, Clean("no"), instant(self.minute))
        return tx.embedding_attempts(model, passage)


@dataclass(frozen=True)
class OnModel:
    model: str
    what: str

    def do(self, tx: Transaction, ids: Sequence[MemoryId]) -> object:
        model = tx.register_model(self.model, 1)
        match self.what:
            case "retry":
                return tx.retry_failed(model, 1_000)
            case "take up":
                return len(tx.adopt_vectors(model, PassageKey(0), 2))
            case "queue":
                return len(tx.requeue(model, PassageKey(0), 2))
            case "leave":
                return tx.cancel_requeue(model, 1_000)
            case _:
                return tx.drop_vectors(model, 1_000)


@st.composite
def new_memories(draw: st.DrawFn) -> Memory:
    return a_memory(
        owner=draw(st.sampled_from([ADA, BOB])),
        scope=draw(st.sampled_from(Scope)),
        session=draw(st.sampled_from(SESSIONS)),
        source_path=draw(st.sampled_from([None, None, Clean("/p"), Clean("/q")])),
        tags=tuple(draw(st.lists(st.sampled_from(TAGS), max_size=2))),
        created_at=instant(draw(st.integers(-2, 2))),
        operational=draw(st.sampled_from(RUNNING)),
        project=draw(st.sampled_from([None, Clean("hive")])),
        subject=draw(st.sampled_from(SUBJECTS)),
        valid_from=draw(st.none() | st.builds(instant, st.integers(-2, 2))),
    )


words = st.sampled_from(["abc", "de", "\U0001f41d\U0001f41d\U0001f41d"])
some_texts = st.lists(words, min_size=1, max_size=3).map(tuple)
which = st.integers(0, 2)
position = st.integers(0, 1)
minutes = st.none() | st.integers(-1, 1)
models = st.sampled_from(MODELS)

additions = st.builds(Add, new_memories(), some_texts)
embeddings = st.builds(Embed, which, position, models, st.integers(1, 9))

steps: st.SearchStrategy[Step] = st.one_of(
    additions,
    embeddings,
    embeddings,
    st.builds(Change, which, new_memories(), st.none() | some_texts),
    st.builds(Forget, which),
    st.builds(Touch, which, st.integers(-1, 1)),
    st.builds(Renew, which, minutes),
    st.builds(Link, which, minutes, st.none() | which),
    st.builds(Observe, which, held, observations()),
    st.builds(Tell, which, events(())),
    st.builds(See, which, evidences),
    st.builds(Unsee, which),
    st.builds(
        Judge,
        which,
        which,
        st.sampled_from(LinkKind),
        st.integers(-1, 1),
        st.booleans(),
        st.sampled_from([True, *[False] * 3]),
    ),
    st.builds(Fail, which, position, models, st.integers(-1, 1)),
    st.builds(OnModel, models, st.sampled_from(["retry", "drop", "queue", "leave", "take up"])),
)


@st.composite
def scripts(draw: st.DrawFn) -> list[Step]:
    return [draw(additions), draw(additions), *draw(st.lists(steps, min_size=5, max_size=25))]


def play(store: MemoryStore, script: Sequence[Step]) -> tuple[list[object], object]:
    """Returns the result of each step and the final state."""
    answers: list[object] = []
    ids: list[MemoryId] = []
    for step in script:
        try:
            answer = store.write(lambda tx, step=step: step.do(tx, ids))
        except Conflict:
            answer = Conflict
        else:
            if isinstance(step, Add):
                ids.append(step.memory.id)
        answers.append(answer.memory if isinstance(answer, Stored) else answer)
    inside = store.write(lambda tx: observed(tx, MODELS))
    with store.read() as view:
        assert observed(view, MODELS) == inside
    return answers, inside


@settings(law, max_examples=examples(80))
@given(script=scripts())
def test_any_script_has_the_same_effect_as_on_the_reference_store(fresh: Fresh, script: list[Step]) -> None:
    with fresh() as store:
        assert play(store, script) == play(ReferenceStore(FixedClock()), script)
