"""Runs one verb: from the arguments of a command line to an exit code."""

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from hivelore import __version__
from hivelore.cli import exits, output
from hivelore.errors import HiveloreError, Invalid
from hivelore.local import variables

if TYPE_CHECKING:
    from cyclopts import App

VERBS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Memories": {
        "remember": ("memories:remember", "Remember a text."),
        "recall": ("memories:recall", "Search for the memories most relevant to a question, best first."),
        "get": ("memories:get", "Show one memory, including one that expired or was superseded."),
        "history": ("memories:history", "Show every version of a memory: who changed it, when and why."),
        "diff": ("memories:diff", "Compare two versions of a memory."),
        "links": ("links:links", "Show which memories a memory updates, repeats or contradicts."),
        "list": ("memories:list_memories", "List memories, newest first."),
        "edit": ("memories:edit", "Change a memory."),
        "forget": ("memories:forget", "Delete memories permanently."),
        "rate": ("memories:rate", "Rate whether a memory was useful."),
        "recalls": ("memories:recalls", "List past searches with their results and scores."),
        "stats": ("memories:stats", "Count memories."),
        "task-done": ("memories:task_done", "Store a completed or failed task."),
    },
    "Files": {
        "index": ("transfer:index", "Index text files and folders of them."),
        "import": ("transfer:import_file", "Import memories, or the agents of Agent Swarm."),
        "export": ("transfer:export_file", "Export all memories as JSON lines."),
    },
    "Operations": {
        "observe": ("observations:observe", "Report an observation about running a service."),
        "observations": ("observations:observations", "List operational memories, newest first."),
        "curate": ("observations:curate", "Correct an operational memory."),
        "context": ("observations:context", "Print the operational context of an agent."),
        "ingest-stream": ("stream:ingest_stream", "Store the markers of an agent's output while it is written."),
        "events": ("events:events", "Log of events on services: list, add, forget."),
        "cooldowns": ("events:cooldowns", "Actions on services that must wait: list, set, clear."),
    },
    "Agent programs": {
        "setup": ("setup:setup", "Set up Hivelore in an agent program."),
        "unsetup": ("setup:unsetup", "Remove Hivelore from agent programs."),
        "workspace": ("workspace:app", "The workspace of an agent: prepare."),
        "setup-script": ("setup_scripts:app", "Setup scripts: show, set, history, diff, restore, sync."),
        "prompt": ("agents:prompt", "Print the system prompt of an agent."),
        "teach": ("setup:teach", "Print instructions that teach an agent to use its memory."),
    },
    "Service": {
        "serve": ("service:serve", "Run the service in the foreground until Ctrl-C."),
        "start": ("service:start", "Start the service in the background."),
        "stop": ("service:stop", "Stop the service after its current work."),
        "status": ("service:status", "Show the state of the service."),
        "mcp": ("service:mcp", "Speak MCP on stdin and stdout."),
        "hook": ("service:hook", "Deliver an event of an agent program; its hooks run this."),
        "doctor": ("doctor:doctor", "Look for problems and show how to fix them."),
    },
    "Housekeeping": {
        "review": ("review:app", "Proposals of agents: list, show, accept, reject, merge."),
        "config": ("configuration:app", "Configuration of agents and its secrets: list, set, reveal, env."),
        "repo": ("repos:app", "Repositories of the swarm and their clones: list, add, sync."),
        "agent": ("agents:app", "Agents, their keys and profiles: add, list, show, edit, restore."),
        "move": ("migrate:move", "Copy everything to another database, SQLite or PostgreSQL."),
        "undo": ("maintenance:undo", "Undo a change: all of it or nothing."),
        "batches": ("maintenance:batches", "List changes that can be undone, newest first."),
        "maintain": ("maintenance:maintain", "Preview maintenance, or apply it."),
        "reembed": ("maintenance:reembed", "Embed passages that have no vector of the configured model."),
        "completion": ("dispatch:completion", "Print a script that completes verbs and options."),
    },
}
"""By group and verb: the function, which is imported when the verb runs, and the first line of its help."""
_DESCRIPTION = "Shared memory for coding agents. Verbs start the service on this machine when they need it."
_TAKES_STDIN = (
    "remember",
    "recall",
    "edit",
    "observe",
    "import",
    "export",
    "events",
    "task-done",
    "config",
    "repo",
    "setup-script",
)


def run(argv: Sequence[str]) -> int:
    """Run one verb and return its exit code. Results go to stdout, everything else to stderr."""
    _prepare_streams()
    as_json = "--json" in _options(argv)
    try:
        code = _run(argv, as_json=as_json)
        sys.stdout.flush()
    except HiveloreError as error:
        output.fail(str(error), exits.name_of(error), as_json=as_json, **_details(error))
        return exits.code_of(error)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader closed the pipe. Rich raises SystemExit then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.CLOSED_PIPE
    except OSError as error:
        output.fail(f"{error.strerror or error}.", "error", as_json=as_json)
        return exits.UNEXPECTED
    return code


def _run(argv: Sequence[str], *, as_json: bool) -> int:
    words = _replace_dash(argv)
    if not words or words[0] in ("--help", "-h"):
        from hivelore.cli.help import format_overview

        print(format_overview(_DESCRIPTION, VERBS))
        return 0
    if words[0] == "--version":
        print(__version__)
        return 0
    for warning in variables.unknown():
        output.note(f"hivelore: {warning}")
    from cyclopts import CycloptsError, UnusedCliTokensError

    try:
        code = build()(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        hint = " ".join(("hivelore", *(error.command_chain or ()), "--help"))
        unexpected = error.unused_tokens if isinstance(error, UnusedCliTokensError) else None
        message = f"Unexpected argument {unexpected[0]!r}." if unexpected else error
        output.fail(f"{message} See '{hint}'.", "usage", as_json=as_json)
        return exits.USAGE
    return code if isinstance(code, int) else 0


def build() -> "App":
    """Return the parser of the whole command line; the functions of its verbs are imported when they run."""
    from cyclopts import App, Group, Parameter

    from hivelore.cli.help import PlainHelp

    app = App(
        name="hivelore",
        help=_DESCRIPTION,
        version=__version__,
        help_formatter=PlainHelp(),
        help_format="plaintext",
        default_parameter=Parameter(
            negative=(), show_default=lambda value: None if value in (None, False, ()) else value
        ),
        suppress_keyboard_interrupt=False,
    )
    for number, (title, verbs) in enumerate(VERBS.items(), start=1):
        group = Group(title, sort_key=number)
        for position, (name, (function, _)) in enumerate(verbs.items()):
            app.command(f"hivelore.cli.{function}", name=name, group=group, sort_key=position)
    return app


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes verbs and options.

    Save it in ~/.bash_completion for bash, as _hivelore in a folder of your fpath for zsh, or in
    ~/.config/fish/completions/hivelore.fish for fish.

    Example: hivelore completion bash
    """
    print(build().generate_completion(shell=shell))


def _replace_dash(argv: Sequence[str]) -> list[str]:
    """Replace a lone ``-`` by the mark for stdin: the parser would take it for an option."""
    for position, word in enumerate(argv, start=1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise Invalid(f"Argument {position} is not valid Unicode.") from None
        if "\0" in word:
            raise Invalid(f"Argument {position} has a NUL character.")
    if not argv or argv[0] not in _TAKES_STDIN:
        return list(argv)
    options = _options(argv)
    return [*("\0" if word == "-" else word for word in options), *argv[len(options) :]]


def _options(argv: Sequence[str]) -> Sequence[str]:
    """Return the arguments before ``--``; none after it is an option."""
    return argv[: argv.index("--")] if "--" in argv else argv


def _prepare_streams() -> None:
    """Make stdout and stderr accept every character; replace a closed one by the null device."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _details(error: HiveloreError) -> dict[str, Any]:
    """Return the attributes of an error that its JSON contains."""
    names = ("field", "current", "proposal", "pid", "retry_after")
    return {name: value for name in names if (value := getattr(error, name, None)) is not None}
