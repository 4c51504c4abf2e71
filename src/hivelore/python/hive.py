"""The methods of a hive, the same for a data directory and for a service."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from hivelore.core.agents import AgentId
from hivelore.core.json_codec import validated
from hivelore.core.operation import Operation
from hivelore.errors import Invalid
from hivelore.events import operations as event_operations
from hivelore.memories import operations as memories
from hivelore.memories.drafts import Draft, WriteResult
from hivelore.memories.model import Json, Memory, Scope, Source
from hivelore.observations import operations as observation_operations
from hivelore.python.argument_checks import (
    PATH,
    TEXT,
    TEXTS,
    check,
    drafts_of,
)
from hivelore.python.feedback import FeedbackMethods
from hivelore.python.maintenance import MaintenanceMethods
from hivelore.python.methods import Method, R, method
from hivelore.review import operations as review_operations
from hivelore.search.model import (
    Hit,
    RecallId,
    RecallResult,
    RetrievalMode,
)
from hivelore.search.operations import RECALL
from hivelore.transfer.files import Skipped, read_drafts

E = TypeVar("E", Scope, Source)

UNIT = 100
"""Most drafts in one transaction."""
UNIT_CHARACTERS = 4_000_000
"""Most characters in one transaction, so that they fit into one request."""


class Hits(list[Hit]):
    """Hits, best first, and how they were found. As text a short list of them."""

    def __init__(self, answer: RecallResult) -> None:
        super().__init__(answer.hits)
        self.path: RetrievalMode = answer.path
        self.fits: bool = answer.fits
        self.message: str = answer.message
        self.recall_id: RecallId | None = answer.id

    def __str__(self) -> str:
        return "\n".join([self.message, *map(_line, self)])

    def explain(self) -> str:
        """Returns the list of hits, each with the parts of its score."""
        lines = [self.message]
        for hit in self:
            parts = "  ".join(f"{name} {part:.3f}" for name, part in hit.score.parts.items())
            lines += [_line(hit), f"       {parts}"]
        return "\n".join(lines)


def _line(hit: Hit) -> str:
    return f"{hit.score.total:.3f}  {hit.memory.name}  ({hit.memory.id})"


class Indexed(list[Memory]):
    """The memories made from a path, and the files that were left out with the reasons."""

    def __init__(self, memories: Iterable[Memory], skipped: Iterable[Skipped]) -> None:
        super().__init__(memories)
        self.skipped: list[Skipped] = list(skipped)


class Hive(FeedbackMethods, MaintenanceMethods, ABC):
    """A store of memories. ``hivelore.open`` opens one; use it as a context manager.

    Methods raise the errors of ``hivelore.errors``.
    """

    events = method(event_operations.LIST_EVENTS)
    record_event = method(event_operations.RECORD_EVENT)
    forget_event = method(event_operations.FORGET_EVENT)
    cooldowns = Method(event_operations.LIST_COOLDOWNS, lambda found: found.cooldowns)
    set_cooldown = method(event_operations.SET_COOLDOWN)
    clear_cooldowns = Method(event_operations.CLEAR_COOLDOWNS, lambda done: done.cleared)
    review = method(review_operations.LIST_PROPOSALS)
    proposal = method(review_operations.GET_PROPOSAL)
    decide = method(review_operations.DECIDE)
    observe = method(observation_operations.OBSERVE)
    context = method(observation_operations.GET_CONTEXT)
    operational_memories = method(observation_operations.LIST_OPERATIONAL_MEMORIES)
    operational_memory = method(observation_operations.GET_OPERATIONAL_MEMORY)
    observations = method(observation_operations.LIST_OBSERVATIONS)
    change_operational_memory = method(observation_operations.CHANGE_OPERATIONAL_MEMORY)
    forget_operational_memory = method(observation_operations.FORGET_OPERATIONAL_MEMORY)
    forget_operational_memories = Method(observation_operations.FORGET_OPERATIONAL_MEMORIES, lambda done: done.deleted)
    count_decayed = Method(observation_operations.COUNT_DECAYED, lambda done: done.deactivated)

    @abstractmethod
    def call(self, operation: Operation[..., R], request: Any) -> R:
        """Runs a declared operation. Raises Invalid for a request with a field of a wrong type."""

    def remember(
        self,
        content: str,
        *,
        name: str | None = None,
        scope: Scope | str = Scope.AGENT,
        source: Source | str = Source.MANUAL,
        agent: str | None = None,
        session: str | None = None,
        author: str | None = None,
        project: str | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Json] | None = None,
        created_at: datetime | None = None,
        source_path: str | None = None,
        source_task_id: str | None = None,
        external_id: str | None = None,
        expires_at: datetime | None = None,
        subject: str | None = None,
        valid_from: datetime | None = None,
        supersedes: str | None = None,
    ) -> Memory:
        """Stores a memory. It is durable when this returns.

        ``agent``: the owner, for operators only. The same owner, name and content again update the same memory; so do
        the same path or external id. ``subject``: the key of a fact, like ``db.port``; ``valid_from``: since when the
        fact holds; ``supersedes``: the id of the memory that it replaces."""
        check(TEXTS, tags=tags)
        draft = Draft(
            content=content,
            name=name,
            scope=choice(Scope, scope, "scope"),
            source=choice(Source, source, "source"),
            owner=None if agent is None else AgentId(agent),
            session=session,
            author=author,
            project=project,
            category=category,
            tags=tuple(tags),
            metadata=metadata,
            created_at=created_at,
            source_path=source_path,
            source_task_id=source_task_id,
            external_id=external_id,
            expires_at=expires_at,
            subject=subject,
            valid_from=valid_from,
            supersedes=supersedes,
        )
        return self._store([validated(draft)])[0].memory

    def remember_many(self, drafts: Iterable[Draft | str]) -> list[WriteResult]:
        """Stores memories in their order, in transactions of up to a hundred."""
        return [done for unit in units(map(validated, drafts_of(drafts))) for done in self._store(unit)]

    recall = Method(RECALL, Hits)
    get = Method(memories.GET_MEMORY, lambda found: found.memory)
    chunks = Method(memories.LIST_CHUNKS, lambda found: found.chunks)
    history = method(memories.GET_HISTORY)
    diff = method(memories.COMPARE_VERSIONS)
    list = method(memories.LIST_MEMORIES)
    edit = method(memories.EDIT_MEMORY)
    forget = method(memories.FORGET_MEMORY)
    forget_path = Method(memories.FORGET_PATH, lambda done: done.forgotten)
    stats = method(memories.GET_STATS)

    def index(self, path: Path | str, *, scope: Scope | str = Scope.AGENT, project: str | None = None) -> Indexed:
        """Stores a text file, or every text file of a folder that .gitignore does not exclude, as file_index memories.

        A file indexed before keeps its id; its unchanged parts keep their vectors.
        """
        check(PATH, path=path)
        check(TEXT.or_none(), project=project)
        skipped: list[Skipped] = []
        memories: list[Memory] = []
        for found in read_drafts(Path(path), choice(Scope, scope, "scope"), project):
            if isinstance(found, Skipped):
                skipped.append(found)
            else:
                try:
                    memories.append(self._store([found])[0].memory)
                except Invalid as error:
                    skipped.append(Skipped(Path(found.source_path or path), str(error)))
        return Indexed(memories, skipped)

    @abstractmethod
    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        """Waits until every passage has its vector. Returns False after ``timeout`` seconds."""

    @abstractmethod
    def close(self) -> None:
        """Closes the data directory or the connections. Closing twice is fine."""

    def _store(self, drafts: Sequence[Draft]) -> Sequence[WriteResult]:
        """Stores drafts in one transaction."""
        return self.call(memories.STORE_MEMORIES, memories.StoreMemories(tuple(drafts))).results

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def choice(kind: type[E], value: E | str, field: str) -> E:
    """Returns the member of an enumeration, given itself or its value. Raises Invalid."""
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(one.value for one in kind)
        raise Invalid(f"{field} is one of {allowed}, not {value!r}.", field=field) from None


def units(drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    """Yields groups of drafts that one transaction stores."""
    unit: list[Draft] = []
    characters = 0
    for draft in drafts:
        if unit and (len(unit) == UNIT or characters + len(draft.content) > UNIT_CHARACTERS):
            yield unit
            unit, characters = [], 0
        unit.append(draft)
        characters += len(draft.content)
    if unit:
        yield unit
