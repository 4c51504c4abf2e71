"""Filters of searches and lists, from texts that callers provide."""

from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.errors import TooLarge
from hivelore.memories.normalizer import FIELD_LENGTH, canonical_subject
from hivelore.search.model import project_filter


def clean_filter(redactor: Redactor, text: str | None, field: str) -> Clean | None:
    """Returns a text as memories store it; None if it is blank. Raises TooLarge."""
    if text is None or not text.strip():
        return None
    if len(text) > FIELD_LENGTH:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {FIELD_LENGTH:,} are allowed.", field=field)
    return Clean(redactor.clean(text, field=field).strip())


def clean_project(redactor: Redactor, project: str | None) -> Clean | None:
    return project_filter(clean_filter(redactor, project, "project"))


def clean_subject(redactor: Redactor, subject: str | None) -> Clean | None:
    clean = clean_filter(redactor, subject, "subject")
    return None if clean is None else canonical_subject(clean)
