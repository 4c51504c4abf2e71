"""Counts of answers that reached no agent, by day, program and reason."""

import json
from collections.abc import Mapping
from datetime import date, timedelta
from enum import StrEnum

from hivelore.core.values import Value

DAYS = 7
"""Days that are counted, today (UTC) included."""


class MissReason(StrEnum):
    """Why a hook printed no answer of the service."""

    LATE = "late"
    """The service did not answer within HIVELORE_HOOK_WAIT."""
    DOWN = "down"
    """No service could be reached."""
    REFUSED = "refused"
    """The service, or another program on its port, refused the event."""


class MissedAnswers(Value, frozen=True, kw_only=True):
    """Answers of the last ``DAYS`` days that were to carry memories and did not reach an agent program."""

    program: str
    late: int = 0
    down: int = 0
    refused: int = 0

    @property
    def by_reason(self) -> Mapping[MissReason, int]:
        return {MissReason.LATE: self.late, MissReason.DOWN: self.down, MissReason.REFUSED: self.refused}


Counts = Mapping[str, Mapping[str, Mapping[str, int]]]
"""By day (ISO), program and reason."""


def add_miss(counts: Counts, program: str, reason: MissReason, today: date) -> Counts:
    """Returns the counts with one more miss, without days that no longer count."""
    kept = {day: programs for day, programs in counts.items() if _counts_on(day, today)}
    programs = kept.get(today.isoformat(), {})
    reasons = programs.get(program, {})
    reasons = {**reasons, reason.value: reasons.get(reason.value, 0) + 1}
    return {**kept, today.isoformat(): {**programs, program: reasons}}


def sum_misses(counts: Counts, today: date) -> tuple[MissedAnswers, ...]:
    """Returns the sums of the days that count, by name of the program."""
    sums: dict[str, dict[str, int]] = {}
    for day, programs in counts.items():
        for program, reasons in programs.items() if _counts_on(day, today) else ():
            of_program = sums.setdefault(program, {})
            for reason, number in reasons.items():
                of_program[reason] = of_program.get(reason, 0) + number
    return tuple(MissedAnswers(program=program, **sums[program]) for program in sorted(sums))


def _counts_on(day: str, today: date) -> bool:
    return date.fromisoformat(day) > today - timedelta(days=DAYS)


def write_counts(counts: Counts) -> str:
    return json.dumps(counts)


def read_counts(text: str | None) -> Counts:
    """Reads what ``write_counts`` returned; None: nothing was counted yet."""
    return json.loads(text or "{}")
