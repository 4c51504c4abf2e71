"""Tool use in a session: changed files, failed commands and their fixes, passed checks.

Nothing here depends on the language of the conversation.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hivelore.sessions.model import Speaker, Tool, ToolEffect, Turn

_CHECK = re.compile(
    r"(?<![\w./-])(?:\S*/)?(?:pytest|tox|nox|unittest|jest|vitest|mocha|playwright|rspec|phpunit|ctest|"
    r"mypy|pyright|ruff|eslint|tsc|flake8|pylint|shellcheck|clippy|golangci-lint|"
    r"(?:make|npm|pnpm|yarn|bun|just|task|rake|mvn|gradlew?|bazel|dotnet|swift|mix|sbt|cargo|go|uv|poetry|npx|composer)"
    r"(?: run)?(?: -\S+)* \S*(?:test|check|lint|build|verify|ci|vet|bench|type)\S*)"
)
"""Commands that test or check something."""
_READ_ONLY = re.compile(
    r"\s*(?:cat|ls|ll|cd|pwd|echo|head|tail|less|grep|rg|find|fd|wc|which|whereis|type|tree|stat|file|sed -n|"
    r"awk|sort|date|sleep|ps|env|printenv|true|test|\[|"
    r"git (?:status|log|diff|show|branch|blame|rev-parse|ls-files|remote))\b"
)
_PRELUDE = re.compile(r"\s*(?:cd \S+|set -\w+|export \w+=\S*|source \S+|\. \S+)\s*(?:&&|;|\n)\s*")
_OUTPUT_FILTERS = re.compile(
    r"\s*(?:2>&1|\|\s*(?:head|tail|tee|cat|grep|sed)\b.*|>\s*\S+|2>\s*\S+|&&\s*echo\b.*|\|\|\s*true|;\s*echo\b.*)"
)
_ERROR_WORD = re.compile(
    r"error|exception|failed|failure|fatal|panic|cannot|can't|could not|couldn't|not found|no such|denied|refused|"
    r"undefined|unresolved|missing|invalid|unexpected|traceback|assert|mismatch|timed? ?out|fehler|erreur|错误|失败|"
    r"异常",
    re.IGNORECASE,
)
_ERROR_NAME = re.compile(
    r"\A\s*(?:E\s+)?(?:[\w.]*(?:Error|Exception|Failure|Warning)\b|error(?:\[\w+\])?|fatal|panic)\s*[:(\[]"
)
"""A line that begins with the name of an error; other lines only mention one."""
_DENIED = re.compile(
    r"(?:user|permission)\b.{0,60}\b(?:reject|denied|doesn't want|not granted)", re.IGNORECASE | re.DOTALL
)
_TERMINAL_MARKS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[│┃╭╮╰╯─━═┌┐└┘├┤]+")
_COMMAND_LENGTH = 120
_ERROR_LENGTH = 200
_MAX_NAMES = 6


@dataclass(slots=True)
class CommandFailure:
    """A command that failed, and the changes made before it worked."""

    command: str
    error: str
    changed_files: list[str] = field(default_factory=list[str])
    commands: list[str] = field(default_factory=list[str])
    """Other commands that succeeded in between and may have changed something."""
    solved: bool = False


@dataclass(slots=True)
class ToolUse:
    files: list[str] = field(default_factory=list[str])
    """Changed files, the most recently changed last."""
    failures: list[CommandFailure] = field(default_factory=list[CommandFailure])
    passed_checks: list[str] = field(default_factory=list[str])
    """Checks whose last run passed."""


def analyze_tool_use(turns: Sequence[Turn], within: slice = slice(None)) -> ToolUse:
    """Returns what the tools did in the turns of this slice."""
    work = ToolUse()
    for tool, output, failed in _results(turns, within):
        match tool.effect:
            case ToolEffect.WRITE if not failed:
                for path in filter(None, tool.target.split("\n")):
                    _move_to_end(work.files, path)
                    for failure in _unsolved(work):
                        _move_to_end(failure.changed_files, path)
            case ToolEffect.RUN:
                command = simplify_command(tool.target)
                if failed:
                    _record_failure(work, command, output)
                elif command:
                    _record_success(work, command)
            case _:
                pass
    return work


def _results(turns: Sequence[Turn], within: slice) -> Iterator[tuple[Tool, str, bool]]:
    """Yields tool, output and failure of each result, and of file changes without one, which count as successful."""
    answered = {turn.tool.call for turn in turns if turn.tool is not None and turn.speaker is Speaker.RESULT}
    for turn in turns[within]:
        if turn.tool is None:
            continue
        if turn.speaker is Speaker.RESULT:
            yield turn.tool, turn.text, turn.failed
        elif turn.tool.call not in answered and turn.tool.effect is ToolEffect.WRITE:
            yield turn.tool, "", False


def _record_failure(work: ToolUse, command: str, output: str) -> None:
    error = error_line(output)
    if not command or error is None:
        return
    work.passed_checks[:] = [other for other in work.passed_checks if other != command]
    known = next((failure for failure in _unsolved(work) if _purpose(failure.command) == _purpose(command)), None)
    if known is None:
        work.failures.append(CommandFailure(command, error))
    elif not known.changed_files and not known.commands:
        known.error = error


def _record_success(work: ToolUse, command: str) -> None:
    if _CHECK.search(command):
        _move_to_end(work.passed_checks, command)
    for failure in _unsolved(work):
        if _purpose(failure.command) == _purpose(command):
            failure.solved = True
        elif not _READ_ONLY.match(command) and not _CHECK.search(command):
            _move_to_end(failure.commands, command)


def _unsolved(work: ToolUse) -> list[CommandFailure]:
    return [failure for failure in work.failures if not failure.solved]


def _move_to_end(known: list[str], new: str) -> None:
    if new in known:
        known.remove(new)
    known.append(new)


def _purpose(command: str) -> tuple[str, ...]:
    """Returns the program and its first argument, without options, to recognize a repeated command."""
    words = [word for word in command.split() if not word.startswith("-") and "=" not in word]
    return tuple(words[:2])


def simplify_command(command: str) -> str:
    """Returns the first line of a command without preparation (``cd``, ``export``) and output filters. Empty if the
    command is too long."""
    text = command.strip()
    while (before := _PRELUDE.match(text)) and before.end() < len(text):
        text = text[before.end() :]
    text = text.split("\n", 1)[0]
    text = _OUTPUT_FILTERS.sub("", text).strip()
    return text if len(text) <= _COMMAND_LENGTH else ""


def error_line(output: str) -> str | None:
    """Returns the line of an output that best describes the error; None if there is none, or if the user denied the
    call."""
    if _DENIED.search(output[:_ERROR_LENGTH]):
        return None
    lines = [" ".join(_TERMINAL_MARKS.sub("", line).split()) for line in output.splitlines()]
    for fits in (_ERROR_NAME, _ERROR_WORD):
        found = [line for line in lines if fits.search(line) and any(map(str.isalpha, line))]
        if found:
            line = re.sub(r"\AE\s+", "", found[-1])
            return line if len(line) <= _ERROR_LENGTH else line[:_ERROR_LENGTH].rsplit(" ", 1)[0] + "…"
    return None


def format_names(names: Iterable[str]) -> str:
    """Returns the last names for a sentence, with the number of omitted ones."""
    every = list(names)
    shown = ", ".join(f"`{name}`" for name in every[-_MAX_NAMES:])
    return shown if len(every) <= _MAX_NAMES else f"{shown} and {len(every) - _MAX_NAMES} more"
