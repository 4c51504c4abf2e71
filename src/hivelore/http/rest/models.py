"""What REST takes in. Unknown fields are refused; names are camelCase."""

import re
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Scope, Source
from hivelore.memories.normalizer import to_utc
from hivelore.observations.model import DEFAULT_TIER, GENERAL, SERVICE_LENGTH, TIERS, Confidence, Held, Operational
from hivelore.search.model import BUDGET_RANGE, DEFAULT_LIMIT, LIMIT_RANGE, ScopeChoice

Text = Annotated[str, StringConstraints(strict=True)]
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _written(value: object) -> object:
    """An instant as text: a number could be seconds or milliseconds, and nobody would see which was meant."""
    if isinstance(value, str) and not _DATE.match(value):
        raise ValueError("an instant is written like 2026-01-31T12:00:00Z")
    if isinstance(value, int | float):
        raise ValueError("an instant is a text, like 2026-01-31T12:00:00Z")
    return value


ChangeCursor = Annotated[AwareDatetime, BeforeValidator(_written)]


class Body(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", validate_by_name=False, validate_by_alias=True)


class OperationalBody(Body):
    """That a text is about running things, as an export says it; for operators."""

    service: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=SERVICE_LENGTH)] | None = None
    confidence: Annotated[float, Field(strict=True, ge=0, le=1)]
    confident_at: ChangeCursor
    tier: Annotated[int, Field(strict=True, ge=TIERS[0], le=TIERS[-1])] = DEFAULT_TIER
    persistent: Annotated[bool, Field(strict=True)] = False
    off: Annotated[bool, Field(strict=True)] = False

    def told(self) -> Operational:
        since = to_utc(self.confident_at, "confidentAt")
        assert since is not None
        service = None if self.service is None or self.service == GENERAL else Clean(self.service)
        held = Held(base=Confidence(self.confidence), since=since, is_off=self.off)
        return Operational.of(held, service=service, tier=self.tier, persistent=self.persistent)


class _Told(Body):
    """What can be said about a text to remember."""

    content: Text
    agent_id: Text | None = None
    source_task_id: Text | None = None
    source_path: Text | None = None
    external_id: Text | None = None
    category: Text | None = None
    tags: list[Text] = []
    project: Text | None = None
    session: Text | None = None
    author: Text | None = None
    summary: Text | None = None
    metadata: dict[str, Any] | None = None
    created_at: ChangeCursor | None = None
    expires_at: ChangeCursor | None = None
    subject: Text | None = None
    valid_from: ChangeCursor | None = None
    supersedes: Text | None = None
    operational: OperationalBody | None = None

    def told(self, *, name: str | None, scope: Scope, source: Source, project: str | None) -> Draft:
        return Draft(
            content=self.content,
            name=name,
            scope=scope,
            source=source,
            owner=None if self.agent_id is None else AgentId(self.agent_id),
            summary=self.summary,
            category=self.category,
            tags=tuple(self.tags),
            project=self.project or project,
            session=self.session,
            author=self.author,
            source_task_id=self.source_task_id,
            source_path=self.source_path,
            external_id=self.external_id,
            metadata=self.metadata,
            created_at=self.created_at,
            expires_at=self.expires_at,
            subject=self.subject,
            valid_from=self.valid_from,
            supersedes=self.supersedes,
            operational=None if self.operational is None else self.operational.told(),
        )


class IndexRequest(_Told):
    """A text to remember (A29)."""

    name: Text
    scope: Scope
    source: Source

    def draft(self, project: str | None) -> Draft:
        return self.told(name=self.name, scope=self.scope, source=self.source, project=project)


class BatchItem(_Told):
    """As for index, with everything but the content optional."""

    name: Text | None = None
    scope: Scope = Scope.AGENT
    source: Source = Source.MANUAL

    def draft(self, project: str | None) -> Draft:
        return self.told(name=self.name, scope=self.scope, source=self.source, project=project)


class BatchRequest(Body):
    """Up to 1,000 texts, kept in their order, all or none."""

    memories: Annotated[list[BatchItem], Field(min_length=1, max_length=1000)]


class SearchRequest(Body):
    query: Annotated[str, StringConstraints(strict=True, min_length=1)]
    limit: Annotated[int, Field(strict=True, ge=LIMIT_RANGE[0], le=LIMIT_RANGE[1])] = DEFAULT_LIMIT
    scope: ScopeChoice = ScopeChoice.ALL
    source: Source | None = None
    agent_id: Text | None = None
    session: Text | None = None
    project: Text | None = None
    now: ChangeCursor | None = None
    as_of: ChangeCursor | None = None
    superseded: Annotated[bool, Field(strict=True)] = False
    only_fitting: Annotated[bool, Field(strict=True)] = False
    diversity: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.0
    budget: Annotated[int, Field(strict=True, ge=BUDGET_RANGE[0], le=BUDGET_RANGE[1])] | None = None


class EditRequest(Body):
    """Only the given fields change."""

    content: Text = ""
    name: Text = ""
    summary: Text = ""
    scope: Scope = Scope.AGENT
    category: Text = ""
    tags: list[Text] = []
    project: Text | None = None
    metadata: dict[str, Any] = {}
    expires_at: ChangeCursor | None = None
    subject: Text | None = None
    valid_from: ChangeCursor | None = None
    supersedes: Text | None = None
    reason: Text | None = None

    def edit(self) -> Edit:
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return Edit(**given)


class RatingRequest(Body):
    useful: Annotated[bool, Field(strict=True)]
    session: Text | None = None


Instant = ChangeCursor | None
Status = Literal["all", "live", "expired"]
