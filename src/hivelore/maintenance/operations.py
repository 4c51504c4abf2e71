"""The operations of maintenance and of the integrity check (N14)."""

from hivelore.core.agents import Role
from hivelore.core.operation import Lane, Operation, delete, get, post
from hivelore.core.values import NoArguments, Request
from hivelore.maintenance.model import IntegrityReport, MaintenanceJob, MaintenanceResult

_OPERATORS = frozenset({Role.OPERATOR})


class Maintain(Request, frozen=True, kw_only=True):
    apply: bool = False
    purge_expired: bool = False
    merge: bool = False
    reindex: bool = False
    vacuum: bool = False
    yes_delete: int | None = None
    background: bool = False


class MaintenanceJobId(Request, frozen=True):
    job: str


MAINTAIN = Operation(
    name="maintain",
    verb="maintain",
    summary="Previews maintenance; with ``apply``, runs it. Merging and vacuuming run as a job, one at a time: if it "
    "takes longer than two seconds, or with ``background``, the answer is the job (202). ``yesDelete`` confirms the "
    "exact number of memories to purge, which is required for more than HIVELORE_PURGE_SHARE of all.",
    request=Maintain,
    response=MaintenanceResult,
    alternatives={202: MaintenanceJob},
    handler="hivelore.maintenance.handlers:maintain",
    lane=Lane.SLOW,
    http=post("/api/maintenance"),
    roles=_OPERATORS,
    tag="maintenance",
)
GET_MAINTENANCE_JOB = Operation(
    name="maintenance_job",
    verb="maintain",
    summary="Returns a maintenance job with its progress, and with its ``result`` once it is done. Only the result of "
    "the latest job is kept.",
    request=MaintenanceJobId,
    response=MaintenanceJob,
    handler="hivelore.maintenance.handlers:get_maintenance_job",
    lane=Lane.READ,
    http=get("/api/maintenance/{job}"),
    roles=_OPERATORS,
    tag="maintenance",
)
CANCEL_MAINTENANCE = Operation(
    name="cancel_maintenance",
    verb="maintain",
    summary="Cancels a maintenance job. Its completed changes stay and can be undone by their batch.",
    request=MaintenanceJobId,
    response=MaintenanceJob,
    handler="hivelore.maintenance.handlers:cancel_maintenance",
    lane=Lane.WRITE,
    http=delete("/api/maintenance/{job}"),
    roles=_OPERATORS,
    tag="maintenance",
)
CHECK_INTEGRITY = Operation(
    name="check",
    verb="doctor",
    summary="Tries to read, write and search, reads the whole database for damage, and starts the repair of missing "
    "index entries. Takes a while.",
    request=NoArguments,
    response=IntegrityReport,
    handler="hivelore.maintenance.handlers:check_integrity",
    lane=Lane.SLOW,
    http=get("/api/check"),
    roles=_OPERATORS,
    tag="service",
)
OPERATIONS = (MAINTAIN, GET_MAINTENANCE_JOB, CANCEL_MAINTENANCE, CHECK_INTEGRITY)
