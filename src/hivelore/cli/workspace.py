"""The verb ``workspace``: prepares the folder in which an agent works."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from hivelore.cli import connection, exits, output
from hivelore.cli.options import AsJson
from hivelore.cli.output import Column, Json
from hivelore.cli.repos import SECONDS, sync_repos
from hivelore.errors import HiveloreError, Invalid
from hivelore.hooks import install
from hivelore.hooks.profile_files import PreparedFiles
from hivelore.local import endpoint, variables
from hivelore.local.signals import exit_on_signals
from hivelore.python.client import Client

if TYPE_CHECKING:
    from hivelore.integrations.workspace_preparation import Preparation

OwnFolder = Annotated[bool, Parameter(help="Use agents/ID instead of personal, for several agents in one workspace.")]

app = App(name="workspace", help="The workspace of an agent: prepare.")


@app.command
def prepare(
    *,
    agent: Annotated[
        str | None, Parameter(help="Agent to prepare it for, by id or name (default: local).", metavar="NAME")
    ] = None,
    own_folder: OwnFolder = False,
    no_repos: Annotated[bool, Parameter(help="Leave repositories out.")] = False,
    program: Annotated[
        Literal["claude-code", "codex"], Parameter(help="Agent program whose file gets the notes of the profile.")
    ] = "claude-code",
    require_all: Annotated[
        bool, Parameter(negative=(), help="Exit with code 7 if a part is incomplete or failed.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Prepare a workspace: folders, clones, configuration, start-up file, files of the profile.

    HIVELORE_RUN_SETUP_SCRIPTS=1 also runs the start-up file. If it fails, its exit code is returned. Other parts that
    fail are shown, and the exit code is 0.

    Example: hivelore workspace prepare --agent reviewer
    """
    from hivelore.integrations.workspace_preparation import Preparation, RunSettings
    from hivelore.integrations.workspace_preparation import prepare as take_steps
    from hivelore.runtime.settings import load

    settings = load(home=endpoint.home())
    runs = RunSettings(
        is_on=settings.run_setup_scripts,
        is_strict=settings.strict_start_up,
        seconds=settings.setup_script_seconds,
        variables=settings.setup_script_variables,
    )
    with connection.client(agent) as client:
        me = agent_id(client)
        files = None if own_folder else PreparedFiles(program, me, str(settings.home), client.url)
        preparation = Preparation(
            client=client,
            workspace=settings.workspace_folder,
            agent=me,
            personal=f"agents/{me}" if own_folder else "personal",
            runs=runs,
            environment=variables.environment(),
            profile_files=files,
            keeps_profile=_keeps_profile(settings.home),
            sync_repos=(lambda: _sync_repos(client)) if not no_repos else None,
            note=output.note,
        )
        try:
            code = take_steps(preparation)
        except (HiveloreError, OSError):
            _show_steps(preparation, json)
            raise
    _show_steps(preparation, json)
    return exits.LEFT_OUT if code == 0 and require_all and not preparation.is_complete else code


def _show_steps(preparation: "Preparation", json: bool) -> None:
    found, done = preparation.start_up_file, preparation.finished
    steps = [{"step": name, "outcome": one.outcome, "detail": one.detail} for name, one in preparation.results.items()]
    answer = {
        "workspace": str(preparation.workspace),
        "steps": steps,
        "startUpFile": None if found is None else str(found.path),
        "exitCode": None if done is None else done.code,
    }
    output.result(answer, json, "Workspace: ", (str(preparation.workspace), "bold"))
    if not json:
        output.show_table((Column("step"), Column("outcome"), Column("detail")), steps)


def _sync_repos(client: Client) -> list[Json]:
    with exit_on_signals():
        return list(sync_repos(client, (), SECONDS))


def _keeps_profile(home: Path) -> bool:
    given = variables.environment().get("HIVELORE_PROFILE_FILES")
    return given == endpoint.ON if given else install.keeps_profile_files(home)


def agent_id(client: Client) -> str:
    """Return the id of the agent that a client acts for. Raises Invalid if there is none."""
    me = client.call("GET", "/api/me")
    if me["agentId"] is None:
        raise Invalid("This key belongs to no agent. Name the agent with --agent.", field="agent")
    return me["agentId"]
