"""Agent programs: parsing of hook events and format of replies."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid
from hivelore.sessions.model import NO_REPLY, AgentEvent, Delegation, EventId, EventKind, Origin, Reply, SubAgent, Task
from hivelore.sessions.programs import (
    CLAUDE_CODE,
    MAX_FIELD,
    PROGRAMS,
    Dialect,
    EventContext,
    parse_spooled_event,
    read_task,
)

NOW = datetime(2026, 11, 1, tzinfo=UTC)
ABOUT = EventContext(id=EventId("e1"), at=NOW, project=Clean("example.com/bees/hive"))
BASE = {"session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": "/w", "permission_mode": "default"}
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def clean(text: str) -> Clean:
    return Clean(text)


def parsed(name: str, dialect: Dialect = CLAUDE_CODE, **payload: Any) -> AgentEvent | None:
    return dialect.parse_event(name, {**BASE, "hook_event_name": name, **payload}, ABOUT, clean)


def test_the_call_of_a_sub_agent_is_parsed_with_its_task() -> None:
    given = {"description": "Look it up", "prompt": "Which port is free?", "subagent_type": "Explore"}
    for tool in ("Agent", "Task"):
        event = parsed("PreToolUse", tool_name=tool, tool_input=given)
        assert event is not None
        assert (event.kind, event.delegated) == (
            EventKind.DELEGATED,
            Delegation("Explore", Clean("Which port is free?"), NOW),
        )
    event = parsed("PreToolUse", tool_name="Task", tool_input={"prompt": "Go on."})
    assert event is not None
    assert event.delegated == Delegation("", Clean("Go on."), NOW)


@pytest.mark.parametrize(
    "payload",
    [
        {"tool_name": "Bash", "tool_input": {"prompt": "ls"}},
        {"tool_name": "Task", "tool_input": {"prompt": " "}},
        {"tool_name": "Task", "tool_input": "ls"},
        {"tool_name": "Task"},
        {"tool_name": 7, "tool_input": {"prompt": "ls"}},
        {"tool_name": "Task", "tool_input": {"prompt": "ls"}, "agent_id": "a1"},
    ],
)
def test_other_calls_of_tools_are_ignored(payload: dict[str, Any]) -> None:
    assert parsed("PreToolUse", **payload) is None
    assert PROGRAMS["codex"].parse_event("PreToolUse", {"session_id": "s", **payload}, ABOUT, clean) is None


@pytest.mark.parametrize(
    ("name", "payload", "kind", "text"),
    [
        ("SessionStart", {"source": "startup"}, EventKind.STARTED, None),
        ("UserPromptSubmit", {"prompt": "Fix it"}, EventKind.PROMPTED, "Fix it"),
        ("Stop", {"last_assistant_message": "Done", "stop_hook_active": False}, EventKind.ANSWERED, "Done"),
        ("TaskCompleted", {"task_id": "3", "task_subject": "Move the proxy"}, EventKind.ADVANCED, None),
        ("PreCompact", {"trigger": "auto", "custom_instructions": "x"}, EventKind.COMPACTING, None),
        ("PostCompact", {"trigger": "auto", "compact_summary": "All of it"}, EventKind.COMPACTED, "All of it"),
        ("SessionEnd", {"reason": "other"}, EventKind.ENDED, None),
    ],
)
def test_events_of_claude_code_are_parsed(
    name: str, payload: dict[str, Any], kind: EventKind, text: str | None
) -> None:
    event = parsed(name, **payload)
    assert event is not None
    assert (event.kind, event.text, event.session, event.program) == (kind, text, "s1", "claude-code")
    assert (event.id, event.at, event.project, event.transcript) == ("e1", NOW, ABOUT.project, "/t/s1.jsonl")


@pytest.mark.parametrize(
    ("payload", "task"),
    [
        ({"task_id": "3", "task_subject": "Move the proxy"}, Task("3", "Move the proxy")),
        (
            {"task_id": "3", "task_subject": "Move the proxy", "task_description": "To 5433"},
            Task("3", "Move the proxy\n\nTo 5433"),
        ),
        ({"task_id": "3", "task_subject": "Move", "task_description": "Move"}, Task("3", "Move")),
        ({"task_id": 3, "task_subject": "Move the proxy"}, None),
        ({"task_id": "3", "task_subject": " "}, None),
        ({}, None),
    ],
)
def test_a_completed_task_has_its_id_and_text(payload: dict[str, Any], task: Task | None) -> None:
    event = parsed("TaskCompleted", **payload)
    assert event is not None
    assert event.completed == task


def test_other_events_complete_no_task() -> None:
    event = parsed("Stop", last_assistant_message="Done", task_id="3", task_subject="Move the proxy")
    assert event is not None
    assert event.completed is None


def test_codex_has_no_task_completed_event() -> None:
    assert parsed("TaskCompleted", PROGRAMS["codex"], task_id="3") is None
    assert "TaskCompleted" not in PROGRAMS["codex"].kinds


COPILOT = {"sessionId": "s1", "timestamp": 1795369097462, "cwd": "/w"}
OF_SUBAGENT = {"agentId": "a1", "agentType": "explore", "parentAgentId": "s1"}


@pytest.mark.parametrize(
    ("name", "payload", "kind", "text"),
    [
        ("sessionStart", {"source": "new", "initialPrompt": "Fix it"}, EventKind.STARTED, None),
        ("userPromptSubmitted", {"prompt": "Fix it"}, EventKind.PROMPTED, "Fix it"),
        ("agentStop", {"transcriptPath": "/t/e.jsonl", "stopReason": "end_turn"}, EventKind.ANSWERED, None),
        ("preCompact", {"transcriptPath": "/t/e.jsonl", "trigger": "auto"}, EventKind.COMPACTING, None),
        ("subagentStart", {"agentName": "explore", **OF_SUBAGENT}, EventKind.SUBAGENT_STARTED, None),
        (
            "subagentStop",
            {"transcriptPath": "/t/e.jsonl", "response": "Done", **OF_SUBAGENT},
            EventKind.SUBAGENT_ENDED,
            "Done",
        ),
    ],
)
def test_events_of_copilot_are_parsed(name: str, payload: dict[str, Any], kind: EventKind, text: str | None) -> None:
    dialect = PROGRAMS["copilot"]
    event = dialect.parse_event(name, {**COPILOT, **payload}, ABOUT, clean)
    assert dialect.read_event_name({**COPILOT, **payload}) is None
    assert event is not None
    assert (event.kind, event.text, event.session, event.program) == (kind, text, "s1", "copilot")
    assert event.subagent == (SubAgent("a1", "explore") if name.startswith("subagent") else None)
    # The transcript mixes all agents, so only the response of a sub-agent is used.
    assert event.transcript == (payload.get("transcriptPath") if event.subagent is None else None)


@pytest.mark.parametrize("name", ["userPromptSubmitted", "agentStop", "preCompact"])
def test_events_inside_a_sub_agent_are_ignored(name: str) -> None:
    payload = {**COPILOT, "prompt": "Look", "transcriptPath": "/t/e.jsonl"}
    assert PROGRAMS["copilot"].parse_event(name, payload, ABOUT, clean) is not None
    assert PROGRAMS["copilot"].parse_event(name, {**payload, **OF_SUBAGENT}, ABOUT, clean) is None


@pytest.mark.parametrize(
    ("name", "payload", "kind", "text"),
    [
        ("chat.message", {"prompt": "Fix it"}, EventKind.PROMPTED, "Fix it"),
        ("session.idle", {"last_assistant_message": "Done"}, EventKind.ANSWERED, "Done"),
        ("session.compacting", {}, EventKind.COMPACTING, None),
        ("session.compacted", {"compact_summary": "All of it"}, EventKind.COMPACTED, "All of it"),
        (
            "subagent.started",
            {"agent_id": "s2", "agent_type": "general", "prompt": "x"},
            EventKind.SUBAGENT_STARTED,
            "x",
        ),
        (
            "subagent.idle",
            {"agent_id": "s2", "agent_type": "general", "last_assistant_message": "Done"},
            EventKind.SUBAGENT_ENDED,
            "Done",
        ),
    ],
)
def test_events_of_the_opencode_plugin_are_parsed(
    name: str, payload: dict[str, Any], kind: EventKind, text: str | None
) -> None:
    payload = {"hook_event_name": name, "session_id": "s1", "cwd": "/w", **payload}
    event = PROGRAMS["opencode"].parse_event(name, payload, ABOUT, clean)
    assert event is not None
    assert (event.kind, event.text, event.session, event.program) == (kind, text, "s1", "opencode")
    assert event.subagent == (SubAgent("s2", "general") if name.startswith("subagent") else None)


CURSOR = {"conversation_id": "s1", "generation_id": "g1", "workspace_roots": ["/w"], "transcript_path": "/t/x.jsonl"}


@pytest.mark.parametrize(
    ("name", "payload", "kind", "text"),
    [
        ("sessionStart", {"session_id": "s1", "composer_mode": "agent"}, EventKind.STARTED, None),
        ("beforeSubmitPrompt", {"prompt": "Fix it", "attachments": []}, EventKind.PROMPTED, "Fix it"),
        ("afterAgentResponse", {"text": "Done"}, EventKind.ANSWERED, "Done"),
        ("preCompact", {"trigger": "auto", "context_usage_percent": 85}, EventKind.COMPACTING, None),
        ("subagentStop", {"subagent_type": "explore", "summary": "Done"}, EventKind.SUBAGENT_ENDED, "Done"),
    ],
)
def test_events_of_cursor_are_parsed(name: str, payload: dict[str, Any], kind: EventKind, text: str | None) -> None:
    event = PROGRAMS["cursor"].parse_event(name, {**CURSOR, "hook_event_name": name, **payload}, ABOUT, clean)
    assert event is not None
    assert (event.kind, event.text, event.session, event.program) == (kind, text, "s1", "cursor")
    # The payload has no sub-agent id.
    assert event.subagent == (SubAgent("e1", "explore") if name == "subagentStop" else None)
    assert event.transcript is None


def test_a_reply_to_a_prompt_in_cursor_also_lets_it_continue() -> None:
    dialect = PROGRAMS["cursor"]
    event = dialect.parse_event("beforeSubmitPrompt", {**CURSOR, "prompt": "Fix it"}, ABOUT, clean)
    assert event is not None
    said = {"continue": True, "additional_context": "Mind the gap."}
    assert dialect.format_reply("beforeSubmitPrompt", event, Reply(context="Mind the gap.")) == said


GEMINI = {**BASE, "timestamp": "2026-11-22T17:44:34.047Z"}


@pytest.mark.parametrize(
    ("name", "payload", "kind", "text"),
    [
        ("SessionStart", {"source": "startup"}, EventKind.STARTED, None),
        ("BeforeAgent", {"prompt": "<hook_context>&lt;x&gt;</hook_context>\n\nFix it"}, EventKind.PROMPTED, "Fix it"),
        ("AfterAgent", {"prompt": "Fix it", "prompt_response": "Done"}, EventKind.ANSWERED, "Done"),
        ("SessionEnd", {"reason": "exit"}, EventKind.ENDED, None),
    ],
)
def test_events_of_gemini_cli_are_parsed(name: str, payload: dict[str, Any], kind: EventKind, text: str | None) -> None:
    event = PROGRAMS["gemini"].parse_event(name, {**GEMINI, "hook_event_name": name, **payload}, ABOUT, clean)
    assert event is not None
    assert (event.kind, (event.text or "").strip(), event.session, event.program) == (kind, text or "", "s1", "gemini")
    assert event.transcript == "/t/s1.jsonl"


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("startup", Origin.NEW),
        ("fork", Origin.NEW),
        ("clear", Origin.CLEARED),
        ("resume", Origin.RESUMED),
        ("compact", Origin.COMPACTED),
        ("warp", Origin.NEW),
        (None, Origin.NEW),
    ],
)
def test_the_origin_of_a_session_is_parsed(source: str | None, origin: Origin) -> None:
    event = parsed("SessionStart", source=source)
    assert event is not None
    assert event.origin is origin


def test_an_event_of_a_sub_agent_has_its_id_and_transcript() -> None:
    event = parsed("SubagentStop", agent_id="a1", agent_type="Explore", agent_transcript_path="/t/a1.jsonl")
    assert event is not None
    assert (event.subagent, event.transcript) == (SubAgent("a1", "Explore"), "/t/a1.jsonl")


@pytest.mark.parametrize("kind", ["", " ", None])
def test_internal_agents_of_a_program_are_ignored(kind: str | None) -> None:
    assert parsed("SubagentStop", agent_id="a1", agent_type=kind) is None
    assert parsed("SubagentStart", agent_id="a1", agent_type=kind) is None


def test_text_inserted_by_claude_code_is_not_part_of_a_prompt() -> None:
    ended = "<task-notification>\n<task-id>b1</task-id> <status>completed</status>\n</task-notification>"
    assert parsed("UserPromptSubmit", prompt=ended) is None
    event = parsed("UserPromptSubmit", prompt=f"<system-reminder>Be brief.</system-reminder>Fix it\n{ended}")
    assert event is not None
    assert (event.text or "").strip() == "Fix it"


@pytest.mark.parametrize("dialect", PROGRAMS.values(), ids=PROGRAMS)
def test_context_is_sent_only_with_events_that_accept_it(dialect: Dialect) -> None:
    for name, kind in dialect.kinds.items():
        event = AgentEvent(id=EventId("e"), kind=kind, program=dialect.program, session=Clean("s"), at=NOW)
        assert dialect.format_reply(name, event, NO_REPLY) is None
        answer = dialect.format_reply(name, event, Reply(context="Mind the gap."))
        if kind in dialect.accepts_context:
            said = {**dialect.extra_fields.get(kind, {}), dialect.context_field: "Mind the gap."}
            assert answer == (
                {"hookSpecificOutput": {"hookEventName": name, **said}} if dialect.wraps_context else said
            )
        else:
            assert answer is None
    assert not dialect.accepts_context & {
        EventKind.ANSWERED,
        EventKind.ADVANCED,
        EventKind.SUBAGENT_ENDED,
        EventKind.ENDED,
        EventKind.COMPACTING,
    }


@pytest.mark.parametrize("dialect", PROGRAMS.values(), ids=PROGRAMS)
def test_claude_code_and_codex_can_be_asked_to_continue_when_a_turn_ends(dialect: Dialect) -> None:
    for name, kind in dialect.kinds.items():
        event = AgentEvent(id=EventId("e"), kind=kind, program=dialect.program, session=Clean("s"), at=NOW)
        answer = dialect.format_reply(name, event, Reply(nudge="Store it."))
        can = dialect.program in ("claude-code", "codex") and name == "Stop"
        assert answer == ({"decision": "block", "reason": "Store it."} if can else None)


@pytest.mark.parametrize("dialect", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", None])
def test_an_event_accepts_the_nudge_at_the_end_of_an_attended_turn(dialect: Dialect, mode: str | None) -> None:
    fields = dict.fromkeys((*dialect.session, *dialect.subagent[1]), "s1")
    payload = {**fields, "permission_mode": mode, "stop_hook_active": False}
    accepting = {
        name
        for name in dialect.kinds
        for event in [dialect.parse_event(name, payload, replace(ABOUT, accepts_nudge=True), clean)]
        if event is not None and event.accepts_nudge
    }
    unattended = {"claude-code": {"plan", "dontAsk"}, "codex": {"plan", "dontAsk", "bypassPermissions"}}
    expected = {"Stop"} if mode not in unattended.get(dialect.program, {mode}) else set[str]()
    assert accepting == expected
    event = dialect.parse_event("Stop", payload, ABOUT, clean)
    assert event is None or not event.accepts_nudge


@pytest.mark.parametrize(("given", "continues"), [(True, True), (False, False), (None, False)])
def test_a_continued_turn_is_recognized(given: bool | None, continues: bool) -> None:
    event = parsed("Stop", stop_hook_active=given)
    assert event is not None
    assert event.is_continuation is continues


@given(st.sampled_from([*CLAUDE_CODE.kinds, "Other"]), st.dictionaries(st.sampled_from([*BASE, "prompt"]), json))
def test_any_payload_is_parsed_or_ignored(name: str, payload: dict[str, Any]) -> None:
    event = CLAUDE_CODE.parse_event(name, payload, ABOUT, clean)
    assert event is None or (event.kind is CLAUDE_CODE.kinds[name] and event.session.strip())


def test_text_is_storable_and_limited_in_length() -> None:
    event = parsed("UserPromptSubmit", prompt="a\0b\ud800" + "x" * 2 * MAX_FIELD)
    assert event is not None
    assert event.text is not None
    assert event.text.startswith("ab?xxx")
    assert len(event.text) < MAX_FIELD


def test_a_spooled_event_is_parsed() -> None:
    payload = {
        "program": "codex",
        "id": "e1",
        "at": "2026-11-01T12:00:00.250Z",
        "project": "p",
        "taskFile": '{"id": "T-1", "task": "Paint"}',
        "payload": {"session_id": "s1"},
    }
    event = parse_spooled_event(payload)
    assert (event.program, event.id, event.project) == ("codex", "e1", "p")
    assert event.at == datetime(2026, 11, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    assert read_task(event) == ("T-1", "Paint")
    assert (event.event, event.payload) == (None, {"session_id": "s1"})


@pytest.mark.parametrize("file", ["no JSON", "[]", '{"id": 8, "tas', "[" * 16_000, '{"id": ' * 16_000])
def test_an_invalid_task_file_is_ignored(file: str) -> None:
    event = parse_spooled_event({"program": "codex", "id": "e1", "payload": {}, "taskId": "T-7", "taskFile": file})
    assert read_task(event) == ("T-7", "")


@given(json)
def test_invalid_events_are_refused(payload: Any) -> None:
    with pytest.raises(Invalid):
        parse_spooled_event(payload)


@pytest.mark.parametrize("at", [None, "", "yesterday", 17, "9999-12-31T23:59:59-23:59"])
def test_an_invalid_time_counts_as_absent(at: object) -> None:
    assert parse_spooled_event({"program": "codex", "id": "e", "payload": {}, "at": at}).at is None
