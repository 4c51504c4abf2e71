"""From what came in at a door to a question: limits checked, texts cleaned, the same at every door."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from hivelore.core.agents import Viewer
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.model import NAME_LENGTH, MemoryId
from hivelore.memories.normalizer import CONTENT_LENGTH, FIELD_LENGTH, MAX_TAGS, canonical_subject, to_utc
from hivelore.review.inbox import ReviewInbox
from hivelore.review.model import ProposalId, ProposalKind, ProposalPage
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
PROPOSALS_RANGE = (1, 100)

Status = Literal["all", "live", "expired"]
ProposalStatus = Literal["open", "decided", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalListing:
    """What a page of the review inbox may be asked for."""

    limit: int = 20
    after: str | None = None
    status: ProposalStatus = "open"
    kind: ProposalKind | None = None


def listed_proposals(
    review_inbox: ReviewInbox, listing: ProposalListing, viewer: Viewer, deadline: float | None = None
) -> ProposalPage:
    """A page of the proposals that the viewer may see."""
    _within(listing.limit, PROPOSALS_RANGE)
    after = position_of(listing.after)
    return review_inbox.page(
        viewer,
        None if after is None else (after[0], ProposalId(after[1])),
        listing.limit,
        is_open=None if listing.status == "all" else listing.status == "open",
        kind=listing.kind,
        deadline=deadline,
    )


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


def _within(value: float, span: tuple[int, int], field: str = "limit") -> None:
    least, most = span
    if not least <= value <= most:
        raise Invalid(f"{field} is {least} to {most}, not {value}.", field=field)


def clean_filter(redactor: Redactor, text: str | None, field: str) -> Clean | None:
    if text is None or not text.strip():
        return None
    if len(text) > FIELD_LENGTH:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {FIELD_LENGTH:,}.", field=field)
    return Clean(redactor.clean(text, field=field).strip())
