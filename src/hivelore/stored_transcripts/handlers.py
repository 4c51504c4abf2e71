"""Answers the operations of stored transcripts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hivelore.core.agents import AgentId
from hivelore.core.operation import Call
from hivelore.errors import Invalid, NotFound
from hivelore.local.claude_code_files import is_session_id
from hivelore.stored_transcripts.handover_packet import format_packet, handover_packet, session_origin
from hivelore.stored_transcripts.keys import check_name, parse_id, transcript_key
from hivelore.stored_transcripts.model import AppendResult, FilePosition, FoundSession
from hivelore.stored_transcripts.operations import (
    AppendTranscript,
    DeletedTranscripts,
    DeleteTranscripts,
    FindSession,
    GetHandover,
    ListSubKeys,
    ListTranscripts,
    LoadTranscript,
    PageOfTranscript,
    SessionHandover,
    SubKeys,
    TranscriptLines,
    TranscriptList,
    TranscriptTurns,
)
from hivelore.stored_transcripts.redacted_copy import read_turn
from hivelore.stored_transcripts.service import Source
from hivelore.tasks.task_text import cut, preamble

if TYPE_CHECKING:
    from hivelore.runtime.app import Application
    from hivelore.tasks.model import Task

_TASK_BYTES = 4_000
"""Bytes of the text and of the output of a task in its packet."""


def append_transcript(app: Application, request: AppendTranscript, call: Call) -> AppendResult:
    key = transcript_key(request.project_key, request.session, request.sub_key)
    file = FilePosition(
        anchor=request.anchor, distance=request.distance, transcript=request.transcript, entries=request.entries
    )
    source = Source(program=request.program, machine=request.machine, file=file if request.from_file else None)
    return app.stored_transcripts.append(key, request.lines, call.viewer, source, call.deadline)


def list_transcripts(app: Application, request: ListTranscripts, call: Call) -> TranscriptList:
    if request.project_key is not None:
        check_name(request.project_key, "projectKey")
    found, after = app.stored_transcripts.list_sessions(
        call.viewer,
        owner=_agent(app, request.agent),
        project_key=request.project_key,
        session=request.session,
        limit=request.limit,
        after=request.after,
        deadline=call.deadline,
    )
    return TranscriptList(sessions=tuple(found), next=after)


def find_session(app: Application, request: FindSession, call: Call) -> FoundSession:
    if request.project_key is not None:
        check_name(request.project_key, "projectKey")
    return app.stored_transcripts.find_session(
        request.session,
        call.viewer,
        owner=_agent(app, request.agent),
        project_key=request.project_key,
        newest=request.newest,
        deadline=call.deadline,
    )


def load_transcript(app: Application, request: LoadTranscript, call: Call) -> TranscriptLines:
    key = transcript_key(request.project_key, request.session, request.sub_key)
    page = app.stored_transcripts.load(key, call.viewer, after=request.after, deadline=call.deadline)
    return TranscriptLines(lines=tuple(page.lines), next=page.next)


def list_sub_keys(app: Application, request: ListSubKeys, call: Call) -> SubKeys:
    key = transcript_key(request.project_key, request.session)
    return SubKeys(sub_keys=tuple(app.stored_transcripts.sub_keys(key, call.viewer, call.deadline)))


def read_transcript(app: Application, request: PageOfTranscript, call: Call) -> TranscriptTurns:
    turns, after = app.stored_transcripts.read(
        parse_id(request.transcript), call.viewer, after=request.after, deadline=call.deadline
    )
    return TranscriptTurns(turns=tuple(map(read_turn, turns)), next=after)


def delete_transcripts(app: Application, request: DeleteTranscripts, call: Call) -> DeletedTranscripts:
    if (request.session is None) != request.every:
        raise Invalid("Name the session as sessionId, or set every to true for all sessions.", field="sessionId")
    if request.every and (request.project_key is not None or request.sub_key is not None):
        raise Invalid("every deletes all transcripts of an agent. Leave projectKey and subKey out.", field="every")
    if request.session is not None:
        check_name(request.session, "sessionId")
    deleted = app.stored_transcripts.delete(
        call.viewer,
        session=request.session,
        project_key=request.project_key,
        sub_key=request.sub_key,
        owner=_agent(app, request.agent),
        deadline=call.deadline,
    )
    return DeletedTranscripts(deleted=deleted)


def get_handover(app: Application, request: GetHandover, call: Call) -> SessionHandover:
    owner = _agent(app, request.agent)
    try:
        found, packet = app.stored_transcripts.handover(
            request.session, call.viewer, owner=owner, newest=request.newest, deadline=call.deadline
        )
    except NotFound:
        return _handover_of_task(app, owner, request, call)
    text = format_packet(packet, session_origin(found), app.ids.nonce())
    return SessionHandover(session_id=found.key.session, text=text)


def _handover_of_task(app: Application, owner: AgentId | None, request: GetHandover, call: Call) -> SessionHandover:
    """Returns what was reported of a task, and the packet of its newest session that is stored."""
    try:
        task = app.tasks.resolve(request.session, call.viewer)
        detail = app.tasks.get(task, call.viewer, call.deadline)
    except NotFound:
        raise NotFound(
            "No stored session and no task has this id. 'hivelore session list' (GET /api/transcripts) and 'hivelore "
            "task list' (GET /api/tasks) show them."
        ) from None
    session, packet = None, handover_packet((), ())
    origin = f"Task {task} ({detail.task.state}), of which no session is stored"
    for one in reversed(detail.sessions):
        # A shorter text would be the beginning of another session, and a session that continues it may be of a child.
        if is_session_id(one.session) and owner in (None, one.agent):
            with suppress(NotFound):
                found, packet = app.stored_transcripts.handover(
                    one.session, call.viewer, owner=one.agent, newest=False, deadline=call.deadline
                )
                session, origin = found.key.session, f"Task {task} ({detail.task.state}). {session_origin(found)}"
                break
    text = format_packet(packet, origin, app.ids.nonce(), _reported(app, detail.task, call))
    return SessionHandover(session_id=session, text=text)


def _reported(app: Application, task: Task, call: Call) -> str:
    parent = None
    if task.parent is not None:
        with suppress(NotFound):
            parent = app.tasks.get(task.parent, call.viewer, call.deadline).task
    output = f"Output:\n\n{cut(task.output, _TASK_BYTES)}" if task.output else ""
    return "\n\n".join(filter(None, (cut(task.text, _TASK_BYTES), preamble(task, parent), output)))


def _agent(app: Application, name: str | None) -> AgentId | None:
    return None if name is None else app.agents.agent(AgentId(name)).id
