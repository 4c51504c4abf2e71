"""The hook route of a real service: payloads of agent programs are accepted, and the answers have their format."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from hivelore.core.agents import Interface
from hivelore.errors import Invalid, NotFound, Unauthenticated
from hivelore.python.client import Client
from support.fences import inside
from support.service import Service
from support.sessions import a_fix
from support.waiting import until

PROJECT = "example.com/bees/hive"
PROXY = "Port 8443 is taken by the proxy."


class Program:
    """An agent program in one session; each event has a unique id."""

    def __init__(self, client: Client, session: str, program: str = "claude-code") -> None:
        self.client, self.session, self.program = client, session, program
        self.count = 0

    def deliver(self, name: str, about: dict[str, Any] | None = None, **payload: Any) -> Any:
        """Delivers an event and returns the answer, or None if it is empty. ``about``: fields that the hook adds."""
        self.count += 1
        event = {"session_id": self.session, "hook_event_name": name, "cwd": "/", "transcript_path": None, **payload}
        body = {"id": f"{self.session}-{self.count}", "project": PROJECT, "payload": event, **(about or {})}
        return self.client.call("POST", f"/api/hooks/{self.program}", body=body)


def context(answer: Any, event: str) -> str:
    """Returns the injected text; the answer contains nothing else."""
    said = answer["hookSpecificOutput"].pop("additionalContext")
    assert answer == {"hookSpecificOutput": {"hookEventName": event}}
    return said


@pytest.fixture
def client(service: Service) -> Client:
    return service.client(service.agent_key)


def remember(client: Client, content: str, **more: Any) -> str:
    body = {"content": content, "name": content[:20], "scope": "agent", "source": "manual", **more}
    return client.call("POST", "/api/memory/index", body=body)["memoryIds"][0]


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_session_gets_context_at_its_start_and_matching_memories_with_prompts(service: Service, name: str) -> None:
    client = service.client(service.add(f"agent of {name}"))
    remember(client, PROXY, project=PROJECT)
    program = Program(client, "s1", name)
    said = context(program.deliver("SessionStart", source="startup"), "SessionStart")
    assert PROXY in inside(said)[1]
    remember(client, "Bob has the key to the cellar.", project=PROJECT)
    said = context(program.deliver("UserPromptSubmit", prompt="Who has the key to the cellar?"), "UserPromptSubmit")
    assert "Bob" in said
    assert PROXY not in said
    assert program.deliver("UserPromptSubmit", prompt="Who has the key to the cellar?") is None


def test_the_id_of_an_injected_line_is_short_and_stands_for_its_memory(service: Service) -> None:
    client = service.client(service.add("bulk writer"))
    contents = {f"Locker {number} has the code {number * 7}." for number in range(60)}
    body = {"scope": "agent", "source": "manual", "project": PROJECT}
    for content in contents:
        client.call("POST", "/api/memory/index", body={"content": content, "name": content[:-1], **body})
    said = inside(context(Program(client, "s1").deliver("SessionStart", source="startup"), "SessionStart"))[1]
    found = dict(re.findall(r"^- \[([0-9a-f-]+) \S+\] (.*)$", said, re.MULTILINE))
    assert len(found) > 5
    for short, content in found.items():
        assert 8 <= len(short) < 36
        assert client.call("GET", f"/api/memory/{short}")["content"] == content
        client.call("PUT", f"/api/memory/{short}/rating", body={"useful": True})


def test_a_completed_task_becomes_a_memory(service: Service) -> None:
    client = service.client(service.add("finishing"))
    program = Program(client, "s1")
    task: dict[str, Any] = {
        "task_id": "1",
        "task_subject": "Move the proxy",
        "task_description": "To port 5433, as agreed.",
    }
    for _ in range(2):
        assert program.deliver("TaskCompleted", **task) is None
    (memory,) = client.call("GET", "/api/memory", query={"source": "task_completion"})["memories"]
    assert memory["content"] == "Completed task: Move the proxy\n\nTo port 5433, as agreed."
    assert (memory["name"], memory["sourceTaskId"], memory["session"]) == ("Move the proxy", "1", "s1")
    assert (memory["project"], memory["version"], memory["provenance"]["interface"]) == (PROJECT, 1, "hook")


def test_a_prompt_without_content_gets_no_memories(service: Service) -> None:
    client = service.client(service.add("nodding"))
    program = Program(client, "s1")
    program.deliver("SessionStart", source="startup")
    remember(client, "Go on, please continue, yes, do it.", project=PROJECT)
    for prompt in ("go on", "Please continue.", "yes, do it", "the of and"):
        assert program.deliver("UserPromptSubmit", prompt=prompt) is None


def test_a_session_gets_cooldowns_and_operational_memories(service: Service) -> None:
    client, operator = service.client(service.add("running")), service.client(service.operator_key)
    seen = {"observation": "Takes 60s to start", "category": "timing", "service": "jellyfin"}
    memory = client.call("POST", "/memories", body=seen)["memory"]["id"]
    rest = {"service": "jellyfin", "action": "restart", "minutes": 30, "reason": "it did not help"}
    client.call("PUT", "/api/cooldowns", body=rest)
    try:
        said = context(Program(client, "s1").deliver("SessionStart", source="startup"), "SessionStart")
        again = Program(client, "s1").deliver("UserPromptSubmit", prompt="How long does jellyfin take to start?")
        resumed = context(Program(client, "s1").deliver("SessionStart", source="resume"), "SessionStart")
    finally:
        operator.call("DELETE", "/api/cooldowns", query={"service": "jellyfin"})
        operator.call("DELETE", f"/memories/{memory}")
    assert said.index("\nEnvironment: Cooldowns (") < said.index("\n\n## Operational Memory (1 of 1 memories, ~")
    waits, block = said.index("- jellyfin: restart until "), said.index("### jellyfin\n- [timing] Takes 60s to start")
    assert waits < block
    assert "(it did not help)" in said
    assert again is None
    assert "- jellyfin: restart until " in resumed
    assert "Takes 60s" not in resumed


@pytest.fixture(scope="module")
def by_model(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    """A service with twenty operational memories, and with budgets by model."""
    with Service(tmp_path_factory.mktemp("by-model"), memory_budget="200, opus=4000, haiku=0") as running:
        operator = running.client(running.operator_key)
        for number in range(20):
            body = {"observation": f"Number {number} says so", "category": "timing", "service": f"s{number}"}
            operator.call("POST", "/memories", body=body)
        yield running


@pytest.mark.parametrize(
    ("program", "event"),
    [
        ("claude-code", "SessionStart"),
        ("codex", "SessionStart"),
        ("codex", "UserPromptSubmit"),
        ("cursor", "sessionStart"),
    ],
)
@pytest.mark.parametrize(
    ("model", "least", "most"),
    [("claude-opus-4", 20, 20), ("sonnet", 1, 10), ("claude-haiku-4", 0, 0), (None, 1, 10), (7, 1, 10)],
)
def test_operational_context_respects_the_budget_of_the_model(
    by_model: Service, program: str, event: str, model: object, least: int, most: int
) -> None:
    client = by_model.client(by_model.agent_key)
    session = f"{program} {event} {model}"
    said = Program(client, session, program).deliver(event, source="startup", prompt="Go on", model=model)
    assert least <= str(said).count("- [timing]") <= most


def test_a_sub_agent_gets_memories_and_an_internal_one_is_ignored(service: Service) -> None:
    client = service.client(service.add("helped"))
    remember(client, PROXY, project=PROJECT)
    program = Program(client, "s2")
    assert program.deliver("UserPromptSubmit", prompt="Which port is taken by the proxy?")
    answer = program.deliver("SubagentStart", agent_id="a1", agent_type="Explore")
    assert PROXY in context(answer, "SubagentStart")
    for kind in ("", None):
        assert program.deliver("SubagentStop", agent_id="a2", agent_type=kind, last_assistant_message=PROXY) is None


def test_a_compaction_summary_is_stored_with_its_provenance(service: Service) -> None:
    client = service.client(service.add("compacted"))
    program = Program(client, "s3")
    summary = "The parser was moved to Rust because the old one was slow."
    assert program.deliver("PostCompact", trigger="auto", compact_summary=summary) is None
    (kept,) = client.call("GET", "/api/memory")["memories"]
    assert (kept["content"], kept["source"], kept["project"]) == (summary, "session_summary", PROJECT)
    assert kept["provenance"]["interface"] == Interface.HOOK.value


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_lessons_of_a_session_are_found_in_the_next(tmp_path: Path, name: str) -> None:
    transcript = tmp_path / "sessions" / "s1.jsonl"
    transcript.parent.mkdir()
    transcript.write_text("\n".join(a_fix().lines), encoding="utf-8")
    with Service(tmp_path / "home", transcripts=(transcript.parent,)) as service:
        client = service.client(service.agent_key)
        program = Program(client, "s1")
        for event in ("Stop", "Stop", "SessionEnd"):
            assert program.deliver(event, transcript_path=str(transcript), last_assistant_message="Done.") is None
        until(lambda: client.call("GET", "/api/status")["pendingSummaries"] == 0)
        kept = sorted(client.call("GET", "/api/memory")["memories"], key=lambda one: one["source"])
        lesson, summary = kept
        assert (lesson["source"], lesson["category"]) == ("manual", "correction")
        assert "currency of the customer" in lesson["content"]
        assert (summary["source"], summary["externalId"]) == ("session_summary", "session:claude-code:s1")
        assert lesson["project"] == summary["project"] == PROJECT
        said = context(Program(client, "s2", name).deliver("SessionStart", source="startup"), "SessionStart")
        assert "currency of the customer" in said
        assert program.deliver("SessionEnd", transcript_path=str(transcript)) is None
        until(lambda: client.call("GET", "/api/status")["pendingSummaries"] == 0)
        again = sorted(client.call("GET", "/api/memory")["memories"], key=lambda one: one["source"])
        for one in (*kept, *again):
            del one["expiresAt"]  # Storing the same text again renews it.
        assert again == kept


def test_the_task_file_overrides_the_variable(service: Service) -> None:
    client = service.client(service.add("tasked"))
    for number, (about, said) in enumerate(
        [
            ({"taskId": "T-7"}, "## Current task\nT-7\n"),
            ({"taskFile": '{"id": "T-8", "task": "Paint it"}'}, "## Current task\nT-8: Paint it\n"),
            ({"taskId": "T-7", "taskFile": '{"id": 8, "tas'}, "## Current task\nT-7\n"),
            ({"taskId": "T-7", "taskFile": "[" * 16_000}, "## Current task\nT-7\n"),
        ]
    ):
        answer = Program(client, f"s4-{number}").deliver("SessionStart", about, source="startup")
        assert said in context(answer, "SessionStart")
    assert Program(client, "s4").deliver("SessionStart", {"taskFile": "no JSON"}, source="startup") is None


@pytest.mark.parametrize(
    "payload", [{"prompt": None}, {"prompt": 7}, {"prompt": "\0 \x1b"}, {"session_id": ""}, {"brand": {"new": [1]}}]
)
def test_additional_and_missing_fields_are_accepted(service: Service, payload: dict[str, Any]) -> None:
    program = Program(service.client(service.add(f"odd {payload}")), "s5")
    for name in ("SessionStart", "UserPromptSubmit", "PostCompact", "SubagentStart", "Stop"):
        assert program.deliver(name, **payload) is None


@pytest.mark.parametrize("name", ["PreToolUse", "TeammateIdle", "", "NotYetInvented"])
def test_other_events_are_answered_with_nothing(client: Client, name: str) -> None:
    assert Program(client, "s5").deliver(name, prompt=PROXY) is None


def test_an_unknown_program_and_an_invalid_body_are_refused(service: Service, client: Client) -> None:
    with pytest.raises(NotFound, match="claude-code, codex"):
        Program(client, "s6", "tetris").deliver("SessionStart")
    with pytest.raises(Invalid, match="payload"):
        client.call("POST", "/api/hooks/codex", body={"id": "1", "payload": []})
    with pytest.raises(Invalid, match="protocol"):
        Program(client, "s6").deliver("SessionStart", {"protocol": 2})
    with pytest.raises(Unauthenticated, match="agent's key"):
        Program(service.client(service.operator_key), "s6").deliver("SessionStart")
