"""The verbs ``setup`` and ``unsetup``: Hivelore in agent programs, and out of them again."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import AsJson
from hivelore.errors import Broken, Conflict, NotFound, Unavailable
from hivelore.hooks import install
from hivelore.integrations import canary, installer, workspaces
from hivelore.integrations.installer import Plan
from hivelore.integrations.location import Place, commands, place
from hivelore.integrations.parts import Change
from hivelore.integrations.receipts import Receipt, Receipts
from hivelore.integrations.targets import TARGETS, hook_of
from hivelore.local import endpoint, launcher
from hivelore.mcp.tools import TOOLS
from hivelore.runtime.settings import load
from hivelore.sessions import agent_instructions

Program = Literal["claude-code", "codex", "gemini", "copilot", "opencode", "cursor"]
Scope = Literal["user", "project"]
ForWhom = Annotated[Scope, Parameter(help="For you, everywhere; or for whoever works in this folder.")]
Workspace = Annotated[
    Path | None,
    Parameter(help="Folder of agents' files, from now on. Else: the present one.", metavar="DIR"),
]
DryRun = Annotated[bool, Parameter(help="Show what would be changed, and change nothing.")]


def setup(
    program: Annotated[Program, Parameter(help="The agent program.")],
    /,
    *,
    scope: ForWhom = "user",
    workspace: Workspace = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Put Hivelore into an agent program.

    That is its hooks, its tools and what teaches it to use them. Then a memory is written, found, told and forgotten
    through them. Run again, it changes only what has to be changed; 'hivelore unsetup' takes everything out.

    Example: hivelore setup claude-code
    """
    target, where = TARGETS[program], _place(scope, workspace)
    receipts = Receipts(where.hivelore)
    orders = commands(where.hivelore)
    plan = installer.plan_setup(program, where.project, target.parts(where, orders), receipts)
    if dry_run:
        _show([plan], as_json=json)
        return
    runs = launcher.running(where.hivelore) is not None
    moved = workspace is not None and workspaces.choose(where.hivelore, workspace)
    url = launcher.ensure(where.hivelore)
    with _about_the_hook():
        install.copy_to(where.hivelore)
    installer.set_up(plan, receipts)
    try:
        hook = hook_of(program, orders) if _tells_with_prompts() else None
        canary.try_out(orders, hook, where.hivelore, where.outside())
    except Unavailable as problem:
        raise Unavailable(f"{target.title} is set up, but it does not work: {problem}") from None
    if json:
        files = None if where.workspace is None else str(where.workspace)
        output.as_json({**_told(plan), "url": url, "tried": True, "workspace": files, "next": target.afterwards})
        return
    _list(plan, f"{target.title} is set up{_for(plan.receipt)}.")
    tried = "written, found, told and forgotten" if hook is not None else "written, found and forgotten"
    output.say(f"Tried with the service at {url}: a memory was {tried}.")
    if hook is None:
        output.say("With a prompt nothing is told: HIVELORE_PROMPT_TOKENS of the service is 0.")
    if where.workspace is not None:
        output.say(f"Files in {where.workspace}/personal/memory and .../shared/memory are memories, too.")
    if moved and runs:
        output.say("The service looks there after 'hivelore stop' and 'hivelore start'.")
    output.say(target.afterwards)


def unsetup(
    program: Annotated[Program | None, Parameter(help="The agent program. Else: all.")] = None,
    /,
    *,
    scope: Annotated[Scope | None, Parameter(help="Of whom: you, or this folder. Else: both, and all folders.")] = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Take Hivelore out of agent programs again.

    Files become again what they were; of those that were changed since, only what is ours goes, and that is shown.
    Memories stay where they are, and the service goes on until 'hivelore stop'.

    Example: hivelore unsetup claude-code
    """
    home = endpoint.home()
    receipts = Receipts(home)
    project = None if scope is None else _place(scope).project
    meant = [
        receipt
        for receipt in receipts.all()
        if program in (None, receipt.program) and (scope is None or receipt.project == project)
    ]
    if not meant:
        raise NotFound("Nothing of the kind is set up here.")
    plans = [installer.plan_undoing(receipt) for receipt in meant]
    if dry_run:
        _show(plans, as_json=json)
        return
    for plan in plans:
        installer.undo(plan, receipts)
    if not receipts.all():
        with _about_the_hook():
            install.remove_from(home)
    if json:
        output.as_json({"undone": [_told(plan) for plan in plans]})
        return
    for plan in plans:
        _list(plan, f"Hivelore is out of {TARGETS[plan.receipt.program].title}{_for(plan.receipt)}.")
        for change in plan.changes:
            if change.path in plan.edited:
                output.say(f"{change.path} was changed since it was set up. This was taken out:")
                output.say(change.diff().rstrip("\n"))


def _tells_with_prompts() -> bool:
    with connection.client() as link:
        return bool(link.call("GET", "/api/status")["promptTokens"])


def teach(*, short: Annotated[bool, Parameter(help="Three lines, for a CLAUDE.md or AGENTS.md.")] = False) -> None:
    """Print what teaches an agent to use its memory.

    With the tools and folders that it has here. What 'hivelore setup' puts into a program says the same; this is for
    other programs, and for a CLAUDE.md or AGENTS.md of your own.

    Example: hivelore teach --short
    """
    where = _place("user")
    text = agent_instructions.instruction_lines if short else agent_instructions.instructions_page
    output.say(
        text(
            where.tools, None if where.workspace is None else agent_instructions.format_path(str(where.workspace))
        ).rstrip("\n")
    )


@contextmanager
def _about_the_hook() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise Broken(f"{error.filename} cannot be written ({error.strerror}).") from None


def _place(scope: Scope, workspace: Path | None = None) -> Place:
    home = endpoint.home()
    url, given = endpoint.given_url(), endpoint.given_workspace()
    if workspace is not None and given is not None:
        raise Conflict(f"HIVELORE_WORKSPACE says {given}, which counts before --workspace: unset it, or set that.")
    files = endpoint.workspace(home, str(workspace) if workspace is not None else given)
    return place(
        home,
        Path.cwd() if scope == "project" else None,
        Path(files).resolve() if url is None or launcher.is_local(url) else None,
        [tool.name for tool in TOOLS if tool.capability in load().capabilities],
    )


def _show(plans: Sequence[Plan], *, as_json: bool) -> None:
    """What would be done."""
    if as_json:
        output.as_json({"dryRun": True, "plans": [_told(plan) for plan in plans]})
        return
    diffs = [change.diff().rstrip("\n") for plan in plans for change in plan.changes]
    output.say("\n".join(diffs) if diffs else "Nothing would be changed.")


def _told(plan: Plan) -> dict[str, Any]:
    project = plan.receipt.project
    return {
        "program": plan.receipt.program,
        "project": None if project is None else str(project),
        "changed": [{"path": str(change.path), "change": _verb(change)} for change in plan.changes],
    }


def _list(plan: Plan, headline: str) -> None:
    output.say((headline, "bold"))
    for change in plan.changes:
        output.say(f"  {_verb(change):8} {change.path}")
    if not plan.changes:
        output.say("  Nothing had to be changed.")


def _verb(change: Change) -> str:
    return "added" if change.before is None else "removed" if change.after is None else "changed"


def _for(receipt: Receipt) -> str:
    return "" if receipt.project is None else f" in {receipt.project}"
