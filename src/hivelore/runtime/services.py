"""Builds the services over one store. The application and the tests build them here."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from hivelore.api.registry import TOOLS
from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchId
from hivelore.changes.undo import UndoService
from hivelore.configuration.configuration_check import ConfigurationCheck
from hivelore.configuration.entry_changes import EntryWriter
from hivelore.configuration.env_files import EnvFiles
from hivelore.configuration.env_reconciler import EnvReconciler
from hivelore.configuration.keyring import Keyring
from hivelore.configuration.model import ConfigId
from hivelore.configuration.rotation import KeyRotator
from hivelore.configuration.service import ConfigService
from hivelore.configuration.undo import ConfigUndo
from hivelore.configuration.workspace_id import WorkspaceId
from hivelore.core import ids
from hivelore.core.agents import Agent, Viewer
from hivelore.core.clock import Clock
from hivelore.core.jobs import JobId
from hivelore.core.redaction import Redactor
from hivelore.embeddings.active_model import ActiveModel
from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.embeddings.reembed import Reembedder
from hivelore.events.cooldowns import Cooldowns
from hivelore.events.log import EventLog
from hivelore.events.model import LoggedId
from hivelore.feedback.recall_log import RecallLog, WriteBehindBuffer
from hivelore.feedback.usefulness import UsefulnessService
from hivelore.identity.agent_reset import AgentReset
from hivelore.identity.profiles import ProfileService
from hivelore.identity.prompt import Section
from hivelore.identity.prompts import PromptService
from hivelore.identity.service import Agents, IdSource
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.links.comparer import Comparer
from hivelore.links.progress import ComparisonProgress
from hivelore.links.service import LinkService
from hivelore.maintenance.duplicates import Duplicates
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.maintenance.jobs import MaintenanceJobs
from hivelore.maintenance.service import Maintenance
from hivelore.memories.model import MemoryId
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.reader import MemoryReader
from hivelore.memories.service import MemoryService
from hivelore.models.ports import PairReader, RelevanceReader
from hivelore.observations.comparison import ObservationComparison
from hivelore.observations.curation import CurationService
from hivelore.observations.marker_ingest import MarkerIngest
from hivelore.observations.naming import Naming
from hivelore.observations.service import ObservationService
from hivelore.observations.stored_groups import GroupWriter
from hivelore.observations.token_budget import parse_budget
from hivelore.repos.model import RepoId
from hivelore.repos.section import without_markers
from hivelore.repos.service import RepoService
from hivelore.review.inbox import ReviewInbox
from hivelore.review.model import ProposalId
from hivelore.review.proposals import ProposalQueue
from hivelore.review.updates import UpdateReview
from hivelore.runtime.background import niced
from hivelore.runtime.settings import Settings
from hivelore.search.model import RecallId
from hivelore.search.ranking import SearchConstants
from hivelore.search.service import SearchDependencies, SearchService
from hivelore.sessions.agent_instructions import STORE, format_path, instructions_body
from hivelore.sessions.capture import CaptureService
from hivelore.sessions.injection import Budgets, InjectionService
from hivelore.sessions.lesson_recorder import LessonRecorder
from hivelore.sessions.model import SessionEnd
from hivelore.sessions.novelty import NoveltyFilter
from hivelore.sessions.nudge_service import NudgeService
from hivelore.sessions.session_buffer import SessionBuffer
from hivelore.sessions.start_candidates import StartCandidates
from hivelore.sessions.transcript_files import TranscriptFiles
from hivelore.setup_scripts.service import SetupScripts
from hivelore.storage.ports import MemoryStore
from hivelore.storage.sqlite.store import NAMESPACE

_IDENTITY = IdSource(agent_id=ids.agent_id, key_id=ids.key_id, secret=ids.secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """Sources of new ids."""

    memory: Callable[[datetime], MemoryId] = ids.memory_id
    proposal: Callable[[datetime], ProposalId] = ids.proposal_id
    batch: Callable[[datetime], BatchId] = ids.batch_id
    event: Callable[[datetime], LoggedId] = ids.event_id
    recall: Callable[[datetime], RecallId] = ids.recall_id
    job: Callable[[datetime], JobId] = ids.job_id
    config: Callable[[datetime], ConfigId] = ids.config_id
    repo: Callable[[datetime], RepoId] = ids.repo_id
    random_bytes: Callable[[int], bytes] = ids.random_bytes
    nonce: Callable[[], str] = ids.nonce
    identity: IdSource = _IDENTITY


class Services(ABC):
    """Services over one store; each is built when it is first used. A subclass opens the store and its engines."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: MemoryStore,
        keywords: KeywordIndex,
        former_keywords: tuple[KeywordIndex, ...],
        active_model: ActiveModel,
        redactor: Redactor,
        clock: Clock,
        ids: Ids,
    ) -> None:
        """``former_keywords``: engines that may have indexed the same store before."""
        self.settings = settings
        self.store = store
        self.keywords = keywords
        self.active_model = active_model
        self.redactor = redactor
        self.clock = clock
        self.ids = ids
        self._former_keywords = former_keywords

    def make_pair_reader(self) -> PairReader | None:
        """Returns the model that compares two notes; None without one."""
        return None

    def make_relevance_reader(self) -> RelevanceReader | None:
        """Returns the model that reads a query and a memory together; None without one."""
        return None

    @abstractmethod
    def hand_over(self, ended: SessionEnd, viewer: Viewer, delay: timedelta = timedelta(0)) -> None:
        """Queue an ended session for its summary, which is made after ``delay`` at the earliest."""

    def are_keywords_complete(self) -> bool:
        """Returns True if a keyword search finds everything."""
        return self.index_rebuild.is_complete()

    def on_agents_changed(self) -> None:  # noqa: B027 (a subclass may ignore it)
        """Called after agents or keys changed."""

    def on_embedding_backlog(self) -> None:  # noqa: B027 (a subclass may ignore it)
        """Called when more passages wait than one process embeds at once."""

    @cached_property
    def naming(self) -> Naming:
        return self.settings.naming

    @cached_property
    def index_writer(self) -> IndexWriter:
        return IndexWriter(self.keywords)

    @cached_property
    def index_rebuild(self) -> IndexRebuild:
        return IndexRebuild(self.store, self.keywords, self._former_keywords, self.index_writer, self.clock)

    @cached_property
    def embedding(self) -> EmbeddingQueue:
        return EmbeddingQueue(self.store, self.active_model, self.clock, ask_for_help=self.on_embedding_backlog)

    @cached_property
    def reembedder(self) -> Reembedder:
        return Reembedder(self.store, self.active_model, self.embedding, self.clock, self.ids.job)

    @cached_property
    def write_buffer(self) -> WriteBehindBuffer:
        return WriteBehindBuffer(self.store)

    @cached_property
    def agents(self) -> Agents:
        return Agents(self.store, NAMESPACE, self.clock, self.ids.identity, publish=self.on_agents_changed)

    @cached_property
    def events(self) -> EventLog:
        return EventLog(self.store, self.redactor, self.clock, self.settings.lead_sees, self.ids.event, self.naming)

    @cached_property
    def cooldowns(self) -> Cooldowns:
        return Cooldowns(self.store, self.redactor, self.clock, self.naming)

    @cached_property
    def normalizer(self) -> Normalizer:
        return Normalizer(self.redactor, self.settings.lifetimes, self.clock, self.ids.memory, self.naming)

    @cached_property
    def proposal_queue(self) -> ProposalQueue:
        return ProposalQueue(self.clock, self.ids.proposal)

    @cached_property
    def journal(self) -> ChangeJournal:
        return ChangeJournal(self.store, self.clock, self.ids.batch, self.settings.undo_lifetime)

    @cached_property
    def memory_service(self) -> MemoryService:
        return MemoryService(
            store=self.store,
            index_writer=self.index_writer,
            normalizer=self.normalizer,
            proposal_queue=self.proposal_queue,
            journal=self.journal,
            lifetimes=self.settings.lifetimes,
            lead_sees=self.settings.lead_sees,
            clock=self.clock,
            written=self.embedding.note_written,
        )

    @cached_property
    def reading(self) -> MemoryReader:
        return MemoryReader(
            store=self.store,
            active_model=self.active_model,
            lead_sees=self.settings.lead_sees,
            naming=self.naming,
            write_buffer=self.write_buffer,
            clock=self.clock,
        )

    @cached_property
    def comparer(self) -> Comparer:
        return Comparer(self.make_pair_reader())

    @cached_property
    def comparisons(self) -> ComparisonProgress:
        return ComparisonProgress(self.store, self.comparer, self.clock)

    @cached_property
    def comparison(self) -> ObservationComparison:
        return ObservationComparison(self.store, self.settings.reinforce, self.comparer, self.naming)

    @cached_property
    def group_writer(self) -> GroupWriter:
        return GroupWriter(self.index_writer, self.normalizer, self.settings.lifecycle, self.clock)

    @cached_property
    def observation_service(self) -> ObservationService:
        return ObservationService(
            store=self.store,
            index_writer=self.index_writer,
            normalizer=self.normalizer,
            proposal_queue=self.proposal_queue,
            events=self.events,
            lifecycle=self.settings.lifecycle,
            naming=self.naming,
            lead_sees=self.settings.lead_sees,
            clock=self.clock,
            comparison=self.comparison,
            group_writer=self.group_writer,
            written=self.embedding.note_written,
        )

    @cached_property
    def curation(self) -> CurationService:
        return CurationService(
            store=self.store,
            index_writer=self.index_writer,
            normalizer=self.normalizer,
            memory_service=self.memory_service,
            proposal_queue=self.proposal_queue,
            events=self.events,
            journal=self.journal,
            lifecycle=self.settings.lifecycle,
            naming=self.naming,
            lead_sees=self.settings.lead_sees,
            write_buffer=self.write_buffer,
            links=self.links,
            reader=self.reading,
            clock=self.clock,
            written=self.embedding.wake,
        )

    @cached_property
    def review_inbox(self) -> ReviewInbox:
        return ReviewInbox(
            store=self.store,
            index_writer=self.index_writer,
            journal=self.journal,
            memory_service=self.memory_service,
            curation=self.curation,
            links=self.links,
            setup_scripts=self.setup_scripts,
            normalizer=self.normalizer,
            naming=self.naming,
            write_buffer=self.write_buffer,
            lifecycle=self.settings.lifecycle,
            lead_sees=self.settings.lead_sees,
            clock=self.clock,
            written=self.embedding.wake,
        )

    @cached_property
    def update_review(self) -> UpdateReview:
        return UpdateReview(
            store=self.store,
            keywords=self.keywords,
            proposal_queue=self.proposal_queue,
            review_inbox=self.review_inbox,
            normalizer=self.normalizer,
            clock=self.clock,
            ends_validity=self.settings.updates_end_validity,
        )

    @cached_property
    def undo_service(self) -> UndoService:
        return UndoService(
            store=self.store,
            index_writer=self.index_writer,
            journal=self.journal,
            normalizer=self.normalizer,
            lead_sees=self.settings.lead_sees,
            clock=self.clock,
            written=self.embedding.wake,
            config_undo=ConfigUndo(self.journal, self.entry_writer, self.clock),
            agents_changed=self.agents.report_change,
        )

    @cached_property
    def keyring(self) -> Keyring:
        return Keyring(self.settings.home, self.settings.encryption_keys, self.ids.random_bytes)

    @cached_property
    def env_files(self) -> EnvFiles:
        return EnvFiles(self.settings.workspace_folder, self.settings.home)

    @cached_property
    def env_reconciler(self) -> EnvReconciler:
        return EnvReconciler(
            store=self.store,
            keyring=self.keyring,
            env_files=self.env_files,
            home=self.settings.home,
            workspace=WorkspaceId(self.settings.workspace_folder, self.ids.random_bytes),
            clock=self.clock,
        )

    @cached_property
    def entry_writer(self) -> EntryWriter:
        return EntryWriter(
            store=self.store,
            keyring=self.keyring,
            reconciler=self.env_reconciler,
            clock=self.clock,
            random=self.ids.random_bytes,
            purge_log_later=self.housekeeping.purge_log_later,
        )

    @cached_property
    def configuration(self) -> ConfigService:
        return ConfigService(
            store=self.store,
            keyring=self.keyring,
            env_files=self.env_files,
            reconciler=self.env_reconciler,
            writer=self.entry_writer,
            journal=self.journal,
            agents=self.agents,
            redactor=self.redactor,
            lead_sees=self.settings.lead_sees,
            clock=self.clock,
            new_id=self.ids.config,
            random=self.ids.random_bytes,
        )

    @cached_property
    def key_rotator(self) -> KeyRotator:
        return KeyRotator(self.store, self.keyring, self.settings.home, self.ids.random_bytes, self.clock)

    @cached_property
    def configuration_check(self) -> ConfigurationCheck:
        return ConfigurationCheck(self.store, self.keyring, self.env_reconciler)

    @cached_property
    def repos(self) -> RepoService:
        return RepoService(
            store=self.store,
            journal=self.journal,
            redactor=self.redactor,
            lead_sees=self.settings.lead_sees,
            clock=self.clock,
            new_id=self.ids.repo,
            nonce=self.ids.nonce,
            allows_local=self.settings.repo_local_paths,
            stale_after=timedelta(days=self.settings.repo_stale_days),
        )

    @cached_property
    def setup_scripts(self) -> SetupScripts:
        return SetupScripts(
            store=self.store,
            proposal_queue=self.proposal_queue,
            journal=self.journal,
            redactor=self.redactor,
            lead_sees=self.settings.lead_sees,
            write_buffer=self.write_buffer,
            clock=self.clock,
            accepts_own=self.settings.accept_setup_scripts,
        )

    @cached_property
    def agent_reset(self) -> AgentReset:
        return AgentReset(self.store, self.profiles, self.setup_scripts, self.configuration)

    @cached_property
    def tool_names(self) -> frozenset[str]:
        """The names of the enabled tools."""
        return frozenset(tool.name for tool in TOOLS if tool.capability in self.settings.capabilities)

    @cached_property
    def profiles(self) -> ProfileService:
        return ProfileService(
            store=self.store,
            agents=self.agents,
            journal=self.journal,
            events=self.events,
            redactor=self.redactor,
            lead_sees=self.settings.lead_sees,
            clock=self.clock,
            tools=self.tool_names,
            workspace=format_path(str(self.settings.workspace_folder)),
            audit=self.write_buffer.record,
        )

    @cached_property
    def prompts(self) -> PromptService:
        return PromptService(
            self.profiles,
            lambda: instructions_body(self.tool_names, format_path(str(self.settings.workspace_folder))),
            self.ids.nonce,
            repo_section=self._find_repo_section,
        )

    def _find_repo_section(self, name: str, agent: Agent, viewer: Viewer) -> Section:
        # The reports about its own clones belong into the prompt of an agent, whoever asks for it.
        found = self.repos.section(name, replace(viewer, agent=agent.id, role=agent.role))
        return Section(without_markers(found.name, found.text), is_trusted=True)

    @cached_property
    def links(self) -> LinkService:
        return LinkService(
            self.store, self.clock, self.settings.lead_sees, self.settings.lifecycle, self.memory_service, self.journal
        )

    @cached_property
    def maintenance(self) -> Maintenance:
        return Maintenance(
            store=self.store,
            index_writer=self.index_writer,
            journal=self.journal,
            proposal_queue=self.proposal_queue,
            duplicates=Duplicates(self.store, self.active_model, self.comparer, self.naming),
            index_rebuild=self.index_rebuild,
            share=self.settings.purge_share,
            clock=self.clock,
        )

    @cached_property
    def maintenance_jobs(self) -> MaintenanceJobs:
        return MaintenanceJobs(
            store=self.store,
            maintenance=self.maintenance,
            redactor=self.redactor,
            clock=self.clock,
            new_id=self.ids.job,
            within=niced,
        )

    @cached_property
    def housekeeping(self) -> Housekeeper:
        return Housekeeper(
            self.store,
            self.keywords,
            self.clock,
            recalls=self.settings.recall_log_lifetime,
            events=self.settings.event_lifetime,
            undo=self.settings.undo_lifetime,
            decided=self.settings.decided_lifetime,
        )

    @cached_property
    def recall_log(self) -> RecallLog:
        return RecallLog(
            store=self.store,
            write_buffer=self.write_buffer,
            lead_sees=self.settings.lead_sees,
            lifetime=self.settings.recall_log_lifetime,
            recall_id=self.ids.recall,
        )

    @cached_property
    def relevance_reader(self) -> RelevanceReader | None:
        return self.make_relevance_reader()

    @cached_property
    def search_service(self) -> SearchService:
        return self.search_service_with(SearchConstants(ranking=self.settings.ranking_constants), self.recall_log)

    def search_service_with(self, constants: SearchConstants, log: RecallLog | None = None) -> SearchService:
        """Returns a search service with other constants; without ``log`` its searches are not logged."""
        dependencies = SearchDependencies(
            store=self.store,
            keywords=self.keywords,
            keywords_complete=self.are_keywords_complete,
            active_model=self.active_model,
            write_buffer=self.write_buffer,
            clock=self.clock,
            lifecycle=self.settings.lifecycle,
            lead_sees=self.settings.lead_sees,
            relevance_reader=self.relevance_reader,
            wait_for_latest=self.embedding.wait_for_latest,
            log=log,
            naming=self.naming,
        )
        return SearchService(dependencies, constants)

    @cached_property
    def rating(self) -> UsefulnessService:
        return UsefulnessService(
            store=self.store,
            worth=self.settings.ranking_constants.worth,
            lead_sees=self.settings.lead_sees,
            redactor=self.redactor,
            clock=self.clock,
        )

    @cached_property
    def novelty_filter(self) -> NoveltyFilter:
        return NoveltyFilter(self.store, self.keywords, self.settings.lifetimes, self.clock, self.comparer)

    @cached_property
    def lesson_recorder(self) -> LessonRecorder:
        return LessonRecorder(self.store, self.memory_service, self.novelty_filter, self.clock)

    @cached_property
    def session_buffer(self) -> SessionBuffer:
        return SessionBuffer(self.store)

    @cached_property
    def capture(self) -> CaptureService:
        settings = self.settings
        budgets = Budgets(settings.briefing_tokens, settings.prompt_tokens, parse_budget(settings.memory_budget))
        unlogged_search = self.search_service_with(SearchConstants(ranking=settings.ranking_constants))
        injection = InjectionService(
            self.search_service,
            self.reading,
            self.curation,
            self.cooldowns,
            budgets,
            self.agents,
            self.ids.nonce,
            StartCandidates(self.reading, unlogged_search, self.rating, self.naming),
            self.links,
        )
        return CaptureService(
            self.store,
            self.session_buffer,
            injection,
            self.memory_service,
            self.novelty_filter,
            self.hand_over,
            self.marker_ingest.ingest,
            self.write_buffer,
            self.clock,
            self.nudge_service,
        )

    @cached_property
    def nudge_service(self) -> NudgeService:
        return NudgeService(self.store, TranscriptFiles(self.settings.transcripts), can_store=STORE in self.tool_names)

    @cached_property
    def marker_ingest(self) -> MarkerIngest:
        return MarkerIngest(
            self.observation_service, self.events, self.cooldowns, self.settings.categories, self.naming
        )
