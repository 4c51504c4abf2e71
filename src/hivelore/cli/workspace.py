"""The verb ``workspace``: prepares the folder in which an agent works."""

from typing import Annotated

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import AsJson
from hivelore.errors import Invalid
from hivelore.local import endpoint, variables
from hivelore.python.client import Client

OwnFolder = Annotated[bool, Parameter(help="Use agents/ID instead of personal, for several agents in one workspace.")]

app = App(name="workspace", help="The workspace of an agent: prepare.")


@app.command
def prepare(
    *,
    agent: Annotated[
        str | None, Parameter(help="Agent to prepare it for, by id or name (default: local).", metavar="NAME")
    ] = None,
    own_folder: OwnFolder = False,
    json: AsJson = False,
) -> int:
    """Create the folders of a workspace, and put the setup scripts into its start-up file.

    HIVELORE_RUN_SETUP_SCRIPTS=1 also runs that file. If it fails, its exit code is returned.

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
        preparation = Preparation(
            client=client,
            workspace=settings.workspace_folder,
            agent=me,
            personal=f"agents/{me}" if own_folder else "personal",
            runs=runs,
            environment=variables.environment(),
            note=output.note,
        )
        code = take_steps(preparation)
    found, done = preparation.start_up_file, preparation.finished
    answer = {
        "workspace": str(preparation.workspace),
        "startUpFile": None if found is None else str(found.path),
        "exitCode": None if done is None else done.code,
    }
    output.result(answer, json, "Prepared: ", (str(preparation.workspace), "bold"))
    return code


def agent_id(client: Client) -> str:
    """Return the id of the agent that a client acts for. Raises Invalid if there is none."""
    me = client.call("GET", "/api/me")
    if me["agentId"] is None:
        raise Invalid("This key belongs to no agent. Name the agent with --agent.", field="agent")
    return me["agentId"]
