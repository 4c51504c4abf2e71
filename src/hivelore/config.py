"""Every setting, read once and frozen. Only ``app`` reads this tree; everybody else is handed values.

The description of each setting is what ``.env.example`` and the documentation say about it.
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hivelore import endpoint
from hivelore.domain.agent import LeadSees
from hivelore.domain.memory import Source
from hivelore.errors import Invalid
from hivelore.policies.ranking import Profile, Ranking
from hivelore.policies.ttl import Lifetimes

IN_MEMORY = "memory:"
POSTGRES = ("postgresql://", "postgres://")
Names = Annotated[tuple[str, ...], NoDecode]


class Embedder(StrEnum):
    LOCAL = "local"
    OPENAI = "openai"
    NONE = "none"


class Vectors(StrEnum):
    SCAN = "scan"
    EXACT = "exact"
    SQLITE_VEC = "sqlite-vec"
    PGVECTOR = "pgvector"


class Keywords(StrEnum):
    POSTINGS = "postings"
    FTS5 = "fts5"


def _setting(name: str, description: str, **options: Any) -> Any:
    return Field(validation_alias=name, description=description, **options)


class Settings(BaseSettings):
    """What can be set from outside, by environment variable; an empty one counts as unset."""

    # Never populate_by_name: every HOME, URL or KEY of the environment would be taken for one of ours.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = _setting(
        "HIVELORE_HOME",
        "Folder of database, keys and lock; private to its owner. Unset: `hivelore` in the user's data folder.",
        default_factory=endpoint.home,
    )
    url: str = _setting(
        "HIVELORE_URL", "Where the service listens and clients look for it.", default=endpoint.DEFAULT_URL
    )
    key: SecretStr | None = _setting(
        "HIVELORE_KEY", "Key that clients come in with. Unset: the key file in HIVELORE_HOME.", default=None
    )
    database: str | None = _setting(
        "HIVELORE_DATABASE",
        "Path of the SQLite file; or `postgresql://user:password@host/database`, a PostgreSQL 15 or newer with "
        "pgvector (pip install 'hivelore[postgres]'); or `memory:` for one that ends with the process. "
        "Unset: hivelore.db in HIVELORE_HOME.",
        default=None,
        repr=False,
    )
    allowed_hosts: Names = _setting(
        "HIVELORE_ALLOWED_HOSTS",
        "Host names, separated by commas, that requests may name besides the loopback ones.",
        default=(),
    )
    capabilities: Names = _setting(
        "HIVELORE_CAPABILITIES", "Tool sets that exist, separated by commas.", default=("memory",)
    )
    lead_sees: LeadSees = _setting(
        "HIVELORE_LEAD_SEES",
        "Whether a lead sees the private memories of workers (`all`) or only what is shared (`shared`).",
        default=LeadSees.ALL,
    )

    embedder: Embedder = _setting(
        "HIVELORE_EMBEDDER",
        "`local`: the model that ships with Hivelore; `openai`: OpenAI or a compatible server; `none`: keywords only.",
        default=Embedder.LOCAL,
    )
    embedding_url: str = _setting(
        "HIVELORE_EMBEDDING_URL", "Base URL for HIVELORE_EMBEDDER=openai.", default="https://api.openai.com/v1"
    )
    embedding_model: str = _setting(
        "HIVELORE_EMBEDDING_MODEL", "Model for HIVELORE_EMBEDDER=openai.", default="text-embedding-3-small"
    )
    embedding_dimensions: int = _setting(
        "HIVELORE_EMBEDDING_DIMENSIONS",
        "Dimensions of its vectors; the server is asked for them only with text-embedding-3 models.",
        default=512,
        ge=2,
        le=8192,
    )
    embedding_query_prefix: str = _setting(
        "HIVELORE_EMBEDDING_QUERY_PREFIX", "Put before questions, for models that want it (`query: `).", default=""
    )
    embedding_document_prefix: str = _setting(
        "HIVELORE_EMBEDDING_DOCUMENT_PREFIX", "Put before passages, for models that want it (`passage: `).", default=""
    )
    openai_api_key: SecretStr | None = _setting(
        "OPENAI_API_KEY", "Key for HIVELORE_EMBEDDER=openai; only the service reads it.", default=None
    )
    keywords: Keywords = _setting(
        "HIVELORE_KEYWORDS",
        "Keyword engine: `postings` (in the database, the newest in memory) or `fts5` (SQLite's own, slower, for "
        "comparison). After a change the index is built anew in the background.",
        default=Keywords.POSTINGS,
    )
    vectors: Vectors = _setting(
        "HIVELORE_VECTORS",
        "Vector engine: `scan` (in memory, int8 with exact rescoring), `exact` (float32, for comparison), "
        "`sqlite-vec` or `pgvector` (in the database, SQLite or PostgreSQL, nothing in memory).",
        default=Vectors.SCAN,
    )
    vector_memory: int = _setting(
        "HIVELORE_VECTOR_MEMORY",
        "Megabytes that `scan` may take, about 520 bytes a passage with the local model; with more passages "
        "than that the database searches them itself, as with `sqlite-vec` or `pgvector`, which is slower; "
        "PostgreSQL then gets an index for it, by itself and in the background.",
        default=1024,
        ge=0,
        le=1_048_576,
    )

    ranking: Profile = _setting(
        "HIVELORE_RANKING",
        "`measured`: relevance decides, age and use settle ties; "
        "`documented`: similarity x recencyDecay x accessBoost.",
        default=Profile.MEASURED,
    )
    recency_half_life_days: float | None = _setting(
        "MEMORY_RECENCY_HALF_LIFE_DAYS",
        "Days until recency halves a score. Unset: age only settles ties (14 when documented).",
        default=None,
        ge=0.01,
        le=100_000,
    )
    access_boost_max: float = _setting(
        "MEMORY_ACCESS_BOOST_MAX", "Largest factor by frequent access.", default=1.5, ge=1, le=10
    )
    access_recency_hours: float = _setting(
        "MEMORY_ACCESS_RECENCY_HOURS",
        "Hours since the last access within which the boost counts in full; half after it.",
        default=48,
        ge=0,
    )
    candidate_multiplier: int = _setting(
        "MEMORY_CANDIDATE_MULTIPLIER",
        "Candidates fetched per asked result, before they are ranked.",
        default=3,
        ge=1,
        le=100,
    )

    task_completion_days: float | None = _setting(
        "MEMORY_TTL_TASK_COMPLETION_DAYS", "Days that task_completion memories live.", default=7, gt=0, le=36_500
    )
    session_summary_days: float | None = _setting(
        "MEMORY_TTL_SESSION_SUMMARY_DAYS", "Days that session_summary memories live.", default=3, gt=0, le=36_500
    )
    file_index_days: float | None = _setting(
        "MEMORY_TTL_FILE_INDEX_DAYS", "Days that file_index memories live.", default=30, gt=0, le=36_500
    )
    manual_days: float | None = _setting(
        "MEMORY_TTL_MANUAL_DAYS", "Days that manual memories live. Unset: for ever.", default=None, gt=0, le=36_500
    )

    recall_log_days: float = _setting(
        "HIVELORE_RECALL_LOG_DAYS",
        "Days that the log of recalls goes back: who asked what, and which memories were given why. "
        "0: nothing is logged.",
        default=30,
        ge=0,
        le=36_500,
    )

    @field_validator("allowed_hosts", "capabilities", mode="before")
    @classmethod
    def _names(cls, value: str | Iterable[str]) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(part.strip() for part in parts if part.strip())

    @property
    def database_path(self) -> Path | None:
        """The SQLite file; None for a store in memory or on PostgreSQL."""
        if self.database == IN_MEMORY or self.postgres_url is not None:
            return None
        return self.home / endpoint.DATABASE if self.database is None else Path(self.database).expanduser().absolute()

    @property
    def postgres_url(self) -> str | None:
        """May hold a password."""
        return self.database if self.database is not None and self.database.startswith(POSTGRES) else None

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
    def ranking_constants(self) -> Ranking:
        half_life = self.recency_half_life_days
        return Ranking(
            profile=self.ranking,
            half_life=None if half_life is None else timedelta(days=half_life),
            access_boost_max=self.access_boost_max,
            access_recency=timedelta(hours=self.access_recency_hours),
            candidate_multiplier=self.candidate_multiplier,
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
        raise Invalid(f"{name}: {first['msg']}. See .env.example for what it may be.", field=name) from None
