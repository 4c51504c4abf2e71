"""The verbs ``setup``, ``unsetup`` and ``teach``: Hivelore in agent programs."""

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from hivelore.api.registry import TOOLS
from hivelore.cli import connection, exits, output
from hivelore.cli.options import AsJson
from hivelore.core.capabilities import DEFAULT
from hivelore.errors import Broken, Conflict, HiveloreError, NotFound, Unavailable
from hivelore.hooks import install
from hivelore.hooks.profile_files import Problem, Released, release
from hivelore.integrations import canary, installer, workspaces
from hivelore.integrations.installer import Plan
from hivelore.integrations.location import Place, commands, place
from hivelore.integrations.parts import Change
from hivelore.integrations.receipts import Receipt, Receipts
from hivelore.integrations.targets import TARGETS, hook_of
from hivelore.local import endpoint, launcher, transport
from hivelore.python.client import Client
from hivelore.sessions import agent_instructions
from hivelore.sessions.programs import NUDGED

Program = Literal["claude-code", "codex", "gemini", "copilot", "opencode", "cursor"]
Scope = Literal["user", "project"]
DryRun = Annotated[bool, Parameter(help="Show the changes and make none.")]


def setup(
    program: Annotated[Program, Parameter(help="Agent program.")],
    /,
    *,
    scope: Annotated[
        Scope, Parameter(help="user: for you, in all folders; project: for everyone, in this folder.")
    ] = "user",
    workspace: Annotated[
        Path | None, Parameter(help="Folder for memories as files (default: the current one).", metavar="DIR")
    ] = None,
    nudge: Annotated[
        bool | None,
        Parameter(
            negative="--no-nudge",
            help="Ask agents for lessons when they learned something and stored nothing (default: as before).",
        ),
    ] = None,
    profile_files: Annotated[
        bool | None,
        Parameter(
            name="--profile",
            negative="--no-profile",
            help="Replace SOUL.md, IDENTITY.md and your CLAUDE.md or AGENTS.md by the profile of the agent during a "
            "session (default: as before, at first no).",
        ),
    ] = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> int:
    """Set up Hivelore in an agent program.

    This installs hooks, tools and instructions. Then it writes a test memory through them, finds it and forgets it.
    Running it again updates only outdated files. 'hivelore unsetup' removes everything. The exit code is 7 if
    --no-profile could not restore a file.

    Example: hivelore setup claude-code
    """
    home = endpoint.home()
    target, receipts = TARGETS[program], Receipts(home)
    orders = commands(home, profile_files=profile_files)

    def plan(where: Place) -> Plan:
        return installer.plan_setup(program, where.project, target.parts(where, orders), receipts)

    # Planned before the service starts: settings that cannot be changed are reported first.
    where = _locate(home, scope, workspace)
    planned = plan(where)
    if dry_run:
        _show_plans([planned], as_json=json)
        return 0
    was_running = launcher.running(home) is not None
    moved = workspace is not None and workspaces.choose(home, workspace)
    url = launcher.ensure(home)
    with connection.operator() as client:
        where = _locate(home, scope, workspace, client)
        injects = bool(client.call("GET", "/api/status")["promptTokens"])
    planned = plan(where)
    with _reporting_unwritable_files():
        install.copy_to(home, nudge=nudge, profile_files=profile_files)
        nudges = install.nudges(home)
    released = release(program, str(home), url) if profile_files is False else Released()
    code = exits.LEFT_OUT if released.failures else 0
    installer.set_up(planned, receipts)
    hook = hook_of(program, orders) if injects else None
    try:
        canary.try_out(orders, hook, home, where.outside())
    except Unavailable as problem:
        raise Unavailable(f"{target.title} is set up, but it does not work: {problem}") from None
    if json:
        files = None if where.workspace is None else str(where.workspace)
        output.print_json(
            {
                **_plan_as_json(planned),
                "url": url,
                "tried": True,
                "workspace": files,
                "nudge": nudges,
                "profileFiles": orders.profile_files,
                **_released_as_json(released),
                "next": target.afterwards,
            }
        )
        return code
    _show_changes(planned, f"{target.title} is set up{_for_project(planned.receipt)}.")
    steps = "written, found, injected and forgotten" if hook is not None else "written, found and forgotten"
    output.say(f"Tested with the service at {url}: a memory was {steps}.")
    if hook is None:
        output.say("Prompts get no memories: HIVELORE_PROMPT_TOKENS of the service is 0.")
    if nudges and program in NUDGED:
        output.say("An agent that learned something and stored nothing is asked for lessons, once in a session.")
    if orders.profile_files:
        output.say(
            "During a session, the profile of the agent replaces SOUL.md and IDENTITY.md in the workspace, and your "
            "CLAUDE.md or AGENTS.md. They come back afterwards."
        )
    _show_released(released)
    if where.workspace is not None:
        output.say(f"Files in {where.workspace}/personal/memory and .../shared/memory become memories.")
    if moved and was_running:
        output.say("The service uses this folder after 'hivelore stop' and 'hivelore start'.")
    output.say(target.afterwards)
    return code


def unsetup(
    program: Annotated[Program | None, Parameter(help="Agent program (default: all).")] = None,
    /,
    *,
    scope: Annotated[
        Scope | None, Parameter(help="user: your settings; project: this folder (default: both, in all folders).")
    ] = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> int:
    """Remove Hivelore from agent programs.

    Files are restored to their state before setup. From files that were edited since, only Hivelore's entries are
    removed, and shown. Memories stay, and the service runs until 'hivelore stop'. If a file that contains the profile
    of an agent cannot be restored, the program stays set up, and the exit code is 7.

    Example: hivelore unsetup claude-code
    """
    home = endpoint.home()
    receipts = Receipts(home)
    project = Path.cwd() if scope == "project" else None
    selected = [
        receipt
        for receipt in receipts.all()
        if program in (None, receipt.program) and (scope is None or receipt.project == project)
    ]
    if not selected:
        raise NotFound("Hivelore is not set up here.")
    plans = [installer.plan_undoing(receipt) for receipt in selected]
    if dry_run:
        _show_plans(plans, as_json=json)
        return 0
    url = endpoint.given_url() or launcher.running(home)
    # Before the hooks are removed, which restore files that cannot be restored now.
    released = _release([plan.receipt.program for plan in plans], home, url)
    undone = [plan for plan in plans if not released[plan.receipt.program].failures]
    for plan in undone:
        installer.undo(plan, receipts)
    again = _release([plan.receipt.program for plan in undone], home, url)  # Of sessions that started meanwhile.
    together = _together([*released.values(), *again.values()])
    if not receipts.all():
        with _reporting_unwritable_files():
            install.remove_from(home)
    if json:
        output.print_json({"undone": [_plan_as_json(plan) for plan in undone], **_released_as_json(together)})
        return exits.LEFT_OUT if together.failures else 0
    for plan in undone:
        title = TARGETS[plan.receipt.program].title
        _show_changes(plan, f"Hivelore was removed from {title}{_for_project(plan.receipt)}.")
        for change in plan.changes:
            if change.path in plan.edited:
                output.say(f"{change.path} was changed since it was set up. This was removed:")
                output.say(change.diff().rstrip("\n"))
    _show_released(together)
    for plan in plans:
        if plan not in undone:
            output.note(f"{TARGETS[plan.receipt.program].title} stays set up. Run 'hivelore unsetup' again.")
    return exits.LEFT_OUT if together.failures else 0


def teach(*, short: Annotated[bool, Parameter(help="Three lines, for a CLAUDE.md or AGENTS.md.")] = False) -> None:
    """Print instructions that teach an agent to use its memory.

    They name the tools and folders of the service. 'hivelore setup' installs the same text in agent programs; this is
    for other programs, and for your own CLAUDE.md or AGENTS.md.

    Example: hivelore teach --short
    """
    home = endpoint.home()
    where = _locate(home, "user", None)
    url = launcher.running(home)
    if url is not None:
        with suppress(HiveloreError), closing(Client(url, endpoint.key(endpoint.OPERATOR_KEY, home))) as client:
            where = _locate(home, "user", None, client)
    text = agent_instructions.instruction_lines if short else agent_instructions.instructions_page
    folder = None if where.workspace is None else agent_instructions.format_path(str(where.workspace))
    output.say(text(where.tools, folder).rstrip("\n"))


def _locate(home: Path, scope: Scope, chosen: Path | None, client: Client | None = None) -> Place:
    """Describe the installation to set up, with the workspace and tools of the running service.

    Without ``client``, they are what a service with the current environment would have. A workspace that was ``chosen``
    is the next one of the service, which may still use another.
    """
    url, given = endpoint.given_url(), endpoint.given_workspace()
    if chosen is not None and given is not None:
        raise Conflict(f"HIVELORE_WORKSPACE ({given}) takes precedence over --workspace: unset it, or set that.")
    workspace = endpoint.workspace(home, str(chosen) if chosen is not None else given)
    enabled = endpoint.given_capabilities() or DEFAULT
    if client is not None:
        enabled = client.call("GET", "/api/me")["capabilities"]
        if chosen is None:
            workspace = client.call("GET", "/api/status")["workspace"]
    is_here = url is None or transport.is_local(url)
    return place(
        home,
        Path.cwd() if scope == "project" else None,
        Path(workspace).resolve() if is_here else None,
        [tool.name for tool in TOOLS if tool.capability in enabled],
    )


@contextmanager
def _reporting_unwritable_files() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise Broken(f"{error.filename} cannot be written ({error.strerror}).") from None


def _show_plans(plans: Sequence[Plan], *, as_json: bool) -> None:
    if as_json:
        output.print_json({"dryRun": True, "plans": [_plan_as_json(plan) for plan in plans]})
        return
    diffs = [change.diff().rstrip("\n") for plan in plans for change in plan.changes]
    output.say("\n".join(diffs) if diffs else "Nothing would change.")


def _plan_as_json(plan: Plan) -> dict[str, Any]:
    project = plan.receipt.project
    return {
        "program": plan.receipt.program,
        "project": None if project is None else str(project),
        "changed": [{"path": str(change.path), "change": _describe_change(change)} for change in plan.changes],
    }


def _show_changes(plan: Plan, headline: str) -> None:
    output.say((headline, "bold"))
    for change in plan.changes:
        output.say(f"  {_describe_change(change):8} {change.path}")
    if not plan.changes:
        output.say("  Nothing had to be changed.")


def _release(programs: Sequence[str], home: Path, url: str | None) -> dict[str, Released]:
    return {program: release(program, str(home), url) for program in dict.fromkeys(programs)}


def _together(each: Sequence[Released]) -> Released:
    """Joins the results of programs, which have files in common."""
    joined = Released()
    joined.names = list(dict.fromkeys(name for one in each for name in one.names))
    joined.failures = _distinct([problem for one in each for problem in one.failures])
    joined.kept = _distinct([problem for one in each for problem in one.kept])
    return joined


def _distinct(problems: Sequence[Problem]) -> list[Problem]:
    return list({str(one): one for one in problems}.values())


def _released_as_json(released: Released) -> dict[str, Any]:
    return {
        "restored": released.names,
        "notRestored": [str(one) for one in released.failures],
        "kept": [str(one) for one in released.kept],
    }


def _show_released(released: Released) -> None:
    for name in released.names:
        output.say(f"{name} is as it was before the profile of an agent replaced it.")
    for problem in (*released.failures, *released.kept):
        output.note(str(problem))


def _describe_change(change: Change) -> str:
    return "added" if change.before is None else "removed" if change.after is None else "changed"


def _for_project(receipt: Receipt) -> str:
    return "" if receipt.project is None else f" in {receipt.project}"
