"""What a hook hands over: what the program told it, and what only the hook knew."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from hivelore.errors import Invalid
from hivelore.sessions.model import EventId
from hivelore.sessions.programs.dialect import Payload

MAX_ID = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Nothing in it is clean yet."""

    program: str
    id: EventId
    payload: Payload
    event: str | None = None
    """What the program calls the event, where the payload does not say."""
    at: datetime | None = None
    """None: just now."""
    project: str | None = None
    url: str | None = None
    """The service it was meant for, where somebody had said which."""
    key: str | None = None
    """The key it was to come in with, where one was given, without its secret."""
    task_id: str | None = None
    """HIVELORE_TASK_ID."""
    task_file: str | None = None
    """What stands in HIVELORE_TASK_FILE."""

    def task(self) -> tuple[str, str] | None:
        """Id and text of the current task (A45): as the file says, else the id alone. A file that says nothing of the
        kind counts as none."""
        try:
            told: object = json.loads(self.task_file or "null")
        except ValueError:
            told = None
        if isinstance(told, dict):
            task = cast(Mapping[str, object], told)
            number, text = _text(task.get("id")), _text(task.get("task"))
            if number is not None and text is not None:
                return number, text
        return None if self.task_id is None else (self.task_id, "")


def parse_envelope(data: object) -> Envelope:
    """An envelope as it was put aside. Raises Invalid for what is none."""
    if not isinstance(data, dict):
        raise Invalid("This is not what a hook has put aside.")
    fields = cast(Mapping[str, object], data)
    program, number, payload = fields.get("program"), fields.get("id"), fields.get("payload")
    if not (isinstance(program, str) and isinstance(number, str) and isinstance(payload, dict)):
        raise Invalid("This is not what a hook has put aside.")
    return Envelope(
        program=program,
        id=EventId(number[:MAX_ID]),
        payload=cast(Payload, payload),
        event=_text(fields.get("event")),
        at=_instant(fields.get("at")),
        project=_text(fields.get("project")),
        url=_text(fields.get("url")),
        key=_text(fields.get("key")),
        task_id=_text(fields.get("taskId")),
        task_file=_text(fields.get("taskFile")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _instant(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
