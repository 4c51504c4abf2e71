"""The routes that say whether the service is up and whether it can do its work; without a key."""

from fastapi import APIRouter, Request, Response

from hivelore.health import health_codec as wire
from hivelore.http.context import Context
from hivelore.http.problems import problem
from hivelore.http.rest import answers
from hivelore.http.rest.memories import json

router = APIRouter()
_UNREADY = "unready"


@router.get("/health/live", tags=["service"], response_model=answers.HealthAnswer)
async def live() -> Response:
    """Whether the process is up; needs no key and tells nothing else."""
    return json({"status": "ok"})


@router.get("/health/ready", tags=["service"], response_model=answers.HealthAnswer)
async def ready(request: Request) -> Response:
    """Whether the service can do its work; needs no key. 503 where it cannot, with `reasons`: each has a `cause`, what
    it means, what helps, `since` when, and whether it is `lasting`."""
    context: Context = request.app.state.context
    health = context.app.health.health()
    if health.is_ready:
        return json({"status": "ok"})
    reasons = [wire.reason(one) for one in health.problems]
    detail = " ".join(f"{one['message']} {one['remedy']}" for one in reasons)
    return problem(503, detail, _UNREADY, reasons=reasons)


router.get("/health", tags=["service"], response_model=answers.HealthAnswer)(ready)
