"""Capture: what follows from what happens in an agent program, and what the program is told in reply."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Forbidden, Unauthenticated, Unavailable
from hivelore.identity.service import LOCAL_AGENT
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Source
from hivelore.memories.service import MemoryService
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.sessions.fence import unfenced
from hivelore.sessions.injection import InjectionService
from hivelore.sessions.injection_text import Note
from hivelore.sessions.lessons.gate import LEAST, weight
from hivelore.sessions.model import (
    GOAL_LENGTH,
    NOTHING,
    SHOWN_LENGTH,
    TOLD_LENGTH,
    AgentEvent,
    Ended,
    EventKind,
    InjectedMemory,
    Origin,
    Reply,
    Session,
    ShownMemory,
    session_name,
)
from hivelore.sessions.novelty import NoveltyFilter
from hivelore.sessions.transcript_access import may_read_transcript
from hivelore.storage.ports import MemoryStore

_REPLIED_TO = (EventKind.STARTED, EventKind.ASKED, EventKind.SUBAGENT_STARTED)


class CaptureService:
    def __init__(
        self,
        store: MemoryStore,
        briefing: InjectionService,
        memory_service: MemoryService,
        novelty_filter: NoveltyFilter,
        hand_over: Callable[[Ended, Viewer], None],
        clock: Clock,
    ) -> None:
        """``hand_over``: see ``SessionSummaries``."""
        self._store = store
        self._briefing = briefing
        self._memory_service = memory_service
        self._novelty_filter = novelty_filter
        self._hand_over = hand_over
        self._clock = clock

    def take(self, event: AgentEvent, viewer: Viewer, deadline: float | None = None) -> Reply:
        """What the program is to be told at an event. What is to be kept of it is durable then; taking the same event
        again keeps nothing more. Raises Unauthenticated for who is no agent, Forbidden where nothing but a transcript
        that is not theirs tells what was said."""
        agent = _agent(viewer)
        if event.kind in _REPLIED_TO:
            return self._replied(event, agent, viewer, deadline)
        if event.kind is EventKind.COMPACTED:
            self._keep_summary(event, agent, viewer, deadline)
        elif event.transcript is not None or event.text is not None:
            self._hand_over(_ended(self._readable(event, viewer)), viewer)
        if event.kind is EventKind.COMPACTING:
            with suppress(Unavailable):  # Then it is not told again what it knew, and that is all.
                self._change(event, agent, lambda session: replace(session, briefed=None, told=()))
        return NOTHING

    def _readable(self, event: AgentEvent, viewer: Viewer) -> AgentEvent:
        """The event without a transcript that is not to be read for the viewer. Raises Forbidden where nothing else
        tells what was said."""
        if event.transcript is None:
            return event
        name = _name(replace(event, subagent=None))
        with self._store.read() as view:
            local = view.agent_named(LOCAL_AGENT)
            sessions = [view.session(one.id, name) for one in view.agents()]
        begun = {one.agent: one.begun_at for one in sessions if one is not None}
        local_id = None if local is None else local.id
        if may_read_transcript(viewer, event.transcript, event.session, local_id, begun):
            return event
        if event.text is None:
            raise Forbidden(
                "This transcript is not read for you: the service has not seen this session begin with your key "
                "first, or the file is not named after it. Hand over what was said, not a path."
            )
        return replace(event, transcript=None)

    def take_late(self, event: AgentEvent, viewer: Viewer) -> None:
        """As ``take``, for an event that nobody waits for any more: what was told in reply, if anything, has not
        arrived."""
        agent = _agent(viewer)
        if event.kind in _REPLIED_TO:
            self._change(event, agent, lambda session: _untold(session, event))
        else:
            self.take(event, viewer)

    def _replied(self, event: AgentEvent, agent: AgentId, viewer: Viewer, deadline: float | None) -> Reply:
        session = _begun(self._session(event, agent), event)
        if event.subagent is not None:
            parent = self._session(replace(event, subagent=None), agent)
            session = replace(session, goal=parent.goal, asked=parent.asked)
        briefed = self._briefing.of(event, session, viewer, deadline)
        with suppress(Unavailable):  # What cannot be noted may be told once more: better than not at all.
            self._change(event, agent, lambda before: _told(_begun(before, event), event, briefed.told))
        return Reply(context=briefed.text)

    def _keep_summary(self, event: AgentEvent, agent: AgentId, viewer: Viewer, deadline: float | None) -> None:
        """The program's own summary of a conversation, which a later one of the same session takes the place of."""
        text = unfenced(event.text or "").strip()
        if weight(text) <= LEAST:
            return
        name = Clean(f"compacted:{event.program}:{event.session}")
        if known := self._novelty_filter.all_of(text, agent, event.project, besides=name):
            self._novelty_filter.reinforce(known)
            return
        about = (event.task.text if event.task is not None else "") or summarise(text)
        draft = Draft(
            content=text,
            name=f"Session, compacted: {name_from_summary(about)}",
            source=Source.SESSION_SUMMARY,
            project=event.project,
            session=event.session,
            source_task_id=None if event.task is None else event.task.id,
            external_id=name,
        )
        self._memory_service.remember(draft, viewer, deadline)

    def _session(self, event: AgentEvent, agent: AgentId) -> Session:
        with self._store.read() as view:
            return view.session(agent, _name(event)) or self._new(event, agent)

    def _change(self, event: AgentEvent, agent: AgentId, change: Callable[[Session], Session]) -> None:
        self._store.write(lambda tx: tx.put_session(change(tx.session(agent, _name(event)) or self._new(event, agent))))

    def _new(self, event: AgentEvent, agent: AgentId) -> Session:
        return Session(agent=agent, id=_name(event), updated_at=event.at, begun_at=self._clock.now())


def _agent(viewer: Viewer) -> AgentId:
    if viewer.agent is None:
        raise Unauthenticated("A hook needs an agent's key, or an operator's with X-Agent-ID.")
    return viewer.agent


def _ended(event: AgentEvent) -> Ended:
    return Ended(
        id=event.id,
        program=event.program,
        session=event.session,
        at=event.at,
        transcript=event.transcript,
        last_message=event.text,
        project=event.project,
        task=event.task,
        subagent=event.subagent,
        goes_on=event.kind in (EventKind.ANSWERED, EventKind.ADVANCED, EventKind.COMPACTING),
    )


def _name(event: AgentEvent) -> Clean:
    return session_name(event.program, event.session, None if event.subagent is None else event.subagent.id)


def _begun(session: Session, event: AgentEvent) -> Session:
    """A session when an event has come, before anything is told in reply."""
    if event.kind is EventKind.STARTED and event.origin is not Origin.RESUMED:
        # The model knows nothing of what it was told before; after a compaction it goes on with the same work.
        goes_on = event.origin is Origin.COMPACTED
        anew = Session(agent=session.agent, id=session.id, updated_at=event.at, begun_at=session.begun_at)
        before = session if goes_on else anew
        return replace(before, briefed=None, told=(), updated_at=event.at)
    session = replace(session, updated_at=max(session.updated_at, event.at))
    asked = unfenced(event.text or "").strip()[:GOAL_LENGTH] if event.kind is EventKind.ASKED else ""
    return replace(session, goal=session.goal or Clean(asked), asked=Clean(asked)) if asked else session


def _told(session: Session, event: AgentEvent, notes: Sequence[Note]) -> Session:
    briefed = session.briefed if event.kind is EventKind.SUBAGENT_STARTED else session.briefed or event.id
    told = (InjectedMemory(one.memory.id, one.memory.version, event.id) for one in notes)
    shown = (ShownMemory(one.memory.id, one.recall, event.id, event.at) for one in notes)
    return replace(
        session,
        briefed=briefed,
        told=(*session.told, *told)[-TOLD_LENGTH:],
        shown=(*session.shown, *shown)[-SHOWN_LENGTH:],
    )


def _untold(session: Session, event: AgentEvent) -> Session:
    """A session whose model has not been told what was said in reply to an event."""
    asked = unfenced(event.text or "").strip()[:GOAL_LENGTH] if event.kind is EventKind.ASKED else ""
    return replace(
        session,
        goal=session.goal or Clean(asked) or None,
        briefed=None if session.briefed == event.id else session.briefed,
        told=tuple(one for one in session.told if one.event != event.id),
        shown=tuple(one for one in session.shown if one.event != event.id),
    )
