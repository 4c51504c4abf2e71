"""The operations of memories (A12, A20, A25, A29, N07, N13)."""

from typing import Annotated, Literal

from msgspec import Meta, to_builtins

from hivelore.core.agents import Role
from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, delete, get, patch, post
from hivelore.core.tool import NUMBER, OBJECT, TEXT, Reply, Tool
from hivelore.core.values import DayOrInstant, Instant, NoArguments, Request, Value, json_names
from hivelore.feedback.model import Usefulness
from hivelore.memories.diff import difference
from hivelore.memories.drafts import Draft, DraftFields, EditedFields, WriteResult
from hivelore.memories.model import NAME_LENGTH, Memory, MemoryId, Scope, Source, TaskStatus
from hivelore.search.model import Difference, History, MemoryPage, ScopeChoice, Snippet, Stats

Id = Annotated[str, Meta(max_length=NAME_LENGTH)]
MEMORY = json_names(memory="memoryId", agent="agentId")


class IndexMemory(DraftFields, frozen=True, kw_only=True):
    name: str
    scope: Scope
    source: Source


class IndexResponse(Value, frozen=True, kw_only=True):
    queued: bool
    memory_ids: tuple[MemoryId, ...]
    proposal: str | None
    """``WriteResult.proposal``"""


class StoreMemories(Request, frozen=True):
    memories: Annotated[tuple[Draft, ...], Meta(min_length=1, max_length=1000)]


class StoredMemories(Value, frozen=True):
    results: tuple[WriteResult, ...]


class ListMemories(Request, frozen=True, kw_only=True, rename=MEMORY):
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    after: Id | None = None
    scope: ScopeChoice = ScopeChoice.ALL
    source: Source | None = None
    agent: Id | None = None
    project: str | None = None
    session: str | None = None
    tag: str | None = None
    category: str | None = None
    status: Literal["all", "live", "expired"] = "all"
    subject: str | None = None
    as_of: Instant | None = None
    superseded: bool = False
    created_after: DayOrInstant | None = None
    created_before: DayOrInstant | None = None


class ForgetPath(Request, frozen=True, rename=MEMORY):
    source_path: Annotated[str, Meta(min_length=1)]
    agent: str | None = None
    project: str | None = None


class ForgottenCount(Value, frozen=True):
    forgotten: int


class NamedMemory(Request, frozen=True, rename=MEMORY):
    memory: Id


class GetMemory(NamedMemory, frozen=True):
    as_of: Instant | None = None


class MemoryDetail(Memory, frozen=True, kw_only=True, omit_defaults=True):
    """A memory with its recorded use."""

    usefulness: Usefulness | None = None
    """None without evidence."""

    @property
    def memory(self) -> Memory:
        return Memory(**{name: getattr(self, name) for name in Memory.__struct_fields__})


class ReadMemory(GetMemory, frozen=True):
    history: bool = False


class MemoryWithHistory(Value, frozen=True):
    memory: Memory
    history: History | None


class MemoryChunks(Value, frozen=True):
    chunks: tuple[Snippet, ...]


class CompareVersions(NamedMemory, frozen=True, rename=json_names(older="from", newer="to")):
    older: int | None = None
    newer: int | None = None


class EditMemory(EditedFields, frozen=True, rename=MEMORY):
    memory: Id
    version: int | None = None
    """Expected version."""


class ForgetMemory(NamedMemory, frozen=True):
    version: int | None = None
    """Expected version."""


class InjectLearning(Request, frozen=True, rename=MEMORY):
    agent: Id
    learning: str
    category: str
    """mistake-pattern, best-practice, codebase-knowledge or preference, in any spelling."""
    scope: Scope = Scope.SWARM


class CompleteTask(Request, frozen=True, kw_only=True, rename=MEMORY):
    task_id: Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH)]
    task: Annotated[str, Meta(min_length=1)]
    """Text of the task."""
    output: str | None = None
    """What the task produced, or what went wrong."""
    status: TaskStatus = TaskStatus.COMPLETED
    project: str | None = None
    agent: str | None = None
    """Owner of the memory; None: the caller."""


class CompletedTask(Value, frozen=True, kw_only=True):
    memory: Memory | None
    """None if there was too little to store."""
    created: bool
    """True if the memory is new."""
    changed: bool
    """True if anything was stored; False for a repetition."""
    message: str


def current_version(memory: Memory) -> int:
    return memory.version


def store_reply(done: WriteResult) -> Reply:
    message = "Stored." if done.created else "An equal memory exists already."
    notice = done.placement_notice
    return Reply(message if notice is None else f"{message} {notice}", {"memoryId": done.memory.id})


def edit_reply(memory: Memory) -> Reply:
    return Reply(f"This is version {memory.version} now.", {"version": memory.version})


def read_reply(found: MemoryWithHistory) -> Reply:
    """Lists versions by their changes: their texts would repeat in every version."""
    if found.history is None:
        return Reply("Found.", {"memory": found.memory})
    history = to_builtins(found.history)
    for before, now, shown in zip(
        (None, *found.history.versions), found.history.versions, history["versions"], strict=False
    ):
        for name in ("scope", "name", "content", "summary", "category", "tags", "project", "expiresAt"):
            del shown[name]
        del shown["subject"], shown["validFrom"]
        shown["changes"] = {} if before is None else difference(before, now).fields
    return Reply("Found.", {"memory": found.memory, "history": history})


INDEX_MEMORY = Operation(
    name="index_memory",
    summary="Stores a text (A29). It is durable and found by keywords when this answers; its vectors follow.",
    request=IndexMemory,
    response=IndexResponse,
    handler="hivelore.memories.handlers:index_memory",
    lane=Lane.WRITE,
    http=post("/api/memory/index", status=202),
    stored=lambda _: 1,
    verb="remember",
    tag="memory",
)
STORE_MEMORIES = Operation(
    name="remember_many",
    summary="Stores up to 1,000 texts in their order: all of them or none.",
    request=StoreMemories,
    response=StoredMemories,
    handler="hivelore.memories.handlers:store_memories",
    lane=Lane.WRITE,
    http=post("/api/memory/batch"),
    stored=lambda done: len(done.results),
    verb="import",
    tag="memory",
)
STORE_MEMORY = Operation(
    name="store_memory",
    summary="Stores a text.",
    request=Draft,
    response=WriteResult,
    handler="hivelore.memories.handlers:store_memory",
    lane=Lane.WRITE,
    stored=lambda _: 1,
    tool=Tool(
        name="memory-store",
        description="Store a solution, pattern, mistake, configuration or instruction for later sessions.",
        arguments={
            "content": "",
            "name": "",
            "scope": "swarm: shared",
            "tags": "",
            "category": "",
            "project": "",
            "subject": "for a value that may change: thing and property, like db.port; supersedes the last one",
            "validFrom": "",
            "supersedes": "id of the memory to supersede",
        },
        reply=store_reply,
        output={"memoryId": TEXT},
    ),
    tag="memory",
)
LIST_MEMORIES = Operation(
    name="list",
    summary="Lists memories, newest first. ``after`` is the ``next`` of the previous page. ``as_of``: those valid at "
    "that time, in the version of that time. ``superseded``: also those that a newer one replaced. ``created_after``, "
    "``created_before``: only those created at this time or later, or before this time. A date is a whole day in UTC.",
    request=ListMemories,
    response=MemoryPage,
    handler="hivelore.memories.handlers:list_memories",
    lane=Lane.READ,
    http=get("/api/memory"),
    verb="list",
    tag="memory",
)
FORGET_PATH = Operation(
    name="forget_path",
    summary="Permanently deletes the memories indexed from a path in a project and returns how many.",
    request=ForgetPath,
    response=ForgottenCount,
    handler="hivelore.memories.handlers:forget_path",
    lane=Lane.WRITE,
    http=delete("/api/memory"),
    verb="forget",
    tag="memory",
)
GET_STATS = Operation(
    name="stats",
    summary="Counts the memories that the caller may see.",
    request=NoArguments,
    response=Stats,
    handler="hivelore.memories.handlers:get_stats",
    lane=Lane.READ,
    http=get("/api/memory/stats"),
    verb="stats",
    tag="memory",
)
GET_MEMORY = Operation(
    name="get",
    summary="Returns one memory by id, including expired and superseded ones. ``as_of``: as it was at that time; "
    "raises NotFound if it was not valid then.",
    request=GetMemory,
    response=MemoryDetail,
    handler="hivelore.memories.handlers:get_memory",
    lane=Lane.READ,
    http=get("/api/memory/{memoryId}", etag=current_version),
    verb="get",
    tag="memory",
)
READ_MEMORY = Operation(
    name="read_memory",
    summary="Returns one memory, with its history if wanted.",
    request=ReadMemory,
    response=MemoryWithHistory,
    handler="hivelore.memories.handlers:read_memory",
    lane=Lane.READ,
    tool=Tool(
        name="memory-get",
        description="Read one memory in full.",
        arguments={"memoryId": "", "asOf": "", "history": "who changed what, when and why"},
        reply=read_reply,
        output={"memory": OBJECT},
        read_only=True,
    ),
    tag="memory",
)
LIST_CHUNKS = Operation(
    name="chunks",
    summary="Returns the chunks of a memory in the index, in order.",
    request=NamedMemory,
    response=MemoryChunks,
    handler="hivelore.memories.handlers:list_chunks",
    lane=Lane.READ,
    http=get("/api/memory/{memoryId}/chunks"),
    verb="get",
    tag="memory",
)
GET_HISTORY = Operation(
    name="history",
    summary="Returns every version of a memory, oldest first, with its author, interface, time and reason, and the "
    "memories that it supersedes and that supersede it.",
    request=NamedMemory,
    response=History,
    handler="hivelore.memories.handlers:get_history",
    lane=Lane.READ,
    http=get("/api/memory/{memoryId}/history"),
    verb="history",
    tag="memory",
)
COMPARE_VERSIONS = Operation(
    name="diff",
    summary="Returns the differences between two versions of a memory by field. By default between the current "
    "version, or ``newer``, and the one before it.",
    request=CompareVersions,
    response=Difference,
    handler="hivelore.memories.handlers:compare_versions",
    lane=Lane.READ,
    http=get("/api/memory/{memoryId}/diff"),
    verb="diff",
    tag="memory",
)
EDIT_MEMORY = Operation(
    name="edit",
    summary="Changes the given fields of a memory. ``version``: only if this is still the current version, else Stale.",
    request=EditMemory,
    response=Memory,
    handler="hivelore.memories.handlers:edit_memory",
    lane=Lane.WRITE,
    http=patch("/api/memory/{memoryId}", if_match="version", etag=current_version),
    tool=Tool(
        name="memory-edit",
        description="Change the given fields of a memory. Empty text clears a field.",
        arguments={
            "memoryId": "",
            "content": "",
            "name": "",
            "summary": "",
            "scope": "",
            "tags": "replaces all",
            "category": "",
            "project": "",
            "metadata": "",
            "expiresAt": "",
            "subject": "",
            "validFrom": "",
            "supersedes": "",
            "reason": "",
            "version": "only if still current",
        },
        reply=edit_reply,
        output={"version": NUMBER},
    ),
    verb="edit",
    tag="memory",
)
FORGET_MEMORY = Operation(
    name="forget",
    summary="Permanently deletes a memory: its text, history, vectors and keywords. No search finds it any more. For a "
    "memory that maintenance purged, deletes what undo needs. Its bytes leave the files within minutes, or at the next "
    "start if the process ends before. Backups keep their copies.",
    request=ForgetMemory,
    response=type(None),
    handler="hivelore.memories.handlers:forget_memory",
    lane=Lane.WRITE,
    http=delete("/api/memory/{memoryId}", if_match="version"),
    tool=Tool(
        name="memory-delete",
        description="Permanently delete a memory.",
        arguments={"memoryId": ""},
        reply=lambda _: Reply("Deleted.", {}),
        destructive=True,
    ),
    verb="forget",
    tag="memory",
)
INJECT_LEARNING = Operation(
    name="inject_learning",
    summary="Stores a learning for another agent.",
    request=InjectLearning,
    response=Memory,
    handler="hivelore.memories.handlers:inject_learning",
    lane=Lane.WRITE,
    roles=frozenset({Role.LEAD, Role.OPERATOR}),
    stored=lambda _: 1,
    tool=Tool(
        name="inject-learning",
        description="Write a learning into another agent's memory.",
        arguments={
            "agentId": "",
            "learning": "",
            "category": "mistake-pattern, best-practice, codebase-knowledge or preference.",
            "scope": "",
        },
        reply=lambda memory: Reply("Injected.", {"memoryId": memory.id}),
        output={"memoryId": TEXT},
        capability=Capability.REVIEW,
    ),
    tag="memory",
)
COMPLETE_TASK = Operation(
    name="complete_task",
    summary="Stores a completed or failed task with its output, or with what went wrong, as a private memory of the "
    "source ``task_completion``. Another output of the same task updates its memory; a repetition changes nothing. "
    "Nothing is stored if task and output have fewer than 30 characters together. With the id of a task of the swarm, "
    "completes or fails that task.",
    request=CompleteTask,
    response=CompletedTask,
    handler="hivelore.memories.handlers:complete_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/complete"),
    stored=lambda done: 0 if done.memory is None else 1,
    tool=Tool(
        name="task-complete",
        capability=Capability.TASKS,
        description="Store what a finished task produced, or why it failed.",
        arguments={
            "taskId": "",
            "task": "its text",
            "output": "result, or what went wrong",
            "status": "",
            "project": "",
        },
        reply=lambda done: Reply(done.message, {} if done.memory is None else {"memoryId": done.memory.id}),
        output={"memoryId": TEXT},
    ),
    verb="task-done",
    tag="memory",
)
OPERATIONS = (
    READ_MEMORY,
    INDEX_MEMORY,
    STORE_MEMORY,
    STORE_MEMORIES,
    LIST_MEMORIES,
    FORGET_PATH,
    GET_STATS,
    GET_MEMORY,
    LIST_CHUNKS,
    GET_HISTORY,
    COMPARE_VERSIONS,
    EDIT_MEMORY,
    FORGET_MEMORY,
    INJECT_LEARNING,
    COMPLETE_TASK,
)
