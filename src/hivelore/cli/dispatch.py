"""Running one verb: from the words of a command line to an exit code."""

import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Group, Parameter

from hivelore import __version__
from hivelore.cli import exits, output
from hivelore.cli.help import PlainHelp
from hivelore.cli.options import STDIN
from hivelore.errors import HiveloreError, Invalid

VERBS = {
    "Memories": {
        "remember": "memories:remember",
        "recall": "reading:recall",
        "get": "reading:get",
        "history": "history:history",
        "diff": "history:diff",
        "list": "reading:list_memories",
        "edit": "memories:edit",
        "forget": "memories:forget",
        "rate": "rating:rate",
        "recalls": "reading:recalls",
        "stats": "reading:stats",
    },
    "Files": {
        "index": "transfer:index",
        "import": "transfer:import_file",
        "export": "transfer:export_file",
    },
    "Operations": {
        "observe": "observations:observe",
        "observations": "observations:observations",
        "curate": "observations:curate",
        "context": "observations:context",
        "ingest-stream": "observations:ingest_stream",
        "events": "events:events",
        "cooldowns": "events:cooldowns",
    },
    "Agent programs": {
        "setup": "setup:setup",
        "unsetup": "setup:unsetup",
        "teach": "setup:teach",
    },
    "Service": {
        "serve": "service:serve",
        "start": "service:start",
        "stop": "service:stop",
        "status": "service:status",
        "mcp": "service:mcp",
        "hook": "service:hook",
        "doctor": "doctor:doctor",
    },
    "Housekeeper": {
        "review": "review:app",
        "agent": "agents:app",
        "move": "migrate:move",
        "undo": "maintenance:undo",
        "batches": "maintenance:batches",
        "maintain": "maintenance:maintain",
        "reembed": "admin:reembed",
        "completion": "admin:completion",
    },
}
"""Where each verb is; imported when it is used."""
_HELP = "The memory of your coding agents. Verbs start the service of this machine when they need it."
_TAKES_STDIN = ("remember", "recall", "edit", "observe", "import", "export", "events")


def build() -> App:
    """The whole command line, with verbs that are not imported yet."""
    app = App(
        name="hivelore",
        help=_HELP,
        version=__version__,
        help_formatter=PlainHelp(),
        help_format="plaintext",
        default_parameter=Parameter(negative=(), show_default=_worth_showing),
        suppress_keyboard_interrupt=False,
    )
    for place_of_group, (title, verbs) in enumerate(VERBS.items(), start=1):
        group = Group(title, sort_key=place_of_group)
        for position, (name, place) in enumerate(verbs.items()):
            app.command(f"hivelore.cli.{place}", name=name, group=group, sort_key=position)
    return app


def run(argv: Sequence[str]) -> int:
    """Run one verb; what it prints goes to stdout, everything about it to stderr. Answers the exit code."""
    _prepare_streams()
    as_json = "--json" in _options(argv)
    try:
        code = _run(argv)
        sys.stdout.flush()
    except CycloptsError as error:
        hint = " ".join(("hivelore", *(error.command_chain or ()), "--help"))
        output.fail(f"{error} See '{hint}'.", "usage", as_json=as_json)
        return exits.USAGE
    except HiveloreError as error:
        output.fail(str(error), exits.name_of(error), as_json=as_json, **_details(error))
        return exits.code_of(error)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Nobody reads any more. Rich says so with SystemExit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.CLOSED_PIPE
    except OSError as error:
        output.fail(f"{error.strerror or error}.", "error", as_json=as_json)
        return exits.UNEXPECTED
    return code


def _run(argv: Sequence[str]) -> int:
    words = _words(argv)
    app = build()
    if not words or words[0] in ("--help", "-h"):
        for name in app:
            _ = app[name]  # imported, so that the overview can say what each one does
    code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    return code if isinstance(code, int) else 0


def _words(argv: Sequence[str]) -> list[str]:
    """The arguments, with a lone ``-`` as the mark that stands for stdin: the parser takes it for an option."""
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
    return [*(STDIN if word == "-" else word for word in options), *argv[len(options) :]]


def _options(argv: Sequence[str]) -> Sequence[str]:
    """The arguments up to ``--``, behind which nothing is an option."""
    return argv[: argv.index("--")] if "--" in argv else argv


def _prepare_streams() -> None:
    """Streams that take every character, whatever the terminal; where one was closed, one that takes them nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _worth_showing(value: Any) -> Any:
    return None if value in (None, False, ()) else value


def _details(error: HiveloreError) -> dict[str, Any]:
    """What an error carries besides its sentence."""
    names = ("field", "current", "proposal", "pid", "retry_after")
    return {name: value for name in names if (value := getattr(error, name, None)) is not None}
