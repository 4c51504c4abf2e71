"""The operations of the recall log and of usefulness (N17)."""

from typing import Annotated

from msgspec import Meta

from hivelore.core.operation import Lane, Operation, delete, get, put
from hivelore.core.tool import Reply, Tool
from hivelore.core.values import Request
from hivelore.feedback.model import Usefulness
from hivelore.feedback.recalls import RecallPage
from hivelore.memories.operations import NamedMemory


class ListRecalls(Request, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str | None = None
    agent: str | None = None
    memory: str | None = None


class RateMemory(NamedMemory, frozen=True):
    useful: bool
    session: str | None = None


LIST_RECALLS = Operation(
    name="recalls",
    verb="recalls",
    summary="Lists logged recalls, newest first: who asked what, and which memories were returned with which score. "
    "``agent`` selects those of one agent, ``memory`` those that returned one memory; ``after`` is the ``next`` of the "
    "previous page.",
    request=ListRecalls,
    response=RecallPage,
    handler="hivelore.feedback.handlers:list_recalls",
    lane=Lane.READ,
    http=get("/api/recalls"),
    tag="recalls",
)
RATE_MEMORY = Operation(
    name="rate",
    summary="Records that a memory was useful or not, instead of an earlier rating in the same session, or on the same "
    "day without a session.",
    request=RateMemory,
    response=Usefulness,
    handler="hivelore.feedback.handlers:rate_memory",
    lane=Lane.WRITE,
    http=put("/api/memory/{memoryId}/rating"),
    tool=Tool(
        name="memory-rate",
        description="Report whether a memory was useful to you.",
        arguments={"memoryId": "", "useful": ""},
        reply=lambda _: Reply("Recorded.", {}),
    ),
    verb="rate",
    tag="memory",
)
RESET_USEFULNESS = Operation(
    name="reset_usefulness",
    summary="Deletes the recorded use of a memory. Only for operators.",
    request=NamedMemory,
    response=type(None),
    handler="hivelore.feedback.handlers:reset_usefulness",
    lane=Lane.WRITE,
    http=delete("/api/memory/{memoryId}/usefulness"),
    verb="rate",
    tag="memory",
)
OPERATIONS = (LIST_RECALLS, RATE_MEMORY, RESET_USEFULNESS)
