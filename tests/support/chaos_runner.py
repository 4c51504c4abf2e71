"""A runner with short leases as a process of its own: ``chaos_runner.py URL HOME PROGRAM``, its key in HIVELORE_KEY."""

import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from hivelore.observations.markers import CATEGORIES
from hivelore.observations.naming import DEFAULT_NAMING
from hivelore.python.client import Client
from hivelore.runner.command import AgentProgram
from hivelore.runner.local_transcripts import LocalTranscripts
from hivelore.runner.mcp_servers import own_server
from hivelore.runner.model import ClaimedTask, Program, RunLimits
from hivelore.runner.outbox import Outbox
from hivelore.runner.ports import Prepared
from hivelore.runner.runner import Runner
from hivelore.runner.service_queue import ServicePrompts, ServiceQueue
from hivelore.runner.stream_markers import BlockMarkers
from hivelore.runner.task_run import Means

PARALLEL = 2


class _Folder:
    """Implements ``Workspace``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self, task: ClaimedTask, is_stopped: Callable[[], bool]) -> Prepared:
        return Prepared(folder=self._folder)


def main() -> None:
    url, home, program = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    key = os.environ["HIVELORE_KEY"]
    client = Client(url, key)
    means = Means(
        client=client,
        queue=ServiceQueue(client, "chaos", timedelta(seconds=5)),
        outbox=Outbox(home / "outbox", print),
        workspace=_Folder(home),
        prompts=ServicePrompts(client, "me"),
        transcripts=LocalTranscripts(Program.CLAUDE, {"HOME": str(home)}),
        program=AgentProgram(kind=Program.CLAUDE, path=program),
        servers=own_server(url),
        limits=RunLimits(),
        environment=os.environ,
        key=key,
        home=home,
        new_markers=lambda: BlockMarkers(CATEGORIES, DEFAULT_NAMING),
        nonce=lambda: os.urandom(8).hex(),
        monotonic=time.monotonic,
        grace=1.0,
    )
    runner = Runner(means, home / "runs", parallel=PARALLEL, once=False, show=lambda _: None, note=print)

    def stop(_: int, __: object) -> None:
        runner.stop()

    signal.signal(signal.SIGTERM, stop)
    runner.run()


if __name__ == "__main__":
    main()
