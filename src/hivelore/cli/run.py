"""The verb ``run``: works on tasks of the swarm with an agent program on this machine."""

import json as jsonlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from hivelore.cli import connection, exits, output
from hivelore.cli.options import AsJson, whole_number
from hivelore.cli.repos import SECONDS, sync_repos
from hivelore.cli.workspace import OwnFolder, preparation_of
from hivelore.core.text import counted
from hivelore.errors import Conflict, Invalid
from hivelore.local import endpoint, launcher, variables
from hivelore.local.signals import exit_on_signals
from hivelore.python.client import Client
from hivelore.runner.checks import Check, RunnerPlace, check_all
from hivelore.runner.command import check_settings
from hivelore.runner.mcp_servers import Servers, merge_servers, own_server, parse_servers
from hivelore.runner.model import LEAST_COST, ClaimedTask, Program, RunLimits
from hivelore.runner.ports import Prepared, TranscriptSource
from hivelore.runner.run_folders import RUNS
from hivelore.runner.task_run import Means, RunView

if TYPE_CHECKING:
    from hivelore.runner.runner import Summary

EXIT_CODES: Mapping[Check, int] = {
    Check.SERVICE: exits.UNAVAILABLE,
    Check.KEY: 4,
    Check.PROGRAM: exits.NO_PROGRAM,
    Check.SIGN_IN: exits.NOT_SIGNED_IN,
    Check.GIT: exits.NO_PROGRAM,
    Check.WORKSPACE: exits.NOT_WRITABLE,
}
_OUTBOX = "outbox"
_MOST_PARALLEL = 64
_LARGEST_MCP_FILE = 1_000_000
_SHOWN_ENDED = 5
_REFRESH = 4
"""Times a second that the terminal is drawn."""
_LOOK = 0.1
"""Seconds between looks whether a run was stopped."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}


def run(
    *arguments: Annotated[str, Parameter(help="Arguments for the agent program, after --.", allow_leading_hyphen=True)],
    agent: Annotated[
        str | None, Parameter(help="Agent that works, by name or id (default: that of the key).", metavar="NAME")
    ] = None,
    parallel: Annotated[int, Parameter(help="Tasks at the same time.", converter=whole_number)] = 1,
    once: Annotated[bool, Parameter(help="Take one task, if there is one now, and end.")] = False,
    harness: Annotated[Literal["claude", "codex"], Parameter(help="Agent program: Claude Code or Codex.")] = "claude",
    program: Annotated[
        str | None, Parameter(help="Path of the agent program (default: found on the PATH).", metavar="FILE")
    ] = None,
    mcp_config: Annotated[
        tuple[Path, ...], Parameter(help="File with MCP servers, as .mcp.json; repeatable.", metavar="FILE")
    ] = (),
    time_limit: Annotated[
        str | None, Parameter(help="Longest time for an attempt: 90s, 30m, 2h (default: none).", metavar="TIME")
    ] = None,
    cost_limit: Annotated[
        float | None, Parameter(help="Most US dollars for a task; Claude Code only.", metavar="USD")
    ] = None,
    folder: Annotated[
        Path | None,
        Parameter(help="Working folder of tasks without a repository (default: the personal folder).", metavar="DIR"),
    ] = None,
    own_folder: OwnFolder = False,
    json: AsJson = False,
) -> int:
    """Work on tasks of the swarm with an agent program on this machine.

    Set HIVELORE_KEY to the key of the agent. Ctrl-C ends the agent programs and hands their tasks back; a second one
    kills them. Arguments after -- are those of the agent program, such as its permissions.

    Example: hivelore run --agent worker-1 --parallel 2 -- --permission-mode acceptEdits
    """
    limits = _limits(parallel, time_limit, cost_limit, harness)
    home = endpoint.home()
    environment = variables.environment()
    client = _client(home, agent)
    try:
        from hivelore.integrations.workspace_preparation import prepare as take_steps
        from hivelore.runtime.settings import load

        with exit_on_signals():  # Programs that checks and preparation start end with them.
            workspace = load(home=home).workspace_folder
            place = RunnerPlace(
                client=client,
                agent=agent or "",
                kind=Program(harness),
                program=program,
                arguments=arguments,
                folders=(workspace, home / RUNS, *(() if folder is None else (folder.absolute(),))),
                environment=environment,
            )
            checked = check_all(place)
            if checked.problems or checked.agent is None or checked.program is None:
                _report_problems(checked.problems, as_json=json)
                return EXIT_CODES[checked.problems[0].check] if checked.problems else exits.UNEXPECTED
            servers = merge_servers([own_server(client.url), *map(_read_servers, mcp_config)])
            check_settings(checked.program, servers)
            agent_program = "claude-code" if harness == "claude" else "codex"
            preparation = preparation_of(client, checked.agent, agent_program, own_folder=own_folder, repos=True)
            if code := take_steps(preparation):
                return code
            work = folder.absolute() if folder is not None else preparation.personal_folder
            means = _means(client, checked.agent, checked.program, servers, limits, work, home, environment)
        return _run(means, home / RUNS, parallel=parallel, once=once, as_json=json)
    finally:
        client.close()


def _limits(parallel: int, time_limit: str | None, cost_limit: float | None, harness: str) -> RunLimits:
    if not 1 <= parallel <= _MOST_PARALLEL:
        raise Invalid(f"--parallel has 1 to {_MOST_PARALLEL}.", field="parallel")
    if cost_limit is not None and not LEAST_COST <= cost_limit < 1_000_000:
        raise Invalid("--cost-limit is a number of dollars above 0.", field="cost_limit")
    if cost_limit is not None and harness == "codex":
        raise Invalid("Codex does not report what a run costs. Leave out --cost-limit.", field="cost_limit")
    time = None
    if time_limit is not None:
        number, unit = time_limit[:-1], time_limit[-1:]
        if unit not in _UNITS or not number.isdecimal() or not 0 < int(number) <= 1_000_000:
            raise Invalid(f"Invalid time {time_limit!r}. Use a duration such as 90s, 30m or 2h.", field="time_limit")
        time = timedelta(**{_UNITS[unit]: int(number)})
    return RunLimits(time=time, cost_usd=cost_limit)


def _client(home: Path, agent: str | None) -> Client:
    """Return a client with the key of the agent. Only the local agent has a key file."""
    url = launcher.ensure(home)
    key = endpoint.given_key()
    if key is None and agent in (None, connection.LOCAL_AGENT):
        key = endpoint.key(endpoint.AGENT_KEY, home)
    return Client(url, key, interface="cli")


def _report_problems(problems: Sequence[Any], *, as_json: bool) -> None:
    if as_json:
        found = [{"check": one.check, "message": one.message, "remedy": one.remedy} for one in problems]
        print(jsonlib.dumps({"code": "not-ready", "problems": found}), file=sys.stderr)
        return
    for one in problems:
        output.note(f"hivelore: {one.check}: {one.message} {one.remedy}")


def _read_servers(file: Path) -> Servers:
    try:
        with file.open("rb") as data:
            text = data.read(_LARGEST_MCP_FILE + 1)
    except OSError as error:
        raise Invalid(f"{file} cannot be read ({error.strerror}).", field="mcp_config") from None
    if len(text) > _LARGEST_MCP_FILE:
        raise Invalid(f"{file} has more than {_LARGEST_MCP_FILE:,} bytes.", field="mcp_config")
    return parse_servers(text.decode(errors="replace"), str(file))


class MachineWorkspace:
    """The workspace of this machine, prepared once; for each task its repository and configuration. Implements
    ``Workspace``."""

    def __init__(self, client: Client, folder: Path) -> None:
        """``folder``: working folder of tasks without a repository."""
        self._client = client
        self._folder = folder
        self._lock = threading.Lock()

    def prepare(self, task: ClaimedTask, is_stopped: Callable[[], bool]) -> Prepared:
        notes: list[str] = []
        folder, repo = self._folder, None
        if task.repo is not None:
            repo = self._client.call("GET", connection.path("/api/repos", task.repo))
            with self._turn(is_stopped):
                (synced,) = sync_repos(self._client, (repo["name"],), SECONDS, is_stopped)
            folder = Path(synced["path"])
            if not folder.is_dir():
                raise Conflict(f"The repository {repo['name']} is not here: {synced['outcome']}. {synced['detail']}")
            if not synced["isInOrder"]:
                notes.append(f"{repo['name']}: {synced['outcome']}. {synced['detail']}")
        query = {"repoId": None if repo is None else repo["id"]}
        found = self._client.call("GET", "/api/config/env", query=query)
        notes += [f"{one['key']} is left out. {one['reason']}" for one in found["withheld"] if not one["isForbidden"]]
        return Prepared(folder=folder, environment=found["variables"], notes=tuple(notes))

    @contextmanager
    def _turn(self, is_stopped: Callable[[], bool]) -> Generator[None]:
        """Waits until no other task of this runner syncs a repository."""
        while not self._lock.acquire(timeout=_LOOK):
            if is_stopped():
                raise Conflict("The run was stopped while another task was syncing a repository.")
        try:
            yield
        finally:
            self._lock.release()


def _means(
    client: Client,
    agent: str,
    program: Any,
    servers: Servers,
    limits: RunLimits,
    work: Path,
    home: Path,
    environment: Mapping[str, str],
) -> Means:
    from hivelore.core.ids import nonce
    from hivelore.observations.naming import parse_aliases
    from hivelore.runner.local_transcripts import LocalTranscripts
    from hivelore.runner.outbox import Outbox
    from hivelore.runner.service_queue import ServicePrompts, ServiceQueue
    from hivelore.runner.stored_sessions import StoredSessions
    from hivelore.runner.stream_markers import BlockMarkers
    from hivelore.runtime.clock import SystemClock

    status = client.call("GET", "/api/status")
    naming = parse_aliases(status["aliases"])
    key = endpoint.given_key() or endpoint.key(endpoint.AGENT_KEY, home)
    transcripts: TranscriptSource = LocalTranscripts(program.kind, environment)
    if program.kind is Program.CLAUDE:
        transcripts = StoredSessions(transcripts, client, key, home, environment, output.note, SystemClock.monotonic)
    return Means(
        client=client,
        queue=ServiceQueue(client, socket.gethostname()[:100]),
        outbox=Outbox(home / _OUTBOX / agent, output.note),
        workspace=MachineWorkspace(client, work),
        prompts=ServicePrompts(client, agent),
        transcripts=transcripts,
        program=program,
        servers=servers,
        limits=limits,
        environment=environment,
        key=key,
        home=home,
        folders=(work,),
        new_markers=lambda: BlockMarkers(status["categories"], naming),
        nonce=nonce,
        monotonic=SystemClock.monotonic,
    )


def _run(means: Means, runs: Path, *, parallel: int, once: bool, as_json: bool) -> int:
    from hivelore.runner.runner import Runner

    with _shown(as_json) as show:
        shown = _UntilClosed(show)
        runner = Runner(means, runs, parallel=parallel, once=once, show=shown.show, note=shown.note)
        shown.on_close = runner.stop
        with _ending(runner.stop) as received:
            summary = runner.run()
    if shown.is_closed:
        with suppress(OSError):  # Else the interpreter would complain at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if summary.fault is not None:
        output.fail(summary.fault, "runner-fault", as_json=as_json)
        return exits.RUNNER_FAULT
    if shown.is_closed:
        return exits.CLOSED_PIPE
    if signal.SIGINT in received:
        return exits.INTERRUPTED
    if once and not received:
        return exits.TASK_NOT_DONE if not _is_done(summary) else exits.LEFT_OUT if summary.kept else 0
    return 0


class _UntilClosed:
    """Shows until the output is closed, which stops the runner as a signal would. Runs must not fail because of it."""

    def __init__(self, show: Callable[[RunView], object]) -> None:
        self._show = show
        self._lock = threading.Lock()
        self.on_close: Callable[[], object] = lambda: None
        self.is_closed = False

    def show(self, view: RunView) -> None:
        if self.is_closed:
            return
        try:
            self._show(view)
        except (OSError, ValueError):
            with self._lock:
                is_first = not self.is_closed
                self.is_closed = True
            if is_first:
                threading.Thread(target=self.on_close, name="stop").start()  # The run may hold locks.

    def note(self, text: str) -> None:
        with suppress(OSError, ValueError):
            output.note(text)


def _is_done(summary: "Summary") -> bool:
    return set(summary.outcomes) <= {"Completed"}


@contextmanager
def _ending(stop: Callable[[], object]) -> Generator[list[int]]:
    """Call ``stop`` for each signal that would end this process; they are collected."""
    received: list[int] = []

    def end(number: int, _: object) -> None:
        received.append(number)
        threading.Thread(target=stop, name="stop").start()  # It takes locks that the main thread may hold.

    former = {one: signal.signal(one, end) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield received
    finally:
        for one, handler in former.items():
            signal.signal(one, handler)


@contextmanager
def _shown(as_json: bool) -> Generator[Callable[[RunView], object]]:
    """Show runs: as JSON lines, live on a terminal, else as plain lines when a phase changes."""
    if as_json:
        yield _JsonLines().show
    elif sys.stdout.isatty():
        with _live() as show:
            yield show
    else:
        yield _PlainLines().show


class _JsonLines:
    """One object for each phase of a run, and for each new session."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, str | None]] = {}
        self._lock = threading.Lock()

    def show(self, view: RunView) -> None:
        with self._lock:
            state = (view.phase, view.session)
            if self._seen.get(view.task) == state:
                return
            self._seen[view.task] = state
            usage = {name: getattr(view.usage, name) for name in view.usage.__slots__}
            fields = {"task": view.task, "phase": view.phase, "session": view.session, "detail": view.detail}
            print(jsonlib.dumps({**fields, "tools": view.tools, "usage": usage}), flush=True)


class _PlainLines:
    def __init__(self) -> None:
        self._phases: dict[str, str] = {}
        self._lock = threading.Lock()

    def show(self, view: RunView) -> None:
        with self._lock:
            if self._phases.get(view.task) == view.phase:
                return
            self._phases[view.task] = view.phase
            output.say(_line(view))
            sys.stdout.flush()


def _line(view: RunView) -> str:
    what = output.shortened(view.text if view.phase == "prepare" else view.detail, 120)
    cost = f", ${view.usage.cost_usd:.2f}" if view.usage.cost_usd else ""
    used = f" ({counted(view.usage.tokens, 'token')}{cost})" if view.usage.tokens else ""
    return (
        f"{output.short_id(view.task)} {view.phase}{used}: {what}" if what else f"{view.task[:23]} {view.phase}{used}"
    )


@contextmanager
def _live() -> "Generator[Callable[[RunView], object]]":
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from hivelore.core.sanitizer import sanitize

    views: dict[str, RunView] = {}
    lock = threading.Lock()

    def rows() -> Iterator[RunView]:
        active = [one for one in views.values() if one.phase in ("prepare", "run")]
        ended = [one for one in views.values() if one.phase not in ("prepare", "run")]
        yield from ended[-_SHOWN_ENDED:]
        yield from active

    def table() -> Table:
        drawn = Table("task", "phase", "tools", "tokens", "cost", "", box=None, expand=True)
        with lock:
            for one in rows():
                cells = (
                    output.short_id(one.task),
                    one.phase,
                    str(one.tools),
                    f"{one.usage.tokens:,}",
                    f"${one.usage.cost_usd:.2f}",
                    output.shortened(one.detail or one.text, 200),
                )
                drawn.add_row(*(Text(sanitize(cell), no_wrap=True, overflow="ellipsis") for cell in cells))
        return drawn

    def show(view: RunView) -> None:
        with lock:
            views.pop(view.task, None)
            views[view.task] = view
            while len(views) > 1_000:
                del views[next(iter(views))]

    with Live(get_renderable=table, console=Console(), refresh_per_second=_REFRESH):
        yield show
