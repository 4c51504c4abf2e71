"""Every setting, read once and frozen. Only ``runtime.app`` reads this tree; everybody else is handed values.

The description of each setting is what ``.env.example`` and the documentation say about it.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError, field_validator
from pydantic_settings import SettingsConfigDict

from hivelore.core.agents import LeadSees
from hivelore.errors import Invalid
from hivelore.feedback.model import LEAST, MOST, UsefulnessBounds
from hivelore.local import endpoint
from hivelore.memories.model import Source
from hivelore.memories.ttl import Lifetimes
from hivelore.runtime.settings.operational import OperationalSettings
from hivelore.runtime.settings.parts import (
    IN_MEMORY,
    Embedder,
    FolderSync,
    Judges,
    Keywords,
    Names,
    Summarizers,
    Vectors,
    database_at,
    setting,
)
from hivelore.search.ranking import Profile, RankingConstants

__all__ = ["IN_MEMORY", "Embedder", "Judges", "Keywords", "Settings", "Summarizers", "Vectors", "database_at", "load"]


class Settings(OperationalSettings):
    """What can be set from outside, by environment variable; an empty one counts as unset."""

    # Never populate_by_name: every HOME, URL or KEY of the environment would be taken for one of ours.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = setting(
        "HIVELORE_HOME",
        "Folder of database, keys and lock; private to its owner. Unset: `hivelore` in the user's data folder.",
        default_factory=endpoint.home,
    )
    url: str = setting(
        "HIVELORE_URL", "Where the service listens and clients look for it.", default=endpoint.DEFAULT_URL
    )
    key: SecretStr | None = setting(
        "HIVELORE_KEY", "Key that clients come in with. Unset: the key file in HIVELORE_HOME.", default=None
    )
    database: str | None = setting(
        "HIVELORE_DATABASE",
        "Path of the SQLite file; or `postgresql://user:password@host/database`, a PostgreSQL 15 or newer with "
        "pgvector (pip install 'hivelore[postgres]'); or `memory:` for a temporary one, deleted at exit. "
        "Unset: hivelore.db in HIVELORE_HOME.",
        default=None,
        repr=False,
    )
    new_database: bool = setting(
        "HIVELORE_NEW_DATABASE",
        "`1`: begin with an empty database where there is none, though the home folder has keys of an earlier one. "
        "Else that is refused, so that a lost database is noticed.",
        default=False,
    )
    workspace: Path | None = setting(
        "HIVELORE_WORKSPACE",
        "Folder of agents' files: what lies in its `personal/memory` and `shared/memory` becomes memories. "
        "Unset: the folder given at setup, else /workspace where that is a folder and no repository, else "
        "`workspace` in HIVELORE_HOME.",
        default=None,
    )
    allowed_hosts: Names = setting(
        "HIVELORE_ALLOWED_HOSTS",
        "Host names, separated by commas, that requests may name besides the loopback ones.",
        default=(),
    )
    capabilities: Names = setting(
        "HIVELORE_CAPABILITIES",
        "Sets of MCP tools that agents are shown, separated by commas: `memory`; `operations` (memory-observe, "
        "memory-context); `review` (memory-review, for leads).",
        default=("memory",),
    )
    lead_sees: LeadSees = setting(
        "HIVELORE_LEAD_SEES",
        "Whether a lead sees the private memories of workers (`all`) or only what is shared (`shared`).",
        default=LeadSees.ALL,
    )

    embedder: Embedder = setting(
        "HIVELORE_EMBEDDER",
        "`local`: the model that ships with Hivelore; `openai`: OpenAI or a compatible server; `none`: keywords only.",
        default=Embedder.LOCAL,
    )
    embedding_url: str = setting(
        "HIVELORE_EMBEDDING_URL", "Base URL for HIVELORE_EMBEDDER=openai.", default="https://api.openai.com/v1"
    )
    embedding_model: str = setting(
        "HIVELORE_EMBEDDING_MODEL", "Model for HIVELORE_EMBEDDER=openai.", default="text-embedding-3-small"
    )
    embedding_dimensions: int = setting(
        "HIVELORE_EMBEDDING_DIMENSIONS",
        "Dimensions of its vectors; the server is asked for them only with text-embedding-3 models.",
        default=512,
        ge=2,
        le=8192,
    )
    embedding_query_prefix: str = setting(
        "HIVELORE_EMBEDDING_QUERY_PREFIX", "Put before questions, for models that want it (`query: `).", default=""
    )
    embedding_document_prefix: str = setting(
        "HIVELORE_EMBEDDING_DOCUMENT_PREFIX", "Put before passages, for models that want it (`passage: `).", default=""
    )
    openai_api_key: SecretStr | None = setting(
        "OPENAI_API_KEY",
        "Key for HIVELORE_EMBEDDER=openai and HIVELORE_SUMMARIZER=openai; only the service reads it.",
        default=None,
    )
    keywords: Keywords = setting(
        "HIVELORE_KEYWORDS",
        "Keyword engine: `postings` (in the database, the newest in memory) or `fts5` (SQLite's own, slower, for "
        "comparison). After a change the index is built anew in the background.",
        default=Keywords.POSTINGS,
    )
    vectors: Vectors = setting(
        "HIVELORE_VECTORS",
        "Vector engine: `scan` (in memory, int8 with exact rescoring), `exact` (float32, for comparison), "
        "`sqlite-vec` or `pgvector` (in the database, SQLite or PostgreSQL, nothing in memory).",
        default=Vectors.SCAN,
    )
    vector_memory: int = setting(
        "HIVELORE_VECTOR_MEMORY",
        "Megabytes that `scan` may take, about 520 bytes a passage with the local model; with more passages "
        "than that the database searches them itself, as with `sqlite-vec` or `pgvector`, which is slower; "
        "PostgreSQL then gets an index for it, by itself and in the background.",
        default=1024,
        ge=0,
        le=1_048_576,
    )

    ranking: Profile = setting(
        "HIVELORE_RANKING",
        "`measured`: relevance decides, age and use settle ties; "
        "`documented`: similarity x recencyDecay x accessBoost.",
        default=Profile.MEASURED,
    )
    recency_half_life_days: float | None = setting(
        "MEMORY_RECENCY_HALF_LIFE_DAYS",
        "Days until recency halves a score. Unset: age only settles ties (14 when documented).",
        default=None,
        ge=0.01,
        le=100_000,
    )
    access_boost_max: float = setting(
        "MEMORY_ACCESS_BOOST_MAX", "Largest factor by frequent access.", default=1.5, ge=1, le=10
    )
    access_recency_hours: float = setting(
        "MEMORY_ACCESS_RECENCY_HOURS",
        "Hours since the last access within which the boost counts in full; half after it.",
        default=48,
        ge=0,
    )
    candidate_multiplier: int = setting(
        "MEMORY_CANDIDATE_MULTIPLIER",
        "Candidates fetched from each index per asked result, before they are ranked; with "
        "HIVELORE_RANKING=measured at least 50.",
        default=3,
        ge=1,
        le=100,
    )

    usefulness_least: float = setting(
        "HIVELORE_USEFULNESS_LEAST",
        "Smallest factor by what was recalled and never used, or rated useless. 1: it lowers nothing.",
        default=LEAST,
        ge=0.1,
        le=1,
    )
    usefulness_most: float = setting(
        "HIVELORE_USEFULNESS_MOST",
        "Largest factor by what was recalled and used, or rated useful. 1: it lifts nothing.",
        default=MOST,
        ge=1,
        le=3,
    )

    task_completion_days: float | None = setting(
        "MEMORY_TTL_TASK_COMPLETION_DAYS", "Days that task_completion memories live.", default=7, gt=0, le=36_500
    )
    session_summary_days: float | None = setting(
        "MEMORY_TTL_SESSION_SUMMARY_DAYS", "Days that session_summary memories live.", default=3, gt=0, le=36_500
    )
    file_index_days: float | None = setting(
        "MEMORY_TTL_FILE_INDEX_DAYS", "Days that file_index memories live.", default=30, gt=0, le=36_500
    )
    manual_days: float | None = setting(
        "MEMORY_TTL_MANUAL_DAYS", "Days that manual memories live. Unset: for ever.", default=None, gt=0, le=36_500
    )

    transcripts: FolderSync = setting(
        "HIVELORE_TRANSCRIPTS",
        "Folders, separated by commas, in which agent programs keep their sessions; transcripts elsewhere are not "
        "read. "
        "Unset: those of Claude Code and Codex of the user who runs the service.",
        default_factory=endpoint.transcripts,
    )

    summarizer: Summarizers = setting(
        "HIVELORE_SUMMARIZER",
        "What makes the summaries of sessions. `extractive`: rules, without a model and without cost; `claude`: "
        "Claude Code's own command line, `claude -p`; `anthropic`: its API; `openai`: OpenAI or a compatible server.",
        default=Summarizers.EXTRACTIVE,
    )
    summarizer_model: str | None = setting(
        "HIVELORE_SUMMARIZER_MODEL",
        "Model that makes them. Unset: `haiku` for claude, `claude-haiku-5-5` for anthropic; openai needs one.",
        default=None,
    )
    summarizer_url: str | None = setting(
        "HIVELORE_SUMMARIZER_URL",
        "Base URL for HIVELORE_SUMMARIZER=anthropic or openai. Unset: https://api.anthropic.com, "
        "https://api.openai.com/v1.",
        default=None,
    )
    summarizer_daily_tokens: int = setting(
        "HIVELORE_SUMMARIZER_DAILY_TOKENS",
        "Tokens that summaries, and HIVELORE_JUDGE=model, may take in a day (UTC), all services on one database "
        "together; beyond them summaries are made by rules, and people decide.",
        default=500_000,
        ge=0,
        le=1_000_000_000,
    )
    anthropic_api_key: SecretStr | None = setting(
        "ANTHROPIC_API_KEY", "Key for HIVELORE_SUMMARIZER=anthropic; only the service reads it.", default=None
    )

    recall_log_days: float = setting(
        "HIVELORE_RECALL_LOG_DAYS",
        "Days that the log of recalls goes back: who asked what, and which memories were given why. "
        "0: nothing is logged.",
        default=30,
        ge=0,
        le=36_500,
    )

    event_days: float = setting(
        "HIVELORE_EVENT_DAYS",
        "Days that events stay in their log: what happened while services were run, as agents tell it.",
        default=30,
        ge=0.01,
        le=36_500,
    )

    undo_days: float = setting(
        "HIVELORE_UNDO_DAYS",
        "Days that changes can be taken back: as long what memories were before is kept. 0: nothing is kept, and what "
        "maintenance purges is gone at once.",
        default=7,
        ge=0,
        le=36_500,
    )
    review_days: float = setting(
        "HIVELORE_REVIEW_DAYS",
        "Days that a proposal stays once it was decided about; after them what was rejected may be proposed again. "
        "0: for ever.",
        default=90,
        ge=0,
        le=36_500,
    )
    purge_share: float = setting(
        "HIVELORE_PURGE_SHARE",
        "Of all memories, how much maintenance takes away without being told exactly how many: 0 to 1.",
        default=0.05,
        ge=0,
        le=1,
    )

    briefing_tokens: int = setting(
        "HIVELORE_BRIEFING_TOKENS",
        "Tokens, about, of what an agent is told of its project when a session starts. 0: nothing.",
        default=1_500,
        ge=0,
        le=20_000,
    )
    prompt_tokens: int = setting(
        "HIVELORE_PROMPT_TOKENS",
        "Tokens, about, of the memories that an agent is told with a prompt which they have to do with. 0: none.",
        default=1_000,
        ge=0,
        le=20_000,
    )

    hook_wait: float = setting(
        "HIVELORE_HOOK_WAIT",
        "Seconds that a hook waits for the service, while the agent waits for the hook. Read by the hooks.",
        default=endpoint.HOOK_WAIT,
        ge=0.01,
        le=600,
    )
    hook_disabled: str = setting(
        "HIVELORE_HOOK_DISABLED",
        "1: hooks of agent programs do nothing. Read by the hooks.",
        default="0",
    )
    task_id: str | None = setting(
        "HIVELORE_TASK_ID", "What the current task is called. Read by the hooks.", default=None
    )
    task_file: str | None = setting(
        "HIVELORE_TASK_FILE",
        'File with the current task, like {"id": "T-7", "task": "Fix the login"}. Read by the hooks.',
        default=None,
    )

    @field_validator("database")
    @classmethod
    def _named(cls, value: str | None) -> str | None:
        if value is None or value == IN_MEMORY:
            return value
        try:
            return str(database_at(value))
        except Invalid as error:
            raise ValueError(str(error)) from None

    @property
    def database_path(self) -> Path | None:
        """The SQLite file; None for a temporary database or PostgreSQL."""
        if self.database == IN_MEMORY or self.postgres_url is not None:
            return None
        return self.home / endpoint.DATABASE if self.database is None else Path(self.database)

    @property
    def workspace_folder(self) -> Path:
        return Path(endpoint.workspace(self.home, None if self.workspace is None else str(self.workspace)))

    @property
    def is_all_here(self) -> bool:
        """Whether an answer waits for no other program: neither a database server nor one that embeds."""
        return self.postgres_url is None and self.embedder is not Embedder.OPENAI

    @property
    def postgres_url(self) -> str | None:
        """May hold a password."""
        return self.database if self.database is not None and "://" in self.database else None

    @property
    def lifetimes(self) -> Lifetimes:
        days = {
            Source.TASK_COMPLETION: self.task_completion_days,
            Source.SESSION_SUMMARY: self.session_summary_days,
            Source.FILE_INDEX: self.file_index_days,
            Source.MANUAL: self.manual_days,
        }
        return Lifetimes({source: None if value is None else timedelta(days=value) for source, value in days.items()})

    @property
    def recall_log_lifetime(self) -> timedelta:
        return timedelta(days=self.recall_log_days)

    @property
    def event_lifetime(self) -> timedelta:
        return timedelta(days=self.event_days)

    @property
    def undo_lifetime(self) -> timedelta:
        return timedelta(days=self.undo_days)

    @property
    def decided_lifetime(self) -> timedelta | None:
        return timedelta(days=self.review_days) if self.review_days else None

    @property
    def ranking_constants(self) -> RankingConstants:
        half_life = self.recency_half_life_days
        return RankingConstants(
            profile=self.ranking,
            half_life=None if half_life is None else timedelta(days=half_life),
            access_boost_max=self.access_boost_max,
            access_recency=timedelta(hours=self.access_recency_hours),
            candidate_multiplier=self.candidate_multiplier,
            worth=UsefulnessBounds(least=self.usefulness_least, most=self.usefulness_most),
        )


def load(**given: Any) -> Settings:
    """The settings of this process; ``given`` ones (by field name) win over the environment.

    Raises Invalid that names the variable at fault.
    """
    named = {str(Settings.model_fields[name].validation_alias): value for name, value in given.items()}
    try:
        return Settings(**named)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        said = first["msg"].removeprefix("Value error, ").removesuffix(".")
        raise Invalid(f"{name}: {said}. See .env.example for what it may be.", field=name) from None
