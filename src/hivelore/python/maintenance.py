"""What a hive offers to take changes back, and to keep itself in order; for operators and leads."""

from abc import ABC, abstractmethod

from hivelore.changes import operations
from hivelore.maintenance.model import MaintenancePlan, MaintenanceResult
from hivelore.python.argument_checks import TRUTH, WHOLE, check
from hivelore.python.methods import method


class MaintenanceMethods(ABC):
    undo = method(operations.UNDO)
    batches = method(operations.LIST_BATCHES)
    batch = method(operations.GET_BATCH)
    drop_batch = method(operations.DROP_BATCH)

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
    def _maintain(self, wish: MaintenancePlan, apply: bool, yes_delete: int | None) -> MaintenanceResult:
        """Look, or do it."""
