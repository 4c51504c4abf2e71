"""Runners and agent programs that are killed at random moments."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hivelore.runner.orphans import processes_of
from support import chaos_runner
from support.agent_scripts import answers, began, says, script
from support.service import Service
from support.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
]

TASKS = 24
RUNNERS = 3
SECONDS = 30.0
WORK = "subprocess.Popen(['sleep', '1000'], start_new_session=True); time.sleep(0.5)"


class Runners:
    def __init__(self, service: Service, folder: Path, program: Path) -> None:
        self._service = service
        self._program = program
        self._keys = [service.add(f"worker-{number}") for number in range(RUNNERS)]
        self._homes = [folder / f"home-{number}" for number in range(RUNNERS)]
        for home in self._homes:
            home.mkdir()
        self.processes = [self._start(number) for number in range(RUNNERS)]

    def _start(self, number: int) -> "subprocess.Popen[bytes]":
        words = [sys.executable, chaos_runner.__file__, self._service.url, str(self._homes[number]), str(self._program)]
        environment = {"PATH": os.environ["PATH"], "HIVELORE_KEY": self._keys[number]}
        return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self, number: int) -> None:
        self.processes[number].kill()
        self.processes[number].wait()
        self.processes[number] = self._start(number)

    def left(self) -> list[int]:
        folders = [folder for home in self._homes for folder in (home / "runs").iterdir()]
        return [pid for folder in folders for pid in processes_of(folder.name)]

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def test_every_task_is_completed_although_runners_and_programs_are_killed(tmp_path: Path) -> None:
    chance = random.Random(7)
    body = "\n".join(
        [began(), says("[MEMORY:timing:jellyfin] Takes 60s to start"), WORK, answers("It is done, all of it.")]
    )
    with Service(tmp_path / "service") as service:
        operator = service.client(service.operator_key)
        tasks: list[str] = []
        for number in range(TASKS):
            after = chance.sample(tasks, min(len(tasks), number % 3))
            body_ = {"text": f"Do number {number} of the many things.", "dependsOn": after, "maxAttempts": 20}
            tasks.append(operator.call("POST", "/api/tasks", body=body_)["id"])
        runners = Runners(service, tmp_path, script(tmp_path, body))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.3, 1.5))
            if chance.random() < 0.6:
                runners.kill(chance.randrange(RUNNERS))
            elif left := runners.left():
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(left), signal.SIGKILL)

        def states() -> set[str]:
            return {operator.call("GET", f"/api/tasks/{task}")["task"]["state"] for task in tasks}

        until(lambda: states() <= {"completed", "failed", "cancelled"}, lambda: time.sleep(0.5))
        assert states() == {"completed"}
        runners.stop()
        assert runners.left() == []
        query = {"source": "task_completion", "limit": 200}
        memories = operator.call("GET", "/api/memory", query=query)["memories"]
        assert sorted(one["sourceTaskId"] for one in memories) == sorted(tasks)
