"""The operations of operational memory (C19, C22, C23, C38)."""

from typing import Annotated, Literal

from msgspec import Meta

from hivelore.core.agents import Role
from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, delete, get, post, put
from hivelore.core.tool import TEXT, TEXTS, Reply, Tool
from hivelore.core.values import Request, Value
from hivelore.memories.model import MemoryId
from hivelore.observations.outcomes import Change, ConfidenceTimeline, Effect, ObservationInput, OperationalMemory
from hivelore.observations.token_budget import MAX_TOKENS

_OPERATORS = frozenset({Role.OPERATOR})
PageSize = Annotated[int, Meta(ge=1, le=500)]


class ListOperationalMemories(Request, frozen=True, kw_only=True):
    limit: PageSize = 50
    after: str | None = None
    service: str | None = None
    category: str | None = None
    status: Literal["all", "active", "inactive"] = "all"
    project: str | None = None


class OperationalMemoryPage(Value, frozen=True, kw_only=True):
    memories: tuple[OperationalMemory, ...]
    next: str | None


class ObserveResponse(Value, frozen=True, kw_only=True):
    effect: Effect
    about: tuple[MemoryId, ...]
    """Memories that it contradicts, or may repeat or contradict."""
    why: tuple[str, ...]
    memory: OperationalMemory


class NamedOperationalMemory(Request, frozen=True):
    memory: str


class ListObservations(Request, frozen=True):
    memory: str
    limit: PageSize = 50
    after: str | None = None


class ChangeOperationalMemory(Change, frozen=True):
    memory: str
    version: int | None = None
    """Expected version."""


class ForgetOperationalMemories(Request, frozen=True):
    ids: tuple[str, ...] = ()


class DeletedCount(Value, frozen=True):
    deleted: int


class CountDecayed(Request, frozen=True):
    pass


class DecayedCount(Value, frozen=True):
    deactivated: int


class GetContext(Request, frozen=True, kw_only=True):
    service: str | None = None
    budget: Annotated[int, Meta(ge=0, le=MAX_TOKENS)] | None = None
    """Tokens. None: HIVELORE_MEMORY_BUDGET decides; 0: an empty context."""
    tier: Annotated[int, Meta(ge=0, le=3)] | None = None
    model: str | None = None


class Context(Value, frozen=True, kw_only=True):
    environment: str
    """Active cooldowns, to be placed before ``text`` with a blank line between them; empty if there are none."""
    text: str
    """Empty if nothing is included."""
    included: int
    total: int
    """Number of active memories."""
    tokens: int


class GetContextText(Request, frozen=True, kw_only=True):
    service: str | None = None
    model: str | None = None


class ContextText(Value, frozen=True, kw_only=True):
    text: str
    """Not fenced; empty if nothing is included."""
    included: int
    total: int


def observe_status(done: ObserveResponse) -> int:
    return 200 if done.effect in (Effect.REINFORCED, Effect.KNOWN) else 201


def observe_reply(done: ObserveResponse) -> Reply:
    data = {"effect": done.effect, "memoryId": done.memory.id, "about": done.about}
    return Reply("; ".join(done.why) or "Stored.", data)


def context_reply(context: ContextText) -> Reply:
    return Reply(f"{context.included} of {context.total} memories.", {"text": context.text})


LIST_OPERATIONAL_MEMORIES = Operation(
    name="operational_memories",
    verb="observations",
    summary="Lists operational memories, newest first. ``service`` ``general`` selects those that apply to all "
    "services; ``after`` is the ``next`` of the previous page.",
    request=ListOperationalMemories,
    response=OperationalMemoryPage,
    handler="hivelore.observations.handlers:list_operational_memories",
    lane=Lane.READ,
    http=get("/memories"),
    tag="operations",
)
OBSERVE = Operation(
    name="observe",
    verb="observe",
    summary="Reports an observation about a running service. The same observation again raises the confidence of the "
    "memory, the opposite lowers it. An observation by an operator is stored without comparison, with tier 0 and "
    "without a session; only operators may set ``confidence`` and ``persistent``.",
    request=ObservationInput,
    response=ObserveResponse,
    handler="hivelore.observations.handlers:observe",
    lane=Lane.WRITE,
    http=post("/memories", status=observe_status, statuses=(200, 201)),
    stored=lambda _: 1,
    tool=Tool(
        name="memory-observe",
        capability=Capability.OPERATIONS,
        description="Report an observation about a running service, in one line. Repetition raises its confidence.",
        arguments={
            "observation": "",
            "category": "timing, dependency, behavior, remediation or maintenance",
            "service": "default: all services",
        },
        reply=observe_reply,
        output={"effect": TEXT, "memoryId": TEXT, "about": TEXTS},
    ),
    tag="operations",
)
FORGET_OPERATIONAL_MEMORIES = Operation(
    name="forget_operational_memories",
    summary="Permanently deletes up to 1,000 operational memories and returns how many existed.",
    request=ForgetOperationalMemories,
    response=DeletedCount,
    handler="hivelore.observations.handlers:forget_operational_memories",
    lane=Lane.WRITE,
    http=delete("/memories/bulk", body=True),
    roles=_OPERATORS,
    tag="operations",
)
COUNT_DECAYED = Operation(
    name="count_decayed",
    summary="Returns how many operational memories became inactive by decay since the previous call (C14). The decay "
    "itself does not depend on this operation.",
    request=CountDecayed,
    response=DecayedCount,
    handler="hivelore.observations.handlers:count_decayed",
    lane=Lane.WRITE,
    http=post("/memories/decay"),
    roles=_OPERATORS,
    tag="operations",
)
GET_OPERATIONAL_MEMORY = Operation(
    name="operational_memory",
    summary="Returns an operational memory.",
    request=NamedOperationalMemory,
    response=OperationalMemory,
    handler="hivelore.observations.handlers:get_operational_memory",
    lane=Lane.READ,
    http=get("/memories/{memory}"),
    tag="operations",
)
LIST_OBSERVATIONS = Operation(
    name="observations",
    verb="observations",
    summary="Returns the observations of an operational memory, oldest first, with its confidence over time until now "
    "(C38). ``after`` is the ``next`` of the previous page.",
    request=ListObservations,
    response=ConfidenceTimeline,
    handler="hivelore.observations.handlers:list_observations",
    lane=Lane.READ,
    http=get("/memories/{memory}/observations"),
    tag="operations",
)
CHANGE_OPERATIONAL_MEMORY = Operation(
    name="change_operational_memory",
    verb="curate",
    summary="Changes the given fields of an operational memory; a new text keeps the confidence. ``version``: only if "
    "this is still the current version, else Stale. A change by an agent becomes a proposal to operators, and Proposed "
    "is raised.",
    request=ChangeOperationalMemory,
    response=OperationalMemory,
    handler="hivelore.observations.handlers:change_operational_memory",
    lane=Lane.WRITE,
    http=put("/memories/{memory}", if_match="version"),
    tag="operations",
)
FORGET_OPERATIONAL_MEMORY = Operation(
    name="forget_operational_memory",
    verb="curate",
    summary="Permanently deletes an operational memory. A deletion by an agent becomes a proposal to operators, and "
    "Proposed is raised.",
    request=NamedOperationalMemory,
    response=type(None),
    handler="hivelore.observations.handlers:forget_operational_memory",
    lane=Lane.WRITE,
    http=delete("/memories/{memory}"),
    tag="operations",
)
GET_CONTEXT = Operation(
    name="context",
    verb="context",
    summary="Returns the operational context of an agent (C19, C21): active cooldowns and operational memories, each "
    "fenced as data. ``budget``: tokens, by default HIVELORE_MEMORY_BUDGET for the ``tier`` and ``model``.",
    request=GetContext,
    response=Context,
    handler="hivelore.observations.handlers:get_context",
    lane=Lane.READ,
    http=get("/api/operational-context"),
    tag="operations",
)
GET_CONTEXT_TEXT = Operation(
    name="context_text",
    summary="Returns the operational memories of a service as a text for an agent that asks for them.",
    request=GetContextText,
    response=ContextText,
    handler="hivelore.observations.handlers:get_context_text",
    lane=Lane.READ,
    tool=Tool(
        name="memory-context",
        capability=Capability.OPERATIONS,
        description="Read the operational memories of a service, highest confidence first.",
        arguments={"service": "", "model": "your model"},
        reply=context_reply,
        output={"text": TEXT},
        read_only=True,
    ),
    tag="operations",
)
OPERATIONS = (
    LIST_OPERATIONAL_MEMORIES,
    OBSERVE,
    FORGET_OPERATIONAL_MEMORIES,
    COUNT_DECAYED,
    GET_OPERATIONAL_MEMORY,
    LIST_OBSERVATIONS,
    CHANGE_OPERATIONAL_MEMORY,
    FORGET_OPERATIONAL_MEMORY,
    GET_CONTEXT,
    GET_CONTEXT_TEXT,
)
