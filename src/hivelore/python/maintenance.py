"""What a hive offers to take changes back, and to keep itself in order; for operators and leads."""

from abc import ABC, abstractmethod

from hivelore.changes.model import BatchDetail, BatchPage, UndoResult
from hivelore.maintenance.model import MaintenancePlan, MaintenanceResult
from hivelore.python.argument_checks import ID, TEXT, TRUTH, WHOLE, check


class MaintenanceMethods(ABC):
    def undo(self, which: str, *, reason: str | None = None) -> UndoResult:
        """Take back a batch by its id, or the last change of a memory by the id of that: all of it or nothing.
        ``errors.Conflict`` where a memory was changed since."""
        check(ID, which=which)
        check(TEXT.or_none(), reason=reason)
        return self._undo(which, reason)

    @abstractmethod
    def batches(self, *, limit: int = 20, after: str | None = None, memory: str | None = None) -> BatchPage:
        """What was done and can be taken back, newest first. ``after`` is the ``next`` of the page before; ``memory``:
        only what changed this one."""

    @abstractmethod
    def batch(self, batch: str) -> BatchDetail:
        """One batch with the memories that it changed."""

    @abstractmethod
    def drop_batch(self, batch: str) -> None:
        """Keep nothing any more of what the memories of a batch were: it cannot be taken back. Only for operators."""

    def maintain(
        self,
        *,
        apply: bool = False,
        purge_expired: bool = False,
        merge: bool = False,
        reindex: bool = False,
        vacuum: bool = False,
        yes_delete: int | None = None,
    ) -> MaintenanceResult:
        """What maintenance would do; with ``apply`` it is done. ``yes_delete``: exactly how many are to go, where that
        is more than a share of all. Only for operators."""
        check(TRUTH, apply=apply, purge_expired=purge_expired, merge=merge, reindex=reindex, vacuum=vacuum)
        check(WHOLE.or_none(), yes_delete=yes_delete)
        wish = MaintenancePlan(purge_expired=purge_expired, merge=merge, reindex=reindex, vacuum=vacuum)
        return self._maintain(wish, apply, yes_delete)

    @abstractmethod
    def _undo(self, which: str, reason: str | None) -> UndoResult:
        """Take something back."""

    @abstractmethod
    def _maintain(self, wish: MaintenancePlan, apply: bool, yes_delete: int | None) -> MaintenanceResult:
        """Look, or do it."""
