"""The transcripts of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from hivelore.sessions.model import Tool, Turn, Who
from hivelore.sessions.transcripts.entries import answered, entries, instant, mapping, parts, said, texts, tool, word

WRAPPED = re.compile(
    r"<(system-reminder|command-name|command-message|command-args|command-contents|local-command-stdout|"
    r"local-command-stderr|local-command-caveat|bash-input|bash-stdout|bash-stderr|task-notification|"
    r"user-prompt-submit-hook|ide_opened_file|ide_selection)\b[^>]{0,200}>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
"""What the program puts into the messages of a user."""
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]]{0,40}\]")
_ERROR = re.compile(r"</?tool_use_error>")
_NOT_SAID = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")


def turns(lines: Iterable[str], of_subagent: bool) -> Iterator[Turn]:
    """``of_subagent``: all of a sub-agent's own file is said beside the main session; of another file none of that."""
    called: dict[str, Tool] = {}
    for entry in entries(lines):
        if any(entry.get(mark) for mark in _NOT_SAID) or (entry.get("isSidechain") and not of_subagent):
            continue
        at, content = instant(entry.get("timestamp")), mapping(entry.get("message")).get("content")
        folder = word(entry.get("cwd"))
        match entry.get("type"):
            case "user":
                yield from _of_user(content, at, called)
            case "assistant":
                yield from _of_assistant(content, at, called, folder)
            case _:
                pass


def _of_user(content: object, at: datetime | None, called: dict[str, Tool]) -> Iterator[Turn]:
    for part in parts(content):
        result = mapping(part)
        used = called.get(word(result.get("tool_use_id")))
        if result.get("type") == "tool_result" and used is not None:
            output = _ERROR.sub("", texts(result.get("content")))
            yield answered(used, output, at, failed=result.get("is_error") is True)
    yield from said(Who.USER, _INTERRUPTED.sub("", WRAPPED.sub("", _texts_said(content))), at)


def _of_assistant(content: object, at: datetime | None, called: dict[str, Tool], folder: str) -> Iterator[Turn]:
    yield from said(Who.ASSISTANT, _texts_said(content), at)
    for part in parts(content):
        call = mapping(part)
        if call.get("type") == "tool_use" and word(call.get("name")):
            used = called[word(call.get("id"))] = tool(word(call.get("name")), call.get("input"), folder)
            yield Turn(who=Who.CALL, text="", tool=used, at=at)


def _texts_said(content: object) -> str:
    if isinstance(content, str):
        return content
    return texts([part for part in parts(content) if mapping(part).get("type") == "text"])
