"""One task from its claim to its end: prepares, starts the agent program, reports, and delivers the outcome (D60)."""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hivelore.core.redaction import KEY_BYTES, Redactor
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, Overloaded, Unavailable
from hivelore.observations.markers import InvalidMarker
from hivelore.runner import task_locks
from hivelore.runner.agent_process import GRACE, AgentProcess
from hivelore.runner.checks import check_sign_in
from hivelore.runner.claude_stream import read_claude_line
from hivelore.runner.codex_stream import read_codex_line
from hivelore.runner.command import AgentProgram, RunTexts, agent_environment, build_command
from hivelore.runner.easier_calls import make_easier
from hivelore.runner.mcp_servers import Servers
from hivelore.runner.model import NO_USAGE, ClaimedTask, Program, RunLimits, Usage
from hivelore.runner.outbox import Outbox, Sent
from hivelore.runner.outcome import (
    MAX_REASON_BYTES,
    Abandoned,
    Completed,
    Exit,
    Failed,
    HandedBack,
    Outcome,
    StopReason,
    decide_outcome,
)
from hivelore.runner.ports import Call, Prepared, PromptSource, ServiceClient, TaskQueue, TranscriptSource, Workspace
from hivelore.runner.prompts import Conversation, Resume, appended_prompt, choose_resume, task_prompt
from hivelore.runner.stream_events import (
    MAX_TEXT_BYTES,
    AssistantText,
    RunState,
    SessionStarted,
    advance,
    cut_text,
    fit_text,
)
from hivelore.runner.stream_lines import StreamLine
from hivelore.runner.stream_markers import BlockMarkers, ValidMarker, marker_call

PROGRESS_EVERY = 10.0
"""Seconds between two reports of progress."""
PROGRESS_BYTES = 4_000
MAX_MARKERS = 1_000
"""Markers of one run that are stored; more are lost."""
_MARKERS_AT_ONCE = 20
"""Markers that are sent between two looks at the progress."""
_MARKERS_AFTER = 10.0
"""Seconds after the end in which markers are sent; the rest waits in the outbox."""
BEATS = 3
"""Heartbeats within the time of a lease, at least."""
LONGEST_BEAT = 10.0
"""Seconds between two heartbeats: they also tell that a task was paused or cancelled."""
BEAT_AGAIN = 1.0
"""Seconds to the next heartbeat while the service is away: the lease may end soon after it is back."""
LAST_WORDS = 60.0
"""Seconds that a program has for its answer after its task was finished otherwise, such as by itself with a tool."""
_KEPT = "The service is away. The result is kept on this machine until it answers."
_TIER = 1
_LOG = logging.getLogger("hivelore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What all runs of a runner share."""

    client: ServiceClient
    queue: TaskQueue
    outbox: Outbox
    workspace: Workspace
    prompts: PromptSource
    transcripts: TranscriptSource
    program: AgentProgram
    servers: Servers
    limits: RunLimits
    environment: Mapping[str, str]
    key: str
    home: Path
    folders: tuple[Path, ...] = ()
    """Folders in which programs work, of which the disk must not be full."""
    new_markers: Callable[[], BlockMarkers]
    nonce: Callable[[], str]
    monotonic: Callable[[], float]
    redactor: Redactor = field(default_factory=lambda: Redactor(os.urandom(KEY_BYTES)))
    grace: float = GRACE
    progress_every: float = PROGRESS_EVERY


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What a person sees of a run."""

    task: str
    text: str
    phase: str
    """prepare, run, or how it ended."""
    detail: str = ""
    session: str | None = None
    tools: int = 0
    usage: Usage = NO_USAGE


Show = Callable[[RunView], object]


class TaskRun:
    """``run`` works on one task and returns its outcome. Other threads may call ``stop``."""

    def __init__(self, task: ClaimedTask, folder: Path, means: Means, show: Show) -> None:
        """``folder``: the private folder of the run, named after its id."""
        self.task = task
        self._folder = folder
        self._means = means
        self._show = show
        self._lock = threading.Lock()
        self._process: AgentProcess | None = None
        self._stopped: StopReason | None = None
        self._state = RunState()
        self._usage_before = NO_USAGE
        self._markers: deque[ValidMarker] = deque()
        self._find_markers = means.new_markers()
        self._read_line = read_claude_line if means.program.kind is Program.CLAUDE else read_codex_line
        self._found_markers = 0
        self._has_begun = False
        """True if a session of the program began in this run."""
        self._ended = threading.Event()
        self._is_delivered = threading.Event()
        self._phase = "prepare"
        self._shown = ("", "")
        """A detail, and how it is shown."""
        self.is_kept = False
        """True if the result waits in the outbox."""
        self._is_finished = False
        """True if the task was finished by someone, perhaps by the program itself."""

    def stop(self, reason: StopReason) -> None:
        """Ends the run; its task is handed back or left, as the reason says."""
        with self._lock:
            self._stopped = self._stopped or reason
            if self._process is not None:
                self._process.stop(reason)

    def kill(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def run(self) -> Outcome:
        heart = threading.Thread(target=self._keep_lease, name=f"lease-{self.task.id[:8]}")
        reporter = threading.Thread(target=self._report, name=f"report-{self.task.id[:8]}")
        outcome: Outcome = HandedBack("The runner failed at this task; its output says why.", is_fault_here=True)
        try:
            heart.start()
            reporter.start()
            outcome = self._work()
        except (Invalid, NotFound, Conflict, Forbidden) as error:  # Because of this task, such as its repository.
            outcome = Failed(str(error))
        except Unavailable as error:
            outcome = HandedBack(str(error), is_fault_here=self._does_service_answer())
        except (HiveloreError, OSError) as error:
            outcome = HandedBack(str(error), is_fault_here=True)
        finally:
            self._ended.set()
            try:
                _join(reporter)
                outcome = self._deliver(outcome)
            finally:
                self._is_delivered.set()
            self._store_last_markers()
            _join(heart)
            self._phase = _phase_of(outcome)
            self._refresh(_KEPT if self.is_kept else "" if isinstance(outcome, Completed) else outcome.reason)
        return outcome

    def _work(self) -> Outcome:
        run = self._folder.name
        with task_locks.locked(self._means.home, self.task.id, run, lambda: self._stopped is not None) as is_held:
            return self._work_alone() if is_held else decide_outcome(self._state, Exit(code=0, stopped=self._stopped))

    def _work_alone(self) -> Outcome:
        means, task = self._means, self.task
        limits = means.limits.after(task.spent_usd)
        if limits is None:
            return decide_outcome(self._state, Exit(code=None, stopped=StopReason.COST))
        self._refresh("preparing the workspace")
        prepared = self._prepare()
        if prepared is None:
            return decide_outcome(self._state, Exit(code=None, stopped=self._stopped))
        for notice in prepared.notes:
            self._refresh(notice)
        own, parent = task.session, None if task.session is not None else task.parent_session
        resume = choose_resume(
            task,
            has_own=own is not None and means.transcripts.has(own, prepared.folder, self._is_stopping),
            has_parent=parent is not None and means.transcripts.has(parent, prepared.folder, self._is_stopping),
        )
        if resume is not None:
            self._usage_before = means.transcripts.usage_before(resume.session)
            if resume.conversation is Conversation.OWN:
                self._state = replace(self._state, session=resume.session)
        ended = self._run_program(prepared, resume, limits)
        if resume is not None and not self._has_begun and ended.stopped is None and self._state.answer is None:
            self._refresh(f"{resume.session} cannot be resumed: {ended.complaint or self._state.failure}")
            self._state, self._usage_before, resume = RunState(), NO_USAGE, None
            ended = self._run_program(prepared, None, limits)
        outcome = decide_outcome(self._state, ended)
        if isinstance(outcome, Failed) and ended.stopped is None:
            problem = check_sign_in(means.program, {**means.environment, **prepared.environment})
            if problem is not None:
                return HandedBack(f"{problem.message} {problem.remedy}", outcome.progress, is_fault_here=True)
        return outcome

    def _prepare(self) -> Prepared | None:
        """Returns the workspace; None if the run was stopped meanwhile."""
        try:
            prepared = self._means.workspace.prepare(self.task, lambda: self._stopped is not None)
        except HiveloreError:
            if self._stopped is None:
                raise
            return None
        return prepared if self._stopped is None else None

    def _run_program(self, prepared: Prepared, resume: Resume | None, limits: RunLimits) -> Exit:
        """Starts the program with a conversation, and returns how it ended."""
        means, task = self._means, self.task
        environment, block = means.prompts.operational_context()
        knowledge = means.queue.knowledge(task)
        texts = RunTexts(
            prompt=task_prompt(task, resume, knowledge, means.nonce()),
            appended=appended_prompt(means.prompts.system_prompt(task), environment, block),
            task=task.text,
        )
        variables = agent_environment(
            means.environment,
            prepared.environment,
            task,
            url=means.client.url,
            key=means.key,
            home=str(means.home),
            folder=str(self._folder),
        )
        try:
            command = build_command(
                means.program,
                texts,
                means.servers,
                variables,
                folder=str(self._folder),
                resume=resume,
                limits=limits,
            )
        except Invalid as error:  # The options of this runner are wrong, not the task.
            return Exit(code=None, complaint=str(error))
        limit = limits.time
        process = AgentProcess(
            command,
            prepared.folder,
            self._folder,
            seconds=None if limit is None else limit.total_seconds(),
            read=self._read,
            grace=means.grace,
        )
        with self._lock:
            self._process = process
            if self._stopped is not None:
                process.stop(self._stopped)
        self._phase = "run"
        self._refresh(f"{'resumes' if resume else 'starts'} {means.program.kind}")
        if self._stopped is not None:
            return Exit(code=0, stopped=self._stopped)
        with means.transcripts.storing(lambda: self._state.session, prepared.folder):
            return process.run()

    def _is_stopping(self) -> bool:
        return self._stopped is not None

    def _read(self, line: StreamLine) -> None:
        """Takes a line of output, in the thread of the process."""
        for event in self._read_line(line):
            if isinstance(event, AssistantText):
                for marker in self._find_markers.read((event.text,), event.message):
                    if not isinstance(marker, InvalidMarker) and self._found_markers < MAX_MARKERS:
                        self._found_markers += 1
                        self._markers.append(marker)
            self._has_begun = self._has_begun or isinstance(event, SessionStarted)
            self._state = advance(self._state, event, self._usage_before)

    # The lease and the reports have a thread each: neither waits for the other, and the output waits for none.

    def _keep_lease(self) -> None:
        try:
            self._send_heartbeats()
        finally:
            if not self._is_delivered.is_set():  # It has failed, and another runner will get the task.
                self.stop(StopReason.LEASE_LOST)

    def _send_heartbeats(self) -> None:
        """Sends heartbeats until the outcome is delivered: the lease is needed for that, too."""
        every = min(max(self.task.lease_time.total_seconds() / BEATS, 0.2), LONGEST_BEAT)
        last_words, pause = None, every
        while not self._is_delivered.wait(pause if last_words is None else min(pause, 1.0)):
            if not self._is_finished:
                pause = every if self._beat(self._state.session) else min(every, BEAT_AGAIN)
            elif last_words is None:
                last_words = self._means.monotonic() + LAST_WORDS
            elif self._means.monotonic() >= last_words:
                self.stop(StopReason.LEASE_LOST)

    def _report(self) -> None:
        means = self._means
        next_progress = means.monotonic() + min(means.progress_every, 1.0)
        reported = RunState()
        pause = min(means.progress_every, 1.0) / 2
        while not self._ended.wait(pause):
            now, state = means.monotonic(), self._state
            self._store_markers(_MARKERS_AT_ONCE)
            if self._is_finished:
                continue
            if state.session != reported.session or (now >= next_progress and state.last_text != reported.last_text):
                next_progress, reported = now + means.progress_every, state
                self._store_progress(state)
            if self._phase == "run":
                self._refresh(state.last_text or (f"uses {state.tool}" if state.tool else ""))

    def _beat(self, session: str | None) -> bool:
        """Returns False if the service is away."""
        try:
            self._means.queue.heartbeat(self.task, session)
        except (Conflict, NotFound, Forbidden) as error:
            if not self._ended.is_set():
                self._refresh(str(error))
                self._lose_lease()
        except (HiveloreError, ValueError) as error:  # The work goes on; the lease may survive.
            self._refresh(f"heartbeat: {error}")
            return not isinstance(error, Unavailable) or isinstance(error, Overloaded)
        return True

    def _does_service_answer(self) -> bool:
        try:
            self._means.queue.state(self.task)
        except Unavailable:
            return False
        except (HiveloreError, ValueError):
            pass
        return True

    def _lose_lease(self) -> None:
        try:
            state = self._means.queue.state(self.task)
        except (HiveloreError, ValueError):
            state = ""
        if state in ("completed", "failed"):
            self._is_finished = True
        else:
            reasons = {"paused": StopReason.PAUSED, "cancelled": StopReason.CANCELLED}
            self.stop(reasons.get(state, StopReason.LEASE_LOST))

    def _store_progress(self, state: RunState) -> None:
        """Reports the newest text. Nothing is kept for later: the next report has more."""
        text = cut_text(state.last_text, PROGRESS_BYTES).strip()
        try:
            if text:
                call = self._means.queue.progress_call(self.task, text, state.session, state.usage)
                self._means.client.call(call.method, call.path, body=call.body)
            elif state.session is not None:
                self._means.queue.heartbeat(self.task, state.session)
        except (Conflict, NotFound, Forbidden):
            self._lose_lease()
        except (HiveloreError, ValueError) as error:
            self._refresh(f"progress: {error}")

    def _store_markers(self, most: int) -> None:
        for _ in range(most):
            if not self._markers or self._ended.is_set():
                return
            self._send(self._marker_call())

    def _store_last_markers(self) -> None:
        """Stores what is left after the outcome, which comes first."""
        end = self._means.monotonic() + _MARKERS_AFTER
        while self._markers:
            call = self._marker_call()
            if self._means.monotonic() < end:
                self._send(call)
            else:
                self._means.outbox.keep(call)

    def _marker_call(self) -> Call:
        return Call(*marker_call(self._markers.popleft(), self._state.session, _TIER))

    def _deliver(self, outcome: Outcome) -> Outcome:
        """Tells the service what became of the task, or keeps that for later where it does not answer. Returns another
        outcome if the service does not take this one."""
        state, queue, task = self._state, self._means.queue, self.task
        match outcome:
            case Completed(output):
                return self._deliver_result(outcome, output)
            case Failed(reason, progress, is_final):
                self._fail(_joined(reason, progress), may_retry=not is_final)
            case HandedBack(reason, progress):
                if progress.strip():  # Else that of an earlier run says more.
                    said = fit_text(_joined(reason, progress), MAX_REASON_BYTES, self._means.redactor)
                    self._send(queue.progress_call(task, said, state.session, state.usage))
                    self._send(queue.release_call(task))
                else:
                    self._send(queue.release_call(task, state.session, state.usage if state.usage.tokens else None))
            case Abandoned(reason, progress):
                self._fail(_joined(reason, progress), may_retry=True)
        return outcome

    def _deliver_result(self, outcome: Completed, output: str) -> Outcome:
        state, text = self._state, fit_text(output, MAX_TEXT_BYTES, self._means.redactor)
        try:
            sent = self._try_easier(self._means.queue.complete_call(self.task, text, state.session, state.usage))
        except (Conflict, NotFound, Forbidden) as error:
            return outcome if self._is_completed() else Abandoned(str(error))
        except Invalid as error:
            failed = Failed(f"The service refuses the result of the agent. {error}")
            self._fail(failed.reason, may_retry=True)
            return failed
        self.is_kept = sent is Sent.KEPT
        return Failed("The result could neither be sent nor kept.") if sent is Sent.LOST else outcome

    def _fail(self, reason: str, *, may_retry: bool) -> None:
        state, text = self._state, fit_text(reason, MAX_REASON_BYTES, self._means.redactor)
        self._send(self._means.queue.fail_call(self.task, text, state.session, state.usage, may_retry=may_retry))

    def _is_completed(self) -> bool:
        try:
            return self._means.queue.state(self.task) == "completed"
        except (HiveloreError, ValueError):
            return False

    def _send(self, call: Call) -> None:
        try:
            self._try_easier(call)
        except (Conflict, NotFound, Forbidden, Invalid) as error:
            self._refresh(str(error))

    def _try_easier(self, call: Call) -> Sent:
        """Like ``_try``, but makes the call easier while the service refuses it."""
        while True:
            try:
                return self._try(call)
            except Invalid as error:
                easier = make_easier(call, error)
                if easier is None:
                    raise
                call = easier

    def _try(self, call: Call) -> Sent:
        """Makes a call, or keeps it for later. Raises Conflict, NotFound, Forbidden or Invalid if the service refuses
        it."""
        try:
            return self._means.outbox.send(self._means.client, call)
        except (Conflict, NotFound, Forbidden, Invalid):
            raise
        except (HiveloreError, OSError, ValueError) as error:
            _LOG.warning("%s %s failed. %s", call.method, call.path, error)
            return self._means.outbox.keep(call)

    def _refresh(self, detail: str) -> None:
        state = self._state
        shown = self._shown
        if shown[0] != detail:
            shown = self._shown = (detail, self._means.redactor.clean(cut_text(detail)))
        self._show(
            RunView(
                task=self.task.id,
                text=self.task.text,
                phase=self._phase,
                detail=shown[1],
                session=state.session,
                tools=state.tools,
                usage=state.usage,
            )
        )


def _joined(reason: str, progress: str) -> str:
    return f"{reason}\n\nLast progress:\n\n{progress}" if progress else reason


def _join(thread: threading.Thread) -> None:
    if thread.ident is not None:  # It could be started.
        thread.join()


def _phase_of(outcome: Outcome) -> str:
    match outcome:
        case Completed():
            return "completed"
        case Failed():
            return "failed"
        case HandedBack():
            return "handed back"
        case Abandoned():
            return "left"
