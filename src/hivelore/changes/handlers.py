"""Answers the operations of the change journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.changes.model import BatchDetail, BatchId, BatchPage, UndoResult
from hivelore.changes.operations import ListBatches, NamedBatch, Undo
from hivelore.core.operation import Call
from hivelore.core.paging import position_of

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_batches(app: Application, request: ListBatches, call: Call) -> BatchPage:
    after = position_of(request.after)
    return app.undo_service.page(
        call.viewer,
        None if after is None else (after[0], BatchId(after[1])),
        request.limit,
        memory=None if request.memory is None else app.reading.resolve(request.memory, call.viewer, or_deleted=True),
        deadline=call.deadline,
    )


def get_batch(app: Application, request: NamedBatch, call: Call) -> BatchDetail:
    return app.undo_service.detail(app.undo_service.resolve(request.batch, call.viewer), call.viewer)


def drop_batch(app: Application, request: NamedBatch, call: Call) -> None:
    app.undo_service.drop(app.undo_service.resolve(request.batch, call.viewer), call.viewer)


def undo(app: Application, request: Undo, call: Call) -> UndoResult:
    return app.undo_service.undo(request.which, call.viewer, reason=request.reason, deadline=call.deadline)
