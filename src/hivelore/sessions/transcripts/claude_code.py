"""Transcripts of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from hivelore.sessions.model import Speaker, Tool, Turn
from hivelore.sessions.transcripts.entries import (
    as_list,
    as_mapping,
    as_text,
    join_texts,
    parse_entries,
    parse_instant,
    parse_tool,
    result_turn,
    spoken_turn,
)

INSERTED = re.compile(
    r"<(system-reminder|command-name|command-message|command-args|command-contents|local-command-stdout|"
    r"local-command-stderr|local-command-caveat|bash-input|bash-stdout|bash-stderr|task-notification|"
    r"user-prompt-submit-hook|ide_opened_file|ide_selection)\b[^>]{0,200}>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
"""Text that the program inserts into user messages."""
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]]{0,40}\]")
_ERROR = re.compile(r"</?tool_use_error>")
_HIDDEN = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")


def turns(lines: Iterable[str], of_subagent: bool) -> Iterator[Turn]:
    """``of_subagent``: the file belongs to a sub-agent, so its sidechain entries count; elsewhere they are ignored."""
    called: dict[str, Tool] = {}
    for entry in parse_entries(lines):
        if any(entry.get(mark) for mark in _HIDDEN) or (entry.get("isSidechain") and not of_subagent):
            continue
        at, content = parse_instant(entry.get("timestamp")), as_mapping(entry.get("message")).get("content")
        folder = as_text(entry.get("cwd"))
        match entry.get("type"):
            case "user":
                yield from _user_turns(content, at, called)
            case "assistant":
                yield from _assistant_turns(content, at, called, folder)
            case _:
                pass


def _user_turns(content: object, at: datetime | None, called: dict[str, Tool]) -> Iterator[Turn]:
    for part in as_list(content):
        result = as_mapping(part)
        used = called.get(as_text(result.get("tool_use_id")))
        if result.get("type") == "tool_result" and used is not None:
            output = _ERROR.sub("", join_texts(result.get("content")))
            yield result_turn(used, output, at, failed=result.get("is_error") is True)
    yield from spoken_turn(Speaker.USER, _INTERRUPTED.sub("", INSERTED.sub("", _spoken_text(content))), at)


def _assistant_turns(content: object, at: datetime | None, called: dict[str, Tool], folder: str) -> Iterator[Turn]:
    yield from spoken_turn(Speaker.ASSISTANT, _spoken_text(content), at)
    for part in as_list(content):
        call = as_mapping(part)
        if call.get("type") == "tool_use" and as_text(call.get("name")):
            used = called[as_text(call.get("id"))] = parse_tool(as_text(call.get("name")), call.get("input"), folder)
            yield Turn(speaker=Speaker.CALL, text="", tool=used, at=at)


def _spoken_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return join_texts([part for part in as_list(content) if as_mapping(part).get("type") == "text"])
