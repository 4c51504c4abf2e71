"""Reads what decides whether an agent is asked for lessons when its turn ends; the agent waits for the answer."""

from collections.abc import Callable, Sequence

from hivelore.core.redaction.private_text import remove_private_text
from hivelore.errors import NotFound
from hivelore.search.model import Filter, Visibility
from hivelore.sessions.fence import remove_fences
from hivelore.sessions.lessons.classifier import LessonClassifier, shipped_classifier
from hivelore.sessions.lessons.drawing import spoken_end
from hivelore.sessions.model import AgentEvent, Session, Speaker, Turn
from hivelore.sessions.nudge import (
    calls_storing_tool,
    may_ask,
    newest_turns,
    shows_learning,
    was_stored_by_owner,
    writes_marker,
)
from hivelore.sessions.ports import Transcripts
from hivelore.sessions.transcripts import read_transcript, without_own_tools
from hivelore.storage.ports import MemoryStore

MAX_BYTES = 4_000_000
"""Bytes read from the end of a transcript, in which calls of storing tools are looked for."""
MAX_PARSED = 200_000
"""Characters of its last lines that are parsed. More would take longer than a hook waits."""
_PAGE = 100


class NudgeService:
    def __init__(
        self,
        store: MemoryStore,
        transcripts: Transcripts,
        *,
        can_store: bool,
        classifier: Callable[[], LessonClassifier] = shipped_classifier,
    ) -> None:
        """``can_store``: agents have the tool to store lessons."""
        self._store = store
        self._transcripts = transcripts
        self._can_store = can_store
        self._classifier = classifier

    def should_ask(self, event: AgentEvent, session: Session) -> bool:
        """Returns True if the agent is to be asked for lessons at the end of a turn. The transcript of the event may be
        read."""
        if not may_ask(event, session, can_store=self._can_store) or self._has_memory(session):
            return False
        lines = self._read_lines(event)
        if any(map(calls_storing_tool, lines)):
            return False
        turns = newest_turns(_conversation(event, _last_lines(lines)))
        return not writes_marker(turns) and shows_learning(turns, self._classifier())

    def _has_memory(self, session: Session) -> bool:
        """Returns True if the agent has stored a memory since the session began."""
        if session.begun_at is None:
            return False
        visible = Visibility(own=session.agent, swarm=True)
        own, after = Filter(visibility=visible, owner=session.agent, created_after=session.begun_at), None
        with self._store.read() as view:
            while memories := view.page(own, after, _PAGE):
                if any(map(was_stored_by_owner, memories)):
                    return True
                after = memories[-1].created_at, memories[-1].id
        return False

    def _read_lines(self, event: AgentEvent) -> Sequence[str]:
        if event.transcript is None:
            return ()
        try:
            return self._transcripts.read_end(event.transcript, MAX_BYTES)[0]
        except NotFound:
            return ()


def _last_lines(lines: Sequence[str]) -> Sequence[str]:
    """Returns the last lines with at most ``MAX_PARSED`` characters."""
    size, begin = 0, len(lines)
    while begin and size + len(lines[begin - 1]) <= MAX_PARSED:
        begin -= 1
        size += len(lines[begin])
    return lines[begin:]


def _conversation(event: AgentEvent, lines: Sequence[str]) -> Sequence[Turn]:
    """Returns a conversation without our own tools, with the last message if the transcript lacks it."""
    turns = spoken_end(without_own_tools(read_transcript(event.program, lines))).turns
    last = remove_fences(remove_private_text(event.text or "")).strip()
    if not last or any(turn.speaker is Speaker.ASSISTANT and turn.text.strip() == last for turn in turns):
        return turns
    return (*turns, Turn(speaker=Speaker.ASSISTANT, text=last, at=event.at))
