"""Lifetimes of memories (B08)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hivelore.memories.model import Source

LIFETIMES: Mapping[Source, timedelta | None] = {
    Source.TASK_COMPLETION: timedelta(days=7),
    Source.SESSION_SUMMARY: timedelta(days=3),
    Source.FILE_INDEX: timedelta(days=30),
    Source.MANUAL: None,
}


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Lifetime by source. None: no expiry."""

    by_source: Mapping[Source, timedelta | None] = field(default_factory=lambda: dict(LIFETIMES))

    def expiry(self, source: Source, born: datetime) -> datetime | None:
        """Returns when a memory written at ``born`` expires, to the second; None means never."""
        lifetime = self.by_source[source]
        if lifetime is None:
            return None
        return (born + lifetime).replace(microsecond=0)
