"""Whether a person attends the run of an agent program. Hooks ask this only if HIVELORE_NUDGE is on."""

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

INTERACTIVE = ("cli", "claude-vscode", "claude-desktop")
"""Values of CLAUDE_CODE_ENTRYPOINT with which a person uses Claude Code; `claude -p` and its SDKs have others."""
_PRINT = (b"-p", b"--print")
_LARGEST = 65_536


def is_attended(program: str, environment: "Mapping[str, str]") -> bool:
    """Return False for a headless run, as far as the environment of the hook shows it."""
    if environment.get("CI", "") not in ("", "0", "false"):
        return False
    if program != "claude-code":
        return True
    # A Claude Code within another one inherits its entrypoint, but not its arguments.
    is_interactive = environment.get("CLAUDE_CODE_ENTRYPOINT") in INTERACTIVE
    return is_interactive and not _prints_answer(environment.get("CLAUDE_PID", ""))


def _prints_answer(pid: str) -> bool:
    """Return True if a process was started with the option that prints one answer. Unknown without /proc."""
    if not pid.isdecimal():
        return False
    try:
        descriptor = os.open(f"/proc/{pid}/cmdline", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return any(argument in _PRINT for argument in os.read(descriptor, _LARGEST).split(b"\0"))
    except OSError:  # It has ended.
        return False
    finally:
        os.close(descriptor)
