"""How the events of agent programs are understood, and what they are answered."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.sessions.model import NO_REPLY, AgentEvent, EventId, EventKind, Origin, Reply, SubAgent
from hivelore.sessions.programs import CLAUDE_CODE, MAX_FIELD, PROGRAMS, Dialect, EventContext, parse_envelope

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


def understood(name: str, dialect: Dialect = CLAUDE_CODE, **payload: Any) -> AgentEvent | None:
    return dialect.parse_event(name, {**BASE, "hook_event_name": name, **payload}, ABOUT, clean)


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
def test_what_claude_code_tells_is_understood(
    name: str, payload: dict[str, Any], kind: EventKind, text: str | None
) -> None:
    event = understood(name, **payload)
    assert event is not None
    assert (event.kind, event.text, event.session, event.program) == (kind, text, "s1", "claude-code")
    assert (event.id, event.at, event.project, event.transcript) == ("e1", NOW, ABOUT.project, "/t/s1.jsonl")


def test_what_codex_does_not_know_is_none_of_its_events() -> None:
    assert understood("TaskCompleted", PROGRAMS["codex"], task_id="3") is None
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
def test_what_copilot_tells_is_understood(
    name: str, payload: dict[str, Any], kind: EventKind, text: str | None
) -> None:
    dialect = PROGRAMS["copilot"]
    event = dialect.parse_event(name, {**COPILOT, **payload}, ABOUT, clean)
    assert dialect.read_event_name({**COPILOT, **payload}) is None
    assert event is not None
    assert (event.kind, event.text, event.session, event.program) == (kind, text, "s1", "copilot")
    assert event.subagent == (SubAgent("a1", "explore") if name.startswith("subagent") else None)
    # What a sub-agent said stands among all the rest in that file: its answer has to do.
    assert event.transcript == (payload.get("transcriptPath") if event.subagent is None else None)


@pytest.mark.parametrize("name", ["userPromptSubmitted", "agentStop", "preCompact"])
def test_what_happens_within_a_sub_agent_is_none_of_the_sessions_events(name: str) -> None:
    told = {**COPILOT, "prompt": "Look", "transcriptPath": "/t/e.jsonl"}
    assert PROGRAMS["copilot"].parse_event(name, told, ABOUT, clean) is not None
    assert PROGRAMS["copilot"].parse_event(name, {**told, **OF_SUBAGENT}, ABOUT, clean) is None


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
            None,
        ),
        (
            "subagent.idle",
            {"agent_id": "s2", "agent_type": "general", "last_assistant_message": "Done"},
            EventKind.SUBAGENT_ENDED,
            "Done",
        ),
    ],
)
def test_what_the_plugin_for_opencode_tells_is_understood(
    name: str, payload: dict[str, Any], kind: EventKind, text: str | None
) -> None:
    told = {"hook_event_name": name, "session_id": "s1", "cwd": "/w", **payload}
    event = PROGRAMS["opencode"].parse_event(name, told, ABOUT, clean)
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
def test_what_cursor_tells_is_understood(name: str, payload: dict[str, Any], kind: EventKind, text: str | None) -> None:
    event = PROGRAMS["cursor"].parse_event(name, {**CURSOR, "hook_event_name": name, **payload}, ABOUT, clean)
    assert event is not None
    assert (event.kind, event.text, event.session, event.program) == (kind, text, "s1", "cursor")
    # It has no id of its own there.
    assert event.subagent == (SubAgent("e1", "explore") if name == "subagentStop" else None)
    assert event.transcript is None


def test_cursor_is_told_to_go_on_with_a_prompt_beside_what_it_is_told() -> None:
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
def test_what_gemini_cli_tells_is_understood(
    name: str, payload: dict[str, Any], kind: EventKind, text: str | None
) -> None:
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
def test_how_a_session_came_to_start_is_understood(source: str | None, origin: Origin) -> None:
    event = understood("SessionStart", source=source)
    assert event is not None
    assert event.origin is origin


def test_an_event_of_a_sub_agent_tells_of_it_and_of_its_own_transcript() -> None:
    event = understood("SubagentStop", agent_id="a1", agent_type="Explore", agent_transcript_path="/t/a1.jsonl")
    assert event is not None
    assert (event.subagent, event.transcript) == (SubAgent("a1", "Explore"), "/t/a1.jsonl")


@pytest.mark.parametrize("kind", ["", " ", None])
def test_sub_agents_that_the_program_has_for_itself_are_none(kind: str | None) -> None:
    assert understood("SubagentStop", agent_id="a1", agent_type=kind) is None
    assert understood("SubagentStart", agent_id="a1", agent_type=kind) is None


def test_what_claude_code_puts_into_a_prompt_was_not_asked_by_anybody() -> None:
    ended = "<task-notification>\n<task-id>b1</task-id> <status>completed</status>\n</task-notification>"
    assert understood("UserPromptSubmit", prompt=ended) is None
    event = understood("UserPromptSubmit", prompt=f"<system-reminder>Be brief.</system-reminder>Fix it\n{ended}")
    assert event is not None
    assert (event.text or "").strip() == "Fix it"


@pytest.mark.parametrize("dialect", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_hears_words_only_where_it_takes_them(dialect: Dialect) -> None:
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


@given(st.sampled_from([*CLAUDE_CODE.kinds, "Other"]), st.dictionaries(st.sampled_from([*BASE, "prompt"]), json))
def test_whatever_a_program_tells_is_an_event_or_none(name: str, payload: dict[str, Any]) -> None:
    event = CLAUDE_CODE.parse_event(name, payload, ABOUT, clean)
    assert event is None or (event.kind is CLAUDE_CODE.kinds[name] and event.session.strip())


def test_a_text_is_one_that_can_be_kept_and_not_too_long() -> None:
    event = understood("UserPromptSubmit", prompt="a\0b\ud800" + "x" * 2 * MAX_FIELD)
    assert event is not None
    assert event.text is not None
    assert event.text.startswith("ab?xxx")
    assert len(event.text) < MAX_FIELD


def test_what_was_put_aside_is_read_as_it_was_meant() -> None:
    told = {
        "program": "codex",
        "id": "e1",
        "at": "2026-11-01T12:00:00.250Z",
        "project": "p",
        "taskFile": '{"id": "T-1", "task": "Paint"}',
        "payload": {"session_id": "s1"},
    }
    envelope = parse_envelope(told)
    assert (envelope.program, envelope.id, envelope.project) == ("codex", "e1", "p")
    assert envelope.at == datetime(2026, 11, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    assert envelope.task() == ("T-1", "Paint")
    assert (envelope.event, envelope.payload) == (None, {"session_id": "s1"})


@given(json)
def test_what_is_no_envelope_is_refused(told: Any) -> None:
    with pytest.raises(Invalid):
        parse_envelope(told)


@pytest.mark.parametrize("at", [None, "", "yesterday", 17, "9999-12-31T23:59:59-23:59"])
def test_an_instant_that_is_none_counts_as_absent(at: object) -> None:
    assert parse_envelope({"program": "codex", "id": "e", "payload": {}, "at": at}).at is None
