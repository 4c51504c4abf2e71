"""Every declared operation."""

from typing import Any

from hivelore.changes import operations as changes
from hivelore.core.operation import Operation
from hivelore.events import operations as events
from hivelore.feedback import operations as feedback
from hivelore.observations import operations as observations

OPERATIONS: tuple[Operation[..., Any], ...] = (
    *events.OPERATIONS,
    *changes.OPERATIONS,
    *feedback.OPERATIONS,
    *observations.OPERATIONS,
)
