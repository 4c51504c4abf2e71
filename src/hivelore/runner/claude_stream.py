"""Events of Claude Code: ``claude -p --output-format stream-json --verbose``."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hivelore.observations.markers import assistant_texts
from hivelore.runner.json_line import as_list, as_object, as_text, parse_object
from hivelore.runner.model import Usage
from hivelore.runner.stream_events import (
    AssistantText,
    MessageUsage,
    SessionStarted,
    StreamEvent,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    Unreadable,
    UsageReported,
    as_cost,
    as_count,
    as_session,
)
from hivelore.runner.stream_lines import StreamLine

_USER = b'{"type":"user"'
"""Beginning of the results of tools, which contain whole files. Nothing in them is read."""
_OVER_BUDGET = "error_max_budget_usd"


def read_claude_line(line: StreamLine) -> Iterator[StreamEvent]:
    """Yields the events of a line; unknown events are none."""
    if line.data.startswith(_USER) or not line.data.strip():
        return
    event = parse_object(line)
    if event is None or not isinstance(event.get("type"), str):
        yield Unreadable()
        return
    match event["type"]:
        case "system" if event.get("subtype") == "init":
            session = as_session(event.get("session_id"))
            if session is not None:
                yield SessionStarted(session)
        case "assistant":
            yield from _read_message(event)
        case "result":
            yield from _read_result(event)
        case _:
            pass


def _read_message(event: Mapping[str, Any]) -> Iterator[StreamEvent]:
    message = as_object(event.get("message"))
    for text in assistant_texts(event):
        yield AssistantText(text, as_text(message.get("id")))
    used = as_object(message.get("usage"))
    if used:
        yield MessageUsage(as_text(message.get("id")), _read_tokens(used))
    for block in as_list(message.get("content")):
        fields = as_object(block)
        if fields.get("type") == "tool_use":
            yield ToolStarted(as_text(fields.get("name"))[:100] or "tool")


def _read_result(event: Mapping[str, Any]) -> Iterator[StreamEvent]:
    session = as_session(event.get("session_id"))
    yield _read_usage(event)
    answer = event.get("result")
    if event.get("subtype") == "success" and event.get("is_error") is not True and isinstance(answer, str):
        yield TurnEnded(answer, session)
        return
    said = [as_text(one) for one in as_list(event.get("errors"))] or [as_text(answer)]
    reason = "; ".join(filter(None, said)) or as_text(event.get("subtype")) or "no reason was given"
    yield TurnFailed(reason, session, is_final=event.get("subtype") == _OVER_BUDGET)


def _read_usage(event: Mapping[str, Any]) -> UsageReported:
    """Returns the usage of this run. The totals of a resumed session include what it used before, so the usage since
    the last result is preferred; older versions do not report it."""
    models = as_object(event.get("model_usage_since_last_result"))
    if models:
        used = sum((_read_model_usage(as_object(one)) for one in models.values()), Usage())
        return UsageReported(used)
    used = _read_tokens(as_object(event.get("usage")))
    return UsageReported(replace(used, cost_usd=as_cost(event.get("total_cost_usd"))))


def _read_tokens(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        cache_read_tokens=as_count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=as_count(usage.get("cache_creation_input_tokens")),
    )


def _read_model_usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(usage.get("inputTokens")),
        output_tokens=as_count(usage.get("outputTokens")),
        cache_read_tokens=as_count(usage.get("cacheReadInputTokens")),
        cache_write_tokens=as_count(usage.get("cacheCreationInputTokens")),
        cost_usd=as_cost(usage.get("costUSD")),
    )
