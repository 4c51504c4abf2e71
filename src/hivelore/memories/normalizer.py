"""Normalization of drafts: redaction, names, summaries and chunks; also of the filters and short texts of callers.

This work is slow and happens before a transaction begins.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import isfinite
from unicodedata import normalize

from hivelore.core.agents import AgentId, Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import METADATA_VALUES, Redactor
from hivelore.core.text import Clean, in_one_line
from hivelore.core.values import replace, start_of
from hivelore.errors import Forbidden, Invalid, TooLarge
from hivelore.memories.chunking import chunk
from hivelore.memories.drafts import AttributedDraft, Draft, QuotedDraft
from hivelore.memories.model import (
    DEFAULT_CATEGORY,
    NAME_LENGTH,
    SUBJECT_LENGTH,
    Chunk,
    Json,
    Lifetimes,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    Trust,
)
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.observations.model import DEFAULT_TIER, GENERAL, Operational
from hivelore.observations.naming import DEFAULT_NAMING, Naming, check_length, check_name
from hivelore.search.model import ANY_PROJECT, project_filter

CONTENT_LENGTH = 2_000_000
"""Maximum characters of one memory: about a thousand chunks."""
MAX_TAGS = 100
FIELD_LENGTH = 4_096
SESSION_LENGTH = NAME_LENGTH
CLOCK_SLACK = timedelta(days=1)
"""How far in the future a reported time may be, because clocks of other machines differ."""


@dataclass(frozen=True, slots=True)
class NormalizedDraft:
    """A draft after redaction, normalization and chunking."""

    memory: Memory
    chunks: tuple[Chunk, ...]
    draft: Draft


class Normalizer:
    def __init__(
        self,
        redactor: Redactor,
        lifetimes: Lifetimes,
        clock: Clock,
        new_id: Callable[[datetime], MemoryId],
        naming: Naming = DEFAULT_NAMING,
    ) -> None:
        self._redactor = redactor
        self._lifetimes = lifetimes
        self._clock = clock
        self._new_id = new_id
        self._naming = naming

    def normalize(self, draft: Draft, viewer: Viewer, target: AgentId | None = None) -> NormalizedDraft:
        """Returns the draft as a memory with a new id. ``target``: owner of the memory, already authorized by the
        caller."""
        now = self._clock.now()
        content = self.content(draft.content)
        owner = target or _owner_of(draft, viewer)
        if owner is None and draft.scope is Scope.AGENT:
            raise Invalid("A private memory needs an agent: name one (agentId) or use scope swarm.", field="agentId")
        created = to_utc(draft.created_at, "createdAt") or now
        if created > now + CLOCK_SLACK:
            raise Invalid("createdAt lies in the future.", field="createdAt")
        name, summary = self._name_and_summary(draft, content)
        memory = Memory(
            id=self._new_id(now),
            owner=owner,
            scope=draft.scope,
            name=name,
            content=content,
            summary=summary,
            source=draft.source,
            category=self.category(draft.category) or DEFAULT_CATEGORY,
            tags=self.tags(draft.tags),
            project=self.project(draft.project),
            session=self.field(draft.session, "session"),
            author=self.field(draft.author, "author"),
            source_task_id=self.field(draft.source_task_id, "sourceTaskId"),
            source_path=self.field(draft.source_path, "sourcePath"),
            external_id=self.field(draft.external_id, "externalId"),
            metadata=self.metadata(draft.metadata or {}),
            created_at=created,
            updated_at=now,
            expires_at=to_utc(draft.expires_at, "expiresAt") or self._lifetimes.expiry(draft.source, now),
            provenance=_provenance_of(draft, viewer),
            subject=self.subject(draft.subject),
            valid_from=self.valid_from(draft.valid_from, created),
            supersedes=self.memory_reference(draft.supersedes),
            operational=None if draft.operational is None else self._operational(draft.operational, viewer, now),
        )
        return NormalizedDraft(memory, chunk(content), draft)

    def new_id(self) -> MemoryId:
        return self._new_id(self._clock.now())

    def content(self, text: str) -> Clean:
        _check_content_length(text)
        content = self._redactor.clean(text, field="content")
        if not content.strip():
            found = "contains only private text, which is never stored" if text.strip() else "is empty"
            raise Invalid(f"The content {found}. Provide the text to store.", field="content")
        return content

    def text(self, text: str, name: str) -> Clean:
        """Returns a part of a content after redaction, without surrounding blanks; it may be empty."""
        _check_content_length(text, name)
        return Clean(self._redactor.clean(text, field=name).strip())

    def _name_and_summary(self, draft: Draft, content: Clean) -> tuple[Clean, Clean]:
        """Returns the given name and summary; a missing one is derived from the content."""
        name = None if draft.name is None else self.name(draft.name)
        summary = self.field(draft.summary, "summary")
        if name is not None and summary is not None:
            return name, summary
        line = summarise(content)
        return name or Clean(name_from_summary(line)), summary or Clean(line)

    def _operational(self, given: Operational, viewer: Viewer, now: datetime) -> Operational:
        """Restricts operational fields: only operators may set the highest tier or disable decay."""
        if given.held.since > now + CLOCK_SLACK:
            raise Invalid("confidentAt lies in the future.", field="operational")
        known = replace(given, service=self.service(given.service))
        if viewer.role is Role.OPERATOR:
            return known
        return replace(known, tier=max(known.tier, DEFAULT_TIER), persistent=False)

    def name(self, name: str) -> Clean:
        if len(name) > FIELD_LENGTH:  # Too long for redaction.
            raise Invalid(f"A name has 1 to {NAME_LENGTH} characters, this one {len(name):,}.", field="name")
        clean = Clean(self._redactor.clean(name, field="name").strip())
        if not 1 <= len(clean) <= NAME_LENGTH:
            raise Invalid(f"A name has 1 to {NAME_LENGTH} characters, this one {len(clean)}.", field="name")
        return clean

    def category(self, category: str | None) -> Clean | None:
        return clean_category(self._redactor, category)

    def category_filter(self, category: str | None) -> Clean | None:
        return clean_category_filter(self._redactor, category)

    def category_among(self, category: str, known: Iterable[str]) -> str | None:
        """Returns the one of the known categories that is meant, in any spelling."""
        key = self._naming.category_key
        wanted = key(self.category(category) or "")
        return next((one for one in known if key(one) == wanted), None)

    def service(self, service: str | None) -> Clean | None:
        return clean_service(self._redactor, self._naming, service)

    def service_filter(self, service: str | None) -> Clean | None:
        return clean_service_filter(self._redactor, self._naming, service)

    def subject(self, subject: str | None) -> Clean | None:
        clean = self.field(subject, "subject")
        if clean is None:
            return None
        same = canonical_subject(clean)
        if len(same) > SUBJECT_LENGTH:
            raise Invalid(f"A subject has at most {SUBJECT_LENGTH} characters, this one {len(same)}.", field="subject")
        return same

    def valid_from(self, given: datetime | None, created: datetime | None = None) -> datetime | None:
        since = to_utc(given, "validFrom")
        if since is not None and since > self._clock.now() + CLOCK_SLACK:
            raise Invalid("validFrom lies in the future. Store the memory once it is valid.", field="validFrom")
        return None if since == created else since

    def memory_reference(self, given: str | None) -> MemoryId | None:
        clean = self.field(given, "supersedes")
        return None if clean is None else MemoryId(clean)

    def tags(self, tags: Sequence[str]) -> tuple[Clean, ...]:
        cleaned = (self.field(tag, "tags") for tag in _unique_tags(tags))
        return tuple(dict.fromkeys(tag for tag in cleaned if tag is not None))

    def project(self, project: str | None) -> Clean | None:
        """Returns the normalized project. Raises Invalid for the wildcard."""
        clean = self.field(project, "project")
        if clean == ANY_PROJECT:
            raise Invalid(
                f"The project {ANY_PROJECT} stands for all projects in a search and cannot contain memories. Choose "
                "another one, or none (--project and X-Hivelore-Project also set it).",
                field="project",
            )
        return clean

    def field(self, text: str | None, name: str) -> Clean | None:
        """Returns a short text after redaction; None if nothing is left of it."""
        if text is None or not text.strip():
            return None
        _check_field_length(text, name)
        return Clean(self._redactor.clean(text, field=name).strip()) or None

    def metadata(self, metadata: Mapping[str, Json]) -> dict[str, Json]:
        """Returns the redacted metadata. Raises TooLarge, or Invalid for numbers beyond 64 bits."""
        _check_metadata_size(metadata)
        clean = self._redactor.clean_metadata(metadata)
        _check_numbers(clean)
        return clean

    def path(self, path: str) -> Clean:
        return self._redactor.clean(path, field="sourcePath")


def check_sizes(draft: Draft) -> None:
    """Raises TooLarge or Invalid for oversized fields before redaction scans them."""
    _check_content_length(draft.content)
    _unique_tags(draft.tags)
    _check_metadata_size(draft.metadata or {})
    for name, text in (
        ("summary", draft.summary),
        ("project", draft.project),
        ("session", draft.session),
        ("author", draft.author),
        ("sourceTaskId", draft.source_task_id),
        ("sourcePath", draft.source_path),
        ("externalId", draft.external_id),
        ("subject", draft.subject),
        ("supersedes", draft.supersedes),
    ):
        _check_field_length(text or "", name)


def _check_content_length(text: str, name: str = "content") -> None:
    if len(text) > CONTENT_LENGTH:
        raise TooLarge(
            f"The {name} has {len(text):,} characters; a memory may have {CONTENT_LENGTH:,}. Split it.", field=name
        )


def _check_field_length(text: str, name: str) -> None:
    if len(text) > FIELD_LENGTH and text.strip():
        raise TooLarge(f"{name} has {len(text):,} characters; at most {FIELD_LENGTH:,}.", field=name)


def _unique_tags(tags: Sequence[str]) -> Iterable[str]:
    unique = dict.fromkeys(stripped for tag in tags if (stripped := tag.strip()))
    if len(unique) > MAX_TAGS:
        raise Invalid(f"A memory has at most {MAX_TAGS} tags, this one {len(unique)}.", field="tags")
    return unique


def _check_metadata_size(metadata: Mapping[str, Json]) -> None:
    left, characters, values = list[Json]([dict(metadata)]), 0, 0
    while left:
        value = left.pop()
        values += 1
        if isinstance(value, dict):
            characters += sum(map(len, value))
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
        elif isinstance(value, str):
            characters += len(value)
        if values > METADATA_VALUES + 1:
            raise TooLarge(f"metadata holds more than {METADATA_VALUES} values: send fewer.", field="metadata")
        if characters > CONTENT_LENGTH:
            raise TooLarge(f"metadata has more than {CONTENT_LENGTH:,} characters: send less.", field="metadata")


def _provenance_of(draft: Draft, viewer: Viewer) -> Provenance:
    if isinstance(draft, AttributedDraft):
        return Provenance(actor=draft.actor, interface=viewer.interface, trust=draft.trust)
    trust = draft.trust if isinstance(draft, QuotedDraft) else Trust.AGENT
    if viewer.role is Role.OPERATOR and trust is Trust.AGENT:
        trust = Trust.OPERATOR
    return Provenance(actor=viewer.agent, interface=viewer.interface, trust=trust)


def _owner_of(draft: Draft, viewer: Viewer) -> AgentId | None:
    if draft.owner is None or draft.owner == viewer.agent:
        return viewer.agent
    if viewer.role is not Role.OPERATOR:
        raise Forbidden("Only an operator's key may write for another agent. Leave agentId out to write your own.")
    return draft.owner


def canonical_subject(subject: Clean) -> Clean:
    """Returns the canonical form: lower case, NFC, single spaces."""
    return Clean(normalize("NFC", " ".join(subject.lower().split())))


def to_utc(instant: datetime | None, field: str) -> datetime | None:
    if instant is None:
        return None
    if instant.tzinfo is None:
        raise Invalid(f"{field} needs a time zone, like 2026-01-31T12:00:00Z.", field=field)
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise Invalid(f"{field} is outside the range of years in UTC.", field=field) from None


def created_range(after: date | None, before: date | None) -> tuple[datetime | None, datetime | None]:
    """Returns the bounds of a filter by creation time. Raises Invalid if nothing can be between them."""
    first = None if after is None else to_utc(start_of(after), "createdAfter")
    end = None if before is None else to_utc(start_of(before), "createdBefore")
    if first is not None and end is not None and first >= end:
        raise Invalid(
            "createdBefore (--until) must be later than createdAfter (--since). For one day, use the next day as "
            "createdBefore.",
            field="createdBefore",
        )
    return first, end


def _check_numbers(value: Json) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            _check_numbers(one)
    elif (isinstance(value, int) and not -(2**63) <= value < 2**63) or (
        isinstance(value, float) and not isfinite(value)
    ):
        raise Invalid("metadata has a number beyond 64 bits. Write it as text.", field="metadata")


def clean_filter(redactor: Redactor, text: str | None, field: str) -> Clean | None:
    """Returns a text as memories store it; None if nothing is left of it. Raises TooLarge."""
    if text is None or not text.strip():
        return None
    if len(text) > FIELD_LENGTH:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {FIELD_LENGTH:,} are allowed.", field=field)
    return Clean(redactor.clean(text, field=field).strip()) or None


def clean_category(redactor: Redactor, category: str | None) -> Clean | None:
    """Returns the new name of a category; None if it is blank. Raises Invalid for any other that is not a valid
    name."""
    return _check_clean(clean_category_filter(redactor, category), "category")


def clean_category_filter(redactor: Redactor, category: str | None) -> Clean | None:
    """Returns the name of a category to look for, which may be one that new memories cannot have; None if it is blank.
    Raises TooLarge."""
    return _clean_name(redactor, category, "category")


def clean_service(redactor: Redactor, naming: Naming, service: str | None) -> Clean | None:
    """Returns the new name of a service, GENERAL for one that stands for all services; None if it is blank. Raises
    Invalid for any other that is not a valid name."""
    return _check_clean(clean_service_filter(redactor, naming, service), "service")


def clean_service_filter(redactor: Redactor, naming: Naming, service: str | None) -> Clean | None:
    """Like ``clean_category_filter``, for services; GENERAL for one that stands for all services."""
    clean = _clean_name(redactor, service, "service")
    return GENERAL if clean is not None and naming.is_general(clean) else clean


def _clean_name(redactor: Redactor, text: str | None, field: str) -> Clean | None:
    name = in_one_line(text or "")
    check_length(name, field)
    clean = Clean(in_one_line(redactor.clean(name, field=field)))
    check_length(clean, field)  # A mask may be longer than the secret.
    return clean or None


def _check_clean(name: Clean | None, field: str) -> Clean | None:
    if name is not None:
        check_name(name, field)
    return name


def clean_project(redactor: Redactor, project: str | None) -> Clean | None:
    return project_filter(clean_filter(redactor, project, "project"))


def clean_subject(redactor: Redactor, subject: str | None) -> Clean | None:
    clean = clean_filter(redactor, subject, "subject")
    return None if clean is None else canonical_subject(clean)


def clean_line(redactor: Redactor, text: str | None, field: str, most: int) -> Clean | None:
    """Returns the label in one line; None if nothing is left of it. Raises TooLarge for more than ``most`` characters,
    Invalid for text that cannot be stored."""
    if text is None or not text.strip():
        return None
    _refuse_longer(text, field, most)
    clean = Clean(in_one_line(redactor.clean(text, field=field)))
    _refuse_longer(clean, field, most)  # A mask may be longer than the secret.
    return clean or None


def _refuse_longer(text: str, field: str, most: int) -> None:
    if len(text) > most:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {most:,}.", field=field)
