"""The application: all services over one store, and its background workers. ``engines`` chooses the engines."""

import logging
import os
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import cached_property

from hivelore import __version__
from hivelore.core import ids
from hivelore.core.agents import Interface, Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Harmless
from hivelore.errors import HiveloreError, Unauthenticated
from hivelore.feedback.implicit import ImplicitFeedback
from hivelore.folders.sync import FolderSync
from hivelore.folders.workspace import WorkspaceFiles, host_name
from hivelore.health.monitor import Monitor
from hivelore.health.state import HealthState
from hivelore.links import linker
from hivelore.local import endpoint, private_files
from hivelore.local.lock import SERVICE, Lock, Owner
from hivelore.local.protection import protect
from hivelore.maintenance.integrity import IntegrityCheck
from hivelore.models.extractive import ExtractiveSummarizer
from hivelore.models.ports import PairReader, RelevanceReader
from hivelore.models.quota import TokenQuota
from hivelore.observations import adjudication, rejudger
from hivelore.observations.token_budget import TokenBudget, parse_budget
from hivelore.runtime import engines, logs
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.services import Ids, Services
from hivelore.runtime.settings import Settings
from hivelore.runtime.workers import BackgroundWorkers
from hivelore.sessions import summaries
from hivelore.sessions.capture import HookService
from hivelore.sessions.fence import fence_text
from hivelore.sessions.model import SessionEnd
from hivelore.sessions.spool import SpoolDelivery, SpoolFolder
from hivelore.sessions.summaries import SessionSummaries
from hivelore.sessions.transcript_files import TranscriptFiles
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.migration_state import refuse_unfinished
from hivelore.storage.ports import MemoryStore, Notification

PURGE_SECONDS = 2.0
"""Most seconds that closing spends on purging forgotten text."""
REDACTION_KEY = "redaction.key"
_LOG = logging.getLogger("hivelore")


class Application(Services):
    """All services over one store, and their background workers. ``close`` ends both."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None, owner: Owner | None = None) -> None:
        """``owner`` is written into the lock of the data directory; None takes no lock, as for a temporary store."""
        clock = clock or SystemClock()
        self.health = HealthState(clock)
        self.lock = Lock(endpoint.make_home(settings.home), owner) if owner is not None else None
        if self.lock is not None:
            for exposed in protect(settings.home, settings.database_path):
                _LOG.warning("Other users of this machine: %s", exposed)
        try:
            store = _refuse_unfinished_move(engines.make_store(settings, clock, self.health))
        except BaseException:
            if self.lock is not None:
                self.lock.release()
            raise
        self._connections = ExitStack()
        keywords, *former = engines.keyword_engines(settings)
        super().__init__(
            settings,
            store=store,
            keywords=keywords,
            former_keywords=tuple(former),
            active_model=engines.make_active_model(settings, store, clock, self._connections),
            redactor=Redactor(_redaction_key(store)),
            clock=clock,
            ids=Ids(),
        )
        self.index_rebuild.begin()
        self.notifier = engines.make_notifier(settings)
        self.notifier.subscribe(Notification.AGENTS, self.agents.notify_listeners)
        self.notifier.subscribe(Notification.WAITING, self.embedding.wake)
        self.notifier.subscribe(Notification.TASKS, self.task_signal.notify)
        self.monitor = Monitor(store, keywords, self.health, clock, self._new_process_id())
        self.leader_lease = LeaderLease(store, clock, self._new_process_id())
        self.token_quota = TokenQuota(store, clock, settings.summarizer_daily_tokens)
        self.session_summaries = self._session_summaries()
        self.folders = self._folders()
        self.adjudicator = self._adjudicator()
        self.linker = self._linker()
        self.rejudger = self._rejudger()
        # Built before several threads use them.
        _ = (self.write_buffer, self.search_service, self.reembedder, self.housekeeping, self.maintenance_jobs)
        _ = (self.configuration, self.tasks, self.injection, self.undo_service)
        self._workers = BackgroundWorkers(self)

    def make_pair_reader(self) -> PairReader | None:
        return engines.make_pair_reader(self.settings)

    def make_relevance_reader(self) -> RelevanceReader | None:
        return engines.make_relevance_reader(self.settings)

    def hand_over(self, ended: SessionEnd, viewer: Viewer, delay: timedelta = timedelta(0)) -> None:
        self.session_summaries.hand_over(ended, viewer, delay)

    def on_agents_changed(self) -> None:
        self.notifier.publish(Notification.AGENTS)

    def on_embedding_backlog(self) -> None:
        self.notifier.publish(Notification.WAITING)

    def on_tasks_changed(self) -> None:
        self.notifier.publish(Notification.TASKS)

    def _new_process_id(self) -> str:
        return self.ids.job(self.clock.now())

    def _lease(self, name: str, length: timedelta) -> LeaderLease:
        return LeaderLease(self.store, self.clock, self._new_process_id(), name, length)

    @cached_property
    def memory_budget(self) -> TokenBudget:
        return parse_budget(self.settings.memory_budget)

    def _session_summaries(self) -> SessionSummaries:
        return SessionSummaries(
            store=self.store,
            memory_service=self.memory_service,
            novelty_filter=self.novelty_filter,
            lesson_recorder=self.lesson_recorder,
            implicit_feedback=ImplicitFeedback(self.store, self.keywords, self.settings.lifetimes, self.clock),
            transcripts=TranscriptFiles(self.settings.transcripts),
            summarizer=engines.make_summarizer(self.settings, self.token_quota, self.clock, self._connections),
            fallback=ExtractiveSummarizer(),
            redactor=self.redactor,
            clock=self.clock,
            leader_lease=self._lease(summaries.LEASE_NAME, summaries.LEASE),
            ingest_markers=self.marker_ingest.ingest,
        )

    def _adjudicator(self) -> adjudication.Adjudicator | None:
        """Returns None if no language model judges."""
        if (model := engines.make_judge(self.settings, self.clock, self._connections)) is None:
            return None
        return adjudication.Adjudicator(
            store=self.store,
            review_inbox=self.review_inbox,
            model=model,
            token_quota=self.token_quota,
            leader_lease=self._lease(adjudication.LEASE_NAME, adjudication.LEASE),
        )

    def _linker(self) -> linker.Linker:
        return linker.Linker(
            store=self.store,
            keywords=self.keywords,
            active_model=self.active_model,
            comparer=self.comparer,
            leader_lease=self._lease(linker.LEASE_NAME, linker.LEASE),
            clock=self.clock,
            linked=self.update_review.review,
        )

    def _rejudger(self) -> rejudger.Rejudger:
        return rejudger.Rejudger(
            store=self.store,
            comparison=self.comparison,
            group_writer=self.group_writer,
            proposal_queue=self.proposal_queue,
            journal=self.journal,
            naming=self.naming,
            lifecycle=self.settings.lifecycle,
            leader_lease=self._lease(rejudger.LEASE_NAME, rejudger.LEASE),
            clock=self.clock,
            written=self.embedding.wake,
        )

    def _folders(self) -> FolderSync | None:
        """Returns None unless this is a service: only a service reads folders."""
        if self.lock is None or self.lock.owner.kind != SERVICE:
            return None
        workspace = WorkspaceFiles(self.settings.workspace_folder, self.settings.home)
        # A store that is not shared has one process, even if its machine was renamed.
        place = self.redactor.clean(f"{host_name() if self.store.is_shared else ''}:{workspace.path}")
        return FolderSync(
            store=self.store,
            workspace=workspace,
            place=place,
            memory_service=self.memory_service,
            agents=self.agents,
            leader_lease=LeaderLease(self.store, self.clock, self._new_process_id(), f"folders {place}"),
            redactor=self.redactor,
            clock=self.clock,
        )

    @cached_property
    def integrity_check(self) -> IntegrityCheck:
        return IntegrityCheck(self.monitor.check, self.store, self.index_rebuild, self.embedding)

    @cached_property
    def hooks(self) -> HookService:
        return HookService(self.capture, self.redactor, self.clock)

    @cached_property
    def spool_drain(self) -> SpoolDelivery:
        owner = self.lock.owner if self.lock is not None else None
        url = None if owner is None else owner.url
        return SpoolDelivery(SpoolFolder(self.settings.home), self.hooks, self.agents, self.redactor, url)

    def fenced(self, text: Harmless) -> str:
        """Returns a text in a fence, which shows a model that it is data."""
        return fence_text(text, self.ids.nonce())

    def start(self) -> None:
        """Start the background workers."""
        self.active_model.wait_for_indexes()
        self._workers.start()

    def close(self) -> None:
        """Stop the workers, write buffered data and close the store. Closing twice is allowed."""
        if self._workers.is_ending:
            return
        self.task_signal.close()
        with ExitStack() as released:
            if self.lock is not None:
                released.callback(self.lock.release)
            released.callback(self.active_model.close)
            released.callback(self.store.close)
            self._workers.end()
            self.maintenance_jobs.close()
            self.notifier.close()
            self._connections.close()
            self._workers.wait()
            self._finish()
        if self.lock is not None:
            logs.log_event("Stopped.", kind=self.lock.owner.kind, pid=self.lock.owner.pid)

    def _finish(self) -> None:
        """Write buffered data, if the database accepts it."""
        try:
            self.write_buffer.flush()
            self.session_buffer.flush()
        except HiveloreError as error:
            _LOG.warning("The latest access counts could not be written (%s).", error)
        # If that fails or takes too long, the next start continues.
        with suppress(HiveloreError):
            if self.leader_lease.is_leader():
                self.housekeeping.finish_purge(PURGE_SECONDS)
            self.leader_lease.release_lease()

    def make_keys(self) -> None:
        """Create the key files of the operator and of the local agent, unless they are valid."""
        for name, agent in ((endpoint.OPERATOR_KEY, None), (endpoint.AGENT_KEY, self.agents.local_agent().id)):
            file = self.settings.home / name
            try:
                self.agents.viewer(file.read_text(encoding="ascii").strip(), Interface.SERVICE)
            except (OSError, UnicodeDecodeError, Unauthenticated):
                with private_files.replacing(file) as out:
                    out.write(f"{self.agents.issue(agent).text}\n".encode())


def open_application(settings: Settings, *, kind: str, url: str | None = None) -> Application:
    """Returns an application that owns its data directory, with key files and running workers.

    Raises Busy if another process owns it.
    """
    if kind == SERVICE:
        logs.configure(logs.parse_style(settings.log))
    clock = SystemClock()
    started = clock.now().isoformat()
    app = Application(settings, clock=clock, owner=Owner(pid=os.getpid(), kind=kind, url=url, started_at=started))
    try:
        app.make_keys()
        app.start()
    except BaseException:
        app.close()
        raise
    logs.log_event("Started.", kind=kind, version=__version__, pid=os.getpid(), url=url, database=app.store.name)
    return app


def _refuse_unfinished_move(store: MemoryStore) -> MemoryStore:
    """Returns the store. Raises Conflict if a move to it is not finished."""
    try:
        with store.read() as view:
            refuse_unfinished(view)
    except BaseException:
        store.close()
        raise
    return store


def _redaction_key(store: MemoryStore) -> bytes:
    """Returns the key for masks of secrets; it is created once and stored in the database."""
    with store.read() as view:
        known = view.setting(REDACTION_KEY)
    if known is None:
        fresh = ids.secret()
        store.write(lambda tx: None if tx.setting(REDACTION_KEY) else tx.set_setting(REDACTION_KEY, fresh))
        return _redaction_key(store)
    return bytes.fromhex(known)
