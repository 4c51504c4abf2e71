"""The verb run, in a process of its own, with small scripts in the place of the agent program."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from hivelore.local.lock import read_owner
from hivelore.runner.orphans import processes_of
from support.agent_scripts import SESSION, answers, began, says, script
from support.command_line import HIVELORE, Result, environment, hivelore
from support.ports import free_url
from support.service import Service
from support.waiting import until

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"), pytest.mark.timeout(120)]

DOCUMENT = Path(__file__).parents[3] / "docs" / "runner.md"
ASKED = (
    "if '--version' in sys.argv: print('2.1.330'); sys.exit()\n"
    "if 'auth' in sys.argv: print('{\"loggedIn\": true}'); sys.exit()"
)
MARKER = "[MEMORY:timing:jellyfin] Takes 60s to start"
DONE = "\n".join([ASKED, began(), says(MARKER), answers("The build works again.")])
HANGS = "\n".join([ASKED, began(), says("I found the bug."), "time.sleep(1000)"])


class Swarm:
    """A service with an agent, and a machine with an agent program."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        self.folder = folder
        self.name = folder.name
        self.operator = service.client(service.operator_key)
        self.env = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "HOME": str(folder),
            "HIVELORE_HOME": str(folder / "home"),
            "HIVELORE_WORKSPACE": str(folder / "workspace"),
            "HIVELORE_URL": service.url,
            "HIVELORE_EMBEDDER": "none",
            "HIVELORE_KEY": service.add(self.name),
        }

    def send(self, text: str, **more: Any) -> str:
        return self.operator.call("POST", "/api/tasks", body={"text": text, "assignee": self.name, **more})["id"]

    def task(self, task: str) -> Any:
        return self.operator.call("GET", f"/api/tasks/{task}")["task"]

    def program(self, body: str) -> None:
        script(self.folder, body)

    def run(self, *words: str, **env: str) -> Result:
        return hivelore("run", *words, env={**self.env, **env})

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [HIVELORE, "run", *words], env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def left(self) -> list[int]:
        runs = self.folder / "home" / "runs"
        return [pid for folder in runs.iterdir() for pid in processes_of(folder.name)]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def swarm(hub: Service, tmp_path: Path) -> Swarm:
    (tmp_path / "home").mkdir()
    return Swarm(hub, tmp_path)


def test_d60_one_task_runs_to_its_end(swarm: Swarm) -> None:
    swarm.program(DONE)
    task = swarm.send("Mend the build of the shop, please.")
    done = swarm.run("--once", "--agent", swarm.name)
    assert done.code == 0, done.err
    assert [line.split()[1].rstrip(":") for line in done.out.splitlines()] == ["prepare", "run", "completed"]
    found = swarm.task(task)
    assert (found["state"], found["output"], found["sessionId"]) == ("completed", "The build works again.", SESSION)
    memories = swarm.operator.call("GET", "/memories")["memories"]
    assert [one["session"] for one in memories if one["observation"] == "Takes 60s to start"] == [SESSION]
    found = swarm.operator.call("GET", "/api/memory", query={"source": "task_completion"})["memories"]
    assert any("The build works again." in one["content"] for one in found)


def test_json_has_a_line_for_each_phase(swarm: Swarm) -> None:
    swarm.program(DONE)
    swarm.send("Mend the build of the shop, please.")
    done = swarm.run("--once", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [one["phase"] for one in lines][::2][0] == "prepare"
    assert lines[-1]["phase"] == "completed"
    assert lines[-1]["session"] == SESSION
    assert lines[-1]["usage"]["cost_usd"] == 0.25


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_output_that_closes_stops_the_runner_regularly(swarm: Swarm, more: tuple[str, ...]) -> None:
    swarm.program("\n".join([ASKED, began(), "time.sleep(2)", answers("The build works again.")]))
    task = swarm.send("Mend the build of the shop, please.")
    with swarm.start(*more) as runner:
        assert runner.stdout is not None
        assert runner.stderr is not None
        runner.stdout.readline()
        runner.stdout.close()
        complaints = runner.stderr.read()
        assert runner.wait() == 141, complaints
    assert "Traceback" not in complaints
    assert swarm.task(task)["state"] in ("open", "completed")
    assert swarm.left() == []


def test_reasons_are_shown_with_secrets_masked(swarm: Swarm) -> None:
    swarm.program(f"{ASKED}\n{began()}\nprint('password=hunter2x', file=sys.stderr); sys.exit(1)")
    swarm.send("Mend the build of the shop, please.", maxAttempts=1)
    done = swarm.run("--once", "--json")
    assert "exit code 1. password=[" in json.loads(done.out.splitlines()[-1])["detail"]
    assert "hunter2x" not in done.out


def test_d57_git_is_needed_where_the_swarm_has_repositories(swarm: Swarm) -> None:
    swarm.program(DONE)
    env = {"PATH": str(swarm.folder)}
    task = swarm.send("Mend the build of the shop, please.")
    body = {"url": "https://example.org/shop.git", "autoClone": False}
    repo = swarm.operator.call("POST", "/api/repos", body=body)["id"]
    try:
        done = swarm.run("--once", **env)
        assert (done.code, swarm.task(task)["state"]) == (10, "open")
        assert "git does not work" in done.err
    finally:
        swarm.operator.call("DELETE", f"/api/repos/{repo}")
    assert swarm.run("--once", **env).code == 0


def test_no_task_is_no_failure(swarm: Swarm) -> None:
    swarm.program(DONE)
    done = swarm.run("--once")
    assert (done.code, done.out) == (0, "")
    assert "no task" in done.err


def test_a_task_that_fails_has_its_own_exit_code(swarm: Swarm) -> None:
    swarm.program(f"{ASKED}\n{began()}\nprint('broken', file=sys.stderr); sys.exit(1)")
    task = swarm.send("Mend the build of the shop, please.", maxAttempts=1)
    assert swarm.run("--once").code == 8
    assert "exit code 1. broken" in swarm.task(task)["failure"]


def test_d57_each_check_has_a_remedy_and_an_exit_code(swarm: Swarm, hub: Service) -> None:
    task = swarm.send("Mend the build of the shop, please.")
    found = {
        "service": swarm.run(HIVELORE_URL="https://127.0.0.1:9"),
        "key": swarm.run(HIVELORE_KEY=hub.operator_key),
        "wrong key": swarm.run(HIVELORE_KEY="hl_1_nobody_nothing"),
        "other agent": swarm.run("--agent", "somebody"),
        "program": swarm.run("--program", "/nonexistent/claude"),
    }
    swarm.program("print('2.1.330') if '--version' in sys.argv else print('{\"loggedIn\": false}')")
    found["sign-in"] = swarm.run()
    swarm.program(DONE)
    (swarm.folder / "file").write_text("")
    found["workspace"] = swarm.run(HIVELORE_WORKSPACE=str(swarm.folder / "file"))
    found["folder"] = swarm.run("--folder", str(swarm.folder / "file" / "below"))
    assert {name: one.code for name, one in found.items()} == {
        "service": 6,
        "key": 4,
        "wrong key": 4,
        "other agent": 4,
        "program": 10,
        "sign-in": 11,
        "workspace": 12,
        "folder": 12,
    }
    words = {
        "service": "hivelore doctor",
        "key": "hivelore agent add",
        "program": "--program",
        "sign-in": "sign in",
        "workspace": "HIVELORE_WORKSPACE",
    }
    assert {name for name, word in words.items() if word not in found[name].err} == set()
    assert swarm.task(task)["state"] == "open"


@pytest.mark.parametrize(
    "words",
    [
        ("--parallel", "0"),
        ("--parallel", "65"),
        ("--time-limit", "soon"),
        ("--time-limit", "0m"),
        ("--cost-limit", "-1"),
        ("--cost-limit", "1", "--harness", "codex"),
        ("--mcp-config", "/nonexistent/mcp.json"),
    ],
)
def test_invalid_options_are_refused(swarm: Swarm, words: tuple[str, ...]) -> None:
    swarm.program(DONE)
    assert swarm.run(*words).code == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_hands_the_task_back(swarm: Swarm, number: signal.Signals, code: int) -> None:
    swarm.program(HANGS)
    task = swarm.send("Wait for me.")
    with swarm.start() as runner:
        until(lambda: swarm.task(task)["progress"] == "I found the bug.")
        runner.send_signal(number)
        out, err = runner.communicate()
    assert runner.returncode == code, err
    assert "handed back" in out
    found = swarm.task(task)
    assert (found["state"], found["failures"]) == ("open", 0)
    assert "I found the bug." in found["progress"]
    assert swarm.left() == []


@pytest.mark.parametrize(("during", "code"), [("checks", 143), ("start", 143), ("task", 0)])
def test_a_signal_during_the_preparation_ends_what_it_runs(swarm: Swarm, during: str, code: int) -> None:
    pids = swarm.folder / "pids"
    hangs = "\n    ".join(
        [
            "child = subprocess.Popen(['sleep', '1000'])",
            f"open({str(pids)!r} + '.new', 'w').write(f'{{os.getpid()}} {{child.pid}}')",
            f"os.rename({str(pids)!r} + '.new', {str(pids)!r})",
            "time.sleep(1000)",
        ]
    )
    git = shutil.which("git")
    uses_network = "{'ls-remote', 'clone', 'fetch'} & set(sys.argv)"
    script(swarm.folder, f"if {uses_network}:\n    {hangs}\nos.execv({git!r}, ['git', *sys.argv[1:]])", "git")
    swarm.program(f"if '--version' in sys.argv:\n    {hangs}" if during == "checks" else DONE)
    repo = {"url": "https://git.example.com/shop.git", "name": swarm.name, "autoClone": during == "start"}
    swarm.operator.call("POST", "/api/repos", body=repo)
    try:
        task = swarm.send("Mend the build of the shop, please.", repo=swarm.name)
        with swarm.start() as runner:
            until(pids.exists)
            runner.send_signal(signal.SIGTERM)
            _, err = runner.communicate()
    finally:
        swarm.operator.call("DELETE", f"/api/repos/{swarm.name}")
    assert runner.returncode == code, err
    assert "Traceback" not in err
    assert [one for one in pids.read_text().split() if _runs(one)] == []
    found = swarm.task(task)
    assert (found["state"], found["failures"], found["attempt"]) == ("open", 0, int(during == "task"))


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except FileNotFoundError:
        return False


def test_a_killed_runner_leaves_no_process_and_another_one_goes_on(swarm: Swarm) -> None:
    swarm.program(HANGS)
    task = swarm.send("Mend the build of the shop, please.")
    with swarm.start() as runner:
        until(lambda: swarm.task(task)["progress"] == "I found the bug.")
        runner.kill()
        runner.communicate()
    until(lambda: swarm.left() == [])
    assert swarm.task(task)["state"] == "running"
    swarm.program("\n".join([ASKED, "print(sys.stdin.read(), file=sys.stderr)", began("s-2"), answers("Done.", "s-2")]))
    end_lease(swarm, task)
    assert swarm.run("--once").code == 0
    found = swarm.task(task)
    assert (found["state"], found["sessionId"], found["attempt"]) == ("completed", "s-2", 2)
    prompts = [(one / "prompt.md").read_text() for one in (swarm.folder / "home" / "runs").iterdir()]
    assert sum("Progress of this task so far:\n\nI found the bug." in prompt for prompt in prompts) == 1


def test_the_example_of_the_document_runs(tmp_path: Path) -> None:
    """The runners of step 3 take one task each, after the task of step 4 was sent."""
    start, runners, tasks = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    script(tmp_path, DONE)
    env = environment(tmp_path / "home", PATH=f"{tmp_path}:{Path(HIVELORE).parent}:{os.environ['PATH']}")
    env |= {"HIVELORE_URL": free_url(), "HOME": str(tmp_path)}
    lines = [
        start,
        *tasks.splitlines()[:1],
        runners.replace("hivelore run", "hivelore run --once"),
        tasks.splitlines()[1],
    ]
    try:
        done = subprocess.run(
            ["bash", "-euc", "\n".join(lines)], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
    finally:
        hivelore("stop", env=env)
    assert done.returncode == 0, done.stderr
    assert "completed" in done.stdout
    assert (tmp_path / "worker-1.key").stat().st_mode & 0o777 == 0o600


def test_a_service_that_is_killed_during_a_run_gets_the_result_later(tmp_path: Path) -> None:
    env = environment(tmp_path / "home", PATH=f"{tmp_path}:{os.environ['PATH']}", HOME=str(tmp_path))
    env["HIVELORE_URL"] = free_url()
    waits = f"while not os.path.exists({str(tmp_path / 'gone')!r}): time.sleep(0.05)"
    script(tmp_path, "\n".join([ASKED, began(), waits, says(MARKER), answers("The build works again.")]))

    def verb(*words: str) -> Any:
        done = hivelore(*words, "--json", env=env)
        assert done.code == 0, done.err
        return json.loads(done.out)

    try:
        hivelore("start", env=env)
        key = verb("agent", "add", "ada")["key"]
        task = verb("task", "send", "Mend the build of the shop, please.")["id"]
        words = [HIVELORE, "run", "--once"]
        with subprocess.Popen(words, env={**env, "HIVELORE_KEY": key}, stdout=subprocess.DEVNULL) as runner:
            until(lambda: verb("task", "show", task)["task"]["sessionId"] is not None)
            owner = read_owner(tmp_path / "home")
            assert owner is not None
            os.kill(owner.pid, signal.SIGKILL)
            (tmp_path / "gone").touch()
            assert runner.wait() == 7
        assert verb("task", "show", task)["task"]["state"] == "running"
        assert hivelore("run", "--once", env={**env, "HIVELORE_KEY": key}).code == 0
        assert verb("task", "show", task)["task"]["output"] == "The build works again."
        assert [one["observation"] for one in verb("observations")["memories"]] == ["Takes 60s to start"]
    finally:
        hivelore("stop", env=env)


def end_lease(swarm: Swarm, task: str) -> None:
    """Ends the lease of a task at once, by a pause."""
    swarm.operator.call("POST", f"/api/tasks/{task}/pause")
    swarm.operator.call("POST", f"/api/tasks/{task}/resume")


def test_a_cancelled_task_ends_its_program(swarm: Swarm) -> None:
    swarm.program(HANGS)
    task = swarm.send("Wait for me.")
    with swarm.start("--once") as runner:
        until(lambda: swarm.task(task)["sessionId"] is not None)
        swarm.operator.call("POST", f"/api/tasks/{task}/cancel")
        threading.Event().wait(0.1)
        out, _ = runner.communicate()
    assert "The task was cancelled." in out
    assert swarm.task(task)["state"] == "cancelled"
    assert swarm.left() == []
