"""The state of health as JSON."""

from hivelore.health.model import EXPLANATIONS, Problem, Worker
from hivelore.memories.codec import Object, instant


def reason(problem: Problem) -> Object:
    """A problem for callers without a key: nothing of its detail."""
    said = EXPLANATIONS[problem.cause]
    return {
        "cause": problem.cause.value,
        "message": said.what,
        "remedy": said.remedy,
        "since": instant(problem.since),
        "lasting": problem.lasting,
    }


def problem(problem: Problem) -> Object:
    return reason(problem) | {"detail": problem.detail}


def worker(worker: Worker) -> Object:
    return {
        "name": worker.name,
        "lastSuccess": instant(worker.last_success),
        "lastFailure": instant(worker.last_failure),
        "failuresInARow": worker.failures,
        "failures": worker.failed,
        "error": worker.error,
    }
