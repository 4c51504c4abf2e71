"""Nudge: an agent that learned something and stored nothing is asked for lessons, once, when its turn ends."""

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Interface, Viewer
from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.memories.model import Scope, Source
from hivelore.sessions.capture import CONTINUATION
from hivelore.sessions.lessons.classifier import shipped_classifier
from hivelore.sessions.model import (
    AgentEvent,
    EventId,
    EventKind,
    KnownLesson,
    LessonProgress,
    Origin,
    Reply,
    Session,
    Speaker,
    Tool,
    ToolEffect,
    Turn,
)
from hivelore.sessions.nudge import (
    MAX_TURNS,
    PROMPTS,
    QUESTION,
    calls_storing_tool,
    may_ask,
    newest_turns,
    shows_learning,
)
from hivelore.sessions.nudge_service import MAX_PARSED, NudgeService
from hivelore.sessions.transcript_files import TranscriptFiles
from hivelore.sessions.transcripts import read_conversation
from support.clocks import START, SteppingClock
from support.fences import fenced
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.sessions import ClaudeSession, CodexSession, a_fix
from support.world import ADA, AS_ADA, AS_BOB, World

AS_HOOK = replace(AS_ADA, interface=Interface.HOOK)
LAMP = "The lamp in the hall is broken."
EVENT = AgentEvent(
    id=EventId("e1"),
    kind=EventKind.ANSWERED,
    program="claude-code",
    session=Clean("s1"),
    at=START,
    accepts_nudge=True,
)
SESSION = Session(agent=ADA, id=Clean("claude-code:s1"), updated_at=START, begun_at=START)
LESSON = LessonProgress("", (KnownLesson(Clean("lesson:1"), ("a",)),))


def test_the_question_is_short_and_names_the_tool() -> None:
    assert estimate(QUESTION) < 60
    assert "`memory-store`" in QUESTION


# The decision.


@given(*[st.booleans()] * 5)
def test_an_agent_is_asked_only_if_nothing_speaks_against_it(
    can_store: bool, accepts: bool, continues: bool, was_asked: bool, has_lessons: bool
) -> None:
    event = replace(EVENT, accepts_nudge=accepts, is_continuation=continues)
    session = replace(SESSION, nudge_event=EventId("e0") if was_asked else None)
    session = replace(session, progress=LESSON) if has_lessons else session
    asks = may_ask(event, session, can_store=can_store)
    assert asks is (can_store and accepts and not (continues or was_asked or has_lessons))


turns = st.lists(
    st.sampled_from(
        [
            Turn(speaker=Speaker.USER, text="Go on."),
            Turn(speaker=Speaker.ASSISTANT, text="Done."),
            Turn(speaker=Speaker.CALL, text="", tool=Tool("Bash", ToolEffect.RUN, "make")),
        ]
    ),
    max_size=3 * MAX_TURNS,
)


@given(turns)
def test_only_the_newest_turns_are_searched(turns: list[Turn]) -> None:
    newest = list(newest_turns(turns))
    before = turns[: len(turns) - len(newest)]
    assert before + newest == turns
    spoken = [turn for turn in newest if turn.tool is None]
    prompts = [turn for turn in spoken if turn.speaker is Speaker.USER]
    assert len(spoken) <= MAX_TURNS
    assert len(prompts) <= PROMPTS
    if before:  # One more turn would be too many.
        assert newest[0].tool is None
        assert len(prompts) == PROMPTS or len(spoken) == MAX_TURNS


def learns(session: ClaudeSession) -> bool:
    return shows_learning(read_conversation("claude-code", session.lines).turns, shipped_classifier())


def test_a_correction_and_a_cause_are_evidence() -> None:
    assert learns(a_fix())


def test_a_decision_is_evidence() -> None:
    session = ClaudeSession().user("Where do we store the tokens of the CLI, in a file or in the keyring?")
    session.says("I'd recommend the keyring: a file in the home folder can be read by every process of the user.")
    session.user("Agreed, we use the keyring from now on, because the security review rejected the file last month.")
    assert learns(session.says("Tokens are in the keyring now."))


def test_a_command_that_failed_and_worked_after_a_change_is_evidence() -> None:
    session = ClaudeSession().user("Run it.").runs("npm start", "Error: no module x", failed=True)
    assert not learns(session)
    assert learns(session.runs("npm install x").runs("npm start").says("Running."))


@pytest.mark.parametrize(
    "session",
    [
        ClaudeSession().user("Hello").says("Hello! How can I help you today?"),
        ClaudeSession().user("Rename tmp to intensity in plot.py").writes("plot.py").says("Renamed `tmp`."),
        ClaudeSession().user("What is 30 days times 96?").says("96 per day x 30 days = 2880."),
        ClaudeSession().user("Run the tests.").runs("make test", "12 passed").says("All 12 tests pass."),
        ClaudeSession(),
    ],
    ids=["greeting", "rename", "arithmetic", "report", "empty"],
)
def test_a_session_that_teaches_nothing_is_no_evidence(session: ClaudeSession) -> None:
    assert not learns(session)


@pytest.mark.parametrize(
    ("tool", "stores"),
    [
        ("mcp__hivelore__memory-store", True),
        ("mcp__plugin_hivelore_hivelore__memory-observe", True),
        ("memory_edit", True),
        ("hivelore.memory-store", True),
        ("task-complete", True),
        ("mcp__hivelore__memory-search", False),
        ("memory-store-viewer", False),
        ("Bash", False),
    ],
)
def test_calls_of_storing_tools_are_found_in_every_transcript(tool: str, stores: bool) -> None:
    of_codex = CodexSession().item({"type": "function_call", "name": tool, "arguments": "{}", "call_id": "c1"})
    for lines in (ClaudeSession().uses(tool, "ok", content=LAMP).lines, of_codex.lines):
        assert any(map(calls_storing_tool, lines)) is stores


def test_a_tool_that_is_only_mentioned_is_not_called() -> None:
    quoted = '{"name": "memory-store"}'
    assert not any(map(calls_storing_tool, ClaudeSession().user(quoted).says(quoted).runs("cat x", quoted).lines))


# With memories and transcripts.


class Asked:
    """Ends turns of sessions whose transcripts are in a folder."""

    def __init__(self, world: World, folder: Path, *, can_store: bool = True) -> None:
        self.world, self.folder = world, folder
        world.nudge_service = NudgeService(world.store, TranscriptFiles([folder]), can_store=can_store)
        self.count = 0

    def event(self, kind: EventKind, lines: Sequence[str] = (), session: str = "s1", **more: Any) -> AgentEvent:
        self.world.clock.advance(timedelta(seconds=1))
        self.count += 1
        file = self.folder / f"{session}.jsonl"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        event = replace(EVENT, id=EventId(f"e{self.count}"), kind=kind, session=Clean(session))
        return replace(event, **{"at": self.world.clock.now(), "transcript": str(file), **more})

    def handle(self, event: AgentEvent, viewer: Viewer = AS_HOOK) -> Reply:
        return self.world.capture.handle(event, viewer)

    def start(self, session: str = "s1", **more: Any) -> None:
        self.handle(self.event(EventKind.STARTED, session=session, **more))

    def stop(self, conversation: ClaudeSession | None = None, **more: Any) -> bool:
        """Returns True if the agent is asked at the end of a turn."""
        reply = self.handle(self.event(EventKind.ANSWERED, (conversation or a_fix()).lines, **more))
        assert reply.nudge in (None, QUESTION)
        return reply.nudge is not None


@pytest.fixture
def world() -> Generator[World]:
    clock = SteppingClock()
    with closing(ReferenceStore(clock)) as store:
        yield World(store, ReferenceKeywords(), clock)


@pytest.fixture
def asked(world: World, tmp_path: Path) -> Asked:
    asked = Asked(world, tmp_path)
    asked.start()
    return asked


def test_an_agent_that_learned_something_is_asked_once_in_a_session(asked: Asked) -> None:
    assert not asked.stop(ClaudeSession().user("Hello").says("Hello! How can I help you today?"))
    assert asked.stop()
    assert not asked.stop()
    asked.start(origin=Origin.COMPACTED)
    assert not asked.stop()
    asked.start(origin=Origin.CLEARED)
    assert not asked.stop()
    asked.start("s2")
    assert asked.stop(session="s2")


def test_an_event_that_does_not_accept_it_is_not_answered(asked: Asked) -> None:
    assert not asked.stop(accepts_nudge=False)
    assert not asked.stop(is_continuation=True)
    assert asked.stop()


def test_without_the_tool_nobody_is_asked(world: World, tmp_path: Path) -> None:
    asked = Asked(world, tmp_path, can_store=False)
    asked.start()
    assert not asked.stop()


def test_an_agent_that_stored_something_is_not_asked(asked: Asked) -> None:
    asked.world.remember(LAMP)
    assert not asked.stop()


def test_shared_memories_and_observations_of_the_agent_count(asked: Asked) -> None:
    asked.world.observe("Takes 60s to start", viewer=AS_HOOK)
    assert not asked.stop()
    asked.start("s2")
    asked.world.remember(LAMP, scope=Scope.SWARM)
    assert not asked.stop(session="s2")


def test_memories_of_others_and_of_earlier_sessions_do_not_count(world: World, tmp_path: Path) -> None:
    world.remember(LAMP)
    asked = Asked(world, tmp_path)
    asked.start()
    world.remember(LAMP, AS_BOB, scope=Scope.SWARM)
    world.remember("Summary of something else.", AS_HOOK, source=Source.SESSION_SUMMARY)
    assert asked.stop()


@pytest.mark.parametrize(
    ("viewer", "newer"),
    [(AS_BOB, {"scope": Scope.SWARM}), (AS_HOOK, {"source": Source.SESSION_SUMMARY})],
    ids=["shared by others", "reported by hooks"],
)
def test_a_memory_counts_however_many_newer_ones_there_are(asked: Asked, viewer: Viewer, newer: dict[str, Any]) -> None:
    asked.world.remember(LAMP)
    for number in range(101):
        asked.world.remember(f"Report {number} is in folder {number * 7}.", viewer, **newer)
    assert not asked.stop()


def test_an_extracted_lesson_counts(asked: Asked) -> None:
    asked.world.store.write(lambda tx: tx.put_session(replace(SESSION, progress=LESSON)))
    assert not asked.stop()


@pytest.mark.parametrize(
    "conversation",
    [
        a_fix().uses("mcp__hivelore__memory-edit", "ok", id="m1"),
        a_fix().says("[MEMORY:timing:jellyfin] Takes 60s to start"),
    ],
    ids=["tool", "marker"],
)
def test_what_the_agent_stores_in_the_conversation_counts(asked: Asked, conversation: ClaudeSession) -> None:
    assert not asked.stop(conversation)


def test_a_call_far_back_in_the_transcript_counts(asked: Asked) -> None:
    session = ClaudeSession().user("Go.").uses("mcp__hivelore__memory-edit", "ok", id="m1")
    for _ in range(MAX_PARSED // 2_500 + 2):
        session.runs("cat long", "x" * 2_500)
    session.lines += a_fix().lines
    assert not asked.stop(session)


def test_a_transcript_that_cannot_be_read_is_not_evidence(asked: Asked) -> None:
    assert not asked.stop(transcript="/nowhere/s1.jsonl", text=Clean("Done."))
    assert not asked.stop(transcript=None, text=Clean(f"{fenced(LAMP)} Done."))


def test_what_the_session_taught_is_drawn_only_after_the_agent_could_store_it(asked: Asked) -> None:
    assert not asked.stop(ClaudeSession().user("Hello").says("Hello! How can I help you today?"))
    assert asked.stop()
    assert not asked.stop(is_continuation=True)
    assert asked.world.delays == [timedelta(0), CONTINUATION, timedelta(0)]


def test_a_question_that_did_not_arrive_is_asked_again(asked: Asked) -> None:
    event = asked.event(EventKind.ANSWERED, a_fix().lines)
    assert asked.handle(event).nudge == QUESTION
    asked.world.capture.handle_late(replace(event, accepts_nudge=False), AS_HOOK)
    assert asked.stop()


def test_another_late_event_does_not_repeat_the_question(asked: Asked) -> None:
    assert asked.stop()
    late = asked.event(EventKind.ANSWERED, a_fix().lines, accepts_nudge=False)
    asked.world.capture.handle_late(late, AS_HOOK)
    assert not asked.stop()


def test_a_resent_event_is_not_answered_twice(asked: Asked) -> None:
    event = asked.event(EventKind.ANSWERED, a_fix().lines)
    assert [asked.handle(event).nudge for _ in range(2)] == [QUESTION, None]
