"""What the files of ``deploy`` say, run as plain processes: services, a lead and workers with the same entrypoint,
commands and variables. Only addresses, ports, folders and the agent program are others."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hivelore.errors import HiveloreError
from hivelore.python.client import Client
from hivelore.runner.orphans import processes_of
from support import postgres
from support.agent_scripts import answers, began, says, script
from support.command_line import HIVELORE
from support.deployment import (
    ENTRYPOINT,
    RUNNER_UNIT,
    SERVICE_UNIT,
    compose,
    stages,
    unit,
    unit_command,
    unit_environment,
)
from support.missing import missing
from support.ports import free_port
from support.waiting import until

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"), pytest.mark.timeout(240)]

SERVICES = ("service", "service-2")
RUNNERS = ("lead", "worker-1", "worker-2")
ELSEWHERE = "127.0.0.2"
"""An address of this machine that counts as another one: no service is started there."""
AGENT = "\n".join(
    [
        "if '--version' in sys.argv: print('2.1.330'); sys.exit()",
        "if 'auth' in sys.argv: print('{\"loggedIn\": true}'); sys.exit()",
        began(),
        f"if 'Wait for me' in sys.stdin.read():\n    {says('I wait.')}\n    time.sleep(1000)",
        answers("It is done, all of it."),
    ]
)

CONFINED = (
    "unshare",
    *(() if os.geteuid() == 0 else ("--map-root-user",)),
    "--mount",
    "sh",
    "-euc",
    """
    writable=$1
    shift
    mount --make-rprivate /
    mount --bind "$writable" "$writable"
    cut -d ' ' -f 5 /proc/self/mountinfo | while read -r place; do
        case $place in
            "$writable" | /proc | /proc/* | /sys | /sys/* | /dev | /dev/[!s]*) ;;
            *) mount -o remount,bind,ro "$place" ;;
        esac
    done
    exec "$@"
    """,
    "sh",
)
"""Words before a folder and a command, which may then write to this folder alone."""


class Processes:
    """Processes with an entrypoint, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        script(folder / "bin", AGENT)
        self.path = f"{folder / 'bin'}:{Path(HIVELORE).parent}"
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self, name: str, words: Sequence[str], environment: Mapping[str, str], writable: Path | None = None
    ) -> None:
        """``writable``: the only folder that it may write to."""
        confined = () if writable is None else (*CONFINED, writable)
        with self.log(name).open("wb") as log:
            self._running[name] = subprocess.Popen(
                [*confined, ENTRYPOINT, *words], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> str:
        done = subprocess.run([ENTRYPOINT, *words], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait(self, name: str, url: str) -> None:
        """Waits until a service is ready."""
        with closing(Client(url, None)) as client:
            while True:
                assert self._running[name].poll() is None, self.log(name).read_text()
                try:
                    client.call("GET", "/health/ready")
                except HiveloreError:
                    time.sleep(0.1)
                else:
                    return

    def stop(self, *names: str) -> dict[str, int]:
        """Asks processes to end as their manager would, and returns their exit codes."""
        for name in names:
            self._running[name].send_signal(signal.SIGTERM)
        return {name: self._running[name].wait() for name in names}

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def end(self) -> None:
        for process in self._running.values():
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def processes(tmp_path: Path) -> Generator[Processes]:
    found = Processes(tmp_path)
    try:
        yield found
    finally:
        found.end()


class Containers:
    """The containers of the compose file."""

    def __init__(self, processes: Processes, database: str) -> None:
        self._processes = processes
        self._database = database
        self._file = compose()
        self._images = stages()
        self._ports = {name: free_port() for name in SERVICES}
        self.folder = processes.folder
        for name in (*SERVICES, *RUNNERS):
            self.volume(name).mkdir(parents=True)
        self.secrets = self.folder / "secrets"
        self.secrets.mkdir()

    def volume(self, name: str) -> Path:
        return self.folder / "volumes" / name

    def url(self, name: str) -> str:
        return f"http://{ELSEWHERE}:{self._ports[name]}"

    def keep(self, name: str, secret: str) -> None:
        (self.secrets / name).write_text(f"{secret}\n")

    def environment(self, name: str, service: str = "service") -> dict[str, str]:
        """Returns the variables of a container, which uses one of the services."""
        one = self._file["services"][name]
        given = {**self._images[one["build"]["target"]].environment, **one["environment"]}
        given = {key: self._here(name, str(value), service) for key, value in given.items()}
        given["PATH"] = f"{self._processes.path}:{given['PATH']}"
        if "HIVELORE_DATABASE" in given:  # An empty one is that of SQLite.
            given["HIVELORE_DATABASE"] = self._database
        return {**given, "HIVELORE_EMBEDDER": "none"}

    def _here(self, name: str, value: str, service: str) -> str:
        if value.startswith("/run/secrets/"):
            mounted = self._file["services"][name]["secrets"]
            sources = {each if isinstance(each, str) else each["target"]: each for each in mounted}
            source = sources[value.removeprefix("/run/secrets/")]
            file = self._file["secrets"][source if isinstance(source, str) else source["source"]]["file"]
            return str(self.folder / file)
        if value == "/data" or value.startswith("/data/"):
            return value.replace("/data", str(self.volume(name)), 1)
        return {"hivelore": ELSEWHERE, "http://hivelore:4483": self.url(service)}.get(value, value)

    def start(self, name: str, service: str = "service", *, is_confined: bool = False) -> None:
        one = self._file["services"][name]
        words = one.get("command", self._images[one["build"]["target"]].command)
        more = ("--port", str(self._ports[name])) if name in SERVICES else ()
        writable = self.volume(name) if is_confined else None
        self._processes.start(name, [*words, *more], self.environment(name, service), writable)
        if name in SERVICES:
            self._processes.wait(name, self.url(name))

    def run(self, name: str, *words: str) -> str:
        """Runs a verb in a container: docker compose exec NAME hivelore-entrypoint VERB."""
        return self._processes.run(words, self.environment(name))

    def operator(self) -> Client:
        return Client(self.url("service"), (self.volume("service") / "hivelore" / "operator.key").read_text().strip())


def send(client: Client, text: str, **fields: Any) -> str:
    return client.call("POST", "/api/tasks", body={"text": text, **fields})["id"]


def task(client: Client, name: str) -> Any:
    return client.call("GET", f"/api/tasks/{name}")["task"]


def left(folder: Path) -> list[int]:
    return [pid for run in folder.rglob("runs/*") if run.is_dir() for pid in processes_of(run.name)]


def test_a_lead_and_workers_finish_tasks_and_hand_them_back_when_they_are_stopped(processes: Processes) -> None:
    containers = Containers(processes, postgres.schema())
    containers.keep("database-password", "of nobody")
    containers.keep("anthropic-api-key", "sk-ant-of-nobody")
    containers.keep("config-keys", base64.b64encode(os.urandom(32)).decode())
    for name in SERVICES:
        containers.start(name)
    for name in RUNNERS:
        role = "lead" if name == "lead" else "worker"
        containers.keep(f"{name}.key", containers.run("service", "agent", "add", name, "--role", role).strip())
        containers.start(name, service="service-2" if name == "worker-2" else "service")
    with closing(containers.operator()) as operator:
        tasks = [send(operator, f"Do number {number} of the many things.") for number in range(3)]
        tasks += [send(operator, f"Do what {name} does.", assignee=name) for name in RUNNERS]
        until(lambda: all(task(operator, one)["state"] == "completed" for one in tasks))
        waiting = [send(operator, f"Wait for me, {name}.", assignee=name) for name in RUNNERS]
        until(lambda: all(task(operator, one)["progress"] == "I wait." for one in waiting))
        assert processes.stop(*RUNNERS) == dict.fromkeys(RUNNERS, 0)
        found = [task(operator, one) for one in waiting]
        assert [(one["state"], one["failures"], one["lease"]) for one in found] == [("open", 0, None)] * len(RUNNERS)
        assert all("I wait." in one["progress"] for one in found)
        assert left(containers.folder) == []
    assert processes.stop(*SERVICES) == dict.fromkeys(SERVICES, 0)
    secret = (containers.secrets / "worker-1.key").read_text().strip()
    assert secret not in processes.log("worker-1").read_text()


def test_a_service_and_a_worker_write_to_their_volume_alone(processes: Processes) -> None:
    containers = Containers(processes, "")
    probe = containers.folder / "probe"
    tried = subprocess.run(
        [*CONFINED, containers.volume("service"), "touch", probe], capture_output=True, text=True, check=False
    )
    if "Read-only file system" not in tried.stderr:
        missing(f"NO FILE SYSTEM OF ITS OWN FOR A PROCESS, AND SO NOT TESTED WITH A READ-ONLY ROOT: {tried.stderr}")
    containers.keep("database-password", "of nobody")
    containers.keep("anthropic-api-key", "sk-ant-of-nobody")
    containers.keep("config-keys", base64.b64encode(os.urandom(32)).decode())
    containers.start("service", is_confined=True)
    containers.keep("worker-1.key", containers.run("service", "agent", "add", "worker-1").strip())
    containers.start("worker-1", is_confined=True)
    with closing(containers.operator()) as operator:
        done = send(operator, "Do number 1 of the many things.")
        until(lambda: task(operator, done)["state"] == "completed")
        query = {"source": "task_completion"}
        assert len(operator.call("GET", "/api/memory", query=query)["memories"]) == 1
    assert processes.stop("worker-1", "service") == {"worker-1": 0, "service": 0}
    for name in ("worker-1", "service"):
        assert "Read-only" not in processes.log(name).read_text()


def test_the_units_run_a_service_and_a_worker(processes: Processes) -> None:
    folder = processes.folder
    url = f"http://127.0.0.1:{free_port()}"

    def environment(file: Path) -> dict[str, str]:
        settings = unit(file, i="worker-1", S=str(folder), d=str(folder / "credentials"))
        given = unit_environment(settings)
        given = {name: value.replace("/var/lib", str(folder)) for name, value in given.items()}
        given["PATH"] = f"{processes.path}:{given['PATH']}"
        return {"HOME": str(folder), **given, "HIVELORE_URL": url, "HIVELORE_EMBEDDER": "none"}

    processes.start("service", unit_command(unit(SERVICE_UNIT))[1:], environment(SERVICE_UNIT))
    processes.wait("service", url)
    (folder / "credentials").mkdir()
    (folder / "credentials" / "key").write_text(processes.run(["agent", "add", "worker-1"], environment(SERVICE_UNIT)))
    (folder / "credentials" / "anthropic-api-key").write_text("sk-ant-of-nobody\n")
    (folder / "hivelore-run" / "worker-1").mkdir(parents=True)
    processes.start("worker-1", unit_command(unit(RUNNER_UNIT, i="worker-1"))[1:], environment(RUNNER_UNIT))
    with closing(Client(url, (folder / "hivelore" / "operator.key").read_text().strip())) as operator:
        done = send(operator, "Do number 1 of the many things.")
        until(lambda: task(operator, done)["state"] == "completed")
        waiting = send(operator, "Wait for me.")
        until(lambda: task(operator, waiting)["progress"] == "I wait.")
        assert processes.stop("worker-1") == {"worker-1": 0}
        assert task(operator, waiting)["state"] == "open"
        shown = json.loads(processes.run(["task", "show", waiting, "--json"], environment(SERVICE_UNIT)))
        assert "The runner was asked to stop." in shown["task"]["progress"]
    assert left(folder) == []
    assert processes.stop("service") == {"service": 0}
