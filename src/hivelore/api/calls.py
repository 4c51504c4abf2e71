"""Runs declared operations in the process that has the application."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, TypeVar

from hivelore.core.operation import Call, Operation
from hivelore.errors import Forbidden

R = TypeVar("R")


def run(app: Any, operation: Operation[..., R], request: Any, call: Call) -> R:
    """Calls the handler of an operation. Raises Forbidden for a role that the operation is not for, and what the
    handler raises."""
    if call.viewer.role not in operation.roles:
        allowed = " or ".join(f"an {role}" if role[0] in "ao" else f"a {role}" for role in sorted(operation.roles))
        raise Forbidden(f"Only {allowed} may do this. Use the key of one.")
    return _handler(operation.handler)(app, request, call)


_HANDLERS: dict[str, Callable[..., Any]] = {}


def _handler(name: str) -> Callable[..., Any]:
    found = _HANDLERS.get(name)
    if found is None:
        found = _HANDLERS[name] = resolve_name(name)
    return found
