"""The operations of setup scripts (D40-D42)."""

from typing import Annotated

from msgspec import Meta

from hivelore.core.agents import AgentId, Interface
from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, get, post, put
from hivelore.core.tool import NUMBER, TEXT, Reply, Tool
from hivelore.core.values import Instant, NoArguments, Request, Value

_SCRIPT = Meta(description="At most 65,536 bytes. Empty: no script.")
_NEWEST = 2**31 - 1
_VERSION = Meta(ge=0, le=_NEWEST, description="Raises Stale unless this is the current version; 0: there is none.")
_NUMBER = Meta(ge=1, le=_NEWEST, description="Number of a version.")
_PROPOSE = Meta(description="Make a proposal also as an operator, for a text that somebody else wrote.")
_AGENT = Meta(description="Agent, by id or name, or `me` for the caller. Default: the global script.")
_Agent = Annotated[str, Meta(description="Name or id of an agent, or `me` for the caller.")]


class AgentScript(Request, frozen=True):
    agent: _Agent


class SetSetupScript(Request, frozen=True):
    agent: _Agent
    setup_script: Annotated[str, _SCRIPT]
    version: Annotated[int, _VERSION] | None = None
    reason: str | None = None
    propose: Annotated[bool, _PROPOSE] = False


class SetGlobalSetupScript(Request, frozen=True):
    setup_script: Annotated[str, _SCRIPT]
    version: Annotated[int, _VERSION] | None = None
    reason: str | None = None
    propose: Annotated[bool, _PROPOSE] = False


class ListScriptVersions(Request, frozen=True, kw_only=True):
    agent: Annotated[str | None, _AGENT] = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    before: Annotated[int, Meta(ge=1, le=_NEWEST, description="Only versions with a smaller number.")] | None = None


class CompareScripts(Request, frozen=True):
    older: Annotated[int, _NUMBER]
    newer: Annotated[int, _NUMBER]
    agent: Annotated[str | None, _AGENT] = None


class RestoreScript(Request, frozen=True):
    version: Annotated[int, _NUMBER]
    agent: Annotated[str | None, _AGENT] = None
    reason: str | None = None


class UpdateSetupScript(Request, frozen=True):
    setup_script: str | None = None
    reason: str | None = None


class AgentSetupScripts(Value, frozen=True, kw_only=True):
    """What runs when an agent starts: the global script, then its own."""

    agent: AgentId
    setup_script: str | None
    global_setup_script: str | None
    version: int
    """Version of its own script; 0: it never had one."""
    global_version: int


class SetupScript(Value, frozen=True, kw_only=True):
    setup_script: str | None
    version: int
    """0: there never was one."""


class ScriptResult(SetupScript, frozen=True, kw_only=True):
    changed: bool


class ScriptVersionInfo(Value, frozen=True, kw_only=True):
    number: int
    at: Instant
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    reason: str | None
    size: int
    """Bytes of the script."""


class ScriptHistory(Value, frozen=True, kw_only=True):
    """Versions, newest first."""

    versions: tuple[ScriptVersionInfo, ...]


class ScriptDifference(Value, frozen=True, kw_only=True):
    older: int
    newer: int
    diff: str
    """Unified diff; empty if both are equal."""


class ScriptUpdate(Value, frozen=True, kw_only=True):
    """The result of reading or changing the own script."""

    message: str
    setup_script: str | None
    global_setup_script: str | None
    version: int


def _update_reply(done: ScriptUpdate) -> Reply:
    data = {
        "setupScript": done.setup_script or "",
        "globalSetupScript": done.global_setup_script or "",
        "version": done.version,
    }
    return Reply(done.message, data)


GET_SETUP_SCRIPT = Operation(
    name="setup_script",
    verb="setup-script show",
    summary="Returns the setup script of an agent and the global one, which runs first. Null: there is none.",
    request=AgentScript,
    response=AgentSetupScripts,
    handler="hivelore.setup_scripts.handlers:get_setup_script",
    lane=Lane.READ,
    http=get("/api/agents/{agent}/setup-script"),
    tag="setup-scripts",
)
SET_SETUP_SCRIPT = Operation(
    name="set_setup_script",
    verb="setup-script set",
    summary="Changes the setup script of an agent. A change by an agent becomes a proposal to operators, and Proposed "
    "is raised, unless HIVELORE_ACCEPT_SETUP_SCRIPTS is set and the script is its own.",
    request=SetSetupScript,
    response=ScriptResult,
    handler="hivelore.setup_scripts.handlers:set_setup_script",
    lane=Lane.WRITE,
    http=put("/api/agents/{agent}/setup-script"),
    tag="setup-scripts",
)
GET_GLOBAL_SETUP_SCRIPT = Operation(
    name="global_setup_script",
    verb="setup-script show",
    summary="Returns the setup script that runs for all agents. Null: there is none.",
    request=NoArguments,
    response=SetupScript,
    handler="hivelore.setup_scripts.handlers:get_global_setup_script",
    lane=Lane.READ,
    http=get("/api/setup-script"),
    tag="setup-scripts",
)
SET_GLOBAL_SETUP_SCRIPT = Operation(
    name="set_global_setup_script",
    verb="setup-script set",
    summary="Changes the setup script that runs for all agents. A change by an agent becomes a proposal to operators, "
    "and Proposed is raised.",
    request=SetGlobalSetupScript,
    response=ScriptResult,
    handler="hivelore.setup_scripts.handlers:set_global_setup_script",
    lane=Lane.WRITE,
    http=put("/api/setup-script"),
    tag="setup-scripts",
)
LIST_SCRIPT_VERSIONS = Operation(
    name="setup_script_history",
    verb="setup-script history",
    summary="Lists the versions of a setup script, newest first: of an agent, or of the global one.",
    request=ListScriptVersions,
    response=ScriptHistory,
    handler="hivelore.setup_scripts.handlers:list_versions",
    lane=Lane.READ,
    http=get("/api/setup-script/history"),
    tag="setup-scripts",
)
COMPARE_SCRIPTS = Operation(
    name="diff_setup_script",
    verb="setup-script diff",
    summary="Compares two versions of a setup script: of an agent, or of the global one.",
    request=CompareScripts,
    response=ScriptDifference,
    handler="hivelore.setup_scripts.handlers:compare_versions",
    lane=Lane.READ,
    http=get("/api/setup-script/diff"),
    tag="setup-scripts",
)
RESTORE_SCRIPT = Operation(
    name="restore_setup_script",
    verb="setup-script restore",
    summary="Makes an earlier version of a setup script current again, as a new version. For agents it becomes a "
    "proposal, like every change.",
    request=RestoreScript,
    response=ScriptResult,
    handler="hivelore.setup_scripts.handlers:restore_version",
    lane=Lane.WRITE,
    http=post("/api/setup-script/restore"),
    tag="setup-scripts",
)
UPDATE_SETUP_SCRIPT = Operation(
    name="update_setup_script",
    summary="Reads or changes the setup script of the caller.",
    request=UpdateSetupScript,
    response=ScriptUpdate,
    handler="hivelore.setup_scripts.handlers:update_own_script",
    lane=Lane.WRITE,
    tool=Tool(
        name="update-setup-script",
        description="Read or change the script that prepares your machine before each of your sessions.",
        arguments={"setupScript": "the whole new script; default: read", "reason": ""},
        reply=_update_reply,
        output={"setupScript": TEXT, "globalSetupScript": TEXT, "version": NUMBER},
        capability=Capability.SWARM,
    ),
    tag="setup-scripts",
)
OPERATIONS = (
    GET_SETUP_SCRIPT,
    SET_SETUP_SCRIPT,
    GET_GLOBAL_SETUP_SCRIPT,
    SET_GLOBAL_SETUP_SCRIPT,
    LIST_SCRIPT_VERSIONS,
    COMPARE_SCRIPTS,
    RESTORE_SCRIPT,
    UPDATE_SETUP_SCRIPT,
)
