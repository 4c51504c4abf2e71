"""The operation that searches memories."""

from typing import Annotated, Any

from msgspec import Meta

from hivelore.core.operation import Lane, Operation, post
from hivelore.core.tool import OBJECTS, TEXT, Reply, Tool
from hivelore.core.values import DayOrInstant, Instant, Request, json_names
from hivelore.memories.model import Source
from hivelore.search.model import BUDGET_RANGE, DEFAULT_LIMIT, LIMIT_RANGE, Hit, RecallResult, ScopeChoice


class SearchMemories(Request, frozen=True, rename=json_names(agent="agentId")):
    query: str
    limit: Annotated[int, Meta(ge=LIMIT_RANGE[0], le=LIMIT_RANGE[1])] = DEFAULT_LIMIT
    scope: ScopeChoice = ScopeChoice.ALL
    source: Source | None = None
    agent: str | None = None
    """Owner of the memories."""
    session: str | None = None
    tag: str | None = None
    category: str | None = None
    project: str | None = None
    """None: the caller's project; ``*``: all, preferring the caller's."""
    now: Instant | None = None
    as_of: Instant | None = None
    superseded: bool = False
    only_fitting: bool = False
    rerank: bool = False
    diversity: Annotated[float, Meta(ge=0, le=1)] = 0.0
    budget: Annotated[int, Meta(ge=BUDGET_RANGE[0], le=BUDGET_RANGE[1])] | None = None
    created_after: DayOrInstant | None = None
    """Created at this time or later."""
    created_before: DayOrInstant | None = None
    """Created before this time."""


def recall_reply(answer: RecallResult) -> Reply:
    logged = {} if answer.id is None else {"recallId": answer.id}
    return Reply(answer.message, {**logged, "results": [_short(hit) for hit in answer.hits]})


def _short(hit: Hit) -> dict[str, Any]:
    memory = hit.memory
    return {
        "id": memory.id,
        "name": memory.name,
        "summary": memory.summary,
        **({"headings": hit.passage.headings} if hit.passage.headings else {}),
        "snippet": hit.passage.content,
        "source": memory.source,
        "scope": memory.scope,
        "similarity": round(hit.score.similarity, 4),
        "score": round(hit.score.total, 4),
        "relevance": hit.relevance,
        "fits": hit.fits,
        "alike": hit.alike,
        "createdAt": memory.created_at,
        **({} if memory.valid_until is None else {"validUntil": memory.valid_until}),
        **({} if hit.updated is None else {"updated": hit.updated}),
    }


RECALL = Operation(
    name="recall",
    summary="Returns the memories most relevant to a query, best first, each with the parts of its score. ``as_of``: "
    "what was valid at that time, in the version of that time; ``now``: ranks as if it were that time. ``superseded``: "
    "also memories that a newer one replaced. ``only_fitting``: no memories below the relevance floor. ``rerank``: a "
    "model reads the best hits together with the query and orders them, which takes up to 0.1 s. ``diversity``, "
    "0 to 1: prefers different memories to similar ones. ``budget``: maximum tokens of names and snippets, estimated. "
    "``created_after``, ``created_before``: only memories created at this time or later, or before this time. A date "
    "is a whole day in UTC.",
    request=SearchMemories,
    response=RecallResult,
    handler="hivelore.search.handlers:recall",
    lane=Lane.RECALL,
    http=post("/api/memory/search"),
    retrieval_mode=lambda answer: answer.path.value,
    tool=Tool(
        name="memory-search",
        description="Search what was learned in earlier sessions. Use it before you start a task.",
        arguments={
            "query": "",
            "scope": "agent: private, swarm: shared",
            "limit": "",
            "source": "",
            "tag": "",
            "category": "",
            "createdAfter": "date or time",
            "createdBefore": "",
            "project": "* for all",
            "asOf": "what was valid then",
            "superseded": "also superseded memories",
            "onlyFitting": "nothing rather than far-fetched results",
            "rerank": "",
            "budget": "tokens",
        },
        reply=recall_reply,
        output={"recallId": TEXT, "results": OBJECTS},
        read_only=True,
    ),
    verb="recall",
    tag="memory",
)
OPERATIONS = (RECALL,)
