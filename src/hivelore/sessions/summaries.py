"""Session summaries: stores a memory for each session that ended.

Handing over an end takes about a millisecond, because a hook waits for it: the end is only written to the database. A
background thread summarizes it later and retries on failure. Pending ends survive a crash.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.redaction.excerpts import beginning, ending
from hivelore.core.redaction.private_text import remove_private_text
from hivelore.core.supervisor import Report, ignore_report
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import HiveloreError, Invalid, NotFound, Unavailable
from hivelore.feedback.implicit import ImplicitFeedback
from hivelore.memories.record_lookup import same_record
from hivelore.memories.service import MemoryService
from hivelore.observations.markers import remove_markers
from hivelore.sessions.fence import remove_fences
from hivelore.sessions.lesson_recorder import LessonRecorder
from hivelore.sessions.lessons.drawing import WINDOW, spoken_end
from hivelore.sessions.lessons.extractive import without_activity
from hivelore.sessions.lessons.summary_draft import MAX_SUMMARISED, build_draft, is_newer_than
from hivelore.sessions.model import (
    GOAL_LENGTH,
    Handover,
    HandoverState,
    SessionEnd,
    Speaker,
    Task,
    Tool,
    Transcript,
    Turn,
    session_key,
)
from hivelore.sessions.novelty import NoveltyFilter
from hivelore.sessions.ports import Summarizer, Transcripts
from hivelore.sessions.titles import MAX_COMPARED, distinct_name, first_prompt, session_title, stored_sessions
from hivelore.sessions.transcript_files import MAX_TRANSCRIPT_BYTES
from hivelore.sessions.transcripts import (
    last_turns,
    read_with_margins,
    shorten,
    without_markers,
    without_own_tools,
)
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.ports import MemoryStore, Transaction

SESSION_LENGTH = 500
ATTEMPTS = 3
FIRST_PAUSE = timedelta(seconds=10)
LAG = timedelta(seconds=2)
"""Time by which the transcript of an active session may lag behind its last message."""
LEASE_NAME = "distilling"
LEASE = timedelta(minutes=2)
"""Longer than any summary takes."""
RETENTION = timedelta(days=7)
"""Time for which a summarized end is remembered, so that it is not handled again."""
PRUNE_BATCH = 250
_BATCH = 500
"""Ends read at a time; only the newest of each session is summarized."""
_CHANGED = 1_000
"""Characters that are read of what a call writes and replaces."""
_UNSTORABLE = str.maketrans({"\0": "\ufffd"})


class SessionSummaries:
    """Call ``hand_over`` from any thread, ``run`` or ``step`` from one."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        memory_service: MemoryService,
        novelty_filter: NoveltyFilter,
        lesson_recorder: LessonRecorder,
        implicit_feedback: ImplicitFeedback,
        transcripts: Transcripts,
        summarizer: Summarizer,
        fallback: Summarizer,
        redactor: Redactor,
        clock: Clock,
        leader_lease: LeaderLease,
        ingest_markers: Callable[[str, Viewer, str, datetime], object],
    ) -> None:
        """``ingest_markers``: see ``MarkerIngest.ingest``. ``fallback`` needs no model; it summarizes active sessions,
        and those for which ``summarizer`` failed. ``leader_lease`` has the name ``LEASE_NAME``, so that only one
        process summarizes at a time."""
        self._store = store
        self._memory_service = memory_service
        self._novelty_filter = novelty_filter
        self._lesson_recorder = lesson_recorder
        self._implicit_feedback = implicit_feedback
        self._transcripts = transcripts
        self._summarizer = summarizer
        self._fallback = fallback
        self._redactor = redactor
        self._clock = clock
        self._leader_lease = leader_lease
        self._ingest_markers = ingest_markers
        self._wake_up = threading.Event()
        self.last_error: str | None = None
        """Why the last summary failed, or had to do without the transcript."""

    def hand_over(self, ended: SessionEnd, viewer: Viewer, delay: timedelta = timedelta(0)) -> None:
        """Queues the end of a session; durable when this returns. The same event again has no effect. ``delay``: time
        before which it is not summarized.

        Raises Invalid for an operator who acts for no agent, because a summary belongs to an agent.
        """
        if viewer.agent is None:
            raise Invalid("A session end needs an agent, because its summary is private. Name one (X-Agent-ID).")
        lags = ended.is_partial and ended.last_message is None and ended.transcript is not None
        not_before = self._clock.now() + max(delay, LAG if lags else timedelta(0))
        handover = Handover(ended=self._clean_end(ended), by=viewer, not_before=not_before)
        self._store.write(lambda tx: None if tx.handover(ended.id) else tx.put_handover(handover))
        self._wake_up.set()

    def run(self, stop: threading.Event, idle: float, report: Report = ignore_report) -> None:
        """Summarizes until ``stop`` is set (call ``wake`` after setting it). When idle, waits for an event or ``idle``
        seconds. ``report`` receives the outcome of each round."""
        while not stop.is_set():
            self._wake_up.clear()
            try:
                done = self.step()
                report(None)
            except Unavailable as error:  # For example a full disk. Ends stay queued.
                self.last_error, done = str(error), False
                report(error)
            if not done:
                self._wake_up.wait(idle)
        with suppress(HiveloreError):  # The lease expires anyway.
            self._leader_lease.release_lease()

    def wake(self) -> None:
        self._wake_up.set()

    def step(self) -> bool:
        """Summarizes one end. Returns False if none is due or another process holds the lease."""
        if not self._leader_lease.is_leader():
            return False
        now = self._clock.now()
        with self._store.read() as view:
            due = view.handovers_due(now, _BATCH)
        if not due:
            self._store.write(lambda tx: tx.prune_handovers(now - RETENTION, PRUNE_BATCH))
            return False
        last, before = _select_newest(due)
        for one in (*before, last):
            if one.attempts == 0 and one.ended.last_message:
                self._ingest_markers(one.ended.last_message, one.by, one.ended.session, one.ended.at)
        *tried, begun = (replace(one, attempts=one.attempts + 1) for one in (*before, last))
        self._store.write(lambda tx: [tx.put_handover(one) for one in (*tried, begun)])
        state = self._attempt(begun)
        now = self._clock.now()
        if state is HandoverState.WAITING:
            again = replace(begun, not_before=now + FIRST_PAUSE * 6**last.attempts)
            self._store.write(lambda tx: tx.put_handover(again))
        else:
            self._store.write(lambda tx: _finish_handovers(tx, [begun, *before], state, now))
        return True

    def counts(self) -> Mapping[HandoverState, int]:
        """Returns the number of ends in each state. Summarized ends are deleted after a while."""
        with self._store.read() as view:
            return view.handover_counts()

    def _attempt(self, begun: Handover) -> HandoverState:
        """Returns the state after one attempt. After repeated crashes the end is tried once without a model, then given
        up."""
        if begun.attempts > ATTEMPTS + 1:
            return HandoverState.FAILED
        self.last_error = None
        by_rules = begun.ended.is_partial or begun.attempts > ATTEMPTS
        try:
            self._summarise(begun.ended, begun.by, self._fallback if by_rules else self._summarizer)
        except HiveloreError as error:
            self.last_error = str(error)
            if begun.attempts < ATTEMPTS and isinstance(error, Unavailable):
                return HandoverState.WAITING
            with suppress(HiveloreError):
                self._summarise(begun.ended, begun.by, self._fallback)
            self.last_error = str(error)
            return HandoverState.FAILED
        return HandoverState.DONE

    def _summarise(self, ended: SessionEnd, viewer: Viewer, summarizer: Summarizer) -> None:
        agent = viewer.agent
        if agent is None:
            return
        project = None if ended.project is None else Clean(ended.project)
        with self._store.read() as view:
            before = same_record(view.memories_with_external_id(agent, Clean(ended.thread)), project)
        if before is not None and ended.is_partial and is_newer_than(before.memory, ended):
            return  # The stored summary covers more of the session.
        whole = self._read_transcript(ended)
        self._implicit_feedback.watch(ended, agent, shorten(whole))
        recent = self._clean_recent(ended, without_own_tools(whole))
        has_taught = self._lesson_recorder.record(ended, viewer, spoken_end(recent).turns)
        conversation = last_turns(recent, MAX_SUMMARISED)
        summary = summarizer.summarize(conversation, ended.task)
        self._lesson_recorder.record_given(ended, viewer, summary.lessons, summary.by)
        if not (has_taught or summary.shows_work):
            return
        points = [left for point in summary.points if (left := remove_markers(point).strip())]
        new, known = self._novelty_filter.split_points(points, agent, project, Clean(ended.thread))
        self._novelty_filter.reinforce(known)
        if not without_activity(new):
            return
        name = self._name(ended, agent, whole, points[0])
        draft = build_draft(ended, replace(summary, points=tuple(new)), name)
        if before is not None and before.memory.content == draft.content:
            self._novelty_filter.renew(before)
        else:
            self._memory_service.remember(draft, viewer)

    def _name(self, ended: SessionEnd, agent: AgentId, whole: Transcript, point: str) -> str:
        """``point``: see ``session_title``."""
        key = session_key(ended.program, ended.session, None if ended.subagent is None else ended.subagent.id)
        with self._store.read() as view:
            known = view.session(agent, key)
            goal = "" if known is None else known.goal or ""
            # Of a long transcript only the end was read.
            prompt = (goal or first_prompt(whole)) if whole.cut else (first_prompt(whole) or goal)
            stored = view.page(stored_sessions(agent), None, MAX_COMPARED)
        prompt = self._clean(remove_markers(beginning(prompt, GOAL_LENGTH)))[:GOAL_LENGTH]
        title = session_title(ended.task, prompt, point, ended.subagent)
        return distinct_name(f"Session: {title}", stored, Clean(ended.thread), ended.at)

    def _clean_recent(self, ended: SessionEnd, whole: Transcript) -> Transcript:
        """Returns the newest turns, clean and without markers: all that ``spoken_end`` and ``last_turns`` read. Adds
        the last message if the transcript lacks it."""
        turns: list[Turn] = []
        tools: dict[object, Tool] = {}
        size = spoken = 0
        for turn in reversed(whole.turns):
            if size > MAX_SUMMARISED and spoken > WINDOW:
                break
            if turn.tool is not None and turn.tool.call not in tools:
                tools[turn.tool.call] = self._clean_tool(turn.tool)
            tool = None if turn.tool is None else tools[turn.tool.call]
            turns.append(replace(turn, text=self._clean(turn.text), tool=tool))
            size += turns[-1].size
            spoken += tool is None
        cut = whole.cut or len(turns) < len(whole.turns)
        turns.reverse()
        last = ended.last_message or ""
        if last and not any(turn.speaker is Speaker.ASSISTANT and turn.text.strip() == last.strip() for turn in turns):
            turns.append(Turn(speaker=Speaker.ASSISTANT, text=last, at=ended.at))
        return without_markers(shorten(Transcript(tuple(turns), cut)))

    def _read_transcript(self, ended: SessionEnd) -> Transcript:
        if ended.transcript is not None:
            try:
                lines, cut = self._transcripts.read_end(ended.transcript, MAX_TRANSCRIPT_BYTES)
            except NotFound as error:
                self.last_error = str(error)
            else:
                return read_with_margins(ended.program, lines, cut=cut, of_subagent=ended.subagent is not None)
        if ended.text:
            return Transcript((Turn(speaker=Speaker.ASSISTANT, text=ended.text, at=ended.at),))
        return Transcript(())

    def _clean_end(self, ended: SessionEnd) -> SessionEnd:
        if not 0 < len(ended.session) <= SESSION_LENGTH:
            raise Invalid(f"A session id has 1 to {SESSION_LENGTH} characters.", field="session")
        task, subagent = ended.task, ended.subagent
        return replace(
            ended,
            session=self._clean(ended.session),
            transcript=self._clean_optional(ended.transcript),
            text=ended.text and self._clean_end_of(remove_fences(remove_private_text(ended.text))),
            last_message=self._clean_optional(
                ended.last_message and remove_fences(remove_private_text(ended.last_message))
            ),
            project=self._clean_optional(ended.project),
            task=None if task is None else Task(self._clean(task.id), self._clean_beginning_of(task.text)),
            subagent=None if subagent is None else replace(subagent, id=self._clean(subagent.id)),
        )

    def _clean_tool(self, tool: Tool) -> Tool:
        changed = (tool.written, tool.removed)
        written, removed = (self._clean(beginning(text, _CHANGED))[:_CHANGED] for text in changed)
        return replace(tool, target=self._clean(tool.target), written=written, removed=removed)

    def _clean_beginning_of(self, text: str) -> str:
        return self._clean(beginning(remove_private_text(text), MAX_SUMMARISED))[:MAX_SUMMARISED]

    def _clean_end_of(self, text: str) -> str:
        return self._clean(ending(text, MAX_SUMMARISED))[-MAX_SUMMARISED:]

    def _clean_optional(self, text: str | None) -> str | None:
        return None if text is None else self._clean(text)

    def _clean(self, text: str) -> str:
        """Replaces characters that cannot be stored, instead of refusing the text."""
        return self._redactor.clean(text.translate(_UNSTORABLE).encode(errors="replace").decode())


def _select_newest(due: Sequence[Handover]) -> tuple[Handover, list[Handover]]:
    """Returns the newest end of the session that waits longest, and the earlier ends it makes obsolete."""
    first = due[0]
    same = [one for one in due if (one.ended.thread, one.by.agent) == (first.ended.thread, first.by.agent)]
    return same[-1], same[:-1]


def _finish_handovers(tx: Transaction, handovers: Sequence[Handover], state: HandoverState, now: datetime) -> None:
    """Sets the state and drops the conversation text, which is no longer needed."""
    for one in handovers:
        ended = replace(one.ended, transcript=None, text=None, last_message=None, project=None, task=None)
        tx.put_handover(replace(one, ended=ended, state=state, not_before=now))
