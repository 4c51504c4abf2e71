"""Answers the operations of memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hivelore.core.operation import Call
from hivelore.core.paging import position_of
from hivelore.core.values import NoArguments, replace
from hivelore.feedback.model import NO_USAGE
from hivelore.memories.drafts import Draft, Edit, EditedFields, WriteResult
from hivelore.memories.model import Memory, TaskStatus
from hivelore.memories.normalizer import (
    clean_category_filter,
    clean_filter,
    clean_project,
    clean_subject,
    created_range,
    to_utc,
)
from hivelore.memories.operations import (
    CompareVersions,
    CompletedTask,
    CompleteTask,
    EditMemory,
    ForgetMemory,
    ForgetPath,
    ForgottenCount,
    GetMemory,
    IndexMemory,
    IndexResponse,
    InjectLearning,
    ListMemories,
    MemoryChunks,
    MemoryDetail,
    MemoryWithHistory,
    NamedMemory,
    ReadMemory,
    StoredMemories,
    StoreMemories,
)
from hivelore.memories.task_completion import MIN_LENGTH, TaskCompletion
from hivelore.search.model import Difference, History, MemoryPage, Stats

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def store_memory(app: Application, request: Draft, call: Call) -> WriteResult:
    return app.memory_service.remember(_complete(app, request, call), call.viewer, call.deadline)


def index_memory(app: Application, request: IndexMemory, call: Call) -> IndexResponse:
    done = store_memory(app, Draft(**asdict(request)), call)
    return IndexResponse(queued=True, memory_ids=(done.memory.id,), proposal=done.proposal)


def store_memories(app: Application, request: StoreMemories, call: Call) -> StoredMemories:
    drafts = [_complete(app, draft, call) for draft in request.memories]
    return StoredMemories(tuple(app.memory_service.remember_many(drafts, call.viewer, call.deadline)))


def _complete(app: Application, draft: Draft, call: Call) -> Draft:
    """Returns the draft in the project of the call, with the whole id of its owner."""
    owner = None if draft.owner is None else app.agents.resolve(draft.owner)
    return replace(draft, project=draft.project or call.project, owner=owner)


def list_memories(app: Application, request: ListMemories, call: Call) -> MemoryPage:
    redactor, reader = app.redactor, app.reading
    as_of = to_utc(request.as_of, "asOf")
    at = as_of or reader.now()
    created_after, created_before = created_range(request.created_after, request.created_before)
    where = replace(
        reader.widest_filter(call.viewer, request.scope),
        owner=None if request.agent is None else app.agents.resolve(request.agent),
        source=request.source,
        project=clean_project(redactor, request.project),
        session=clean_filter(redactor, request.session, "session"),
        tag=clean_filter(redactor, request.tag, "tag"),
        subject=clean_subject(redactor, request.subject),
        superseded=None if request.superseded or as_of is not None else False,
        held_at=as_of,
        live_at=at if request.status == "live" else None,
        expired_at=at if request.status == "expired" else None,
        created_after=created_after,
        created_before=created_before,
    )
    category = clean_category_filter(redactor, request.category)
    return reader.page(where, position_of(request.after), request.limit, call.viewer, category)


def forget_path(app: Application, request: ForgetPath, call: Call) -> ForgottenCount:
    owner = None if request.agent is None else app.agents.resolve(request.agent)
    service = app.memory_service
    return ForgottenCount(service.forget_path(request.source_path, call.viewer, owner=owner, project=request.project))


def get_stats(app: Application, request: NoArguments, call: Call) -> Stats:
    return app.reading.stats(call.viewer)


def get_memory(app: Application, request: GetMemory, call: Call) -> MemoryDetail:
    memory = app.reading.resolve(request.memory, call.viewer)
    usefulness = app.rating.of(memory, call.viewer)
    found = app.reading.get(memory, call.viewer, to_utc(request.as_of, "asOf"))
    return MemoryDetail(**asdict(found), usefulness=None if usefulness.use == NO_USAGE else usefulness)


def read_memory(app: Application, request: ReadMemory, call: Call) -> MemoryWithHistory:
    memory = app.reading.resolve(request.memory, call.viewer)
    found = app.reading.get(memory, call.viewer, to_utc(request.as_of, "asOf"))
    return MemoryWithHistory(found, app.reading.history(memory, call.viewer) if request.history else None)


def list_chunks(app: Application, request: NamedMemory, call: Call) -> MemoryChunks:
    return MemoryChunks(tuple(app.reading.chunks(app.reading.resolve(request.memory, call.viewer), call.viewer)))


def get_history(app: Application, request: NamedMemory, call: Call) -> History:
    return app.reading.history(app.reading.resolve(request.memory, call.viewer), call.viewer)


def compare_versions(app: Application, request: CompareVersions, call: Call) -> Difference:
    return app.reading.difference(
        app.reading.resolve(request.memory, call.viewer), call.viewer, request.older, request.newer
    )


def edit_memory(app: Application, request: EditMemory, call: Call) -> Memory:
    edit = Edit(**{name: getattr(request, name) for name in EditedFields.__struct_fields__})
    return app.memory_service.edit(
        app.reading.resolve(request.memory, call.viewer),
        edit,
        call.viewer,
        version=request.version,
        deadline=call.deadline,
    )


def forget_memory(app: Application, request: ForgetMemory, call: Call) -> None:
    memory = app.reading.resolve(request.memory, call.viewer, or_deleted=True)
    app.memory_service.forget(memory, call.viewer, version=request.version)


def inject_learning(app: Application, request: InjectLearning, call: Call) -> Memory:
    target = app.agents.resolve(request.agent)
    return app.memory_service.inject_learning(request.learning, request.category, target, call.viewer, request.scope)


def complete_task(app: Application, request: CompleteTask, call: Call) -> CompletedTask:
    failed = request.status is TaskStatus.FAILED
    stored = app.tasks.finish_known(
        request.task_id, request.output or "", call.viewer, is_failed=failed, deadline=call.deadline
    )
    if stored is not None:  # It has its own memory.
        task, memory = stored
        return CompletedTask(memory=memory, created=False, changed=True, message=f"The task is {task.state}.")
    completion = TaskCompletion(
        id=request.task_id,
        task=request.task,
        output=request.output or "",
        status=request.status,
        owner=None if request.agent is None else app.agents.resolve(request.agent),
        project=request.project or call.project,
    )
    done = app.memory_service.complete_task(completion, call.viewer, call.deadline)
    if done is None:
        message = f"Not stored: the task and its output have fewer than {MIN_LENGTH} characters together."
        return CompletedTask(memory=None, created=False, changed=False, message=message)
    message = "Stored." if done.created else "Updated." if done.changed else "Nothing changed: it was stored before."
    return CompletedTask(memory=done.memory, created=done.created, changed=done.changed, message=message)
