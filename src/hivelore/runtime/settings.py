"""Settings, read once from environment variables and frozen. Only ``runtime`` reads them; services receive values.

The description of each setting is its text in ``.env.example`` and in the documentation.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hivelore.configuration.encryption_key import parse_key
from hivelore.core.agents import LeadSees
from hivelore.core.capabilities import DEFAULT, Capability
from hivelore.errors import Invalid
from hivelore.feedback.model import LEAST, MOST, UsefulnessBounds
from hivelore.local import endpoint
from hivelore.memories.model import Lifetimes, Source
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.markers import CATEGORIES, NAME_PATTERN
from hivelore.observations.model import MatchingMode
from hivelore.observations.naming import Naming, parse_aliases
from hivelore.observations.token_budget import parse_budget
from hivelore.runtime import logs
from hivelore.search.ranking import Profile, RankingConstants

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def _split(value: str | Iterable[Any]) -> tuple[Any, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() if isinstance(part, str) else part for part in parts if str(part).strip())


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Folders = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)]

IN_MEMORY = "memory:"
_POSTGRES = ("postgresql", "postgres")
_SCHEME = re.compile(r"[\w+.-]*://|^\s*(?:postgres|sqlite|mysql|mariadb)[\w+.-]*:", re.IGNORECASE)
"""Scheme of a URL, also without its slashes."""


def database_at(text: str) -> Path | str:
    """Return the path of a SQLite file or the URL of a PostgreSQL database.

    Raises Invalid for other text. The error shows only the scheme of a URL: the rest may contain a password.
    """
    scheme, is_url, rest = text.partition("://")
    if is_url and scheme.lower() in _POSTGRES:
        return f"{scheme.lower()}://{rest}"
    names_scheme = _SCHEME.search(text)
    if names_scheme or not text.strip() or text == IN_MEMORY:
        said = f"{names_scheme[0].lstrip()}..." if names_scheme else repr(text)
        raise Invalid(
            f"{said} is neither a path of a SQLite file, which has no scheme, nor "
            "postgresql://user:password@host/database."
        )
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise Invalid(f"{text} is not a valid path ({error}).") from None


class Embedder(StrEnum):
    LOCAL = "local"
    OPENAI = "openai"
    NONE = "none"


class Summarizers(StrEnum):
    EXTRACTIVE = "extractive"
    CLAUDE = "claude"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class Judges(StrEnum):
    RULES = "rules"
    MODEL = "model"


class ProfileFiles(StrEnum):
    OFF = endpoint.OFF
    ON = endpoint.ON


class Nudges(StrEnum):
    OFF = endpoint.NO_NUDGE
    EVIDENCE = endpoint.NUDGE


class Vectors(StrEnum):
    SCAN = "scan"
    EXACT = "exact"
    SQLITE_VEC = "sqlite-vec"
    PGVECTOR = "pgvector"


class Keywords(StrEnum):
    POSTINGS = "postings"
    FTS5 = "fts5"


def setting(name: str, description: str, **options: Any) -> Any:
    return Field(validation_alias=name, description=description, **options)


class Settings(BaseSettings):
    """All settings. An empty variable counts as unset."""

    # Not populate_by_name: it would read HOME, URL and KEY of the environment.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = setting(
        "HIVELORE_HOME",
        "Folder of the database, keys and lock; private to its owner. Unset: `hivelore` in the user's data folder.",
        default_factory=endpoint.home,
    )
    url: str = setting(
        "HIVELORE_URL", "URL on which the service listens and where clients find it.", default=endpoint.DEFAULT_URL
    )
    key: SecretStr | None = setting(
        "HIVELORE_KEY", "Key of clients. Unset: the key file in HIVELORE_HOME.", default=None
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
        "`1`: create an empty database although the home folder has keys of an earlier one. "
        "By default this is refused, so that a lost database is noticed.",
        default=False,
    )
    workspace: Path | None = setting(
        "HIVELORE_WORKSPACE",
        "Folder for memories as files: files in its `personal/memory` and `shared/memory` become memories. "
        "Unset: the folder given at setup; else /workspace, if it is a folder and not a repository; else "
        "`workspace` in HIVELORE_HOME.",
        default=None,
    )
    allowed_hosts: Names = setting(
        "HIVELORE_ALLOWED_HOSTS",
        "Further host names, separated by commas, that requests may use besides the loopback names.",
        default=(),
    )
    capabilities: Names = setting(
        "HIVELORE_CAPABILITIES",
        "Sets of MCP tools for agents, separated by commas: `memory`; `operations` (memory-observe, "
        "memory-context); `review` (memory-review, inject-learning; for leads); `tasks` (task-complete); `swarm` "
        "(join-swarm, list-agents, update-profile, get-config, set-config, list-repos, update-setup-script).",
        default=DEFAULT,
    )
    config_keys: SecretStr | None = setting(
        "HIVELORE_CONFIG_KEYS",
        "Keys that encrypt the secrets of the configuration: 32 random bytes each, in base64, separated by commas; the "
        "last one encrypts, the others only decrypt. Unset: `config.keys` in HIVELORE_HOME, created with the first "
        "secret.",
        default=None,
    )
    accept_setup_scripts: bool = setting(
        "HIVELORE_ACCEPT_SETUP_SCRIPTS",
        "`1`: agents change their own setup scripts without a review. By default their changes are proposals.",
        default=False,
    )
    run_setup_scripts: bool = setting(
        "HIVELORE_RUN_SETUP_SCRIPTS",
        "`1`: `hivelore workspace prepare` runs the start-up file of the workspace, with the setup scripts in it.",
        default=False,
    )
    strict_start_up: bool = setting(
        "STARTUP_SCRIPT_STRICT",
        "`0`: `hivelore workspace prepare` succeeds although the start-up file failed. By default it exits with the "
        "exit code of the file.",
        default=True,
    )
    setup_script_seconds: int = setting(
        "HIVELORE_SETUP_SCRIPT_SECONDS",
        "Seconds after which a start-up file that still runs is ended with all its processes.",
        default=600,
        ge=1,
        le=86_400,
    )
    setup_script_variables: Names = setting(
        "HIVELORE_SETUP_SCRIPT_VARIABLES",
        "Environment variables, separated by commas, that a start-up file gets besides the usual ones such as PATH and "
        "HOME. If the environment lacks one, it comes from the configuration of the agent.",
        default=(),
    )
    log: str = setting(
        "HIVELORE_LOG",
        "Level of the service's log: `debug`, `info`, `warning` or `error`; with `json` after a comma, as JSON lines: "
        "`info,json`.",
        default="info",
    )
    lead_sees: LeadSees = setting(
        "HIVELORE_LEAD_SEES",
        "Whether a lead sees the private memories of workers (`all`) or only shared ones (`shared`).",
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
        "Dimensions of its vectors; sent to the server only with text-embedding-3 models.",
        default=512,
        ge=2,
        le=8192,
    )
    embedding_query_prefix: str = setting(
        "HIVELORE_EMBEDDING_QUERY_PREFIX", "Prefix of queries, for models that need it (`query: `).", default=""
    )
    embedding_document_prefix: str = setting(
        "HIVELORE_EMBEDDING_DOCUMENT_PREFIX", "Prefix of passages, for models that need it (`passage: `).", default=""
    )
    openai_api_key: SecretStr | None = setting(
        "OPENAI_API_KEY",
        "Key for HIVELORE_EMBEDDER=openai and HIVELORE_SUMMARIZER=openai; only the service reads it.",
        default=None,
    )
    keywords: Keywords = setting(
        "HIVELORE_KEYWORDS",
        "Keyword engine: `postings` (in the database, the newest in memory) or `fts5` (SQLite's own, slower, for "
        "comparison). After a change the index is rebuilt in the background.",
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
        "Most megabytes of memory for `scan`, about 520 bytes a passage with the local model. With more passages "
        "the database searches them itself, as with `sqlite-vec` or `pgvector`, which is slower. "
        "PostgreSQL then builds an index in the background.",
        default=1024,
        ge=0,
        le=1_048_576,
    )

    ranking: Profile = setting(
        "HIVELORE_RANKING",
        "`measured`: relevance decides, age and use break ties; `documented`: similarity x recencyDecay x accessBoost.",
        default=Profile.MEASURED,
    )
    recency_half_life_days: float | None = setting(
        "MEMORY_RECENCY_HALF_LIFE_DAYS",
        "Days until recency halves a score. Unset: age only breaks ties (14 with `documented`).",
        default=None,
        ge=0.01,
        le=100_000,
    )
    access_boost_max: float = setting(
        "MEMORY_ACCESS_BOOST_MAX", "Largest factor for frequent access.", default=1.5, ge=1, le=10
    )
    access_recency_hours: float = setting(
        "MEMORY_ACCESS_RECENCY_HOURS",
        "Hours after the last access in which the boost counts in full; afterwards it counts half.",
        default=48,
        ge=0,
    )
    candidate_multiplier: int = setting(
        "MEMORY_CANDIDATE_MULTIPLIER",
        "Candidates fetched from each index per requested result, before ranking, with HIVELORE_RANKING=documented.",
        default=3,
        ge=1,
        le=100,
    )

    usefulness_least: float = setting(
        "HIVELORE_USEFULNESS_LEAST",
        "Smallest factor for memories that were recalled and not used, or rated useless. 1: no decrease.",
        default=LEAST,
        ge=0.1,
        le=1,
    )
    usefulness_most: float = setting(
        "HIVELORE_USEFULNESS_MOST",
        "Largest factor for memories that were recalled and used, or rated useful. 1: no increase.",
        default=MOST,
        ge=1,
        le=3,
    )

    task_completion_days: float | None = setting(
        "MEMORY_TTL_TASK_COMPLETION_DAYS", "Lifetime of task_completion memories in days.", default=7, gt=0, le=36_500
    )
    session_summary_days: float | None = setting(
        "MEMORY_TTL_SESSION_SUMMARY_DAYS", "Lifetime of session_summary memories in days.", default=3, gt=0, le=36_500
    )
    file_index_days: float | None = setting(
        "MEMORY_TTL_FILE_INDEX_DAYS", "Lifetime of file_index memories in days.", default=30, gt=0, le=36_500
    )
    lesson_days: float | None = setting(
        "MEMORY_TTL_LESSON_DAYS",
        "Lifetime in days of lessons drawn from sessions, since they were last drawn or used.",
        default=30,
        gt=0,
        le=36_500,
    )
    manual_days: float | None = setting(
        "MEMORY_TTL_MANUAL_DAYS",
        "Lifetime of manual memories in days. Unset: unlimited.",
        default=None,
        gt=0,
        le=36_500,
    )

    transcripts: Folders = setting(
        "HIVELORE_TRANSCRIPTS",
        "Folders, separated by commas, where agent programs store their sessions; transcripts elsewhere are not "
        "read. Unset: the folders of the agent programs of the user who runs the service.",
        default_factory=endpoint.transcripts,
    )

    summarizer: Summarizers = setting(
        "HIVELORE_SUMMARIZER",
        "Summarizer of sessions. `extractive`: rules, without a model and without cost; `claude`: "
        "Claude Code's command line, `claude -p`; `anthropic`: its API; `openai`: OpenAI or a compatible server.",
        default=Summarizers.EXTRACTIVE,
    )
    summarizer_model: str | None = setting(
        "HIVELORE_SUMMARIZER_MODEL",
        "Model of the summarizer. Unset: `haiku` for claude, `claude-haiku-5-5` for anthropic; openai needs one.",
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
        "Daily token limit (UTC) of summaries and of HIVELORE_JUDGE=model, for all services of one database "
        "together. Above it, rules make the summaries and people decide.",
        default=500_000,
        ge=0,
        le=1_000_000_000,
    )
    anthropic_api_key: SecretStr | None = setting(
        "ANTHROPIC_API_KEY", "Key for HIVELORE_SUMMARIZER=anthropic; only the service reads it.", default=None
    )

    recall_log_days: float = setting(
        "HIVELORE_RECALL_LOG_DAYS",
        "Days that the recall log goes back: searches, their results and scores. 0: no log.",
        default=30,
        ge=0,
        le=36_500,
    )

    event_days: float = setting(
        "HIVELORE_EVENT_DAYS",
        "Days that events stay in the event log.",
        default=30,
        ge=0.01,
        le=36_500,
    )

    undo_days: float = setting(
        "HIVELORE_UNDO_DAYS",
        "Days that changes can be undone; previous states of memories are stored so long. 0: nothing is stored, and "
        "memories that maintenance purges cannot be restored.",
        default=7,
        ge=0,
        le=36_500,
    )
    review_days: float = setting(
        "HIVELORE_REVIEW_DAYS",
        "Days that a decided proposal is stored. Afterwards a rejected change may be proposed again. 0: unlimited.",
        default=90,
        ge=0,
        le=36_500,
    )
    repo_local_paths: bool = setting(
        "HIVELORE_REPO_LOCAL_PATHS",
        "`1`: the URL of a repository may be a local path, for the service and for `hivelore repo sync`.",
        default=False,
    )
    repo_stale_days: float = setting(
        "HIVELORE_REPO_STALE_DAYS",
        "Days after the last sync of a repository from which on its instructions are shown as possibly out of date. "
        "0: never.",
        default=7,
        ge=0,
        le=36_500,
    )
    purge_share: float = setting(
        "HIVELORE_PURGE_SHARE",
        "Share of all memories, 0 to 1, that maintenance may remove without confirmation of the exact number.",
        default=0.05,
        ge=0,
        le=1,
    )

    briefing_tokens: int = setting(
        "HIVELORE_BRIEFING_TOKENS",
        "Approximate token budget of the session-start context. 0: none.",
        default=1_500,
        ge=0,
        le=20_000,
    )
    prompt_tokens: int = setting(
        "HIVELORE_PROMPT_TOKENS",
        "Approximate token budget of the memories injected with a prompt. 0: none.",
        default=1_000,
        ge=0,
        le=20_000,
    )

    hook_wait: float = setting(
        "HIVELORE_HOOK_WAIT",
        "Seconds that a hook waits for the service; the agent waits for the hook. Read by the hooks.",
        default=endpoint.HOOK_WAIT,
        ge=0.01,
        le=600,
    )
    nudge: Nudges = setting(
        "HIVELORE_NUDGE",
        "`evidence`: an agent that learned something in a session, and stored nothing, is asked once for at most three "
        "lessons when its turn ends (Claude Code and Codex); never in headless runs. `off`: it is not asked. Unset: as "
        "chosen with `hivelore setup`, else `off`. Read by the hooks.",
        default=Nudges.OFF,
    )
    profile_files: ProfileFiles = setting(
        "HIVELORE_PROFILE_FILES",
        "`on`: during a session of Claude Code or Codex, the profile of the agent replaces SOUL.md and IDENTITY.md in "
        "the workspace and your CLAUDE.md or AGENTS.md in the settings folder of the program; what stood there comes "
        "back afterwards. `off`: no file is touched. Unset: as chosen with `hivelore setup`, else `off`. Read by the "
        "hooks.",
        default=ProfileFiles.OFF,
    )
    hook_disabled: str = setting(
        "HIVELORE_HOOK_DISABLED",
        "1: hooks of agent programs do nothing. Read by the hooks.",
        default="0",
    )
    task_id: str | None = setting("HIVELORE_TASK_ID", "Id of the current task. Read by the hooks.", default=None)
    task_file: str | None = setting(
        "HIVELORE_TASK_FILE",
        'File with the current task, like {"id": "T-7", "task": "Fix the login"}. Read by the hooks.',
        default=None,
    )
    memory_budget: str = setting(
        "HIVELORE_MEMORY_BUDGET",
        "Approximate token budget for operational notes at session start. 0: none. It may depend on the tier "
        "and on a part of the model's name: `2000, tier1=800, opus=6000`.",
        default="2000",
    )
    categories: Names = setting(
        "HIVELORE_CATEGORIES",
        "Categories of [MEMORY:category] markers, separated by commas. A marker may spell them in any way.",
        default=CATEGORIES,
    )
    aliases: Names = setting(
        "HIVELORE_ALIASES",
        "Further names of services and categories, separated by commas: `pg-main=postgres, k8s-prod=kubernetes`. "
        "Case and hyphens do not matter, and common short forms such as pg and k8s are known; your alias of one "
        "replaces its meaning. Neither JSON nor circles of aliases are accepted.",
        default=(),
    )
    reinforce: MatchingMode = setting(
        "HIVELORE_REINFORCE",
        "Which observations reinforce an operational memory: `meaning`, one that says the same, while the "
        "opposite contradicts it; `cautious`, likewise, but only quantities contradict and the rest is proposed for "
        "review; `structural`, any of the same service and category.",
        default=MatchingMode.MEANING,
    )
    judge: Judges = setting(
        "HIVELORE_JUDGE",
        "Who decides when it is uncertain whether two observations contradict each other. `rules`: a person, in the "
        "review inbox; `model`: first the language model of HIVELORE_SUMMARIZER, in the background and within "
        "HIVELORE_SUMMARIZER_DAILY_TOKENS, then a person if the model is not sure.",
        default=Judges.RULES,
    )
    updates_end_validity: bool = setting(
        "HIVELORE_UPDATES_END_VALIDITY",
        "`1`: a memory that certainly updates an earlier one ends its validity, if the author may change the earlier "
        "one; otherwise this is proposed. `0`: it is proposed for memories that agents are given.",
        default=False,
    )
    confidence_default: float = setting(
        "HIVELORE_CONFIDENCE_DEFAULT", "Confidence of a new observation, 0 to 1.", default=0.7, ge=0, le=1
    )
    confidence_reinforcement: float = setting(
        "HIVELORE_CONFIDENCE_REINFORCEMENT", "Gain of confidence when it is observed again.", default=0.1, ge=0, le=1
    )
    confidence_contradiction: float = setting(
        "HIVELORE_CONFIDENCE_CONTRADICTION",
        "Loss of confidence when the opposite is observed.",
        default=0.2,
        ge=0,
        le=1,
    )
    confidence_threshold: float = setting(
        "HIVELORE_CONFIDENCE_THRESHOLD",
        "Below this confidence a memory is inactive: stored, but not injected.",
        default=0.3,
        ge=0,
        le=1,
    )
    confidence_grace_days: float = setting(
        "HIVELORE_CONFIDENCE_GRACE_DAYS",
        "Days without decay after an observation.",
        default=30,
        ge=0,
        le=36_500,
    )
    confidence_decay: float = setting(
        "HIVELORE_CONFIDENCE_DECAY", "Loss of confidence per week after that.", default=0.1, ge=0, le=1
    )

    @field_validator("capabilities")
    @classmethod
    def _check_capabilities(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in set(Capability):
                raise ValueError(f"{name!r} is not one of {', '.join(Capability)}")
        return value

    @field_validator("config_keys")
    @classmethod
    def _check_config_keys(cls, value: SecretStr | None) -> SecretStr | None:
        try:
            _parse_keys(value)
        except Invalid as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("log")
    @classmethod
    def _check_log(cls, value: str) -> str:
        logs.parse_style(value)
        return value

    @field_validator("memory_budget")
    @classmethod
    def _check_budget(cls, value: str) -> str:
        try:
            parse_budget(value)
        except Invalid as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("categories")
    @classmethod
    def _check_categories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name one category at least")
        for name in value:
            if not NAME_PATTERN.fullmatch(name):
                raise ValueError(f"{name!r} cannot stand in a marker: use letters, digits, _ and -")
        return value

    @field_validator("aliases")
    @classmethod
    def _check_aliases(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            parse_aliases(value)
        except Invalid as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("database")
    @classmethod
    def _check_database(cls, value: str | None) -> str | None:
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
        """True if no answer depends on another program, such as a database or embedding server."""
        return self.postgres_url is None and self.embedder is not Embedder.OPENAI

    @property
    def postgres_url(self) -> str | None:
        """May hold a password."""
        return self.database if self.database is not None and "://" in self.database else None

    @property
    def encryption_keys(self) -> tuple[bytes, ...]:
        """The keys of HIVELORE_CONFIG_KEYS, newest last."""
        return _parse_keys(self.config_keys)

    @property
    def naming(self) -> Naming:
        return parse_aliases(self.aliases)

    @property
    def lifetimes(self) -> Lifetimes:
        days = {
            Source.TASK_COMPLETION: self.task_completion_days,
            Source.SESSION_SUMMARY: self.session_summary_days,
            Source.FILE_INDEX: self.file_index_days,
            Source.LESSON: self.lesson_days,
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

    @property
    def lifecycle(self) -> Lifecycle:
        return Lifecycle(
            default=self.confidence_default,
            reinforcement=self.confidence_reinforcement,
            contradiction=self.confidence_contradiction,
            threshold=self.confidence_threshold,
            grace=timedelta(days=self.confidence_grace_days),
            decay=self.confidence_decay,
        )


def _parse_keys(value: SecretStr | None) -> tuple[bytes, ...]:
    return () if value is None else tuple(map(parse_key, _split(value.get_secret_value())))


def load(**given: Any) -> Settings:
    """Read the settings of this process; ``given`` ones (by field name) override the environment.

    Raises Invalid with the name of the wrong variable.
    """
    named = {str(Settings.model_fields[name].validation_alias): value for name, value in given.items()}
    try:
        return Settings(**named)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        raise Invalid(f"{name}: {_explain(first)}. See .env.example for its values.", field=name) from None


def _explain(error: "ErrorDetails") -> str:
    """Return the error in a value, without the words of the validation library."""
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ").removesuffix(".")
    context = error.get("ctx", {})
    value = repr(error["input"])
    problem = _PROBLEMS.get(error["type"])
    return f"{value} {problem.format(**context)}" if problem else f"{value} is not valid"


_PROBLEMS = {
    "enum": "is not one of {expected}",
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "int_type": "is not a whole number",
    "float_parsing": "is not a number",
    "float_type": "is not a number",
    "finite_number": "is not a number",
    "bool_parsing": "is neither 1 nor 0",
    "bool_type": "is neither 1 nor 0",
    "greater_than": "is not greater than {gt}",
    "greater_than_equal": "is less than {ge}",
    "less_than": "is not less than {lt}",
    "less_than_equal": "is greater than {le}",
}
"""By error type of pydantic: the end of a sentence that begins with the value."""
