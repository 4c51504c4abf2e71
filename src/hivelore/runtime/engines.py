"""Builds the engines that the settings choose: store, keyword index, models and vector index."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress

from pydantic import SecretStr

from hivelore.core import ids
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.embeddings.active_model import SERVING, ActiveModel, EmbeddingModel
from hivelore.errors import HiveloreError, Invalid
from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.ports import KeywordIndex, VectorIndex
from hivelore.indexes.vectors.brute_force import ExactVectors, sqlite_vec
from hivelore.indexes.vectors.pgvector import PgVectors
from hivelore.indexes.vectors.scan import CappedVectors, ScanVectors
from hivelore.local import endpoint
from hivelore.models.extractive import ExtractiveSummarizer
from hivelore.models.guarded_embedder import GuardedEmbedder
from hivelore.models.onnx.pairs import OnnxPairReader, OnnxRelevanceReader
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.models.ports import EmbeddingProvider, LanguageModel, PairReader, RelevanceReader
from hivelore.models.quota import TokenQuota
from hivelore.runtime.settings import Embedder, Judges, Keywords, Settings, Summarizers, Vectors
from hivelore.sessions.model_summarizer import ModelSummarizer
from hivelore.sessions.ports import Summarizer
from hivelore.storage.null_objects import NullNotifier
from hivelore.storage.ports import MemoryStore, Notifier, StoreWatch
from hivelore.storage.sqlite.store import NAMESPACE, SqliteStore, TemporarySqliteStore

Provider = OnnxEmbedder | GuardedEmbedder
_ANY_TEXT = Clean("memory")


def make_store(settings: Settings, clock: Clock, watch: StoreWatch) -> MemoryStore:
    """Raises Broken if the database is missing although the home folder has keys of one."""
    may_create = settings.new_database or not endpoint.has_key_file(settings.home)
    if settings.postgres_url is not None:
        with postgres_package():
            from hivelore.storage.postgres.store import PostgresStore
        return PostgresStore(settings.postgres_url, clock=clock, may_create=may_create, watch=watch)
    path = settings.database_path
    if path is None:
        return TemporarySqliteStore(clock=clock, watch=watch)
    endpoint.make_home(path.parent)
    return SqliteStore(path, clock=clock, may_create=may_create, watch=watch)


def make_notifier(settings: Settings) -> Notifier:
    if settings.postgres_url is None:
        return NullNotifier()
    from hivelore.storage.postgres.notifier import PostgresNotifier

    return PostgresNotifier(settings.postgres_url, NAMESPACE)


@contextmanager
def postgres_package() -> Generator[None]:
    """Raises Invalid with the package to install if an import fails inside."""
    try:
        yield
    except ImportError as error:
        raise Invalid(
            f"PostgreSQL needs a package that is not installed ({error}). Run: pip install 'hivelore[postgres]'",
            field="HIVELORE_DATABASE",
        ) from error


def keyword_engines(settings: Settings) -> tuple[KeywordIndex, ...]:
    """Returns the chosen engine, then those that may have indexed the same store before."""
    if settings.postgres_url is not None:
        if settings.keywords is Keywords.FTS5:
            raise Invalid("HIVELORE_KEYWORDS=fts5 needs a SQLite database.", field="HIVELORE_KEYWORDS")
        return (Postings(),)
    match settings.keywords:
        case Keywords.POSTINGS:
            return Postings(), Fts5()
        case Keywords.FTS5:
            return Fts5(), Postings()


def make_active_model(settings: Settings, store: MemoryStore, clock: Clock, connections: ExitStack) -> ActiveModel:
    """Returns the configured model, with the previous one until all vectors of the new one exist."""
    provider = _provider(settings, clock, connections)
    if provider is None:
        return ActiveModel(None)
    wanted = _model(settings, provider)
    with store.read() as view:
        named = view.setting(SERVING)
    if named is None or named == provider.fingerprint:
        return ActiveModel(wanted)
    for other in _other_providers(settings, clock, connections):
        if other.fingerprint == named:
            return ActiveModel(wanted, before=_model(settings, other))
    return ActiveModel(wanted, before=None, incomplete=True)


def _model(settings: Settings, provider: Provider) -> EmbeddingModel:
    index = _index(settings, provider)
    if isinstance(provider, OnnxEmbedder):
        return EmbeddingModel(provider, index, provider, embed_concurrently=True)
    return EmbeddingModel(provider, index, outage=lambda: provider.outage)


def _provider(settings: Settings, clock: Clock, connections: ExitStack) -> Provider | None:
    match settings.embedder:
        case Embedder.NONE:
            return None
        case Embedder.LOCAL:
            return OnnxEmbedder()
        case Embedder.OPENAI:
            return _openai(settings, clock, connections)


def _other_providers(settings: Settings, clock: Clock, connections: ExitStack) -> Iterator[Provider]:
    """Yields models that may have been active before and are still available."""
    if settings.embedder is not Embedder.LOCAL:
        yield OnnxEmbedder()
    if settings.embedder is not Embedder.OPENAI and settings.openai_api_key is not None:
        yield _openai(settings, clock, connections)


def _openai(settings: Settings, clock: Clock, connections: ExitStack) -> GuardedEmbedder:
    # Its HTTP client is imported only if it is used: that keeps the start short.
    from hivelore.models.openai.provider import OpenAIEmbedder

    provider = OpenAIEmbedder(
        clock=clock,
        base_url=settings.embedding_url,
        api_key=_text(settings.openai_api_key),
        model=settings.embedding_model,
        dimension=settings.embedding_dimensions,
        send_dimensions=settings.embedding_model.startswith("text-embedding-3"),
        query_prefix=settings.embedding_query_prefix,
        document_prefix=settings.embedding_document_prefix,
    )
    connections.callback(provider.close)
    guarded = GuardedEmbedder(provider, clock)
    connections.callback(guarded.close)
    return guarded


def make_summarizer(settings: Settings, token_quota: TokenQuota, clock: Clock, connections: ExitStack) -> Summarizer:
    """Returns the summarizer of ended sessions."""
    rules = ExtractiveSummarizer()
    model = language_model(settings, clock, connections)
    return rules if model is None else ModelSummarizer(model, token_quota, rules, ids.nonce)


def language_model(settings: Settings, clock: Clock, connections: ExitStack) -> LanguageModel | None:
    """Returns the language model of summaries; None with rules. Not safe for concurrent use."""
    match settings.summarizer:
        case Summarizers.EXTRACTIVE:
            return None
        case Summarizers.CLAUDE:
            from hivelore.models.claude_cli import ClaudeCommand

            made = ClaudeCommand(
                model=settings.summarizer_model or "haiku",
                folder=settings.home,
                environment=endpoint.inherited(settings.home),
            )
        case Summarizers.ANTHROPIC:
            from hivelore.models.anthropic.messages import AnthropicModel

            made = AnthropicModel(
                clock=clock,
                base_url=settings.summarizer_url or "https://api.anthropic.com",
                api_key=_text(settings.anthropic_api_key),
                model=settings.summarizer_model or "claude-haiku-5-5",
            )
        case Summarizers.OPENAI:
            from hivelore.models.openai.chat import ChatModel

            made = ChatModel(
                clock=clock,
                base_url=settings.summarizer_url or "https://api.openai.com/v1",
                api_key=_text(settings.openai_api_key),
                model=settings.summarizer_model or "",
            )
    connections.callback(made.close)
    return made


def make_pair_reader(settings: Settings) -> PairReader | None:
    """Returns the model that compares two notes; None without models. It is loaded at its first use."""
    return None if settings.embedder is Embedder.NONE else OnnxPairReader()


def make_relevance_reader(settings: Settings) -> RelevanceReader | None:
    """Returns the model that reads a query and a memory; None without models. It is loaded at its first use."""
    return None if settings.embedder is Embedder.NONE else OnnxRelevanceReader()


def try_relevance_reader(reader: RelevanceReader) -> str | None:
    """Loads the relevance model and lets it read once. Returns why it fails; None if it works."""
    with suppress(HiveloreError):
        reader.read(_ANY_TEXT)(_ANY_TEXT)
    return reader.outage


def make_judge(settings: Settings, clock: Clock, connections: ExitStack) -> LanguageModel | None:
    """Returns the model that decides uncertain cases; None with rules. Raises Invalid without a language model."""
    if settings.judge is Judges.RULES:
        return None
    model = language_model(settings, clock, connections)
    if model is None:
        raise Invalid(
            "HIVELORE_JUDGE=model needs a language model: set HIVELORE_SUMMARIZER to claude, anthropic or openai.",
            field="HIVELORE_JUDGE",
        )
    return model


def _text(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _index(settings: Settings, provider: EmbeddingProvider) -> VectorIndex:
    fingerprint, dimension = provider.fingerprint, provider.dimension
    on_postgres = settings.postgres_url is not None
    match settings.vectors:
        case Vectors.SCAN:
            scan = ScanVectors(fingerprint, dimension, settings.vector_memory * 1_000_000)
            beyond = PgVectors if on_postgres else sqlite_vec
            return CappedVectors(scan, beyond(fingerprint, dimension))
        case Vectors.SQLITE_VEC if not on_postgres:
            return sqlite_vec(fingerprint, dimension)
        case Vectors.SQLITE_VEC:
            raise Invalid("HIVELORE_VECTORS=sqlite-vec needs a SQLite database.", field="HIVELORE_VECTORS")
        case Vectors.PGVECTOR if on_postgres:
            return PgVectors(fingerprint, dimension)
        case Vectors.PGVECTOR:
            raise Invalid("HIVELORE_VECTORS=pgvector needs a PostgreSQL database.", field="HIVELORE_VECTORS")
        case Vectors.EXACT:
            return ExactVectors(fingerprint, dimension)
