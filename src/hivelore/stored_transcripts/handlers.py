"""Answers the operations of stored transcripts."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hivelore.core.agents import AgentId
from hivelore.core.operation import Call
from hivelore.errors import Invalid, NotFound
from hivelore.local.claude_code_files import is_session_id
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

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


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
        return _handover(app, request.session, owner, request, call)
    except NotFound:
        return _handover_of_task(app, owner, request, call)


def _handover_of_task(app: Application, owner: AgentId | None, request: GetHandover, call: Call) -> SessionHandover:
    try:
        task = app.tasks.resolve(request.session, call.viewer)
        sessions = app.tasks.get(task, call.viewer, call.deadline).sessions
    except NotFound:
        raise NotFound(
            "No stored session and no task has this id. 'hivelore session list' (GET /api/transcripts) and 'hivelore "
            "task list' (GET /api/tasks) show them."
        ) from None
    for one in reversed(sessions):
        # A shorter text would be the beginning of another session.
        if is_session_id(one.session) and owner in (None, one.agent):
            with suppress(NotFound):
                return _handover(app, one.session, one.agent, request, call)
    raise NotFound("No session of this task is stored. 'hivelore task show' shows what was reported.")


def _handover(
    app: Application, session: str, owner: AgentId | None, request: GetHandover, call: Call
) -> SessionHandover:
    found, text = app.stored_transcripts.handover(
        session, call.viewer, owner=owner, newest=request.newest, deadline=call.deadline
    )
    return SessionHandover(session_id=found.key.session, text=text)


def _agent(app: Application, name: str | None) -> AgentId | None:
    return None if name is None else app.agents.agent(AgentId(name)).id
