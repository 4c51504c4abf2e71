"""Makes a call easier that the service refuses, so that a result is delivered in part rather than not at all."""

from hivelore.core.values import replace
from hivelore.errors import Invalid
from hivelore.runner.ports import Call
from hivelore.runner.stream_events import cut_text

_TEXTS = ("output", "reason", "text")
LEAST_BYTES = 1_000
"""Texts that are not longer are not cut."""


def make_easier(call: Call, error: Invalid) -> Call | None:
    """Returns the call without the usage that the service refuses, else with half of its text; None if neither is
    possible."""
    if error.field == "usage" and call.body.get("usage") is not None:
        return replace(call, body={**call.body, "usage": None})
    for name in _TEXTS:
        size = len(str(call.body.get(name) or "").encode())
        if size > LEAST_BYTES:
            return replace(call, body={**call.body, name: cut_text(call.body[name], size // 2)})
    return None
