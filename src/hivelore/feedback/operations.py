"""The operations of the recall log (N17)."""

from typing import Annotated

from msgspec import Meta

from hivelore.core.operation import Lane, Operation, get
from hivelore.core.values import Request
from hivelore.feedback.recalls import RecallPage


class ListRecalls(Request, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str | None = None
    agent: str | None = None
    memory: str | None = None


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
OPERATIONS = (LIST_RECALLS,)
