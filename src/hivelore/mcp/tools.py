"""The tools agents get over MCP: what they take, what they answer, and which roles see them.

Every schema an agent is shown costs it context, so they are kept bare: no titles, short descriptions.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from msgspec import to_builtins
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hivelore.api.requests import answered, asked
from hivelore.core.agents import AgentId, Role, Viewer
from hivelore.core.operation import Lane
from hivelore.core.tool import Reply
from hivelore.errors import Invalid
from hivelore.http.context import Caller
from hivelore.memories import codec
from hivelore.memories.diff import difference
from hivelore.memories.drafts import Draft
from hivelore.memories.model import NAME_LENGTH, MemoryId, Scope, Source
from hivelore.memories.normalizer import to_utc
from hivelore.review.model import DECISIONS, ProposalId
from hivelore.search.model import BUDGET_RANGE, DEFAULT_LIMIT, LIMIT_RANGE, History, Hit, ScopeChoice

Scopes = Literal["all", "agent", "swarm"]
Shelves = Literal["agent", "swarm"]
Sources = Literal["manual", "file_index", "session_summary", "task_completion"]
Decisions = Literal["accept", "reject", "merge"]
Categories = Literal["mistake-pattern", "best-practice", "codebase-knowledge", "preference"]


class Input(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True)


class SearchInput(Input):
    query: Annotated[str, Field(min_length=1)]
    scope: Annotated[Scopes, Field(description="agent: private ones, swarm: shared")] = "all"
    limit: Annotated[int, Field(ge=LIMIT_RANGE[0], le=LIMIT_RANGE[1])] = DEFAULT_LIMIT
    source: Sources | None = None
    project: Annotated[str | None, Field(description="* for all")] = None
    as_of: Annotated[str | None, Field(description="what held then, ISO 8601")] = None
    superseded: Annotated[bool, Field(description="also what was replaced")] = False
    only_fitting: Annotated[bool, Field(description="nothing rather than far-fetched")] = False
    budget: Annotated[int | None, Field(ge=BUDGET_RANGE[0], le=BUDGET_RANGE[1], description="tokens")] = None


class NamedInput(Input):
    memory_id: str


class GetInput(NamedInput):
    as_of: str | None = None
    history: Annotated[bool, Field(description="who changed what, when, why")] = False


class RateInput(NamedInput):
    useful: bool


class StoreInput(Input):
    content: Annotated[str, Field(min_length=1)]
    name: str | None = None
    scope: Annotated[Shelves, Field(description="swarm shares it")] = "agent"
    tags: list[str] = []
    category: str | None = None
    project: str | None = None
    subject: Annotated[str | None, Field(description="key like db.port: replaces what held of it")] = None
    valid_from: str | None = None
    supersedes: Annotated[str | None, Field(description="id this replaces")] = None


class InjectInput(Input):
    agent_id: str
    learning: Annotated[str, Field(min_length=1)]
    category: Categories
    scope: Shelves = "swarm"


class ReviewInput(Input):
    proposal_id: Annotated[str | None, Field(description="else: list")] = None
    decision: Annotated[Decisions | None, Field(description="else: read")] = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    input: type[Input]
    answers: dict[str, Any]
    """Properties of the answer besides yourAgentId, success and message."""
    run: Callable[[Caller, Any], Awaitable[Reply]]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True
    roles: frozenset[Role] = frozenset(Role)
    capability: str = "memory"
    """What it belongs to (A27): tools are there that HIVELORE_CAPABILITIES names."""

    def is_for(self, viewer: Viewer) -> bool:
        return viewer.role in self.roles


async def _search(caller: Caller, given: SearchInput) -> Reply:
    app = caller.app
    project = caller.project if given.project is None else given.project
    query = asked(
        app.redactor,
        text=given.query,
        limit=given.limit,
        scope=ScopeChoice(given.scope),
        source=None if given.source is None else Source(given.source),
        project=project,
        as_of=_instant(given.as_of, "asOf"),
        superseded=given.superseded,
        only_fitting=given.only_fitting,
        budget=given.budget,
    )
    answer = await caller.run(Lane.RECALL, lambda until: app.search_service.recall(query, caller.viewer, until))
    caller.context.metrics.recalls.labels(answer.path.value).inc()
    answer = answered(answer, query, project)
    logged = {} if answer.id is None else {"recallId": answer.id}
    return Reply(answer.message, {**logged, "results": [_result(hit) for hit in answer.hits]})


def _result(hit: Hit) -> dict[str, Any]:
    memory = hit.memory
    return {
        "id": memory.id,
        "name": memory.name,
        "summary": memory.summary,
        "snippet": hit.passage.content,
        "source": memory.source.value,
        "scope": memory.scope.value,
        "similarity": round(hit.score.similarity, 4),
        "score": round(hit.score.total, 4),
        "fits": hit.fits,
        "alike": hit.alike,
        "createdAt": codec.instant(memory.created_at),
        **({} if memory.valid_until is None else {"validUntil": codec.instant(memory.valid_until)}),
    }


async def _get(caller: Caller, given: GetInput) -> Reply:
    memory_id = _id(given)
    reading, as_of = caller.app.reading, _instant(given.as_of, "asOf")
    memory = await caller.run(Lane.READ, lambda _: reading.get(memory_id, caller.viewer, as_of))
    history: dict[str, Any] = {}
    if given.history:
        history["history"] = _told(await caller.run(Lane.READ, lambda _: reading.history(memory_id, caller.viewer)))
    return Reply("Here it is.", {"memory": to_builtins(memory), **history})


def _told(history: History) -> dict[str, Any]:
    """Each version by what it changed: whole texts would come once for every version."""
    versions: list[dict[str, Any]] = [
        {
            "version": one.number,
            "at": codec.instant(one.at),
            "action": one.action.value,
            "actor": one.actor,
            "door": one.interface.value,
            "reason": one.reason,
            "changes": {} if before is None else difference(before, one).fields,
        }
        for before, one in zip((None, *history.versions), history.versions, strict=False)
    ]
    return {**to_builtins(history), "versions": versions}


def _instant(text: str | None, field: str) -> datetime | None:
    try:
        return None if text is None else to_utc(datetime.fromisoformat(text), field)
    except ValueError:
        raise Invalid(f"{field} is a time like 2026-01-31T12:00:00Z.", field=field) from None


def _id(given: NamedInput) -> MemoryId:
    if len(given.memory_id) > NAME_LENGTH:
        raise Invalid("memoryId is too long to be one. Search again for its current id.", field="memoryId")
    return MemoryId(given.memory_id.lower())


async def _rate(caller: Caller, given: RateInput) -> Reply:
    memory_id = _id(given)
    await caller.run(
        Lane.WRITE,
        lambda until: caller.app.rating.rate(memory_id, caller.viewer, useful=given.useful, until=until),
    )
    return Reply("Noted.", {})


async def _store(caller: Caller, given: StoreInput) -> Reply:
    draft = Draft(
        content=given.content,
        name=given.name,
        scope=Scope(given.scope),
        tags=tuple(given.tags),
        category=given.category,
        project=given.project or caller.project,
        subject=given.subject,
        valid_from=_instant(given.valid_from, "validFrom"),
        supersedes=given.supersedes,
    )
    done = await caller.run(Lane.WRITE, lambda until: caller.app.memory_service.remember(draft, caller.viewer, until))
    caller.context.metrics.writes.inc()
    message = "Stored." if done.created else "This was known already; it is the same memory."
    if done.placement_notice is not None:
        message = f"{message} {done.placement_notice}"
    return Reply(message, {"memoryId": done.memory.id})


async def _delete(caller: Caller, given: NamedInput) -> Reply:
    memory_id = _id(given)
    await caller.run(Lane.WRITE, lambda _: caller.app.memory_service.forget(memory_id, caller.viewer))
    return Reply("Deleted.", {})


async def _inject(caller: Caller, given: InjectInput) -> Reply:
    if len(given.agent_id) > NAME_LENGTH:
        raise Invalid(
            "agentId is too long to be one. GET /api/agents tells the lead's key all of them.", field="agentId"
        )
    target, scope = AgentId(given.agent_id), Scope(given.scope)
    memory = await caller.run(
        Lane.WRITE,
        lambda _: caller.app.memory_service.inject_learning(
            given.learning, given.category, target, caller.viewer, scope
        ),
    )
    caller.context.metrics.writes.inc()
    return Reply("Injected.", {"memoryId": memory.id})


async def _review(caller: Caller, given: ReviewInput) -> Reply:
    review_inbox, viewer, decision = caller.app.review_inbox, caller.viewer, given.decision
    if given.proposal_id is None:
        if decision is not None:
            raise Invalid(
                "Say about which proposal: proposalId. Without a decision they are listed.", field="proposalId"
            )
        page = await caller.run(Lane.READ, lambda _: review_inbox.page(viewer, None, 20, is_open=True))
        names = [{"id": memory, "name": name} for memory, name in page.names.items()]
        listed = to_builtins(page.proposals)
        return Reply(f"{len(listed)} wait for a decision.", {"proposals": listed, "memories": names})
    proposal = ProposalId(given.proposal_id[:NAME_LENGTH].lower())
    if decision is None:
        case = await caller.run(Lane.READ, lambda _: review_inbox.detail(proposal, viewer))
        return Reply(
            "Here it is.",
            {
                "proposals": [to_builtins(case.proposal)],
                "memories": to_builtins(case.memories),
            },
        )
    how, reason = DECISIONS[decision], given.reason
    done = await caller.run(
        Lane.WRITE, lambda until: review_inbox.decide(proposal, how, viewer, reason=reason, deadline=until)
    )
    return Reply(f"It is {how}.", {"proposals": [to_builtins(done)]})


_LIST = {"type": "array", "items": {"type": "object"}}
_OBJECT = {"type": "object"}
_TEXT = {"type": "string"}

TOOLS = (
    Tool(
        name="memory-search",
        description="Search what was learned in earlier sessions. Use it before you start a task.",
        input=SearchInput,
        answers={"recallId": _TEXT, "results": _LIST},
        run=_search,
        read_only=True,
    ),
    Tool(
        name="memory-get",
        description="Read one memory in full.",
        input=GetInput,
        answers={"memory": _OBJECT},
        run=_get,
        read_only=True,
    ),
    Tool(
        name="memory-rate",
        description="Say whether a memory was of use to you.",
        input=RateInput,
        answers={},
        run=_rate,
    ),
    Tool(
        name="memory-store",
        description="Keep a solution, pattern, mistake, configuration or instruction for later sessions.",
        input=StoreInput,
        answers={"memoryId": _TEXT},
        run=_store,
    ),
    Tool(
        name="memory-delete",
        description="Forget a memory for good.",
        input=NamedInput,
        answers={},
        run=_delete,
        destructive=True,
    ),
    Tool(
        name="inject-learning",
        description="Write a learning into another agent's memory.",
        input=InjectInput,
        answers={"memoryId": _TEXT},
        run=_inject,
        roles=frozenset({Role.LEAD, Role.OPERATOR}),
    ),
    Tool(
        name="memory-review",
        capability="review",
        description="What others propose about memories.",
        input=ReviewInput,
        answers={"proposals": _LIST, "memories": _LIST},
        run=_review,
        idempotent=False,
        destructive=True,
        roles=frozenset({Role.LEAD, Role.OPERATOR}),
    ),
)

_NOISE = ("title", "default", "additionalProperties")


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    return _bare(model.model_json_schema(by_alias=True)) | {"additionalProperties": False}


def output_schema(tool: Tool) -> dict[str, Any]:
    properties = {"yourAgentId": {"type": "string"}, "success": {"type": "boolean"}, "message": {"type": "string"}}
    return {"type": "object", "properties": properties | tool.answers}


def _bare(schema: Any) -> Any:
    """Without noise, and with ``X or null`` as plain X: leaving an argument out is how one says nothing."""
    if isinstance(schema, list):
        return [_bare(part) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, part in cast(dict[str, Any], schema).items():
        if name == "properties":
            kept[name] = {key: _bare(value) for key, value in part.items()}
        elif name == "anyOf":
            choices = [_bare(choice) for choice in part if choice != {"type": "null"}]
            kept |= choices[0] if len(choices) == 1 else {"anyOf": choices}
        elif name not in _NOISE:
            kept[name] = _bare(part)
    return kept
