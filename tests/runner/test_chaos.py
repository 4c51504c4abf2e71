"""Runners, agent programs and the service, killed at random moments."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hivelore.local import launcher
from hivelore.python.client import Client
from hivelore.runner.orphans import processes_of
from support import chaos_runner
from support.agent_scripts import SESSION, began, says, script
from support.command_line import HIVELORE
from support.laws import IS_SOAKING
from support.ports import free_port
from support.postgres import DATABASES, service_on
from support.service import environment
from support.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_200),
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
]

TASKS = 60
RUNNERS = 3
SLOWER = 5 if IS_SOAKING else 1
"""Factor of all times but those of the service: a run is as likely to be killed, and there are as many of them."""
SECONDS = 60.0 * SLOWER
SERVICE_EVERY = 20.0
"""Seconds between two kills of the service."""
ATTEMPTS = 8
MARKS = {"sqlite": "7301", "postgres": "7302"}
"""Seconds that a process of an agent program sleeps, by database: they tell these processes from all others."""
WORK = f"""
import random
subprocess.Popen(['sleep', MARK], start_new_session=True)
subprocess.Popen(['env', '-i', 'setsid', 'sleep', MARK])
time.sleep(random.uniform(0.5, 6.0) * {SLOWER})
task, run = os.environ['HIVELORE_TASK_ID'], os.environ['HIVELORE_RUN_ID']
answer = f'The result of run {{run}} of the many.'
usage = dict(input_tokens=100, output_tokens=20)
event = dict(type='result', subtype='success', is_error=False, result=answer, usage=usage, total_cost_usd=0.25)
with open('answers.log', 'a') as log:
    log.write(f'{{task}} {{answer}}\\n')
print(json.dumps(dict(event, session_id='{SESSION}')), flush=True)
"""
SIGNED_IN = "if 'auth' in sys.argv: print('{}'); sys.exit()"
PROGRAM = "\n".join([SIGNED_IN, began(), says("[MEMORY:timing:jellyfin] Takes 60s to start"), WORK])
ENDED = {"completed", "failed", "cancelled"}


def sleepers(database: str) -> list[int]:
    """Returns the processes that agent programs started and that are still there."""
    words = ["sleep", MARKS[database]]
    found = [entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [int(entry.name) for entry in found if _command(entry) == words]


def _command(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


class Hub:
    """A service in a process of its own, which is killed and started again on the same port."""

    def __init__(self, folder: Path, database: str) -> None:
        self.home = folder / "service"
        self.home.mkdir()
        settings = {f"HIVELORE_{name.upper()}": str(value) for name, value in service_on(database).items()}
        self._environment = environment(self.home, **settings)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process = self._start()
        self.operator = Client(self.url, (self.home / "operator.key").read_text().strip())

    def _start(self) -> "subprocess.Popen[bytes]":
        words = [HIVELORE, "serve", "--port", str(self._port)]
        process = subprocess.Popen(words, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: launcher.is_alive(self.url))
        assert process.poll() is None
        return process

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process = self._start()

    def send(self, **body: Any) -> str:
        return self.operator.call("POST", "/api/tasks", body=body)["id"]

    def task(self, task: str) -> Any:
        return self.operator.call("GET", f"/api/tasks/{task}")["task"]

    def close(self) -> None:
        self.operator.close()
        self._process.terminate()
        self._process.wait()


class Runners:
    def __init__(self, hub: Hub, folder: Path, program: Path) -> None:
        self._hub = hub
        self._program = program
        names = [f"worker-{number}" for number in range(RUNNERS)]
        self._keys = [hub.operator.call("POST", "/api/agents", body={"name": name})["key"] for name in names]
        self._homes = [folder / f"home-{number}" for number in range(RUNNERS)]
        for home in self._homes:
            home.mkdir()
        self.processes = [self._start(number) for number in range(RUNNERS)]

    def _start(self, number: int) -> "subprocess.Popen[bytes]":
        words = [sys.executable, chaos_runner.__file__, self._hub.url, str(self._homes[number]), str(self._program)]
        env = {"PATH": os.environ["PATH"], "HIVELORE_KEY": self._keys[number]}
        return subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self, number: int) -> None:
        self.processes[number].kill()
        self.processes[number].wait()
        self.processes[number] = self._start(number)

    def kill_one_of_a_run(self, chance: random.Random) -> None:
        folders = [folder for home in self._homes for folder in (home / "runs").glob("*")]
        if left := [pid for folder in folders for pid in processes_of(folder.name)]:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(left), signal.SIGKILL)

    def answers(self) -> list[tuple[str, str]]:
        """Returns the task and the text of each answer that an agent program gave."""
        logs = [home / "answers.log" for home in self._homes]
        lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
        return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


@contextmanager
def chaos(folder: Path, database: str) -> Generator[tuple[Hub, Runners]]:
    hub = Hub(folder, database)
    try:
        runners = Runners(hub, folder, script(folder, f"MARK = '{MARKS[database]}'\n{PROGRAM}"))
        try:
            yield hub, runners
        finally:
            runners.stop()
    finally:
        hub.close()


def send_all(hub: Hub, chance: random.Random) -> list[str]:
    tasks: list[str] = []
    for number in range(TASKS):
        after = chance.sample(tasks, min(len(tasks), number % 3))
        tasks.append(hub.send(text=f"Do number {number} of the many things.", dependsOn=after, maxAttempts=ATTEMPTS))
    return tasks


def kill_at_random(hub: Hub, runners: Runners, chance: random.Random) -> int:
    """Returns how many runs may have been lost."""
    lost, end = 0, time.monotonic() + SECONDS
    next_service = time.monotonic() + SERVICE_EVERY / 2
    while (now := time.monotonic()) < end:
        time.sleep(chance.uniform(0.5, 4.0) * SLOWER)
        if now >= next_service:
            next_service = now + SERVICE_EVERY
            hub.kill()
        elif chance.random() < 0.5:
            runners.kill(chance.randrange(RUNNERS))
            lost += chaos_runner.PARALLEL
        else:
            runners.kill_one_of_a_run(chance)
            lost += 1
    return lost


@pytest.mark.parametrize("database", DATABASES)
def test_every_task_is_completed_once_although_everything_is_killed(tmp_path: Path, database: str) -> None:
    chance = random.Random(7)
    with chaos(tmp_path, database) as (hub, runners):
        tasks = send_all(hub, chance)
        lost = kill_at_random(hub, runners, chance)

        def states() -> dict[str, str]:
            return {task: hub.task(task)["state"] for task in tasks}

        until(lambda: set(states().values()) <= ENDED, lambda: time.sleep(1.0))
        assert set(states().values()) == {"completed"}
        runners.stop()
        assert sleepers(database) == []
        answers = runners.answers()
        assert all((task, hub.task(task)["output"]) in answers for task in tasks)
        assert len(answers) - TASKS <= lost, "more was done twice than was killed"
        query = {"source": "task_completion", "limit": 200}
        memories = hub.operator.call("GET", "/api/memory", query=query)["memories"]
        assert sorted(one["sourceTaskId"] for one in memories) == sorted(tasks)
        assert all(hub.task(one["sourceTaskId"])["output"] in one["content"] for one in memories)
