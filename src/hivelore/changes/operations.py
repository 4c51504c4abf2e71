"""The operations of the change journal (N07, N14)."""

from typing import Annotated

from msgspec import Meta

from hivelore.changes.model import BatchDetail, BatchPage, UndoResult
from hivelore.core.agents import Role
from hivelore.core.operation import Lane, Operation, delete, get, post
from hivelore.core.values import Request, json_names


class ListBatches(Request, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str | None = None
    memory: str | None = None


class NamedBatch(Request, frozen=True):
    batch: str


class Undo(Request, frozen=True, rename=json_names(which="id")):
    which: str
    reason: str | None = None


LIST_BATCHES = Operation(
    name="batches",
    verb="batches",
    summary="Lists the batches that can be undone, newest first; not for workers. ``memory`` selects those that "
    "changed one memory; ``after`` is the ``next`` of the previous page.",
    request=ListBatches,
    response=BatchPage,
    handler="hivelore.changes.handlers:list_batches",
    lane=Lane.READ,
    http=get("/api/batches"),
    tag="maintenance",
)
GET_BATCH = Operation(
    name="batch",
    verb="batches",
    summary="Returns a batch and the memories that it changed.",
    request=NamedBatch,
    response=BatchDetail,
    handler="hivelore.changes.handlers:get_batch",
    lane=Lane.READ,
    http=get("/api/batches/{batch}"),
    tag="maintenance",
)
DROP_BATCH = Operation(
    name="drop_batch",
    verb="batches",
    summary="Deletes the previous states that a batch keeps. The batch cannot be undone any more.",
    request=NamedBatch,
    response=type(None),
    handler="hivelore.changes.handlers:drop_batch",
    lane=Lane.WRITE,
    http=delete("/api/batches/{batch}"),
    roles=frozenset({Role.OPERATOR}),
    tag="maintenance",
)
UNDO = Operation(
    name="undo",
    verb="undo",
    summary="Undoes a batch, or the last change of a memory: all of it or nothing. For operators and leads. Raises "
    "Conflict if a memory was changed since.",
    request=Undo,
    response=UndoResult,
    handler="hivelore.changes.handlers:undo",
    lane=Lane.SLOW,
    http=post("/api/undo"),
    tag="maintenance",
)
OPERATIONS = (LIST_BATCHES, GET_BATCH, DROP_BATCH, UNDO)
