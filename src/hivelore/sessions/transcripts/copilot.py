"""The sessions of GitHub Copilot CLI: ``~/.copilot/session-state/<session>/events.jsonl``.

What its sub-agents say stands in the same file, marked with their id.
"""

from collections.abc import Iterable, Iterator

from hivelore.sessions.model import Tool, Turn, Who
from hivelore.sessions.transcripts.entries import Entry, answered, entries, instant, mapping, said, texts, tool, word


def turns(lines: Iterable[str], _of_subagent: bool) -> Iterator[Turn]:
    called: dict[str, Tool] = {}
    folder = ""
    for entry in entries(lines):
        data, at, key = mapping(entry.get("data")), instant(entry.get("timestamp")), entry.get("agentId")
        call = word(data.get("toolCallId"))
        match entry.get("type"):
            case _ if key is not None:
                pass
            case "session.start":
                folder = word(mapping(data.get("context")).get("cwd"))
            case "user.message" if data.get("source") in (None, "user"):
                yield from said(Who.USER, texts(data.get("content")), at)
            case "assistant.message":
                yield from said(Who.ASSISTANT, texts(data.get("content")), at)
            case "tool.execution_start" if word(data.get("toolName")):
                used = called[call] = tool(_name(data), data.get("arguments"), folder)
                yield Turn(who=Who.CALL, text="", tool=used, at=at)
            case "tool.execution_complete" if call in called:
                failed = data.get("success") is False or _exit_code(data) != 0
                yield answered(called[call], _output(data), at, failed=failed)
            case _:
                pass


def _name(data: Entry) -> str:
    """That of the tool, behind that of its server."""
    return ".".join(filter(None, (word(data.get("mcpServerName")), word(data.get("toolName")))))


def _exit_code(data: Entry) -> int:
    code = mapping(data.get("shellExecution")).get("exitCode")
    return code if isinstance(code, int) else 0


def _output(data: Entry) -> str:
    return texts(mapping(data.get("result")).get("content")) or word(mapping(data.get("error")).get("message"))
