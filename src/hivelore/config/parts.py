"""What settings are made of."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode


def _split(value: str | Iterable[Any]) -> tuple[Any, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() if isinstance(part, str) else part for part in parts if str(part).strip())


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Folders = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)]


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
