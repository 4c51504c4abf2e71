"""What settings are made of."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from hivelore.errors import Invalid


def _split(value: str | Iterable[Any]) -> tuple[Any, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() if isinstance(part, str) else part for part in parts if str(part).strip())


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
FolderSync = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)]

IN_MEMORY = "memory:"
_POSTGRES = ("postgresql", "postgres")
_SCHEME = re.compile(r"[\w+.-]*://|^\s*(?:postgres|sqlite|mysql|mariadb)[\w+.-]*:", re.IGNORECASE)
"""Also that of a URL which lacks a slash."""


def database_at(text: str) -> Path | str:
    """The SQLite file, or the URL of a PostgreSQL database, that a text names. Raises Invalid for what is neither, and
    says of a URL no more than its scheme: the rest may hold a password."""
    scheme, is_url, rest = text.partition("://")
    if is_url and scheme.lower() in _POSTGRES:
        return f"{scheme.lower()}://{rest}"
    names_scheme = _SCHEME.search(text)
    if names_scheme or not text.strip() or text == IN_MEMORY:
        said = f"{names_scheme[0].lstrip()}..." if names_scheme else repr(text)
        raise Invalid(
            f"{said} is neither a SQLite file, which is a path without a scheme, nor "
            "postgresql://user:password@host/database."
        )
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise Invalid(f"{text} leads nowhere ({error}).") from None


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
