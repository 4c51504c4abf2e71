"""From what came in at a door to a question: limits checked, texts cleaned, the same at every door."""

from datetime import datetime

from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.model import NAME_LENGTH, MemoryId
from hivelore.memories.normalizer import CONTENT_LENGTH, FIELD_LENGTH, MAX_TAGS, canonical_subject, to_utc
from hivelore.search.model import (
    LIMIT_RANGE,
    QUERY_LENGTH,
    project_filter,
)

LIMITS = {
    "content": CONTENT_LENGTH,
    "name": NAME_LENGTH,
    "query": QUERY_LENGTH,
    "results": LIMIT_RANGE[1],
    "tags": MAX_TAGS,
}
"""The limits a caller should know of, in characters or numbers."""


def project_of(redactor: Redactor, project: str | None) -> Clean | None:
    return project_filter(clean_filter(redactor, project, "project"))


def subject_of(redactor: Redactor, subject: str | None) -> Clean | None:
    """As it is kept (``Normalizer.subject``)."""
    clean = clean_filter(redactor, subject, "subject")
    return None if clean is None else canonical_subject(clean)


def position_of(after: str | None) -> tuple[datetime, MemoryId] | None:
    """Where a page begins, from the ``next`` of the one before."""
    if after is None:
        return None
    at, _, memory = after.partition("~")
    try:
        position = to_utc(datetime.fromisoformat(at), "after")
    except ValueError:
        position = None
    if position is None or not memory:
        raise _not_next()
    return position, MemoryId(memory)


def _not_next() -> Invalid:
    return Invalid("after is not the `next` of a page. Start again without it.", field="after")


def clean_filter(redactor: Redactor, text: str | None, field: str) -> Clean | None:
    if text is None or not text.strip():
        return None
    if len(text) > FIELD_LENGTH:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {FIELD_LENGTH:,}.", field=field)
    return Clean(redactor.clean(text, field=field).strip())
