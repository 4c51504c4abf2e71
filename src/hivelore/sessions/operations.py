"""The operation that takes the events of agent programs."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from hivelore.core.operation import Lane, Operation, post
from hivelore.core.values import Instant, Request
from hivelore.local.endpoint import TAKEN

MAX_EVENT_ID = 100
"""Characters of the id that a hook gives its event."""


class HookEvent(Request, frozen=True, kw_only=True):
    """A payload of a hook with the facts that only the hook knew. Nothing is redacted yet."""

    program: str
    id: Annotated[str, Meta(min_length=1, max_length=MAX_EVENT_ID)]
    payload: dict[str, Any]
    protocol: Literal[1] = 1
    event: str | None = None
    """Event name, if the payload has none."""
    at: Instant | None = None
    """Time of the event; None means now."""
    project: str | None = None
    branch: str | None = None
    """Branch of the project that is checked out. The hook adds this and the next field at the start of a session."""
    changed_files: str | None = None
    """Paths of files that changed lately, one a line: uncommitted ones, then those of the last commits."""
    task_id: str | None = None
    """HIVELORE_TASK_ID."""
    task_file: str | None = None
    """Content of the file at HIVELORE_TASK_FILE."""
    nudge: Literal["evidence"] | None = None
    """HIVELORE_NUDGE, if it is on and the run is not headless: the agent may be asked for lessons when a turn ends."""


HANDLE_EVENT = Operation(
    name="hook_event",
    verb="hook",
    summary="Takes an event of an agent program. ``payload`` is what the program passed to its hook; the other fields "
    "are facts that only the hook knew. The answer is the reply in the format of the program; 204 for no reply.",
    request=HookEvent,
    response=dict[str, Any],
    alternatives={204: type(None)},
    handler="hivelore.sessions.handlers:handle_event",
    lane=Lane.READ,
    http=post("/api/hooks/{program}", headers=(TAKEN,)),
    tag="hooks",
)
OPERATIONS = (HANDLE_EVENT,)
