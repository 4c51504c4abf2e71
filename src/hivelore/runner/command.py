"""The command line and the environment of an agent program (C21)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from hivelore.errors import Invalid
from hivelore.local import endpoint
from hivelore.runner.mcp_servers import Servers, as_claude_file, as_codex_settings, toml_text
from hivelore.runner.model import ClaimedTask, Program, RunLimits
from hivelore.runner.prompts import Conversation, Resume

PROMPT_FILE = "prompt.md"
SYSTEM_FILE = "system.md"
TASK_FILE = "task.md"
MCP_FILE = "mcp.json"
CODEX_FILE = "codex.toml"
PROFILE = "hivelore-"
"""Beginning of the names of profiles of Codex, of which each run has one."""
PROFILE_END = ".config.toml"

_OF_ANOTHER_SESSION = (
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_ENV_FILE",
    "CLAUDE_EFFORT",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "HIVELORE_HOOK_DISABLED",
)
"""Variables that would bind the program to the session in which the runner was started, or turn its hooks off."""
_SNAPSHOT_OPTION_SINCE = (2, 1, 330)
"""Version of Claude Code that is known to have --system-prompt-snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    """An agent program that was found on this machine."""

    kind: Program
    path: str
    version: tuple[int, ...] = ()
    arguments: tuple[str, ...] = ()
    """More arguments, given by the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTexts:
    """Texts that a program is started with."""

    prompt: str
    appended: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    """Files to write into the folder of the run, by name."""
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    """Links to such files, by path. They exist as long as the program runs."""
    stdin: str
    """The file that stdin is, so that the program never waits for input."""


def build_command(
    program: AgentProgram,
    texts: RunTexts,
    servers: Servers,
    environment: Mapping[str, str],
    *,
    folder: str,
    resume: Resume | None,
    limits: RunLimits,
) -> Command:
    """Returns how to start a program. ``folder``: the private folder of the run, for its files."""
    files = {PROMPT_FILE: texts.prompt, TASK_FILE: texts.task}
    if program.kind is Program.CLAUDE:
        files |= {SYSTEM_FILE: texts.appended, MCP_FILE: as_claude_file(servers)}
        arguments = _claude_arguments(program, folder, resume, limits, has_system=bool(texts.appended))
        return Command(arguments=arguments, environment=environment, files=files, stdin=PROMPT_FILE)
    # Others can read arguments, so texts and servers are in a file. Codex takes such a file from its own folder only.
    files[CODEX_FILE] = _codex_settings(texts.appended, servers)
    profile = PROFILE + PurePath(folder).name
    home = endpoint.agent_homes(environment).get("codex")
    if home is None:
        raise Invalid("The folder of Codex is not known. Set CODEX_HOME or HOME.")
    return Command(
        arguments=_codex_arguments(program, profile, resume, limits),
        environment=environment,
        files=files,
        links={str(home / f"{profile}{PROFILE_END}"): CODEX_FILE},
        stdin=PROMPT_FILE,
    )


def check_settings(program: AgentProgram, servers: Servers) -> None:
    """Raises Invalid for arguments and servers with which no task could be started."""
    if program.kind is Program.CLAUDE:
        return
    if any(word in ("-p", "--profile") or word.startswith("--profile=") for word in program.arguments):
        raise Invalid("Codex takes one profile, and gets that of Hivelore. Put yours into config.toml, or use -c.")
    as_codex_settings(servers)


def _claude_arguments(
    program: AgentProgram, folder: str, resume: Resume | None, limits: RunLimits, *, has_system: bool
) -> tuple[str, ...]:
    arguments = [program.path, "-p", "--output-format", "stream-json", "--mcp-config", f"{folder}/{MCP_FILE}"]
    arguments.append("--verbose")
    if has_system:
        arguments += ["--append-system-prompt-file", f"{folder}/{SYSTEM_FILE}"]
    if limits.cost_usd is not None:
        arguments += ["--max-budget-usd", f"{limits.cost_usd:.6f}"]
    if resume is not None:
        arguments += ["--resume", resume.session]
        if resume.conversation is Conversation.PARENT:
            arguments.append("--fork-session")
        if program.version >= _SNAPSHOT_OPTION_SINCE:
            # Else it would repeat the system prompt of the earlier run, with the environment of that time.
            arguments += ["--system-prompt-snapshot", "off"]
    return (*arguments, *program.arguments)


def _codex_settings(appended: str, servers: Servers) -> str:
    settings = [f"developer_instructions={toml_text(appended)}"] if appended else []
    return "".join(f"{line}\n" for line in (*settings, *as_codex_settings(servers)))


def _codex_arguments(program: AgentProgram, profile: str, resume: Resume | None, limits: RunLimits) -> tuple[str, ...]:
    if limits.cost_usd is not None:
        raise Invalid("Codex does not report what a run costs. Leave the cost limit out, or use Claude Code.")
    arguments = [program.path, "exec", "--json", "--skip-git-repo-check", "--profile", profile, *program.arguments]
    if resume is not None:
        arguments += ["fork" if resume.conversation is Conversation.PARENT else "resume", resume.session]
    return (*arguments, "-")


def agent_environment(
    base: Mapping[str, str],
    configuration: Mapping[str, str],
    task: ClaimedTask,
    *,
    url: str,
    key: str,
    home: str,
    folder: str,
) -> dict[str, str]:
    """Returns the environment of an agent program. ``configuration``: variables of the agent; they do not replace those
    of Hivelore. ``key``: that of the agent; ``folder``: the folder of the run."""
    kept = {name: value for name, value in base.items() if name not in _OF_ANOTHER_SESSION}
    own = {
        "HIVELORE_HOME": home,
        "HIVELORE_URL": url,
        "HIVELORE_KEY": key,
        "HIVELORE_TASK_ID": task.id,
        "HIVELORE_TASK_FILE": f"{folder}/{TASK_FILE}",
    }
    return {**kept, **configuration, **own}
