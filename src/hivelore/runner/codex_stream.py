"""Events of Codex: ``codex exec --json``."""

from collections.abc import Iterator, Mapping
from typing import Any

from hivelore.runner.json_line import as_object, as_text, parse_object
from hivelore.runner.model import Usage
from hivelore.runner.stream_events import (
    AssistantText,
    SessionStarted,
    StreamEvent,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    Unreadable,
    UsageReported,
    as_count,
    as_session,
)
from hivelore.runner.stream_lines import StreamLine

_TOOLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "web_search"})


def read_codex_line(line: StreamLine) -> Iterator[StreamEvent]:
    """Yields the events of a line; unknown events are none."""
    if not line.data.strip():
        return
    event = parse_object(line)
    if event is None or not isinstance(event.get("type"), str):
        yield Unreadable()
        return
    match event["type"]:
        case "thread.started":
            session = as_session(event.get("thread_id"))
            if session is not None:
                yield SessionStarted(session)
        case "item.started" | "item.completed":
            yield from _read_item(as_object(event.get("item")), has_ended=event["type"] == "item.completed")
        case "turn.completed":
            yield UsageReported(_read_usage(as_object(event.get("usage"))), is_total=True)
            yield TurnEnded(None)
        case "turn.failed":
            yield TurnFailed(as_text(as_object(event.get("error")).get("message")) or "no reason was given")
        case _:
            pass  # "error" events also report attempts that are repeated; a turn that fails says so.


def _read_item(item: Mapping[str, Any], *, has_ended: bool) -> Iterator[StreamEvent]:
    kind = as_text(item.get("type"))
    if kind == "agent_message" and has_ended:
        yield AssistantText(as_text(item.get("text")), as_text(item.get("id")))
    elif kind in _TOOLS and not has_ended:
        yield ToolStarted(as_text(item.get("tool"))[:100] or kind)


def _read_usage(usage: Mapping[str, Any]) -> Usage:
    """Codex counts cached tokens as input, too, and reports the sum since the session began. It reports no money."""
    cached = as_count(usage.get("cached_input_tokens"))
    written = as_count(usage.get("cache_write_input_tokens"))
    return Usage(
        input_tokens=max(as_count(usage.get("input_tokens")) - cached - written, 0),
        output_tokens=as_count(usage.get("output_tokens")),
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )
