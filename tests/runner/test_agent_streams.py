"""The output of agent programs as events, whatever arrives."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.redaction import Redactor
from hivelore.runner.claude_stream import read_claude_line
from hivelore.runner.codex_stream import read_codex_line
from hivelore.runner.model import Usage
from hivelore.runner.stream_events import (
    MAX_TEXT_BYTES,
    AssistantText,
    RunState,
    SessionStarted,
    StreamEvent,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    Unreadable,
    UsageReported,
    advance_all,
    cut_text,
    fit_text,
)
from hivelore.runner.stream_lines import LineSplitter, StreamLine

SESSION = "b6121a09-f25c-4407-8b02-76df1be7ea76"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def claude(**event: Any) -> list[StreamEvent]:
    return list(read_claude_line(StreamLine(json.dumps(event).encode())))


def codex(**event: Any) -> list[StreamEvent]:
    return list(read_codex_line(StreamLine(json.dumps(event).encode())))


def test_d21_the_session_is_that_of_the_first_line() -> None:
    assert claude(type="system", subtype="init", session_id=SESSION) == [SessionStarted(SESSION)]
    assert codex(type="thread.started", thread_id=SESSION) == [SessionStarted(SESSION)]


def test_d21_without_a_first_line_the_session_is_that_of_the_result() -> None:
    events = claude(type="result", subtype="success", is_error=False, result="Done.", session_id=SESSION)
    assert advance_all(RunState(), events).session == SESSION


def test_a_message_of_claude_has_texts_and_tools() -> None:
    content = [
        {"type": "thinking", "thinking": "[MEMORY:timing:a] b"},
        {"type": "text", "text": "[MEMORY:timing:jellyfin] Takes 60s"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
    ]
    assert claude(type="assistant", message={"id": "msg_1", "content": content}) == [
        AssistantText("[MEMORY:timing:jellyfin] Takes 60s", "msg_1"),
        ToolStarted("Bash"),
    ]


def test_results_of_tools_are_no_text_of_the_agent() -> None:
    content = [{"type": "tool_result", "content": "[MEMORY:timing:jellyfin] Takes 60s"}]
    assert claude(type="user", message={"content": content}) == []


def test_a_result_has_answer_usage_and_cost() -> None:
    usage = {"input_tokens": 7, "output_tokens": 20, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
    events = claude(type="result", subtype="success", result="Done.", usage=usage, total_cost_usd=0.0008)
    assert events == [UsageReported(Usage(7, 20, 3, 2, 0.0008)), TurnEnded("Done.")]


def test_the_usage_of_a_resumed_session_is_that_of_this_run() -> None:
    since = {"opus": {"inputTokens": 100, "outputTokens": 20, "costUSD": 0.25}, "haiku": {"costUSD": 0.25}}
    first = {"type": "result", "subtype": "success", "result": "a", "model_usage_since_last_result": since}
    events = [*claude(**first, total_cost_usd=9.0), *claude(**first, total_cost_usd=9.5)]
    assert advance_all(RunState(), events).usage == Usage(200, 40, 0, 0, 1.0)


def test_markers_are_no_part_of_progress_and_answer() -> None:
    marker = "[MEMORY:timing:jellyfin] Takes 60s"
    assert advance_all(RunState(), [AssistantText(f"Hm.\n{marker}\n")]).last_text == "Hm."
    assert advance_all(RunState(), [TurnEnded(f"Done.\n{marker}\n")]).answer == "Done."
    assert advance_all(RunState(), [TurnEnded(marker)]).answer == marker


def test_an_error_of_claude_is_a_failure_with_its_reason() -> None:
    events = claude(type="result", subtype="error_during_execution", is_error=True, errors=["No conversation found"])
    assert events[1] == TurnFailed("No conversation found")
    (*_, failed) = claude(type="result", subtype="success", is_error=True, result="Not logged in")
    assert failed == TurnFailed("Not logged in")
    (*_, failed) = claude(type="result", subtype="error_max_budget_usd", errors=["Reached maximum budget ($1)"])
    assert failed == TurnFailed("Reached maximum budget ($1)", is_final=True)


def test_codex_reports_messages_tools_and_the_usage_of_the_whole_session() -> None:
    item = {"id": "item_1", "type": "agent_message", "text": "Done."}
    assert codex(type="item.completed", item=item) == [AssistantText("Done.", "item_1")]
    assert codex(type="item.started", item={"type": "command_execution", "command": "ls"}) == [
        ToolStarted("command_execution")
    ]
    usage = {"input_tokens": 300, "cached_input_tokens": 100, "cache_write_input_tokens": 0, "output_tokens": 60}
    events = [*codex(type="item.completed", item=item), *codex(type="turn.completed", usage=usage)]
    state = advance_all(RunState(), events, before=Usage(150, 40, 50))
    assert (state.answer, state.usage) == ("Done.", Usage(50, 20, 50))


def test_codex_fails_with_a_reason() -> None:
    assert codex(type="turn.failed", error={"message": "quota"}) == [TurnFailed("quota")]


@pytest.mark.parametrize("read", [read_claude_line, read_codex_line])
@pytest.mark.parametrize(
    "line", [b"garbage", b"{", b'{"type": "assistant", "mess', b"[1]", b'{"type": 3}', b"\xff\xfe{", b"{" * 100_000]
)
def test_a_line_that_is_no_event_is_counted(read: Any, line: bytes) -> None:
    assert list(read(StreamLine(line))) == [Unreadable()]


@given(kind=st.sampled_from(["system", "assistant", "user", "result", "item.completed", "turn.completed"]), rest=JSON)
def test_events_of_any_shape_are_read(kind: str, rest: Any) -> None:
    names = ("subtype", "message", "session_id", "usage", "total_cost_usd", "item", "result", "is_error", "errors")
    for event in ({"type": kind} | dict.fromkeys(names, rest), {"type": kind, "message": {"content": rest}}):
        line = StreamLine(json.dumps(event).encode())
        for read in (read_claude_line, read_codex_line):
            state = advance_all(RunState(), read(line))
            assert state.usage.tokens >= 0
            assert len(state.last_text.encode()) <= MAX_TEXT_BYTES


@pytest.mark.parametrize("session", ["../../etc/passwd", "", "a b", "x" * 300, 7, None, "ü", "a\0"])
def test_a_session_that_could_be_a_path_is_no_session(session: object) -> None:
    assert claude(type="system", subtype="init", session_id=session) == []


@given(st.lists(st.binary(max_size=40)), st.integers(1, 20))
def test_lines_do_not_depend_on_the_pieces(pieces: list[bytes], longest: int) -> None:
    def lines(parts: list[bytes]) -> list[StreamLine]:
        splitter = LineSplitter(longest)
        return [line for part in parts for line in splitter.read(part)] + list(splitter.end())

    whole = b"".join(pieces)
    assert lines(pieces) == lines([whole])
    expected = whole.split(b"\n")
    if expected[-1] == b"":
        del expected[-1]
    assert [line.data for line in lines([whole])] == [one[:longest].removesuffix(b"\r") for one in expected]


def test_a_long_line_is_cut_and_the_next_one_is_whole() -> None:
    splitter = LineSplitter(longest=10)
    found = [line for _ in range(1_000) for line in splitter.read(b"x" * 1_000)]
    found += splitter.read(b"\nnext\n")
    assert found == [StreamLine(b"x" * 10, is_cut=True), StreamLine(b"next")]


def test_a_cut_text_is_valid() -> None:
    assert cut_text("ü" * 100_000).encode()[-5:] == b"[...]"
    assert len(cut_text("ü" * 100_000).encode()) <= MAX_TEXT_BYTES
    assert cut_text("a\0b\ud800") == "ab?"


def test_a_line_in_many_pieces_takes_no_more_memory_than_its_bytes() -> None:
    lines = LineSplitter()
    tracemalloc.start()
    try:
        for number in range(500_000):
            assert list(lines.read(b"%03d" % (number % 1_000))) == []
        assert tracemalloc.get_traced_memory()[0] < 4_000_000
    finally:
        tracemalloc.stop()
    assert [len(line.data) for line in lines.read(b"\n")] == [1_500_000]


WORDS = st.sampled_from(
    ["password=hunter2x ", "token: abc123def4 ", "pw=x1y2z3a4 ", "the \U0001f41d ", "ghp_" + "a1B2" * 9]
)


@given(st.lists(WORDS, max_size=30), st.integers(1, 20), st.sampled_from([100, 1_000, 4_000]))
def test_a_fitted_text_is_within_its_limit_also_after_its_secrets_are_masked(
    words: list[str], times: int, most: int
) -> None:
    fitted = fit_text("".join(words) * times, most, Redactor(bytes(16)))
    assert len(fitted.encode()) <= most
    assert len(Redactor(bytes(range(16))).clean(fitted).encode()) <= most


def test_a_text_that_fits_does_not_change() -> None:
    text = "The password=hunter2x is set."
    assert fit_text(text, 1_000, Redactor(bytes(16))) == text
