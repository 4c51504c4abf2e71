"""Memories for tests: plain examples, and strategies for all valid ones."""

from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from typing import TypedDict, Unpack
from uuid import UUID

from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.feedback.recalls import Evidence, Sign
from hivelore.memories.model import (
    CATEGORY_LENGTH,
    NAME_LENGTH,
    SUBJECT_LENGTH,
    Chunk,
    Json,
    Memory,
    MemoryId,
    Passage,
    Provenance,
    Scope,
    Source,
    Trust,
)
from hivelore.observations.model import (
    SERVICE_LENGTH,
    TIERS,
    Confidence,
    Held,
    Observation,
    ObservationKind,
    Operational,
)
from hivelore.search.model import Filter, RecallId, Visibility
from support.clocks import START

EVERYTHING = Filter(visibility=Visibility(own=None, swarm=True, others=True))

_numbers = count(1)


def memory_id(number: int) -> MemoryId:
    """Returns the id with this number; later numbers sort later."""
    return MemoryId(str(UUID(int=(number << 80) | (7 << 76) | (2 << 62) | number)))


def instant(minutes: float) -> datetime:
    """Returns the instant this many minutes after the start of all tests."""
    return START + timedelta(minutes=minutes)


class Parts(TypedDict, total=False):
    id: MemoryId
    owner: AgentId | None
    scope: Scope
    name: Clean
    summary: Clean
    source: Source
    created_at: datetime
    updated_at: datetime
    provenance: Provenance
    category: Clean
    tags: tuple[Clean, ...]
    project: Clean | None
    session: Clean | None
    source_path: Clean | None
    external_id: Clean | None
    metadata: dict[str, Json]
    expires_at: datetime | None
    version: int
    subject: Clean | None
    valid_from: datetime | None
    valid_until: datetime | None
    supersedes: MemoryId | None
    operational: Operational | None


ADA = AgentId("ada")
BOB = AgentId("bob")


def a_memory(content: str = "The build needs Java 21.", /, **parts: Unpack[Parts]) -> Memory:
    """Returns a private memory of Ada with a unique id; ids ascend in the order of calls."""
    plain = Memory(
        id=memory_id(next(_numbers)),
        owner=ADA,
        scope=Scope.AGENT,
        name=Clean("A note"),
        content=Clean(content),
        summary=Clean("In short."),
        source=Source.MANUAL,
        created_at=START,
        updated_at=START,
        provenance=Provenance(actor=ADA, interface=Interface.MCP),
    )
    return replace(plain, **parts)


def operational(
    service: str | None = None, *, base: float = 0.7, since: datetime = START, is_off: bool = False
) -> Operational:
    held = Held(base=Confidence(base), since=since, is_off=is_off)
    return Operational.of(held, service=None if service is None else Clean(service))


def an_observation(
    kind: ObservationKind = ObservationKind.REINFORCED,
    at: datetime = START,
    text: str = "Took 61 s.",
    to: float | None = None,
) -> Observation:
    return Observation(
        at=at,
        kind=kind,
        actor=BOB,
        interface=Interface.HOOK,
        session=Clean("s1"),
        text=Clean(text),
        to=None if to is None else Confidence(to),
    )


def evidence(
    sign: Sign = Sign.APPLIED, session: str = "s1", at: datetime = START, agent: AgentId | None = BOB
) -> Evidence:
    return Evidence(agent=agent, session=Clean(session), sign=sign, at=at, recall=RecallId("r1"))


def next_version(memory: Memory, content: str | None = None, /, **parts: Unpack[Parts]) -> Memory:
    """Returns the memory with some parts replaced, a minute later, by Bob."""
    revised = replace(
        memory,
        content=memory.content if content is None else Clean(content),
        version=memory.version + 1,
        updated_at=memory.updated_at + timedelta(minutes=1),
        provenance=Provenance(actor=BOB, interface=Interface.REST, reason=Clean("it was wrong")),
    )
    return replace(revised, **parts)


def document(*texts: str, headings: tuple[str, ...] = (), passage: int = 500) -> tuple[Clean, tuple[Chunk, ...]]:
    """Returns a content of these texts with one chunk for each, cut into passages of at most ``passage`` characters."""
    chunks: list[Chunk] = []
    start = 0
    for index, text in enumerate(texts):
        stop = start + len(text)
        cuts = [*range(start, stop, passage), stop]
        passages = tuple(Passage(start=one, stop=other) for one, other in pairwise(cuts))
        chunks.append(Chunk(index=index, start=start, stop=stop, headings=headings, passages=passages))
        start = stop + 2
    return Clean("\n\n".join(texts)), tuple(chunks)


def whole(content: str) -> tuple[Chunk, ...]:
    """Returns the content as a single chunk with a single passage."""
    span = Passage(start=0, stop=len(content))
    return (Chunk(index=0, start=0, stop=len(content), headings=(), passages=(span,)),)


# All that is possible.

characters = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
texts = st.text(characters, max_size=40).map(Clean)
filled_texts = st.text(characters, min_size=1, max_size=40).map(Clean)
contents = st.text(characters, min_size=1, max_size=200).filter(lambda text: bool(text.strip())).map(Clean)
names = st.one_of(filled_texts, st.text(characters, min_size=NAME_LENGTH, max_size=NAME_LENGTH).map(Clean))
categories = st.text(characters, max_size=CATEGORY_LENGTH).map(Clean)
instants = st.datetimes(timezones=st.just(UTC), allow_imaginary=False)
"""Years 1 to 9999, to the microsecond."""
agents = filled_texts.map(lambda text: AgentId(text))
ids = st.uuids(version=4).map(lambda uuid: MemoryId(str(uuid)))

_numbers_in_json = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | _numbers_in_json | st.text(characters, max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(characters, max_size=5), inner, max_size=3),
    max_leaves=8,
)

metadata = st.dictionaries(st.text(characters, max_size=5), json_values, max_size=3)

provenances = st.builds(
    Provenance,
    actor=st.none() | agents,
    interface=st.sampled_from(Interface),
    trust=st.sampled_from(Trust),
    reason=st.none() | texts,
)


confidences = st.floats(0.0, 1.0).map(Confidence)
held = st.builds(Held, base=confidences, since=instants, is_off=st.booleans())
services = st.text(characters, min_size=1, max_size=SERVICE_LENGTH).filter(lambda name: name != "general").map(Clean)
operationals = st.builds(
    Operational.of, held, service=st.none() | services, tier=st.sampled_from(TIERS), persistent=st.booleans()
)


evidences = st.builds(
    Evidence,
    agent=st.none() | agents,
    session=texts,
    sign=st.sampled_from(Sign),
    at=instants,
    recall=st.none() | texts.map(lambda text: RecallId(text)),
)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    kind = draw(st.sampled_from(ObservationKind))
    return Observation(
        at=draw(instants),
        kind=kind,
        actor=draw(st.none() | agents),
        interface=draw(st.sampled_from(Interface)),
        session=draw(st.none() | texts),
        text=draw(st.none() | texts),
        to=draw(confidences) if kind in (ObservationKind.CREATED, ObservationKind.SET) else None,
    )


subjects = st.text(characters, min_size=1, max_size=SUBJECT_LENGTH).map(Clean)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """Generates first versions of memories."""
    scope = draw(st.sampled_from(Scope))
    optional = st.none() | texts
    return Memory(
        id=draw(ids),
        owner=draw(agents if scope is Scope.AGENT else st.none() | agents),
        scope=scope,
        name=draw(names),
        content=draw(contents),
        summary=draw(texts),
        source=draw(st.sampled_from(Source)),
        created_at=draw(instants),
        updated_at=draw(instants),
        provenance=draw(provenances),
        category=draw(categories),
        tags=tuple(draw(st.lists(texts, max_size=4))),
        project=draw(optional),
        session=draw(optional),
        author=draw(optional),
        source_task_id=draw(optional),
        source_path=draw(optional),
        external_id=draw(optional),
        metadata=draw(metadata),
        expires_at=draw(st.none() | instants),
        accessed_at=draw(st.none() | instants),
        access_count=draw(st.integers(0, 2**31)),
        subject=draw(st.none() | subjects),
        valid_from=draw(st.none() | instants),
        valid_until=draw(st.none() | instants),
        supersedes=draw(st.none() | ids),
        operational=draw(st.none() | operationals),
    )


@st.composite
def chunks_of(draw: st.DrawFn, content: str) -> tuple[Chunk, ...]:
    """Generates divisions of a content into consecutive chunks, and of chunks into passages."""
    headings = st.lists(st.text(characters, max_size=10), max_size=3).map(tuple)
    chunks: list[Chunk] = []
    for index, (start, stop) in enumerate(draw(_cuts(0, len(content)))):
        passages = tuple(Passage(start=one, stop=other) for one, other in draw(_cuts(start, stop)))
        chunks.append(Chunk(index=index, start=start, stop=stop, headings=draw(headings), passages=passages))
    return tuple(chunks)


def _cuts(start: int, stop: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    inside = st.sets(st.integers(start + 1, stop - 1), max_size=3) if stop - start > 1 else st.just(set[int]())
    edges = inside.map(lambda cuts: [start, *sorted(cuts), stop])
    return edges.map(lambda all_edges: list(pairwise(all_edges)))
