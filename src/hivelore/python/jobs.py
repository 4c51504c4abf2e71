"""Waiting for a job of a service."""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol

from hivelore.core.jobs import JobState
from hivelore.errors import HiveloreError
from hivelore.python.client import Client


class Advance(Protocol):
    """Is told how many units are done, and how many there are where that is known by now."""

    def __call__(self, done: float, total: float | None = None, /) -> None: ...


Shown = Callable[[str, float | None], AbstractContextManager[Advance]]
"""Shows work by its name and how many units it has."""
_LOOK_EVERY = (0.02, 0.2)
"""Seconds between two looks, at first and at last."""


@contextmanager
def unseen(_label: str, _total: float | None) -> Generator[Advance]:
    yield lambda _done, _total=None: None


def awaited(client: Client, path: str, job: Mapping[str, Any], advance: Advance) -> Mapping[str, Any]:
    """The job as it ended, from ``path``, under which its id is looked at."""
    pause, longest = _LOOK_EVERY
    while job["state"] == JobState.RUNNING:
        time.sleep(pause)
        pause = min(2 * pause, longest)
        job = client.call("GET", f"{path}/{job['id']}")
        advance(job["done"], job["total"])
    return job


def cancel(client: Client, path: str, job: Mapping[str, Any]) -> None:
    with suppress(HiveloreError):  # Who waited is leaving anyway.
        client.call("DELETE", f"{path}/{job['id']}")
