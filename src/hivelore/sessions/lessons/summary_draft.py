"""Draft of the memory that holds a session summary (A40)."""

from datetime import datetime

from hivelore.memories.drafts import Draft, QuotedDraft
from hivelore.memories.model import Memory, Scope, Source, Trust
from hivelore.sessions.model import SessionEnd, Summary

MAX_SUMMARISED = 20_000
"""Characters of a conversation that are summarized, from its end."""
_ENDED = "ended"


def build_draft(ended: SessionEnd, summary: Summary, name: str) -> Draft:
    subagent = {} if ended.subagent is None else {"subagent": ended.subagent.type}
    return QuotedDraft(
        content=summary.text,
        name=name,
        scope=Scope.AGENT,
        source=Source.SESSION_SUMMARY,
        project=ended.project,
        session=ended.session,
        source_task_id=None if ended.task is None else ended.task.id,
        external_id=ended.thread,
        metadata={"program": ended.program, "summarizer": summary.by, _ENDED: ended.at.isoformat(), **subagent},
        trust=Trust.TOOL_OUTPUT if summary.quotes_tools else Trust.AGENT,
    )


def is_newer_than(memory: Memory, ended: SessionEnd) -> bool:
    """Returns True if the stored summary covers a later end of the session."""
    try:
        return datetime.fromisoformat(str(memory.metadata.get(_ENDED))) > ended.at
    except (ValueError, TypeError):  # The memory was written by hand, without this field.
        return False
