"""The operations of re-embedding (B20)."""

from hivelore.core.agents import Role
from hivelore.core.jobs import Job
from hivelore.core.operation import Lane, Operation, delete, get, post
from hivelore.core.values import Request

_OPERATORS = frozenset({Role.OPERATOR})


class Reembed(Request, frozen=True):
    everything: bool = False


class ReembedJobId(Request, frozen=True):
    job: str


REEMBED = Operation(
    name="reembed",
    verb="reembed",
    summary="Starts to embed the passages that have no vector of the configured model; with ``everything``, all of "
    "them. Returns the running job if there is one.",
    request=Reembed,
    response=Job,
    handler="hivelore.embeddings.handlers:reembed",
    lane=Lane.WRITE,
    http=post("/api/memory/re-embed", status=202),
    roles=_OPERATORS,
    tag="service",
)
GET_REEMBED_JOB = Operation(
    name="reembed_job",
    verb="reembed",
    summary="Returns a re-embedding job with its progress.",
    request=ReembedJobId,
    response=Job,
    handler="hivelore.embeddings.handlers:get_reembed_job",
    lane=Lane.READ,
    http=get("/api/memory/re-embed/{job}"),
    roles=_OPERATORS,
    tag="service",
)
CANCEL_REEMBED = Operation(
    name="cancel_reembed",
    verb="reembed",
    summary="Cancels a re-embedding job. Vectors that exist by then stay.",
    request=ReembedJobId,
    response=Job,
    handler="hivelore.embeddings.handlers:cancel_reembed",
    lane=Lane.WRITE,
    http=delete("/api/memory/re-embed/{job}"),
    roles=_OPERATORS,
    tag="service",
)
OPERATIONS = (REEMBED, GET_REEMBED_JOB, CANCEL_REEMBED)
