"""From what came in at a door to a question: limits checked, texts cleaned, the same at every door."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.paging import position_of
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.model import NAME_LENGTH, Source
from hivelore.memories.normalizer import CONTENT_LENGTH, FIELD_LENGTH, MAX_TAGS, canonical_subject, to_utc
from hivelore.memories.reader import MemoryReader
from hivelore.search.model import (
    BUDGET_RANGE,
    DEFAULT_LIMIT,
    LIMIT_RANGE,
    MemoryPage,
    Query,
    RecallResult,
    ScopeChoice,
    project_filter,
)

QUERY_LENGTH = 100_000
LIMITS = {
    "content": CONTENT_LENGTH,
    "name": NAME_LENGTH,
    "query": QUERY_LENGTH,
    "results": LIMIT_RANGE[1],
    "tags": MAX_TAGS,
}
"""The limits a caller should know of, in characters or numbers."""
PAGE_RANGE = (1, 500)

Status = Literal["all", "live", "expired"]


def asked(
    redactor: Redactor,
    *,
    text: str,
    limit: int = DEFAULT_LIMIT,
    scope: ScopeChoice = ScopeChoice.ALL,
    source: Source | None = None,
    agent: AgentId | None = None,
    session: str | None = None,
    project: str | None = None,
    now: datetime | None = None,
    as_of: datetime | None = None,
    superseded: bool = False,
    only_fitting: bool = False,
    diversity: float = 0.0,
    budget: int | None = None,
) -> Query:
    """A query, or Invalid with the field at fault."""
    if not text.strip():
        raise Invalid("The query is empty: say what you are looking for.", field="query")
    if len(text) > QUERY_LENGTH:
        raise Invalid(f"The query has {len(text):,} characters; at most {QUERY_LENGTH:,}.", field="query")
    _within(limit, LIMIT_RANGE)
    _within(diversity, (0, 1), "diversity")
    if budget is not None:
        _within(budget, BUDGET_RANGE, "budget")
    return Query(
        text=redactor.clean(text, field="query"),
        limit=limit,
        scope=scope,
        source=source,
        owner=agent,
        session=_clean(redactor, session, "session"),
        project=project_of(redactor, project),
        now=to_utc(now, "now"),
        as_of=to_utc(as_of, "asOf"),
        superseded=superseded,
        only_fitting=only_fitting,
        diversity=diversity,
        budget=budget,
    )


def answered(answer: RecallResult, query: Query, project: str | None) -> RecallResult:
    """The answer as a door gives it: it says so when no project narrowed the search (N16)."""
    if query.project is not None or project is not None:
        return answer
    return replace(answer, message=f"{answer.message} Project unknown: all projects were searched.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a page of memories may be asked for (A12)."""

    limit: int = 50
    after: str | None = None
    scope: ScopeChoice = ScopeChoice.ALL
    source: Source | None = None
    agent: AgentId | None = None
    project: str | None = None
    session: str | None = None
    tag: str | None = None
    category: str | None = None
    status: Status = "all"
    subject: str | None = None
    as_of: datetime | None = None
    superseded: bool = False
    created_after: datetime | None = None
    created_before: datetime | None = None


def listed(reading: MemoryReader, redactor: Redactor, listing: Listing, viewer: Viewer) -> MemoryPage:
    """A page of what the viewer may see."""
    _within(listing.limit, PAGE_RANGE)
    as_of = to_utc(listing.as_of, "asOf")
    at = as_of or reading.now()
    where = replace(
        reading.widest_filter(viewer, listing.scope),
        owner=listing.agent,
        source=listing.source,
        project=project_of(redactor, listing.project),
        session=_clean(redactor, listing.session, "session"),
        tag=_clean(redactor, listing.tag, "tag"),
        category=_clean(redactor, listing.category, "category"),
        subject=subject_of(redactor, listing.subject),
        superseded=None if listing.superseded or as_of is not None else False,
        held_at=as_of,
        live_at=at if listing.status == "live" else None,
        expired_at=at if listing.status == "expired" else None,
        created_after=to_utc(listing.created_after, "createdAfter"),
        created_before=to_utc(listing.created_before, "createdBefore"),
    )
    return reading.page(where, position_of(listing.after), listing.limit, viewer)


def project_of(redactor: Redactor, project: str | None) -> Clean | None:
    return project_filter(_clean(redactor, project, "project"))


def subject_of(redactor: Redactor, subject: str | None) -> Clean | None:
    """As it is kept (``Normalizer.subject``)."""
    clean = _clean(redactor, subject, "subject")
    return None if clean is None else canonical_subject(clean)


def _within(value: float, span: tuple[int, int], field: str = "limit") -> None:
    least, most = span
    if not least <= value <= most:
        raise Invalid(f"{field} is {least} to {most}, not {value}.", field=field)


def _clean(redactor: Redactor, text: str | None, field: str) -> Clean | None:
    if text is None or not text.strip():
        return None
    if len(text) > FIELD_LENGTH:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {FIELD_LENGTH:,}.", field=field)
    return Clean(redactor.clean(text, field=field).strip())
