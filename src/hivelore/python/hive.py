"""A hive: the methods of the declared operations, the same for a data directory and for a service, and the hive that
owns a data directory of this process."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from hivelore.changes import operations as changes
from hivelore.configuration import operations as configuration
from hivelore.core.agents import AgentId, Viewer
from hivelore.core.jobs import JobState
from hivelore.core.operation import Call, Operation
from hivelore.core.values import validated
from hivelore.embeddings import operations as embeddings
from hivelore.errors import Conflict, HiveloreError, Invalid, NotFound
from hivelore.events import operations as event_operations
from hivelore.feedback import operations as feedback
from hivelore.feedback.model import Usefulness
from hivelore.health import operations as health
from hivelore.identity import operations as identity
from hivelore.links import operations as link_operations
from hivelore.maintenance import operations as maintenance
from hivelore.maintenance.model import MaintenanceJob, MaintenanceResult
from hivelore.memories import operations as memories
from hivelore.memories.drafts import Draft, WriteResult
from hivelore.memories.model import Json, Memory, Scope, Source
from hivelore.observations import operations as observation_operations
from hivelore.python.argument_checks import NUMBER, PATH, TEXT, TEXTS, check, drafts_of
from hivelore.repos import operations as repo_operations
from hivelore.review import operations as review_operations
from hivelore.search.model import Hit, RecallId, RecallResult, RetrievalMode
from hivelore.search.operations import RECALL
from hivelore.setup_scripts import operations as setup_scripts
from hivelore.transfer.files import Skipped, read_drafts

if TYPE_CHECKING:
    from hivelore.runtime.app import Application

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
E = TypeVar("E", Scope, Source)

_POLL_PAUSES = (0.02, 0.2)
"""Seconds between two polls of a job: the first pause and the longest."""
UNIT = 100
"""Most drafts in one transaction."""
UNIT_CHARACTERS = 4_000_000
"""Most characters in one transaction, so that they fit into one request."""


class Method(Generic[P, R, T]):
    """The method of an operation: takes the fields of its request as arguments."""

    def __init__(self, operation: Operation[P, R], read: Callable[[R], T]) -> None:
        self._operation = operation
        self._read = read
        self.__doc__ = operation.summary

    @overload
    def __get__(self, hive: None, owner: type[Any]) -> "Method[P, R, T]": ...

    @overload
    def __get__(self, hive: "Hive", owner: type[Any]) -> Callable[P, T]: ...

    def __get__(self, hive: "Hive | None", owner: type[Any]) -> "Method[P, R, T] | Callable[P, T]":
        if hive is None:
            return self
        operation, read = self._operation, self._read

        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return read(hive.call(operation, operation.request(*args, **kwargs)))

        method.__name__ = method.__qualname__ = operation.name
        method.__doc__ = operation.summary
        return method


def method(operation: Operation[P, R]) -> Method[P, R, R]:
    """Returns the method that answers with the response of an operation."""
    return Method(operation, lambda response: response)


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


class Hive(ABC):
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

    def call(self, operation: Operation[..., R], request: Any) -> R:
        """Runs a declared operation. Raises Invalid for a request with a field of a wrong type."""
        return self._run(operation, validated(request))

    @abstractmethod
    def _run(self, operation: Operation[..., R], request: Any) -> R:
        """Runs a declared operation with a valid request."""

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
    links = Method(link_operations.LIST_LINKS, lambda found: found.links)
    reject_link = Method(link_operations.REJECT_LINK, lambda found: found.links)
    restore_link = Method(link_operations.RESTORE_LINK, lambda found: found.links)
    list = method(memories.LIST_MEMORIES)
    edit = method(memories.EDIT_MEMORY)
    forget = method(memories.FORGET_MEMORY)
    forget_path = Method(memories.FORGET_PATH, lambda done: done.forgotten)
    stats = method(memories.GET_STATS)
    complete_task = Method(memories.COMPLETE_TASK, lambda done: done.memory)
    recalls = method(feedback.LIST_RECALLS)
    rate = method(feedback.RATE_MEMORY)
    usefulness = Method(memories.GET_MEMORY, lambda found: found.usefulness or Usefulness())
    reset_usefulness = method(feedback.RESET_USEFULNESS)
    config = method(configuration.LIST_CONFIG)
    set_config = method(configuration.SET_CONFIG)
    delete_config = method(configuration.DELETE_CONFIG)
    resolved_config = Method(configuration.RESOLVE_CONFIG, lambda found: found.entries)
    reveal_config = Method(configuration.REVEAL_CONFIG, lambda found: found.value)
    config_history = method(configuration.GET_CONFIG_HISTORY)
    config_env = method(configuration.GET_CONFIG_ENVIRONMENT)
    check_config = method(configuration.CHECK_CONFIG)
    rotate_config_key = method(configuration.ROTATE_CONFIG_KEY)
    repos = method(repo_operations.LIST_REPOS)
    repo = method(repo_operations.GET_REPO)
    repo_section = method(repo_operations.GET_REPO_SECTION)
    add_repo = method(repo_operations.ADD_REPO)
    update_repo = method(repo_operations.UPDATE_REPO)
    remove_repo = method(repo_operations.REMOVE_REPO)
    report_clone = method(repo_operations.REPORT_CLONE)
    setup_script = method(setup_scripts.GET_SETUP_SCRIPT)
    set_setup_script = method(setup_scripts.SET_SETUP_SCRIPT)
    global_setup_script = method(setup_scripts.GET_GLOBAL_SETUP_SCRIPT)
    set_global_setup_script = method(setup_scripts.SET_GLOBAL_SETUP_SCRIPT)
    setup_script_history = Method(setup_scripts.LIST_SCRIPT_VERSIONS, lambda found: found.versions)
    diff_setup_script = Method(setup_scripts.COMPARE_SCRIPTS, lambda found: found.diff)
    restore_setup_script = method(setup_scripts.RESTORE_SCRIPT)
    undo = method(changes.UNDO)
    batches = method(changes.LIST_BATCHES)
    batch = method(changes.GET_BATCH)
    drop_batch = method(changes.DROP_BATCH)
    maintenance_job = method(maintenance.GET_MAINTENANCE_JOB)
    cancel_maintenance = method(maintenance.CANCEL_MAINTENANCE)
    check = method(maintenance.CHECK_INTEGRITY)
    reembed = method(embeddings.REEMBED)
    reembed_job = method(embeddings.GET_REEMBED_JOB)
    cancel_reembed = method(embeddings.CANCEL_REEMBED)
    me = method(identity.WHO_AM_I)
    agents = Method(identity.LIST_AGENTS, lambda found: found.agents)
    add_agent = method(identity.ADD_AGENT)
    join = method(identity.JOIN_SWARM)
    profile = method(identity.GET_PROFILE)
    update_profile = method(identity.UPDATE_PROFILE)
    profile_history = method(identity.GET_PROFILE_HISTORY)
    profile_diff = method(identity.COMPARE_PROFILES)
    restore_profile = method(identity.RESTORE_PROFILE)
    reset_agent = method(identity.RESET_AGENT)
    prompt = method(identity.COMPOSE_PROMPT)
    revoke_keys = Method(identity.REVOKE_KEYS, lambda done: done.revoked)
    status = method(health.GET_STATUS)

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
                    memories.append(self._store([validated(found)])[0].memory)
                except Invalid as error:
                    skipped.append(Skipped(Path(found.source_path or path), str(error)))
        return Indexed(memories, skipped)

    def maintain(
        self,
        *,
        apply: bool = False,
        purge_expired: bool = False,
        merge: bool = False,
        reindex: bool = False,
        vacuum: bool = False,
        yes_delete: int | None = None,
    ) -> MaintenanceResult:
        """Previews maintenance; with ``apply``, runs it. For operators.

        ``yes_delete`` confirms the exact number of memories to purge, which is required for more than a share of all.
        Merging and vacuuming run as a job; an interrupt cancels it.
        """
        request = maintenance.Maintain(
            apply=apply,
            purge_expired=purge_expired,
            merge=merge,
            reindex=reindex,
            vacuum=vacuum,
            yes_delete=yes_delete,
            background=True,
        )
        answer = self.call(maintenance.MAINTAIN, request)
        return answer if isinstance(answer, MaintenanceResult) else self._wait_for_result(answer)

    def _wait_for_result(self, job: MaintenanceJob) -> MaintenanceResult:
        pause, longest = _POLL_PAUSES
        try:
            while job.state is JobState.RUNNING:
                time.sleep(pause)
                pause = min(2 * pause, longest)
                job = self.maintenance_job(job.id)
        except KeyboardInterrupt:
            with suppress(HiveloreError):
                self.cancel_maintenance(job.id)
            raise
        if job.state is not JobState.DONE:
            raise Conflict(job.error or f"Job {job.id} is {job.state.value}: another operator ended it.")
        if job.result is None:
            raise NotFound(f"The result of job {job.id} is no longer stored. Run it again.")
        return job.result

    @abstractmethod
    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        """Waits until every passage has its vector. Returns False after ``timeout`` seconds."""

    @abstractmethod
    def close(self) -> None:
        """Closes the data directory or the connections. Closing twice is fine."""

    def _store(self, drafts: Sequence[Draft]) -> Sequence[WriteResult]:
        """Stores valid drafts in one transaction."""
        return self._run(memories.STORE_MEMORIES, memories.StoreMemories(tuple(drafts))).results

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EmbeddedHive(Hive):
    """Speaks as one viewer with the services of an application that it closes in the end."""

    def __init__(self, app: "Application", viewer: Viewer) -> None:
        self._app = app
        self._viewer = viewer

    def _run(self, operation: Operation[..., R], request: Any) -> R:
        return operation.run(self._app, request, Call(viewer=self._viewer))

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        return self._app.embedding.wait(timeout)

    def close(self) -> None:
        self._app.close()


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
