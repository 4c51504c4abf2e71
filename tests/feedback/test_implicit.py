"""Implicit feedback: evidence from an ended session about the memories that were given in it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.feedback.implicit import ImplicitFeedback
from hivelore.feedback.model import NO_USAGE, UsageCounts
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Lifetimes, Memory, Source
from hivelore.search.model import RecallId
from hivelore.sessions.model import AgentEvent, EventId, EventKind, Origin, SessionEnd, SubAgent, Task
from hivelore.sessions.transcripts import read_transcript
from support.clocks import START
from support.memories import ADA
from support.sessions import ClaudeSession, an_end
from support.world import AS_ADA, AS_OPERATOR, World

PROXY = "The quokka gateway wants the flag --legacy-peer-deps, else the wombat cache is stale."
ABOUT_PROXY = "What does the quokka gateway want?"
USES = "yarn --legacy-peer-deps"
FILLERS = 30
"""So that a word of one memory is a rare one."""


class Stage:
    """Sessions of Ada's in a store that knows other things, too."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.implicit_feedback = ImplicitFeedback(world.store, world.keywords, Lifetimes(), world.clock)
        fillers = [f"The kettle number {number} boils in the kitchen {number % 7}." for number in range(FILLERS)]
        world.memory_service.remember_many([Draft(content=filler) for filler in fillers], AS_ADA)
        self.memory = world.remember(PROXY)
        self.count = 0

    def event(self, kind: EventKind, text: str | None = None, **more: Any) -> AgentEvent:
        self.count += 1
        about: dict[str, Any] = {"at": START, **more}
        said = None if text is None else Clean(text)
        name = EventId(f"e{self.count}")
        return AgentEvent(id=name, kind=kind, program="claude-code", session=Clean("s1"), text=said, **about)

    def inject(self, kind: EventKind = EventKind.PROMPTED, text: str | None = ABOUT_PROXY, **more: Any) -> str:
        """Returns the text that is injected."""
        return self.world.capture.handle(self.event(kind, text, **more), AS_ADA).context or ""

    def asked(self) -> RecallId:
        recall = self.world.recall(ABOUT_PROXY).id
        assert recall is not None
        return recall

    def flush(self) -> None:
        """Writes what is written behind; the end of a session does that before it is handed over."""
        self.world.session_buffer.flush()
        self.world.write_buffer.flush()

    def ends(self, session: ClaudeSession, /, **more: Any) -> None:
        self.flush()
        ended = an_end("/s1.jsonl", **{"at": self.world.clock.now(), **more})
        self.implicit_feedback.watch(
            ended, ADA, read_transcript("claude-code", session.lines, of_subagent=bool(ended.subagent))
        )

    def use(self, memory: Memory | None = None) -> UsageCounts:
        return self.world.rating.of((memory or self.memory).id, AS_OPERATOR).use


@pytest.fixture
def stage(world: World) -> Stage:
    return Stage(world)


def searched(session: ClaudeSession, recall: RecallId) -> ClaudeSession:
    answer = f'{{"success":true,"recallId":"{recall}","results":[{{"snippet":"{PROXY}"}}]}}'
    return session.uses("mcp__hivelore__memory-search", answer, query=ABOUT_PROXY)


def test_an_injected_memory_that_was_applied_was_useful(stage: Stage) -> None:
    assert PROXY in stage.inject()
    stage.ends(ClaudeSession().user(ABOUT_PROXY).runs(USES))
    assert stage.use() == UsageCounts(applied=1)


@pytest.mark.parametrize(("command", "days"), [(USES, 30), ("ls", 10)])
def test_a_lesson_that_was_used_lives_on_from_then(stage: Stage, command: str, days: int) -> None:
    lesson = stage.world.remember(f"{PROXY} Since May.", source=Source.LESSON, category="fix")
    stage.world.clock.advance(timedelta(days=20))
    stage.inject()
    stage.ends(ClaudeSession().user(ABOUT_PROXY).runs(command))
    with stage.world.store.read() as view:
        stored = view.get(lesson.id)
    assert stored is not None
    assert stored.memory.expires_at is not None
    assert round((stored.memory.expires_at - stage.world.clock.now()) / timedelta(days=1)) == days


def test_an_injected_memory_that_was_only_repeated_was_not_useful(stage: Stage) -> None:
    stage.inject()
    stage.ends(ClaudeSession().user(ABOUT_PROXY).says(PROXY).says(f"So: {PROXY}"))
    assert stage.use() == UsageCounts(unused=1)


def test_a_recalled_memory_that_was_repeated_was_useful(stage: Stage) -> None:
    session = searched(ClaudeSession().user("Set it up."), stage.asked()).says(PROXY)
    stage.ends(session)
    assert stage.use() == UsageCounts(repeated=1)


def test_a_session_that_ends_repeatedly_counts_once_with_its_strongest_sign(stage: Stage) -> None:
    session = searched(ClaudeSession().user("Set it up."), stage.asked())
    stage.ends(session)
    assert stage.use() == UsageCounts(unused=1)
    before = len(session.lines)
    for more, seen in (
        (PROXY, UsageCounts(repeated=1)),
        (f"See {stage.memory.id}.", UsageCounts(cited=1)),
        ("Bye.", UsageCounts(cited=1)),
    ):
        stage.world.clock.advance(timedelta(seconds=1))
        stage.ends(session.says(more))
        assert stage.use() == seen
    del session.lines[before:]
    stage.ends(session)
    assert stage.use() == UsageCounts(cited=1)
    stage.ends(session.runs(USES))
    assert stage.use() == UsageCounts(applied=1)


def test_nothing_counts_as_unused_while_a_session_continues(stage: Stage) -> None:
    stage.inject()
    stage.ends(ClaudeSession().user(ABOUT_PROXY), is_partial=True)
    assert stage.use() == NO_USAGE
    stage.ends(ClaudeSession().user(ABOUT_PROXY))
    assert stage.use() == UsageCounts(unused=1)


@pytest.mark.parametrize("cut", ["the beginning is missing", "there is no file", "nothing was read"])
def test_a_partial_transcript_shows_no_lack_of_use(stage: Stage, cut: str) -> None:
    stage.inject()
    stage.flush()
    lines = ClaudeSession().user(ABOUT_PROXY).lines if cut != "nothing was read" else []
    whole = read_transcript("claude-code", lines, cut=cut == "the beginning is missing")
    ended = an_end(None if cut == "there is no file" else "/s1.jsonl", at=stage.world.clock.now())
    stage.implicit_feedback.watch(ended, ADA, whole)
    assert stage.use() == NO_USAGE


def test_memories_injected_because_they_are_new_were_not_recalled(stage: Stage) -> None:
    note = stage.world.remember("Deploys happen on Friday with the zebra script, zebra-run-9981.")
    assert "zebra" in stage.inject(EventKind.STARTED, None)
    stage.ends(ClaudeSession().user("Hello."))
    assert stage.use(note) == NO_USAGE
    stage.ends(ClaudeSession().user("Hello.").runs("./zebra-run-9981"))
    assert stage.use(note) == UsageCounts(applied=1)


def test_an_opened_memory_is_not_unused(stage: Stage) -> None:
    session = searched(ClaudeSession().user("Set it up."), stage.asked())
    session.uses("mcp__hivelore__memory-get", PROXY, memoryId=stage.memory.id)
    stage.world.reading.get(stage.memory.id, AS_ADA)
    stage.ends(session)
    assert stage.use() == UsageCounts(opened=1)


def test_injections_are_known_across_a_compaction_and_not_if_the_reply_was_lost(stage: Stage) -> None:
    stage.inject()
    stage.inject(EventKind.COMPACTING, None)
    stage.inject(EventKind.STARTED, None, origin=Origin.COMPACTED)
    stage.ends(ClaudeSession().runs(USES))
    assert stage.use() == UsageCounts(applied=1)
    lost = stage.event(EventKind.PROMPTED, ABOUT_PROXY)
    late = replace(lost, session=Clean("s2"))
    stage.world.capture.handle(late, AS_ADA)
    stage.world.capture.handle_late(late, AS_ADA)
    stage.ends(ClaudeSession().runs(USES), session="s2")
    assert stage.use() == UsageCounts(applied=1)


def test_a_sub_agent_has_its_own_session(stage: Stage) -> None:
    helper = SubAgent("h1", "Explore")
    stage.inject()
    stage.inject(EventKind.SUBAGENT_STARTED, None, subagent=helper)
    stage.ends(ClaudeSession(sidechain=True).runs(USES), subagent=helper)
    assert stage.use() == UsageCounts(applied=1)
    stage.ends(ClaudeSession().user(ABOUT_PROXY).runs(USES))
    assert stage.use() == UsageCounts(applied=2)


def test_recalls_of_others_do_not_count_for_this_session(stage: Stage, world: World) -> None:
    elsewhere = world.recall(ABOUT_PROXY, AS_OPERATOR).id
    assert elsewhere is not None
    stage.ends(searched(ClaudeSession(), elsewhere).runs(USES))
    stage.ends(searched(ClaudeSession(), RecallId("never-was")).runs(USES))
    assert stage.use() == NO_USAGE


def test_memories_forgotten_since_are_skipped(stage: Stage) -> None:
    stage.inject()
    stage.world.memory_service.forget(stage.memory.id, AS_ADA)
    stage.ends(ClaudeSession().user(ABOUT_PROXY).runs(USES))
    with stage.world.store.read() as view:
        assert view.counts().evidence == 0


Work = Callable[[ClaudeSession], ClaudeSession]
ENDINGS: list[tuple[Work, UsageCounts]] = [
    (lambda session: session.runs(USES).runs("pytest -q", "1 passed"), UsageCounts(applied=1, succeeded=1)),
    (
        lambda session: session.runs(USES).runs("pytest -q", "E  KeyError", failed=True),
        UsageCounts(applied=1, failed=1),
    ),
    (lambda session: session.runs(USES), UsageCounts(applied=1)),
    (lambda session: session.runs("pytest -q", "1 passed"), UsageCounts(unused=1)),
]


@pytest.mark.parametrize(("work", "seen"), ENDINGS)
def test_the_outcome_of_a_task_counts_for_the_memories_used_in_it(stage: Stage, work: Work, seen: UsageCounts) -> None:
    stage.inject()
    session = work(ClaudeSession().user(ABOUT_PROXY))
    stage.ends(session, task=Task("T-7", "Set it up."))
    assert stage.use() == seen
    stage.ends(session)
    assert stage.use() == seen


def test_in_a_small_store_no_word_is_rare_enough(world: World) -> None:
    memory = world.remember(PROXY)
    event = AgentEvent(
        id=EventId("e1"),
        kind=EventKind.PROMPTED,
        program="claude-code",
        session=Clean("s1"),
        text=Clean(ABOUT_PROXY),
        at=world.clock.now(),
    )
    assert PROXY in (world.capture.handle(event, AS_ADA).context or "")
    world.session_buffer.flush()
    world.write_buffer.flush()
    ended: SessionEnd = an_end("/s1.jsonl", at=world.clock.now(), is_partial=True)
    lines = ClaudeSession().user(ABOUT_PROXY).runs(USES).lines
    ImplicitFeedback(world.store, world.keywords, Lifetimes(), world.clock).watch(
        ended, ADA, read_transcript("claude-code", lines)
    )
    assert world.rating.of(memory.id, AS_ADA).use == NO_USAGE
