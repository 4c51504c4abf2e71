"""Sends the transcript of a session in a detached process of its hook, after the agent has the answer."""

import json
import signal
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.errors import Busy, HiveloreError
from hivelore.local import endpoint
from hivelore.local.transcript_capture import Refused, Sender, capture_pending, capture_session, note_waiting

if TYPE_CHECKING:
    from hivelore.hooks.client import Event
    from hivelore.memories.model import Json

EVENTS = ("Stop", "SubagentStop", "SessionEnd", "PreCompact", "UserPromptSubmit")
"""Events after which a transcript has grown. With a prompt it has the rest of the turn before."""
PAUSE = 1.5
"""Seconds until a second look: the last entries of a turn may be written after the event."""


def send_transcript(event: "Event", url: str | None, *, longest: float) -> None:
    """Send what the transcript of the event's session grew by, and other ones that wait. ``url`` is None if no service
    runs. What cannot be sent waits for a later event."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, longest)
    until = time.monotonic() + longest / 2
    file = _transcript(event)
    if file is None:
        return
    home = Path(endpoint.home_folder())

    def expired() -> bool:
        return time.monotonic() > until

    with suppress(HiveloreError, OSError):
        key = endpoint.key(endpoint.AGENT_KEY, home)
        if url is None:
            note_waiting(file, key, home)
            return
        with closing(Sender(url, key)) as sender:
            for pause in (0.0, PAUSE):
                time.sleep(pause)
                # Whatever is wrong with this file, the other sessions are sent.
                with suppress(Refused, Busy, OSError, ValueError, RecursionError):
                    capture_session(file, sender, home, expired)
            capture_pending(sender, home, expired)


def _transcript(event: "Event") -> Path | None:
    """Return the transcript that the event names; None for other events."""
    try:
        payload: Json = json.loads(event.payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict):
        return None
    name = event.fields.get("event") or payload.get("hook_event_name")
    path, session = payload.get("transcript_path"), payload.get("session_id")
    if name not in EVENTS or not isinstance(path, str) or not isinstance(session, str):
        return None
    file = Path(path)
    return file if file.is_absolute() and file.stem == session else None
