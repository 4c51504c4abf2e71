"""Requests about stored transcripts."""

from typing import Annotated

from msgspec import Meta

from hivelore.core.operation import Lane, Operation, delete, get, post
from hivelore.core.values import Request, Value, json_names
from hivelore.stored_transcripts.model import AppendResult, FoundSession, ReadTurn, TranscriptItem

_NO_STORE = (("Cache-Control", "no-store"),)
_AGENT = "Agent, by id or name. Default: the caller."


class AppendTranscript(Request, frozen=True, kw_only=True, rename=json_names(session="sessionId")):
    project_key: str
    session: str
    lines: Annotated[tuple[str, ...], Meta(description="Entries, each a JSON object in one line.")]
    sub_key: Annotated[str | None, Meta(description="Transcript of a sub-agent, like subagents/agent-1.")] = None
    program: str = "claude-code"
    machine: str | None = None
    from_file: Annotated[
        bool,
        Meta(
            description="The lines are consecutive ones of the transcript's file. Those without a uuid that were sent "
            "before are recognized, too."
        ),
    ] = False
    anchor: Annotated[str | None, Meta(description="With fromFile: the last uuid in the file before the lines.")] = None
    distance: Annotated[
        int, Meta(ge=0, description="With fromFile: the number of entries between the anchor and the lines.")
    ] = 0
    transcript: Annotated[
        str | None,
        Meta(
            description="With fromFile: the id of the transcript to which the lines before were appended. If they are "
            "not stored any more, nothing is appended, and `restart` is true."
        ),
    ] = None
    entries: Annotated[
        int, Meta(ge=0, description="With transcript: the number of entries that it had afterwards.")
    ] = 0


class ListTranscripts(Request, frozen=True, kw_only=True, rename=json_names(agent="agentId", session="sessionId")):
    agent: Annotated[str | None, Meta(description="Only sessions of this agent, by id or name.")] = None
    project_key: str | None = None
    session: Annotated[str | None, Meta(description="Beginning of a session id.")] = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    after: str | None = None


class FindSession(Request, frozen=True, kw_only=True, rename=json_names(agent="agentId", session="sessionId")):
    session: Annotated[str, Meta(description="Session id, or its beginning.")]
    agent: Annotated[str | None, Meta(description="Agent of the session, by id or name.")] = None
    project_key: str | None = None
    newest: Annotated[bool, Meta(description="Find the newest session that continues it.")] = True


class LoadTranscript(Request, frozen=True, kw_only=True, rename=json_names(session="sessionId")):
    project_key: str
    session: str
    sub_key: str | None = None
    after: Annotated[int, Meta(ge=0, description="The `next` of the previous page.")] = 0


class ListSubKeys(Request, frozen=True, kw_only=True, rename=json_names(session="sessionId")):
    project_key: str
    session: str


class PageOfTranscript(Request, frozen=True, rename=json_names(transcript="id")):
    transcript: str
    after: Annotated[int, Meta(ge=0, description="The `next` of the previous page.")] = 0


class DeleteTranscripts(Request, frozen=True, kw_only=True, rename=json_names(agent="agentId", session="sessionId")):
    session: Annotated[str | None, Meta(description="The whole session id. Without it, `every` is needed.")] = None
    agent: Annotated[str | None, Meta(description=_AGENT)] = None
    project_key: str | None = None
    sub_key: Annotated[str | None, Meta(description="Only this transcript of a sub-agent.")] = None
    every: Annotated[bool, Meta(description="Delete the transcripts of all sessions of the agent.")] = False


class GetHandover(Request, frozen=True, rename=json_names(agent="agentId", session="sessionId")):
    session: Annotated[
        str,
        Meta(
            description="Session id, or that of a task for its newest stored session and its reports; or a beginning."
        ),
    ]
    agent: Annotated[str | None, Meta(description="Agent of the session, by id or name.")] = None
    newest: Annotated[bool, Meta(description="Take the newest session that continues it.")] = True


class TranscriptList(Value, frozen=True, kw_only=True):
    sessions: tuple[TranscriptItem, ...]
    next: str | None
    """``after`` of the next page; None: this is the last one."""


class TranscriptLines(Value, frozen=True, kw_only=True):
    lines: tuple[str, ...]
    next: int | None
    """``after`` of the next page; None: this is the last one."""


class SubKeys(Value, frozen=True, kw_only=True):
    sub_keys: tuple[str, ...]


class TranscriptTurns(Value, frozen=True, kw_only=True):
    turns: tuple[ReadTurn, ...]
    next: int | None
    """``after`` of the next page; None: this is the last one."""


class DeletedTranscripts(Value, frozen=True, kw_only=True):
    deleted: int
    """Number of transcripts, with those of sub-agents."""


class SessionHandover(Value, frozen=True, kw_only=True):
    session_id: str | None
    """The session of the packet. None: no session of the task is stored, so it has what was reported."""
    text: str


APPEND_TRANSCRIPT = Operation(
    name="append_transcript",
    verb="session save",
    summary="Appends entries to the stored transcript of a session of the calling agent. Entries with a uuid that is "
    "stored are left out.",
    request=AppendTranscript,
    response=AppendResult,
    handler="hivelore.stored_transcripts.handlers:append_transcript",
    lane=Lane.WRITE,
    http=post("/api/transcripts"),
    tag="transcripts",
)
LIST_TRANSCRIPTS = Operation(
    name="transcripts",
    verb="session list",
    summary="Lists sessions with a stored transcript, most recently used first. Transcripts are as private as the "
    "private memories of their agent.",
    request=ListTranscripts,
    response=TranscriptList,
    handler="hivelore.stored_transcripts.handlers:list_transcripts",
    lane=Lane.READ,
    http=get("/api/transcripts"),
    tag="transcripts",
)
FIND_SESSION = Operation(
    name="find_session",
    verb="session show",
    summary="Finds a session with a stored transcript, the transcripts of its sub-agents, and the newest session that "
    "continues it.",
    request=FindSession,
    response=FoundSession,
    handler="hivelore.stored_transcripts.handlers:find_session",
    lane=Lane.READ,
    http=get("/api/transcripts/find"),
    tag="transcripts",
)
LOAD_TRANSCRIPT = Operation(
    name="load_transcript",
    verb="session restore",
    summary="Returns a page of the exact lines of a transcript of the calling agent. Nobody else can load them, not "
    "even an operator who acts for the agent.",
    request=LoadTranscript,
    response=TranscriptLines,
    handler="hivelore.stored_transcripts.handlers:load_transcript",
    lane=Lane.READ,
    http=get("/api/transcripts/lines", headers=_NO_STORE),
    tag="transcripts",
)
LIST_SUB_KEYS = Operation(
    name="transcript_sub_keys",
    summary="Lists the sub-keys of a session of the calling agent, under which transcripts of sub-agents are stored.",
    request=ListSubKeys,
    response=SubKeys,
    handler="hivelore.stored_transcripts.handlers:list_sub_keys",
    lane=Lane.READ,
    http=get("/api/transcripts/sub-keys"),
    tag="transcripts",
)
READ_TRANSCRIPT = Operation(
    name="read_transcript",
    verb="session show",
    summary="Returns a page of the conversation of a transcript, with secrets masked and without private text. The "
    "audit trail records reads of another agent's transcript.",
    request=PageOfTranscript,
    response=TranscriptTurns,
    handler="hivelore.stored_transcripts.handlers:read_transcript",
    lane=Lane.SLOW,
    http=get("/api/transcripts/{id}/turns", headers=_NO_STORE),
    tag="transcripts",
)
DELETE_TRANSCRIPTS = Operation(
    name="delete_transcripts",
    verb="session delete",
    summary="Permanently deletes the transcripts of a session and its sub-agents, or with ``every`` those of all "
    "sessions of an agent. For the agent itself and operators.",
    request=DeleteTranscripts,
    response=DeletedTranscripts,
    handler="hivelore.stored_transcripts.handlers:delete_transcripts",
    lane=Lane.SLOW,
    http=delete("/api/transcripts"),
    tag="transcripts",
)
GET_HANDOVER = Operation(
    name="handover",
    verb="handover",
    summary="Returns a hand-over packet: goal, progress, decisions, changed files, last error and open questions of a "
    "session, redacted, for another agent that cannot resume it. Of a task, with what was reported of it.",
    request=GetHandover,
    response=SessionHandover,
    handler="hivelore.stored_transcripts.handlers:get_handover",
    lane=Lane.SLOW,
    http=get("/api/transcripts/handover", headers=_NO_STORE),
    tag="transcripts",
)
OPERATIONS = (
    APPEND_TRANSCRIPT,
    LIST_TRANSCRIPTS,
    FIND_SESSION,
    LOAD_TRANSCRIPT,
    LIST_SUB_KEYS,
    READ_TRANSCRIPT,
    DELETE_TRANSCRIPTS,
    GET_HANDOVER,
)
