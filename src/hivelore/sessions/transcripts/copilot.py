"""Transcripts of GitHub Copilot CLI: ``~/.copilot/session-state/<session>/events.jsonl``.

Events of sub-agents are in the same file, marked with ``agentId``; they are ignored.
"""

from collections.abc import Iterable, Iterator

from hivelore.sessions.model import Speaker, Tool, Turn
from hivelore.sessions.transcripts.entries import (
    Entry,
    as_mapping,
    as_text,
    join_texts,
    parse_entries,
    parse_instant,
    parse_tool,
    result_turn,
    spoken_turn,
)


def turns(lines: Iterable[str], _of_subagent: bool) -> Iterator[Turn]:
    called: dict[str, Tool] = {}
    folder = ""
    for entry in parse_entries(lines):
        data, at, key = as_mapping(entry.get("data")), parse_instant(entry.get("timestamp")), entry.get("agentId")
        call = as_text(data.get("toolCallId"))
        match entry.get("type"):
            case _ if key is not None:
                pass
            case "session.start":
                folder = as_text(as_mapping(data.get("context")).get("cwd"))
            case "user.message" if data.get("source") in (None, "user"):
                yield from spoken_turn(Speaker.USER, join_texts(data.get("content")), at)
            case "assistant.message":
                yield from spoken_turn(Speaker.ASSISTANT, join_texts(data.get("content")), at)
            case "tool.execution_start" if as_text(data.get("toolName")):
                used = called[call] = parse_tool(_tool_name(data), data.get("arguments"), folder)
                yield Turn(speaker=Speaker.CALL, text="", tool=used, at=at)
            case "tool.execution_complete" if call in called:
                failed = data.get("success") is False or _exit_code(data) != 0
                yield result_turn(called[call], _output(data), at, failed=failed)
            case _:
                pass


def _tool_name(data: Entry) -> str:
    """Returns the name of a tool, after the name of its MCP server."""
    return ".".join(filter(None, (as_text(data.get("mcpServerName")), as_text(data.get("toolName")))))


def _exit_code(data: Entry) -> int:
    code = as_mapping(data.get("shellExecution")).get("exitCode")
    return code if isinstance(code, int) else 0


def _output(data: Entry) -> str:
    return join_texts(as_mapping(data.get("result")).get("content")) or as_text(
        as_mapping(data.get("error")).get("message")
    )
