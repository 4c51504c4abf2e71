"""Capture: turns hook envelopes into events, stores what they report, and replies with text for the model."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.redaction.excerpts import beginning
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from hivelore.feedback.recall_log import WriteBehindBuffer
from hivelore.identity.service import LOCAL_AGENT
from hivelore.local.git_changes import MAX_FILES
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Json, Source
from hivelore.memories.normalizer import FIELD_LENGTH, to_utc
from hivelore.memories.service import MemoryService
from hivelore.memories.summary import summarise
from hivelore.memories.task_completion import TaskCompletion
from hivelore.observations.markers import remove_markers
from hivelore.search.model import QUERY_LENGTH
from hivelore.sessions.fence import remove_fences
from hivelore.sessions.injection import InjectionService, Note
from hivelore.sessions.lessons.information import MIN_WEIGHT, text_weight
from hivelore.sessions.missed_answers import (
    MissedAnswers,
    MissReason,
    add_miss,
    read_counts,
    sum_misses,
    write_counts,
)
from hivelore.sessions.model import (
    GOAL_LENGTH,
    MAX_DELEGATED,
    MAX_INJECTED,
    MAX_MISSED,
    MAX_OWED,
    MAX_SHOWN,
    NO_REPLY,
    AgentEvent,
    AnsweredPrompt,
    Delegation,
    EventId,
    EventKind,
    InjectedMemory,
    Origin,
    Reply,
    Session,
    SessionEnd,
    ShownMemory,
    SubAgent,
    Task,
    session_key,
)
from hivelore.sessions.novelty import NoveltyFilter
from hivelore.sessions.nudge import QUESTION
from hivelore.sessions.nudge_service import NudgeService
from hivelore.sessions.operations import HookEvent
from hivelore.sessions.ports import HandOver
from hivelore.sessions.programs import PROGRAMS, Dialect, EventContext, SpooledEvent, read_task, storable
from hivelore.sessions.session_buffer import SessionBuffer
from hivelore.sessions.start_candidates import describe_repository
from hivelore.sessions.titles import MAX_COMPARED, distinct_name, session_title, stored_sessions
from hivelore.sessions.transcript_files import may_read_transcript
from hivelore.storage.ports import MemoryStore, Transaction

_ANALYSIS = re.compile(r"<analysis>.*?(?:</analysis>|(?=<summary>)|\Z)", re.IGNORECASE | re.DOTALL)
"""What a model writes for itself before the summary of a compaction."""
_SUMMARY_TAG = re.compile(r"</?summary>", re.IGNORECASE)
_MISSED = "hooks.missed"
"""Setting with the counts of missed answers."""
MAX_DELAY = timedelta(minutes=10)
"""Most time between the call of a sub-agent, which the user may have to allow, and its start."""
CLOCK_SKEW = timedelta(hours=1)
"""Most that the clock of a hook may be ahead of that of the service."""
CONTINUATION = timedelta(minutes=2)
"""Time for which an agent that was asked for lessons may store them, before they are drawn from its conversation."""
_WITH_REPLY = (EventKind.STARTED, EventKind.PROMPTED, EventKind.SUBAGENT_STARTED)


class CaptureService:
    def __init__(
        self,
        store: MemoryStore,
        sessions: SessionBuffer,
        injection: InjectionService,
        memory_service: MemoryService,
        novelty_filter: NoveltyFilter,
        hand_over: HandOver,
        ingest_markers: Callable[[str, Viewer, str, datetime], object],
        write_buffer: WriteBehindBuffer,
        clock: Clock,
        nudge_service: NudgeService,
    ) -> None:
        """``hand_over``: see ``SessionSummaries``. ``ingest_markers``: see ``MarkerIngest.ingest``."""
        self._store = store
        self._sessions = sessions
        self._injection = injection
        self._memory_service = memory_service
        self._novelty_filter = novelty_filter
        self._hand_over = hand_over
        self._ingest_markers = ingest_markers
        self._write_buffer = write_buffer
        self._clock = clock
        self._nudge_service = nudge_service

    def handle(self, event: AgentEvent, viewer: Viewer, deadline: float | None = None) -> Reply:
        """Returns the reply to an event. What the event reports is durable when this returns; what was injected is
        recorded soon after. Handling the same event again stores nothing more. Raises Unauthenticated if the viewer is
        no agent, Forbidden if the only source is a transcript of somebody else."""
        agent = _require_agent(viewer)
        if event.kind in _WITH_REPLY:
            return self._reply(event, agent, viewer, deadline)
        if event.delegated is not None:
            self._note_delegation(event, event.delegated, agent)
            return NO_REPLY
        self._sessions.flush()
        if event.completed is not None:
            self._store_completed_task(event, event.completed, viewer, deadline)
        if event.kind is EventKind.COMPACTED:
            self._store_compaction_summary(event, agent, viewer, deadline)
        elif event.transcript is not None or event.text is not None:
            checked = self._check_transcript(event, viewer)
            if event.accepts_nudge and self._ask_for_lessons(checked, agent):
                self._hand_over(_session_end(checked), viewer, CONTINUATION)
                return Reply(nudge=QUESTION)
            self._hand_over(_session_end(checked), viewer)
        if event.kind is EventKind.COMPACTING:
            with suppress(Unavailable):  # The only loss: memories that it forgets are not injected again.
                self._update_session(event, agent, lambda session: replace(session, context_event=None, injected=()))
        return NO_REPLY

    def _check_transcript(self, event: AgentEvent, viewer: Viewer) -> AgentEvent:
        """Returns the event without a transcript that the viewer may not use. Raises Forbidden if no text is left."""
        if event.transcript is None:
            return event
        name = _session_key(replace(event, subagent=None))
        with self._store.read() as view:
            local = view.agent_named(LOCAL_AGENT)
            sessions = [view.session(one.id, name) for one in view.agents()]
        begun = {one.agent: one.begun_at for one in sessions if one is not None}
        local_id = None if local is None else local.id
        if may_read_transcript(viewer, event.transcript, event.session, local_id, begun):
            return event
        if event.text is None:
            raise Forbidden(
                "This transcript cannot be read for you: the service first saw this session with another key, or the "
                "file is not named after the session. Send the text instead of a path."
            )
        return replace(event, transcript=None)

    def handle_late(self, event: AgentEvent, viewer: Viewer, reason: MissReason = MissReason.LATE) -> None:
        """Handles an event after its hook has stopped waiting. Its reply, if any, did not arrive; the next event of the
        session gets what was missed. Handling the same event again counts no second miss."""
        agent = _require_agent(viewer)
        if event.kind is EventKind.DELEGATED:  # The sub-agent has started since.
            return
        if event.kind not in _WITH_REPLY:
            self.handle(event, viewer)
            self._withdraw_nudge(event, agent)
            return
        self._sessions.flush()
        self._write_buffer.flush()
        today = self._clock.now().date()

        def record_miss(tx: Transaction) -> None:
            session = tx.session(agent, _session_key(event)) or self._new_session(event, agent)
            if event.id in session.missed:
                return
            lost = {one.recall for one in session.shown if one.event == event.id and one.recall is not None}
            tx.drop_recalls(lost, event.at - CLOCK_SKEW)
            tx.put_session(_remove_injection(session, event))
            _count_miss(tx, event.program, reason, today)

        self._store.write(record_miss)

    def count_miss(self, event: AgentEvent, reason: MissReason) -> None:
        """Counts the answer to an event that belongs to no agent, if it was to carry memories."""
        if event.kind in _WITH_REPLY:
            today = self._clock.now().date()
            self._store.write(lambda tx: _count_miss(tx, event.program, reason, today))

    def missed_answers(self) -> tuple[MissedAnswers, ...]:
        """Counts the answers of the last days that reached no agent."""
        with self._store.read() as view:
            return sum_misses(read_counts(view.setting(_MISSED)), self._clock.now().date())

    def _ask_for_lessons(self, event: AgentEvent, agent: AgentId) -> bool:
        """Returns True if the agent is to be asked for lessons, after recording that."""
        if not self._nudge_service.should_ask(event, self._load_session(event, agent)):
            return False
        self._update_session(event, agent, lambda session: replace(session, nudge_event=event.id))
        return True

    def _withdraw_nudge(self, event: AgentEvent, agent: AgentId) -> None:
        """Forgets that the agent was asked in reply to an event, because the question did not arrive."""
        if self._load_session(event, agent).nudge_event == event.id:
            self._update_session(event, agent, lambda session: replace(session, nudge_event=None))

    def _reply(self, event: AgentEvent, agent: AgentId, viewer: Viewer, deadline: float | None) -> Reply:
        session = _apply_event(self._load_session(event, agent), event)
        if event.subagent is not None and event.text is not None:
            session = replace(session, goal=Clean(event.text[:QUERY_LENGTH]))
        elif event.subagent is not None and session.goal is None:
            session = self._give_task(session, event, event.subagent, agent)
        injection = self._injection.inject(event, session, viewer, deadline)
        new = self._new_session(event, agent)
        self._sessions.change(
            agent,
            new.id,
            lambda before: _add_injection(_apply_event(before or new, event), event, injection.notes),
        )
        return Reply(context=injection.text)

    def _note_delegation(self, event: AgentEvent, delegated: Delegation, agent: AgentId) -> None:
        new = self._new_session(event, agent)

        def note(before: Session | None) -> Session:
            session = before or new
            return replace(session, delegated=(*session.delegated, delegated)[-MAX_DELEGATED:])

        self._sessions.change(agent, new.id, note)

    def _give_task(self, session: Session, event: AgentEvent, subagent: SubAgent, agent: AgentId) -> Session:
        """Returns the session of a sub-agent with its task as the goal; if the task is unknown, with what the user
        asked the agent for."""
        parent = self._load_session(replace(event, subagent=None), agent)
        task = find_delegation(parent.delegated, subagent, event.at)
        if task is None:
            return replace(session, goal=parent.goal, last_prompt=parent.last_prompt)
        goal, new = Clean(task.prompt[:QUERY_LENGTH]), session

        def take(before: Session | None) -> Session:
            found = before or parent
            return replace(found, delegated=tuple(one for one in found.delegated if one != task))

        self._sessions.change(agent, parent.id, take)
        self._sessions.change(agent, session.id, lambda before: replace(before or new, goal=Clean(goal[:GOAL_LENGTH])))
        return replace(session, goal=goal)

    def _store_compaction_summary(
        self, event: AgentEvent, agent: AgentId, viewer: Viewer, deadline: float | None
    ) -> None:
        """Stores the program's own summary of a conversation and the markers in it. A later summary of the same session
        replaces it."""
        said = _compaction_summary(event.text or "")
        self._ingest_markers(said, viewer, event.session, event.at)
        text = remove_markers(said).strip()
        if text_weight(text) <= MIN_WEIGHT:
            return
        name = Clean(f"compacted:{event.program}:{event.session}")
        if known := self._novelty_filter.memories_stating(text, agent, event.project, exclude=name):
            self._novelty_filter.reinforce(known)
            return
        with self._store.read() as view:
            session = view.session(agent, _session_key(event))
            stored = view.page(stored_sessions(agent), None, MAX_COMPARED)
        goal = "" if session is None else session.goal or ""
        title = session_title(event.task, goal, summarise(text))
        draft = Draft(
            content=text,
            name=distinct_name(f"Session, compacted: {title}", stored, name, event.at),
            source=Source.SESSION_SUMMARY,
            project=event.project,
            session=event.session,
            source_task_id=None if event.task is None else event.task.id,
            external_id=name,
        )
        self._memory_service.remember(draft, viewer, deadline)

    def _store_completed_task(self, event: AgentEvent, completed: Task, viewer: Viewer, deadline: float | None) -> None:
        text = remove_fences(completed.text).strip()
        if not text:
            return
        completion = TaskCompletion(
            id=completed.id,
            task=text,
            project=event.project,
            session=event.session,
            list_id=f"{event.program}:{event.session}",
        )
        self._memory_service.complete_task(completion, viewer, deadline)

    def _load_session(self, event: AgentEvent, agent: AgentId) -> Session:
        return self._sessions.load(agent, _session_key(event)) or self._new_session(event, agent)

    def _update_session(self, event: AgentEvent, agent: AgentId, change: Callable[[Session], Session]) -> None:
        self._store.write(
            lambda tx: tx.put_session(change(tx.session(agent, _session_key(event)) or self._new_session(event, agent)))
        )

    def _new_session(self, event: AgentEvent, agent: AgentId) -> Session:
        return Session(agent=agent, id=_session_key(event), updated_at=event.at, begun_at=self._clock.now())


def _count_miss(tx: Transaction, program: str, reason: MissReason, today: date) -> None:
    counts = read_counts(tx.setting(_MISSED))
    tx.set_setting(_MISSED, write_counts(add_miss(counts, program, reason, today)))


def _require_agent(viewer: Viewer) -> AgentId:
    if viewer.agent is None:
        raise Unauthenticated("A hook needs an agent's key, or an operator's key with X-Agent-ID.")
    return viewer.agent


def _session_end(event: AgentEvent) -> SessionEnd:
    return SessionEnd(
        id=event.id,
        program=event.program,
        session=event.session,
        at=event.at,
        transcript=event.transcript,
        last_message=event.text,
        project=event.project,
        task=event.task,
        subagent=event.subagent,
        is_partial=event.kind in (EventKind.ANSWERED, EventKind.ADVANCED, EventKind.COMPACTING),
    )


def _session_key(event: AgentEvent) -> Clean:
    return session_key(event.program, event.session, None if event.subagent is None else event.subagent.id)


def _apply_event(session: Session, event: AgentEvent) -> Session:
    """Returns the session after an event, before any reply."""
    if event.kind is EventKind.STARTED and event.origin is not Origin.RESUMED:
        # The model has lost its context. After a compaction it continues the same work, otherwise it starts again.
        work = describe_repository(event)
        if event.origin is not Origin.COMPACTED:
            return Session(
                agent=session.agent,
                id=session.id,
                updated_at=event.at,
                begun_at=session.begun_at,
                work=work,
                missed=session.missed,
                progress=session.progress,
                nudge_event=session.nudge_event,
            )
        return replace(session, context_event=None, injected=(), updated_at=event.at, work=work or session.work)
    session = replace(session, updated_at=max(session.updated_at, event.at))
    prompt = _prompt(event)
    if prompt is None:
        return session
    return replace(session, goal=session.goal or prompt, last_prompt=prompt, delegated=())


def find_delegation(delegated: Sequence[Delegation], subagent: SubAgent, at: datetime) -> Delegation | None:
    """Returns the task of a sub-agent that starts: the oldest one given to its type, else to no type in particular.
    Tasks that were given long before were not started."""
    recent = [one for one in delegated if at - one.at <= MAX_DELAY]
    for kind in (subagent.type, ""):
        for one in recent:
            if one.type == kind:
                return one
    return None


def _prompt(event: AgentEvent) -> Clean | None:
    """Returns the beginning of the user's own prompt."""
    if event.kind is not EventKind.PROMPTED:
        return None
    text = remove_markers(remove_fences(event.text or "")).strip()[:GOAL_LENGTH]
    return Clean(text) if text else None


def _compaction_summary(text: str) -> str:
    """Returns the summary of a conversation without injected text and without the tags of its prompt."""
    return _SUMMARY_TAG.sub("", _ANALYSIS.sub("", remove_fences(text)))


def _add_injection(session: Session, event: AgentEvent, notes: Sequence[Note]) -> Session:
    if event.id in session.missed:  # The hook has stopped waiting.
        return session
    context_event = (
        session.context_event if event.kind is EventKind.SUBAGENT_STARTED else session.context_event or event.id
    )
    injected = (InjectedMemory(one.memory.id, one.memory.version, event.id, one.is_pointer) for one in notes)
    shown = (ShownMemory(one.memory.id, one.recall, event.id, event.at) for one in notes if not one.is_pointer)
    is_prompt = event.kind is EventKind.PROMPTED
    answered = (AnsweredPrompt(one, event.id) for one in session.owed) if is_prompt else ()
    return replace(
        session,
        context_event=context_event,
        injected=(*session.injected, *injected)[-MAX_INJECTED:],
        shown=(*session.shown, *shown)[-MAX_SHOWN:],
        owed=() if is_prompt else session.owed,
        answered=(*session.answered, *answered)[-MAX_OWED:],
    )


def _remove_injection(session: Session, event: AgentEvent) -> Session:
    """Returns the session without what was injected in reply to an event, because the model did not receive it."""
    prompt = _prompt(event)
    again = (one.prompt for one in session.answered if one.event == event.id)
    owed = tuple(one for one in (*again, *session.owed) if one != prompt)
    return replace(
        session,
        goal=session.goal or prompt,
        work=session.work or describe_repository(event),
        owed=(owed if prompt is None else (*owed, prompt))[-MAX_OWED:],
        answered=tuple(one for one in session.answered if one.event != event.id),
        missed=(*session.missed, event.id)[-MAX_MISSED:],
        context_event=None if session.context_event == event.id else session.context_event,
        injected=tuple(one for one in session.injected if one.event != event.id),
        shown=tuple(one for one in session.shown if one.event != event.id),
    )


class HookService:
    def __init__(self, capture: CaptureService, redactor: Redactor, clock: Clock) -> None:
        self._capture = capture
        self._redactor = redactor
        self._clock = clock

    def handle(self, received: HookEvent, viewer: Viewer, deadline: float | None = None) -> Json:
        """Returns the reply in the format of the program; None for no reply."""
        dialect, name = _dialect_and_name(received)
        event = self._parse_event(dialect, name, received)
        if event is None:
            return None
        return dialect.format_reply(name, event, self._capture.handle(event, viewer, deadline))

    def handle_late(self, received: SpooledEvent, viewer: Viewer) -> None:
        """Handles an event after its hook has stopped waiting."""
        event = self._parse_event(*_dialect_and_name(received), received)
        if event is not None:
            self._capture.handle_late(event, viewer, received.missed)

    def count_miss(self, received: SpooledEvent) -> None:
        """Counts the missed answer to an event that belongs to no agent."""
        event = self._parse_event(*_dialect_and_name(received), received)
        if event is not None:
            self._capture.count_miss(event, received.missed)

    def _parse_event(self, dialect: Dialect, name: str, received: HookEvent) -> AgentEvent | None:
        number, now, task = storable(received.id), self._clock.now(), read_task(received)
        about = EventContext(
            # An id that looks like a secret is replaced by its keyed digest.
            id=EventId(number if self._redactor.clean(number) == number else self._redactor.digest(number)),
            # At most now, because clocks may differ.
            at=now if received.at is None else to_utc(min(received.at, now), "at") or now,
            project=None if received.project is None else self._clean_field(received.project),
            branch=None if received.branch is None else self._clean_field(received.branch),
            changed_files=tuple(map(self._clean_field, (received.changed_files or "").splitlines()[:MAX_FILES])),
            task=None if task is None else Task(self._clean_field(task[0]), self._redactor.clean(storable(task[1]))),
            accepts_nudge=received.nudge is not None,
        )
        return dialect.parse_event(name, received.payload, about, self._redactor.clean)

    def _clean_field(self, text: str) -> Clean:
        return Clean(self._redactor.clean(storable(beginning(text, FIELD_LENGTH)))[:FIELD_LENGTH].strip())


def _dialect_and_name(received: HookEvent) -> tuple[Dialect, str]:
    dialect = PROGRAMS.get(received.program)
    if dialect is None:
        raise NotFound(f"Unknown program {received.program[:40]!r}. Known programs: {', '.join(sorted(PROGRAMS))}.")
    return dialect, received.event or dialect.read_event_name(received.payload) or ""
