"""The tools agents get over MCP: what they take, what they answer, and which roles see them.

Every schema an agent is shown costs it context, so they are kept bare: no titles, short descriptions.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hivelore.domain import wire
from hivelore.domain.agent import AgentId, Role, Viewer
from hivelore.domain.draft import Draft
from hivelore.domain.memory import NAME_LENGTH, MemoryId, Scope, Source
from hivelore.domain.search import BUDGET_RANGE, DEFAULT_LIMIT, LIMIT_RANGE, Hit, ScopeChoice
from hivelore.errors import Invalid
from hivelore.server.context import Caller
from hivelore.server.pools import Lane
from hivelore.services.asking import answered, asked

Scopes = Literal["all", "agent", "swarm"]
Shelves = Literal["agent", "swarm"]
Sources = Literal["manual", "file_index", "session_summary", "task_completion"]
Categories = Literal["mistake-pattern", "best-practice", "codebase-knowledge", "preference"]


class Input(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True)


class SearchInput(Input):
    query: Annotated[str, Field(min_length=1)]
    scope: Annotated[Scopes, Field(description="agent: private ones, swarm: shared")] = "all"
    limit: Annotated[int, Field(ge=LIMIT_RANGE[0], le=LIMIT_RANGE[1])] = DEFAULT_LIMIT
    source: Sources | None = None
    project: Annotated[str | None, Field(description="* for all")] = None
    only_fitting: Annotated[bool, Field(description="nothing rather than far-fetched")] = False
    budget: Annotated[int | None, Field(ge=BUDGET_RANGE[0], le=BUDGET_RANGE[1], description="tokens")] = None


class GetInput(Input):
    memory_id: str


class StoreInput(Input):
    content: Annotated[str, Field(min_length=1)]
    name: str | None = None
    scope: Annotated[Shelves, Field(description="swarm shares it")] = "agent"
    tags: list[str] = []
    category: str | None = None
    project: str | None = None


class InjectInput(Input):
    agent_id: str
    learning: Annotated[str, Field(min_length=1)]
    category: Categories
    scope: Shelves = "swarm"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers."""

    message: str
    data: dict[str, Any]


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
        only_fitting=given.only_fitting,
        budget=given.budget,
    )
    answer = await caller.run(Lane.RECALL, lambda until: app.recalling.recall(query, caller.viewer, until))
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
        "createdAt": wire.instant(memory.created_at),
    }


async def _get(caller: Caller, given: GetInput) -> Reply:
    memory_id = _id(given)
    memory = await caller.run(Lane.RECALL, lambda _: caller.app.recalling.get(memory_id, caller.viewer))
    return Reply("Here it is.", {"memory": wire.memory(memory)})


def _id(given: GetInput) -> MemoryId:
    if len(given.memory_id) > NAME_LENGTH:
        raise Invalid("memoryId is too long to be one. Search again for its current id.", field="memoryId")
    return MemoryId(given.memory_id.lower())


async def _store(caller: Caller, given: StoreInput) -> Reply:
    draft = Draft(
        content=given.content,
        name=given.name,
        scope=Scope(given.scope),
        tags=tuple(given.tags),
        category=given.category,
        project=given.project or caller.project,
    )
    done = await caller.run(Lane.WRITE, lambda until: caller.app.remembering.remember(draft, caller.viewer, until))
    caller.context.metrics.writes.inc()
    message = "Stored." if done.created else "This was known already; it is the same memory."
    return Reply(message, {"memoryId": done.memory.id})


async def _delete(caller: Caller, given: GetInput) -> Reply:
    memory_id = _id(given)
    await caller.run(Lane.WRITE, lambda _: caller.app.remembering.forget(memory_id, caller.viewer))
    return Reply("Deleted.", {})


async def _inject(caller: Caller, given: InjectInput) -> Reply:
    if len(given.agent_id) > NAME_LENGTH:
        raise Invalid(
            "agentId is too long to be one. GET /api/agents tells the lead's key all of them.", field="agentId"
        )
    target, scope = AgentId(given.agent_id), Scope(given.scope)
    memory = await caller.run(
        Lane.WRITE,
        lambda _: caller.app.remembering.inject_learning(given.learning, given.category, target, caller.viewer, scope),
    )
    caller.context.metrics.writes.inc()
    return Reply("Injected.", {"memoryId": memory.id})


_LIST = {"type": "array", "items": {"type": "object"}}
_OBJECT = {"type": "object"}
_TEXT = {"type": "string"}

TOOLS = (
    Tool(
        name="memory-search",
        description="Search what was learned in earlier sessions. Use it before you start a task. Best first.",
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
        name="memory-store",
        description="Keep a solution, pattern, mistake, configuration or instruction for later sessions.",
        input=StoreInput,
        answers={"memoryId": _TEXT},
        run=_store,
    ),
    Tool(
        name="memory-delete",
        description="Forget a memory for good.",
        input=GetInput,
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
)
CAPABILITY = "memory"
"""The capability that these tools belong to (A27)."""
