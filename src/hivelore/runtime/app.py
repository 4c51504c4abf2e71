"""Putting everything together, once; which engines there are, `engines` knows."""

import logging
import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import cached_property

from hivelore.changes.undo import UndoService
from hivelore.core import ids as randomness
from hivelore.core.agents import Interface
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Harmless
from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.embeddings.reembed import Reembedder
from hivelore.errors import HiveloreError, Unauthenticated
from hivelore.events.cooldowns import Cooldowns
from hivelore.events.log import EventLog
from hivelore.feedback.buffer import WriteBehindBuffer
from hivelore.feedback.implicit import ImplicitFeedback
from hivelore.feedback.recall_log import RecallLog
from hivelore.feedback.usefulness import UsefulnessService
from hivelore.folders.sync import FolderSync
from hivelore.folders.workspace import WorkspaceFiles, host_name
from hivelore.health.monitor import Monitor
from hivelore.health.state import HealthState
from hivelore.identity.service import Agents, IdSource
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.local import endpoint, private_files
from hivelore.local.lock import SERVICE, Lock, Owner
from hivelore.local.protection import protect
from hivelore.maintenance.integrity import IntegrityCheck
from hivelore.maintenance.jobs import MaintenanceJobs
from hivelore.maintenance.service import Maintenance
from hivelore.memories.reader import MemoryReader
from hivelore.models.extractive import ExtractiveSummarizer
from hivelore.models.quota import TokenQuota
from hivelore.observations import adjudication
from hivelore.observations.curation import CurationService
from hivelore.observations.marker_ingest import MarkerIngest
from hivelore.observations.service import ObservationService
from hivelore.observations.token_budget import TokenBudget, parse_budget
from hivelore.review.inbox import ReviewInbox
from hivelore.runtime import engines, status, wiring
from hivelore.runtime.background import niced
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import Settings
from hivelore.runtime.wiring import Parts
from hivelore.runtime.workers import BackgroundWorkers
from hivelore.search.fusion import FusionWeights
from hivelore.search.ranking import Boosts, RankingConstants, RecencyConflicts
from hivelore.search.service import SearchService
from hivelore.sessions import summaries
from hivelore.sessions.capture import CaptureService, HookService
from hivelore.sessions.fence import fenced
from hivelore.sessions.injection import Budgets, InjectionService
from hivelore.sessions.novelty import NoveltyFilter
from hivelore.sessions.spool import SpoolDelivery, SpoolFolder
from hivelore.sessions.summaries import SessionSummaries
from hivelore.sessions.transcript_files import TranscriptFiles
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.migration_state import refuse_unfinished
from hivelore.storage.ports import MemoryStore, Notification
from hivelore.storage.sqlite.store import NAMESPACE

WIPING = 2.0
"""Seconds that closing takes at most to wipe what was forgotten."""
REDACTION_KEY = "redaction.key"
_LOG = logging.getLogger("hivelore")


class Application:
    """Every service over one store, and the threads behind them. ``close`` ends both."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None, owner: Owner | None = None) -> None:
        """``owner`` is written into the lock of the data directory; None takes no lock, as for a temporary store."""
        self.settings = settings
        self.clock = clock or SystemClock()
        self.health = HealthState(self.clock)
        self.lock = Lock(endpoint.make_home(settings.home), owner) if owner is not None else None
        if self.lock is not None:
            for one in protect(settings.home, settings.database_path):
                _LOG.warning("Other users of this machine: %s", one)
        try:
            self.store = _complete(engines.make_store(settings, self.clock, self.health))
        except BaseException:
            if self.lock is not None:
                self.lock.release()
            raise
        self.keywords, *others = engines.keyword_engines(settings)
        index_writer = IndexWriter(self.keywords)
        holder = randomness.job_id(self.clock.now())
        self.monitor = Monitor(self.store, self.keywords, self.health, self.clock, holder)
        self.index_rebuild = IndexRebuild(self.store, self.keywords, others, index_writer, self.clock)
        self.index_rebuild.begin()
        self._connections = ExitStack()
        self.active_model = engines.make_active_model(settings, self.store, self.clock, self._connections)
        self.redactor = Redactor(_redaction_key(self.store))
        self.events = EventLog(self.store, self.redactor, self.clock, settings.lead_sees, randomness.event_id)
        self.cooldowns = Cooldowns(self.store, self.redactor, self.clock)
        self.write_buffer = WriteBehindBuffer(self.store)
        self.notifier = engines.make_notifier(settings)
        self.agents = self._agents()
        self.notifier.subscribe(Notification.AGENTS, self.agents.notify_listeners)
        self.embedding = EmbeddingQueue(
            self.store, self.active_model, self.clock, ask_for_help=lambda: self.notifier.publish(Notification.WAITING)
        )
        self.notifier.subscribe(Notification.WAITING, self.embedding.wake)
        self.reembedder = Reembedder(self.store, self.active_model, self.embedding, self.clock, randomness.job_id)
        self._parts = self._build_parts(index_writer)
        self.memory_service = self._parts.memory_service
        self.recall_log = wiring.recall_log(settings, self.store, self.write_buffer, self.clock, randomness.recall_id)
        self.search_service = self.search_service_with(
            settings.ranking_constants, FusionWeights(), Boosts(), RecencyConflicts(), self.recall_log
        )
        self.housekeeping = wiring.housekeeping(settings, self.store, self.keywords, self.clock)
        self.leader_lease = LeaderLease(self.store, self.clock, randomness.job_id(self.clock.now()))
        self.token_quota = TokenQuota(self.store, self.clock, settings.summarizer_daily_tokens)
        self.novelty_filter = NoveltyFilter(self.store, self.keywords, settings.lifetimes, self.clock)
        self.session_summaries = self._session_summaries()
        self.folders = self._folders()
        self.adjudicator = self._adjudicator()
        self.maintenance_jobs = self._maintenance_jobs()
        self._workers = BackgroundWorkers(self)

    def _build_parts(self, index_writer: IndexWriter) -> Parts:
        ids = wiring.Ids(randomness.memory_id, randomness.proposal_id, randomness.batch_id)
        return wiring.parts(
            self.settings,
            ids,
            store=self.store,
            index_writer=index_writer,
            redactor=self.redactor,
            active_model=self.active_model,
            events=self.events,
            clock=self.clock,
            written=self.embedding.wake,
        )

    @cached_property
    def observation_service(self) -> ObservationService:
        return wiring.observation_service(self.settings, self._parts, engines.make_pair_reader(self.settings))

    @cached_property
    def memory_budget(self) -> TokenBudget:
        return parse_budget(self.settings.memory_budget)

    @cached_property
    def curation(self) -> CurationService:
        return wiring.curation(self.settings, self._parts, self.write_buffer)

    @cached_property
    def review_inbox(self) -> ReviewInbox:
        return wiring.review_inbox(self.settings, self._parts, self.curation, self.write_buffer)

    @cached_property
    def undo_service(self) -> UndoService:
        return wiring.undo_service(self.settings, self._parts)

    @cached_property
    def maintenance(self) -> Maintenance:
        return wiring.maintenance(self.settings, self._parts, self.index_rebuild)

    def _maintenance_jobs(self) -> MaintenanceJobs:
        return MaintenanceJobs(
            store=self.store,
            maintenance=self.maintenance,
            redactor=self.redactor,
            clock=self.clock,
            new_id=randomness.job_id,
            within=niced,
        )

    def _agents(self) -> Agents:
        return Agents(
            self.store,
            NAMESPACE,
            self.clock,
            IdSource(agent_id=randomness.agent_id, key_id=randomness.key_id, secret=randomness.secret),
            tell=lambda: self.notifier.publish(Notification.AGENTS),
        )

    def _session_summaries(self) -> SessionSummaries:
        process = randomness.job_id(self.clock.now())
        return SessionSummaries(
            store=self.store,
            memory_service=self.memory_service,
            novelty_filter=self.novelty_filter,
            implicit_feedback=ImplicitFeedback(self.store, self.keywords),
            transcripts=TranscriptFiles(self.settings.transcripts),
            summarizer=engines.make_summarizer(self.settings, self.token_quota, self.clock, self._connections),
            fallback=ExtractiveSummarizer(),
            redactor=self.redactor,
            clock=self.clock,
            leader_lease=LeaderLease(self.store, self.clock, process, summaries.LEASE_NAME, summaries.LEASE),
            marked=MarkerIngest(self.observation_service, self.events, self.cooldowns, self.settings.categories).ingest,
        )

    def _adjudicator(self) -> adjudication.Adjudicator | None:
        """None where rules alone judge."""
        if (model := engines.make_judge(self.settings, self.clock, self._connections)) is None:
            return None
        process = randomness.job_id(self.clock.now())
        return adjudication.Adjudicator(
            store=self.store,
            review_inbox=self.review_inbox,
            model=model,
            token_quota=self.token_quota,
            leader_lease=LeaderLease(self.store, self.clock, process, adjudication.LEASE_NAME, adjudication.LEASE),
        )

    def _folders(self) -> FolderSync | None:
        """None where this is no service, which alone looks into folders."""
        if self.lock is None or self.lock.owner.kind != SERVICE:
            return None
        workspace = WorkspaceFiles(self.settings.workspace_folder, self.settings.home)
        # Only one process works on a store that is not shared, whatever its machine is called by now.
        place = self.redactor.clean(f"{host_name() if self.store.is_shared else ''}:{workspace.path}")
        return FolderSync(
            store=self.store,
            workspace=workspace,
            place=place,
            memory_service=self.memory_service,
            agents=self.agents,
            leader_lease=LeaderLease(self.store, self.clock, randomness.job_id(self.clock.now()), f"folders {place}"),
            redactor=self.redactor,
            clock=self.clock,
        )

    @cached_property
    def reading(self) -> MemoryReader:
        sees = self.settings.lead_sees
        return MemoryReader(
            store=self.store,
            active_model=self.active_model,
            lead_sees=sees,
            write_buffer=self.write_buffer,
            clock=self.clock,
        )

    def search_service_with(
        self,
        ranking: RankingConstants,
        fusion_weights: FusionWeights,
        boosts: Boosts,
        recency_conflicts: RecencyConflicts,
        log: RecallLog | None = None,
    ) -> SearchService:
        """Recall over the same store and indexes with other constants; for comparisons, which are not logged."""
        return SearchService(
            store=self.store,
            keywords=self.keywords,
            active_model=self.active_model,
            ranking=ranking,
            fusion_weights=fusion_weights,
            boosts=boosts,
            recency_conflicts=recency_conflicts,
            lifecycle=self.settings.lifecycle,
            lead_sees=self.settings.lead_sees,
            write_buffer=self.write_buffer,
            clock=self.clock,
            keywords_complete=lambda: self.index_rebuild.is_complete,
            log=log,
        )

    @cached_property
    def integrity_check(self) -> IntegrityCheck:
        return IntegrityCheck(self.monitor.check, self.store, self.index_rebuild, self.embedding)

    @cached_property
    def rating(self) -> UsefulnessService:
        settings = self.settings
        worth = settings.ranking_constants.worth
        return UsefulnessService(
            store=self.store, worth=worth, lead_sees=settings.lead_sees, redactor=self.redactor, clock=self.clock
        )

    @cached_property
    def hooks(self) -> HookService:
        budgets = Budgets(self.settings.briefing_tokens, self.settings.prompt_tokens, self.memory_budget)
        capture = CaptureService(
            self.store,
            InjectionService(
                self.search_service, self.reading, self.curation, self.cooldowns, budgets, randomness.nonce
            ),
            self.memory_service,
            self.novelty_filter,
            self.session_summaries.hand_over,
            self.clock,
        )
        return HookService(capture, self.redactor, self.clock)

    @cached_property
    def spool_drain(self) -> SpoolDelivery:
        owner = self.lock.owner if self.lock is not None else None
        url = None if owner is None else owner.url
        return SpoolDelivery(SpoolFolder(self.settings.home), self.hooks, self.agents, url)

    def fenced(self, text: Harmless) -> str:
        """A text as a model gets it that may take it for something else than data."""
        return fenced(text, randomness.nonce())

    def start(self) -> None:
        """Begin what runs beside the calls: building the vector index, embedding, writing the tally."""
        self.active_model.wait_for_indexes()
        self._workers.start()

    def close(self) -> None:
        """Stop the threads, write what has gathered, and let go of the store. Closing twice is fine."""
        if self._workers.is_ending:
            return
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

    def _finish(self) -> None:
        """The last writes, as far as the database takes them."""
        try:
            self.write_buffer.flush()
        except HiveloreError as error:
            _LOG.warning("How often memories were used lately could not be written (%s).", error)
        # Where that fails or takes too long, the next start goes on.
        with suppress(HiveloreError):
            if self.leader_lease.is_leader():
                self.housekeeping.finish_purge(WIPING)
            self.leader_lease.release_lease()

    def status(self) -> Mapping[str, object]:
        """What is running: engines, model, queue. No texts, no names."""
        return status.of(self)

    def make_keys(self) -> None:
        """See that the home folder has an operator's key and one of this machine's agent, both good."""
        for name, agent in ((endpoint.OPERATOR_KEY, None), (endpoint.AGENT_KEY, self.agents.local_agent().id)):
            file = self.settings.home / name
            try:
                self.agents.viewer(file.read_text(encoding="ascii").strip(), Interface.SERVICE)
            except (OSError, UnicodeDecodeError, Unauthenticated):
                with private_files.replacing(file) as out:
                    out.write(f"{self.agents.issue(agent).text}\n".encode())


def open_application(settings: Settings, *, kind: str, url: str | None = None) -> Application:
    """An application that owns its data directory, with its keys made and its threads running.

    Raises Busy where somebody else owns it.
    """
    clock = SystemClock()
    started = clock.now().isoformat()
    app = Application(settings, clock=clock, owner=Owner(pid=os.getpid(), kind=kind, url=url, started_at=started))
    try:
        app.make_keys()
        app.start()
    except BaseException:
        app.close()
        raise
    return app


def _complete(store: MemoryStore) -> MemoryStore:
    """The same store. Raises Conflict where a move to it is not finished."""
    try:
        with store.read() as view:
            refuse_unfinished(view)
    except BaseException:
        store.close()
        raise
    return store


def _redaction_key(store: MemoryStore) -> bytes:
    """The key of this store's masks: made once, kept with the data it masks."""
    with store.read() as view:
        known = view.setting(REDACTION_KEY)
    if known is None:
        fresh = randomness.secret()
        store.write(lambda tx: None if tx.setting(REDACTION_KEY) else tx.set_setting(REDACTION_KEY, fresh))
        return _redaction_key(store)
    return bytes.fromhex(known)
