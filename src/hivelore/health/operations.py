"""The operation that returns the status of the service."""

from hivelore.core.operation import Lane, Operation, get
from hivelore.core.values import NoArguments
from hivelore.health.model import Status

GET_STATUS = Operation(
    name="status",
    verb="status",
    summary="Returns the state of engines, models, queues and background workers, without texts and names. Values from "
    "the database are null while it is unavailable.",
    request=NoArguments,
    response=Status,
    handler="hivelore.health.handlers:get_status",
    lane=Lane.READ,
    http=get("/api/status"),
    during_outage=True,
    tag="service",
)
OPERATIONS = (GET_STATUS,)
