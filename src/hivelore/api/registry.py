"""Every declared operation."""

from typing import Any

from hivelore.core.operation import Operation
from hivelore.events import operations as events

OPERATIONS: tuple[Operation[..., Any], ...] = (*events.OPERATIONS,)
