"""Checks before a runner claims a task (D57): each problem has a remedy."""

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from hivelore.errors import Forbidden, HiveloreError, NotFound, Unauthenticated, Unavailable
from hivelore.local import endpoint, private_files
from hivelore.python.client import Client
from hivelore.runner import disk
from hivelore.runner.command import AgentProgram
from hivelore.runner.json_line import as_object
from hivelore.runner.model import Program

_PATIENCE = 30.0
"""Seconds for an agent program to answer a question about itself."""
_NO_ANSWER = f"no answer in {_PATIENCE:g} s"
_LARGEST_ANSWER = 100_000
_VERSION = re.compile(rb"(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_INSTALL = {
    Program.CLAUDE: "npm install -g @anthropic-ai/claude-code",
    Program.CODEX: "npm install -g @openai/codex",
}
_SIGN_IN = {
    Program.CLAUDE: "Run 'claude' and sign in, or set ANTHROPIC_API_KEY.",
    Program.CODEX: "Run 'codex login', set CODEX_API_KEY, or configure a model_provider.",
}
_KEYS = {Program.CLAUDE: (), Program.CODEX: ("CODEX_API_KEY", "OPENAI_API_KEY")}


class Check(StrEnum):
    """What is checked, in this order."""

    SERVICE = "service"
    KEY = "key"
    PROGRAM = "agent program"
    SIGN_IN = "sign-in"
    GIT = "git"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Problem:
    check: Check
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    problems: Sequence[Problem]
    agent: str | None = None
    """Id of the agent."""
    program: AgentProgram | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerPlace:
    """What the checks look at."""

    client: Client
    agent: str
    """Name or id of the agent; empty for that of the key."""
    kind: Program
    program: str | None
    """Path or name of the program; None: the usual one."""
    arguments: tuple[str, ...]
    folders: Sequence[Path]
    """Folders that runs write to."""
    environment: Mapping[str, str]


def check_all(place: RunnerPlace) -> Checked:
    """Makes all checks. Without a service the key is not checked, without a program its sign-in."""
    problems: list[Problem] = []
    agent: str | None = None
    service = check_service(place.client)
    if service is None:
        agent, problem = check_key(place.client, place.agent)
        problems += [] if problem is None else [problem]
    else:
        problems.append(service)
    found = find_program(place.kind, place.program, place.arguments, place.environment)
    if isinstance(found, Problem):
        problems.append(found)
    elif (sign_in := check_sign_in(found, {**place.environment, **_configured(place.client, agent)})) is not None:
        problems.append(sign_in)
    if agent is not None and (git := check_git(place.client, place.environment)) is not None:
        problems.append(git)
    for folder in place.folders:
        problem = check_folder(folder)
        problems += [] if problem is None else [problem]
    program = None if isinstance(found, Problem) else found
    return Checked(problems=problems, agent=agent, program=program)


def _configured(client: Client, agent: str | None) -> Mapping[str, str]:
    """Returns the variables that the agent program gets from the configuration of the agent; it may sign in by them."""
    if agent is None:
        return {}
    try:
        return client.call("GET", "/api/config/env")["variables"]
    except HiveloreError:  # The first task will show it.
        return {}


def check_service(client: Client) -> Problem | None:
    try:
        reasons = client.reasons()
    except HiveloreError as error:
        return Problem(Check.SERVICE, str(error), "Run 'hivelore doctor', or check HIVELORE_URL.")
    if not reasons:
        return None
    return Problem(Check.SERVICE, str(reasons[0]["message"]), str(reasons[0]["remedy"]))


def check_key(client: Client, name: str) -> tuple[str | None, Problem | None]:
    """Returns the id of the agent, or the problem. The key has to be that of the agent: the agent program gets it."""
    new = name or "NAME"
    add = f"Add the agent with 'hivelore agent add {new}', and set HIVELORE_KEY to the key that this prints."
    try:
        me: Mapping[str, Any] = client.call("GET", "/api/me")
    except (Unauthenticated, Forbidden, NotFound) as error:
        return None, Problem(Check.KEY, str(error), add)
    except Unavailable as error:
        return None, Problem(Check.SERVICE, str(error), "Run 'hivelore doctor', or check HIVELORE_URL.")
    if me["agentId"] is None:
        return None, Problem(Check.KEY, "The key is that of an operator, and the agent program would get it.", add)
    if name and name not in (me["agentId"], me["name"]):
        return None, Problem(Check.KEY, f"The key is that of agent {me['name']}, not of {name}.", add)
    return str(me["agentId"]), None


def find_program(
    kind: Program, given: str | None, arguments: tuple[str, ...], environment: Mapping[str, str]
) -> AgentProgram | Problem:
    name = given or kind.value
    path = shutil.which(name, path=environment.get("PATH", os.defpath))
    if path is None:
        remedy = f"Install it ({_INSTALL[kind]}), or name it with --program." if given is None else "Correct --program."
        return Problem(Check.PROGRAM, f"The program {name} is not found on the PATH, or is not executable.", remedy)
    answer = _ask([path, "--version"], environment)
    if isinstance(answer, str) or answer.returncode != 0:
        why = answer if isinstance(answer, str) else f"exit code {answer.returncode}"
        remedy = f"Run '{name} --version'; install it again if that fails."
        return Problem(Check.PROGRAM, f"The program {path} does not work ({why}).", remedy)
    found = _VERSION.search(answer.stdout)
    version = () if found is None else tuple(map(int, found.groups()))
    return AgentProgram(kind=kind, path=path, version=version, arguments=arguments)


def check_git(client: Client, environment: Mapping[str, str]) -> Problem | None:
    """Checks that git works where the swarm has repositories: without it, their tasks cannot be prepared."""
    try:
        if not client.call("GET", "/api/repos", query={"limit": 1})["repos"]:
            return None
    except HiveloreError:  # The first task will show it.
        return None
    answer = _ask(["git", "--version"], environment)
    if not isinstance(answer, str) and answer.returncode == 0:
        return None
    why = answer if isinstance(answer, str) else f"exit code {answer.returncode}"
    return Problem(Check.GIT, f"The swarm has repositories, and git does not work ({why}).", "Install git.")


def check_sign_in(program: AgentProgram, environment: Mapping[str, str]) -> Problem | None:
    """Asks the program itself. One that does not know the question counts as signed in: its first run will show it."""
    kind = program.kind
    if any(environment.get(name) for name in _KEYS[kind]):
        return None
    if kind is Program.CODEX and _has_own_provider(program, environment):
        return None
    words = ["auth", "status", "--json"] if kind is Program.CLAUDE else ["login", "status"]
    answer = _ask([program.path, *words], environment)
    if isinstance(answer, str):
        return Problem(Check.SIGN_IN, f"{program.path} does not say if it is signed in ({answer}).", _SIGN_IN[kind])
    if kind is Program.CLAUDE:
        try:
            is_missing = as_object(json.loads(answer.stdout)).get("loggedIn") is False
        except (ValueError, RecursionError):
            is_missing = False
    else:
        is_missing = answer.returncode != 0 and b"not logged in" in (answer.stdout + answer.stderr).lower()
    return Problem(Check.SIGN_IN, f"{program.path} is not signed in.", _SIGN_IN[kind]) if is_missing else None


def _has_own_provider(program: AgentProgram, environment: Mapping[str, str]) -> bool:
    """Returns True if Codex has a provider of its own, whose sign-in it does not know."""
    if any("model_provider" in word for word in program.arguments):
        return True
    home = endpoint.agent_homes(environment).get("codex")
    try:
        return home is not None and b"model_provider" in (home / "config.toml").read_bytes()
    except OSError:
        return False


def check_folder(folder: Path) -> Problem | None:
    """Checks that the runner can write into a folder, which is created."""
    remedy = "Choose folders that you can write to, on a disk with room: HIVELORE_WORKSPACE, HIVELORE_HOME, --folder."
    probe = folder / f".hivelore-{os.urandom(8).hex()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = private_files.create(probe)
        try:
            os.write(descriptor, b"x")
        finally:
            os.close(descriptor)
            probe.unlink()
    except OSError as error:
        return Problem(Check.WORKSPACE, f"{folder} cannot be written to ({error.strerror}).", remedy)
    if disk.find_full((folder,), disk.LEAST_TO_START) is not None:
        return Problem(Check.WORKSPACE, f"Less than {disk.LEAST_TO_START // 10**6} MB are free in {folder}.", remedy)
    return None


def _ask(command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes] | str":
    """Returns the beginning of the answer of a program, or why there is none. No process of it is left."""
    quiet = {**environment, "HIVELORE_HOOK_DISABLED": "1"}
    try:
        process = subprocess.Popen(
            command,
            env=quiet,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        return error.strerror or type(error).__name__
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout as out, process.stderr as err:
        try:
            answer = _read_answer((out.fileno(), err.fileno()), time.monotonic() + _PATIENCE)
            if not isinstance(answer, str):
                process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            answer = _NO_ANSWER
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return answer if isinstance(answer, str) else subprocess.CompletedProcess(command, process.returncode, *answer)


def _read_answer(pipes: tuple[int, int], end: float) -> tuple[bytes, bytes] | str:
    """Reads two pipes until both are closed."""
    found = dict.fromkeys(pipes, b"")
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(end - time.monotonic(), 0.0))
            if not ready:
                return _NO_ANSWER
            for key, _ in ready:
                data = os.read(key.fd, 65_536)
                found[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                elif len(found[key.fd]) > _LARGEST_ANSWER:
                    return f"an answer of more than {_LARGEST_ANSWER:,} bytes"
    return found[pipes[0]], found[pipes[1]]
