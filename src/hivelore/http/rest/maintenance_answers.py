"""What REST answers about taking changes back and about maintenance, for /openapi.json alone."""

from datetime import datetime

from hivelore.http.rest.answers import JobAnswer, Shown


class ExpiredAnswer(Shown):
    id: str
    name: str
    expired_at: datetime


class DuplicateGroupAnswer(Shown):
    older: str
    newer: str
    names: list[str]
    why: str


class MaintenanceResultAnswer(Shown):
    applied: bool
    """false: a preview, and nothing was written."""
    memories: int
    expired: int
    """How many are to go, exactly."""
    most_unasked: int
    """So many go without yesDelete."""
    examples: list[ExpiredAnswer]
    """Of those to go; not all of very many."""
    alike: list[DuplicateGroupAnswer]
    proposed: int
    purged: int
    batch: str | None
    """To take back what was purged."""
    done: dict[str, bool]


class MaintenanceJobAnswer(JobAnswer):
    result: MaintenanceResultAnswer | None
    """What maintenance would do, or did; null while it runs, where it has failed or was cancelled, and where a later
    job was begun since."""
