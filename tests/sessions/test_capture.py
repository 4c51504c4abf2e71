"""Capture: what an agent is told without having asked, what it is not, and what is kept of a session."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.agents import Interface, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Unauthenticated
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Scope, Source
from hivelore.observations.outcomes import Change
from hivelore.sessions.fence import unfenced
from hivelore.sessions.model import AgentEvent, EventId, EventKind, Origin, SessionEnd, SubAgent, Task
from support.fences import fenced, inside
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

PROXY = "Port 8443 is taken by the proxy."
ABOUT_PROXY = "Which port is taken by the proxy?"
LAMP = "The lamp in the hall is broken."
HERE, ELSEWHERE = Clean("example.com/bees/hive"), Clean("example.com/bees/other")
SUBAGENT = SubAgent("h1", "Explore")


class Told:
    """One conversation: events in it, each with an id of its own unless it is told twice."""

    def __init__(self, world: World, session: str = "s1", viewer: Viewer = AS_ADA) -> None:
        self.world, self.session, self.viewer = world, Clean(session), viewer
        self.count = 0

    def event(self, kind: EventKind, text: str | None = None, **more: Any) -> AgentEvent:
        self.world.clock.advance(timedelta(seconds=1))
        self.count += 1
        about: dict[str, Any] = {"project": HERE, **more}
        return AgentEvent(
            id=EventId(f"{self.session}-{self.count}"),
            kind=kind,
            program="claude-code",
            session=self.session,
            at=self.world.clock.now(),
            text=None if text is None else Clean(text),
            **about,
        )

    def __call__(self, kind: EventKind, text: str | None = None, **more: Any) -> str:
        """What is told at an event."""
        return self.take(self.event(kind, text, **more))

    def take(self, event: AgentEvent) -> str:
        return self.world.capture.handle(event, self.viewer).context or ""

    def starts(self, **more: Any) -> str:
        return self(EventKind.STARTED, **more)

    def asks(self, text: str = ABOUT_PROXY, **more: Any) -> str:
        return self(EventKind.PROMPTED, text, **more)


@pytest.fixture
def told(world: World) -> Told:
    return Told(world)


def test_what_has_to_do_with_a_prompt_is_told_as_data(world: World, told: Told) -> None:
    told.starts()
    world.remember(PROXY, project=HERE)
    said = told.asks()
    assert PROXY in inside(said)[1]
    assert "## Relevant Past Knowledge" in said


def test_where_nothing_fits_nothing_is_said(world: World, told: Told) -> None:
    told.starts()
    world.remember(LAMP, project=HERE)
    assert told.asks() == ""


def test_a_memory_is_told_once_in_a_session(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    assert PROXY in told.starts()
    assert told.asks() == ""
    assert PROXY in Told(world, "s2").asks()


def test_a_memory_that_has_changed_is_told_again(world: World, told: Told) -> None:
    memory = world.remember(PROXY, project=HERE)
    told.asks()
    world.memory_service.edit(memory.id, Edit(content="Port 9443 is taken by the proxy."), AS_ADA)
    world.embed()
    assert "9443" in told.asks()
    assert told.asks() == ""


def test_others_do_not_take_the_place_of_what_was_told(world: World, told: Told) -> None:
    told.starts()
    for number in range(12):
        world.remember(f"Port {number} is taken by the proxy {number}.", project=HERE)
    said = told.asks()
    assert said.count("- [") == 5
    assert told.asks() == ""


def test_at_the_start_notes_of_the_project_come_first_and_those_of_others_not_at_all(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    world.remember("Everywhere: use the metric system.")
    world.remember(LAMP, project=ELSEWHERE)
    said = told.starts()
    assert said.index(PROXY) < said.index("metric")
    assert LAMP not in said


def test_a_session_without_a_project_is_told_what_belongs_to_none(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    world.remember(LAMP)
    said = told.starts(project=None)
    assert LAMP in said
    assert PROXY not in said


def test_the_last_sessions_are_told_but_not_the_one_that_goes_on(world: World) -> None:
    for number in range(3):
        world.remember(
            f"Session {number} moved the parser.", project=HERE, source=Source.SESSION_SUMMARY, session=f"s{number}"
        )
    said = Told(world, "s2").starts(origin=Origin.RESUMED)
    assert "Session 1" in said
    assert "Session 0" in said
    assert "Session 2" not in said
    assert "Session 0" not in Told(world, "s9").starts()


def test_the_task_is_told_with_what_has_to_do_with_it(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    task = Task("T-7", ABOUT_PROXY)
    said = told.starts(task=task)
    assert "## Current task\nT-7: Which port" in said
    assert said.index("Relevant Past Knowledge") < said.index(PROXY)


def test_who_missed_the_start_is_told_with_the_first_prompt(world: World, told: Told) -> None:
    world.remember(LAMP, project=HERE)
    assert LAMP in told.asks()
    assert told.asks() == ""


def test_after_a_compaction_the_goal_and_the_memories_are_given_back(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    told.starts()
    told.asks("Move the proxy to another port.")
    told.asks("And tell Bob.")
    said = told.starts(origin=Origin.COMPACTED)
    assert "## What the session is about\nMove the proxy to another port." in said
    assert "## What was asked for last\nAnd tell Bob." in said
    assert PROXY in said


def test_where_no_start_follows_a_compaction_all_is_given_back_with_the_next_prompt(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    told.starts()
    told.asks("Move the proxy to another port.")
    assert told(EventKind.COMPACTING) == ""
    said = told.asks("And tell Bob.")
    assert "## What the session is about\nMove the proxy to another port." in said
    assert PROXY in said
    assert told.asks("And tell Bob.") == ""


def test_after_clearing_all_is_as_at_the_start(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    before = told.starts()
    told.asks("Move the proxy to another port.")
    assert told.starts(origin=Origin.CLEARED) == before


def test_who_resumes_is_not_told_again_what_the_conversation_holds(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    told.starts()
    world.remember(LAMP, project=HERE)
    said = told.starts(origin=Origin.RESUMED)
    assert LAMP in said
    assert PROXY not in said


def test_what_is_known_of_running_things_is_told_once_in_a_session(world: World, told: Told) -> None:
    world.observe(PROXY, service="proxy")
    assert told.starts().count(PROXY) == 1
    assert told.asks() == ""
    world.observe(LAMP, service="lamp")
    resumed = told.starts(origin=Origin.RESUMED)
    assert LAMP in resumed
    assert PROXY not in resumed
    assert told.starts(origin=Origin.RESUMED) == ""


def test_who_missed_the_start_is_told_of_running_things_once_with_the_first_prompt(world: World, told: Told) -> None:
    world.observe(PROXY, service="proxy")
    said = told.asks()
    assert (said.count(PROXY), "## Operational Memory (1 of 1 memories" in said) == (1, True)
    assert told.asks() == ""
    assert Told(world, "s2").starts(task=Task("T-7", ABOUT_PROXY)).count(PROXY) == 1


@pytest.mark.parametrize("origin", [Origin.COMPACTED, Origin.CLEARED, Origin.NEW])
def test_what_is_known_of_running_things_is_told_anew_where_the_model_knows_it_no_more(
    world: World, told: Told, origin: Origin
) -> None:
    world.observe(PROXY, service="proxy")
    for event in (told.event(EventKind.STARTED), told.event(EventKind.STARTED, origin=origin)):
        assert PROXY in told.take(event)
        assert told.asks() == ""
    told(EventKind.COMPACTING)
    assert PROXY in told.asks()


def test_what_is_known_of_running_things_is_told_again_where_it_did_not_arrive(world: World, told: Told) -> None:
    world.observe(PROXY, service="proxy")
    lost = told.event(EventKind.STARTED)
    assert PROXY in told.take(lost)
    world.capture.handle_late(lost, AS_ADA)
    assert PROXY in told.asks()


def test_what_is_known_of_running_things_and_has_changed_is_told_again(world: World, told: Told) -> None:
    seen = world.observe(PROXY, service="proxy")
    told.starts()
    world.curation.change(seen.memory.id, Change(observation="Port 9443 is taken by the proxy."), AS_OPERATOR)
    world.embed()
    assert "9443" in told.asks()


def test_a_sub_agent_is_told_what_has_to_do_with_the_request_once_each(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    told.asks()
    assert PROXY in told(EventKind.SUBAGENT_STARTED, subagent=SUBAGENT)
    assert told(EventKind.SUBAGENT_STARTED, subagent=SUBAGENT) == ""
    assert PROXY in told(EventKind.SUBAGENT_STARTED, subagent=replace(SUBAGENT, id="h2"))
    assert told.asks() == ""


def test_nobody_is_told_what_is_private_to_another_not_even_a_lead(world: World) -> None:
    world.remember(PROXY, AS_ADA, project=HERE)
    for viewer in (AS_BOB, AS_LEA):
        told = Told(world, viewer=viewer)
        assert told.starts() + told.asks() == ""
    world.remember(LAMP, AS_ADA, project=HERE, scope=Scope.SWARM)
    assert LAMP in Told(world, "s3", AS_BOB).starts()


def test_the_same_session_of_another_agent_is_another_one(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE, scope=Scope.SWARM)
    told.asks("Move the proxy to another port.")
    said = Told(world, viewer=AS_BOB).starts(origin=Origin.COMPACTED)
    assert PROXY in said
    assert "Move the proxy" not in said


def test_a_reply_that_did_not_arrive_is_told_again(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    lost = told.event(EventKind.PROMPTED, ABOUT_PROXY)
    assert PROXY in told.take(lost)
    world.capture.handle_late(lost, AS_ADA)
    assert PROXY in told.asks()
    world.capture.handle_late(lost, AS_ADA)
    assert told.asks() == ""


def test_a_start_that_is_told_late_undoes_nothing(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    start = told.event(EventKind.STARTED)
    told.asks()
    world.capture.handle_late(start, AS_ADA)
    assert told.asks() == ""


def test_a_compaction_leaves_the_programs_own_summary(world: World, told: Told) -> None:
    event = told.event(EventKind.COMPACTED, f"We moved the parser to Rust.\n{fenced(PROXY)}")
    for _ in range(2):
        assert told.take(event) == ""
    (kept,) = world.recall("parser", source=Source.SESSION_SUMMARY).hits
    assert kept.memory.content == "We moved the parser to Rust."
    assert (kept.memory.project, kept.memory.session, kept.memory.version) == (HERE, "s1", 1)
    told(EventKind.COMPACTED, "We moved the parser to Rust, and then to Zig.")
    (kept,) = world.recall("parser", source=Source.SESSION_SUMMARY).hits
    assert (kept.memory.version, kept.memory.content[-4:]) == (2, "Zig.")


def test_what_says_hardly_anything_is_not_kept(world: World, told: Told) -> None:
    for text in (None, "Nothing.", fenced("A" * 500)):
        told(EventKind.COMPACTED, text)
    assert world.reading.stats(AS_ADA).total == 0


def test_a_summary_of_what_is_known_is_not_kept_but_reinforces(world: World) -> None:
    before = world.remember(PROXY, project=HERE)
    lamp = world.remember(LAMP)
    for number in range(3):
        Told(world, f"s{number}")(EventKind.COMPACTED, f"Which port is it?\n\n{PROXY} {LAMP}")
    assert world.reading.stats(AS_ADA).total == 2
    assert [world.reading.get(one.id, AS_OPERATOR).access_count for one in (before, lamp)] == [3, 3]


@pytest.mark.parametrize(
    "text", [f"{PROXY} It moves to port 9443 tomorrow.", f"{PROXY}\n```\nport = 9443\n```", "Which port? What is next:"]
)
def test_a_summary_with_any_news_is_kept_whole(world: World, told: Told, text: str) -> None:
    world.remember(PROXY, project=HERE)
    told(EventKind.COMPACTED, text)
    (kept,) = world.recall("port", source=Source.SESSION_SUMMARY).hits
    assert kept.memory.content == text


@pytest.mark.parametrize(
    ("known", "told_now"),
    [
        ("Always run the migrations before the seed script.", "Never run the migrations before the seed script."),
        (
            "The proxy of staging listens on port 8443 for all clients.",
            "The proxy of staging listens on port 9443 for all clients.",
        ),
        (
            "The upload job gives up after 30 seconds without an answer.",
            "The upload job gives up after 90 seconds without an answer.",
        ),
        (
            "The client needs version 2.4.1 of the gateway to sign in.",
            "The client needs version 2.5.0 of the gateway to sign in.",
        ),
        (
            "Run the seed script before the migrations on staging.",
            "Run the migrations before the seed script on staging.",
        ),
        ("部署之前必须运行数据库迁移。", "部署之前不必运行数据库迁移。"),
    ],
)
def test_a_changed_fact_is_kept_and_is_no_repetition(world: World, told: Told, known: str, told_now: str) -> None:
    before = world.remember(known, project=HERE)
    told(EventKind.COMPACTED, told_now)
    kept = world.reading.page(world.reading.widest_filter(AS_ADA), None, 9, AS_ADA).memories
    assert [one.content for one in kept if one.source is Source.SESSION_SUMMARY] == [told_now]
    assert world.reading.get(before.id, AS_OPERATOR).access_count == 0


@pytest.mark.parametrize("about", [{"project": ELSEWHERE}, {"viewer": AS_BOB}])
def test_what_is_known_elsewhere_or_to_others_is_news(world: World, about: dict[str, Any]) -> None:
    world.remember(PROXY, about.get("viewer", AS_ADA), project=about.get("project", HERE))
    Told(world)(EventKind.COMPACTED, PROXY)
    assert world.recall("port", source=Source.SESSION_SUMMARY).hits


def test_what_was_told_and_comes_back_in_a_summary_does_not_let_the_store_grow(world: World, told: Told) -> None:
    world.remember(PROXY, project=HERE)
    for _ in range(100):
        said = told.starts()
        assert PROXY in said
        told(EventKind.COMPACTED, said)
        assert unfenced(said) == ""
    assert world.reading.stats(AS_ADA).total == 1


@pytest.mark.parametrize("kind", [EventKind.ANSWERED, EventKind.COMPACTING, EventKind.ENDED])
def test_an_end_that_says_nothing_of_what_was_said_is_not_handed_over(
    world: World, told: Told, kind: EventKind
) -> None:
    told(kind)
    assert world.handed_over == []


@pytest.mark.parametrize(
    ("kind", "is_partial"),
    [
        (EventKind.ANSWERED, True),
        (EventKind.ADVANCED, True),
        (EventKind.COMPACTING, True),
        (EventKind.SUBAGENT_ENDED, False),
        (EventKind.ENDED, False),
    ],
)
def test_what_is_over_is_handed_over_to_be_distilled(
    world: World, told: Told, kind: EventKind, is_partial: bool
) -> None:
    world.remember(PROXY, project=HERE)
    subagent = SUBAGENT if kind is EventKind.SUBAGENT_ENDED else None
    task = Task("T-7", "Move the proxy")
    told(EventKind.STARTED)
    event = told.event(kind, "Moved.", subagent=subagent, task=task, transcript="/t/s1.jsonl")
    assert told.take(event) == ""
    (ended,) = world.handed_over
    assert ended == SessionEnd(
        id=event.id,
        program="claude-code",
        session="s1",
        at=event.at,
        transcript="/t/s1.jsonl",
        last_message="Moved.",
        project=HERE,
        task=task,
        subagent=subagent,
        is_partial=is_partial,
    )
    world.capture.handle_late(event, AS_ADA)
    assert world.handed_over == [ended, ended]


@pytest.mark.parametrize("begins", ["never", "for another", "for both"])
def test_the_transcript_of_a_session_of_others_is_not_read(world: World, told: Told, begins: str) -> None:
    if begins != "never":
        world.capture.handle(told.event(EventKind.STARTED), AS_BOB)
    if begins == "for both":
        told(EventKind.STARTED)
    with pytest.raises(Forbidden, match="not read for you"):
        told.take(told.event(EventKind.ENDED, transcript="/t/s1.jsonl"))
    assert world.handed_over == []
    told.take(told.event(EventKind.ANSWERED, "I did it.", transcript="/t/s1.jsonl"))
    assert [(one.transcript, one.last_message) for one in world.handed_over] == [(None, "I did it.")]


def test_who_names_a_session_later_does_not_keep_its_agent_from_it(world: World, told: Told) -> None:
    told(EventKind.STARTED)
    world.capture.handle(replace(told.event(EventKind.STARTED), at=world.clock.now() - timedelta(days=9)), AS_BOB)
    told(EventKind.STARTED)
    told.take(told.event(EventKind.ENDED, transcript="/t/s1.jsonl"))
    assert [one.transcript for one in world.handed_over] == ["/t/s1.jsonl"]
    with pytest.raises(Forbidden, match="not read for you"):
        world.capture.handle(told.event(EventKind.ENDED, transcript="/t/s1.jsonl"), AS_BOB)


def test_this_machines_agent_names_any_transcript(world: World, told: Told) -> None:
    local = world.agents.local_agent()
    viewer = Viewer(role=local.role, agent=local.id, interface=Interface.HOOK)
    world.capture.handle(told.event(EventKind.ENDED, transcript="/t/other.jsonl"), viewer)
    assert [one.transcript for one in world.handed_over] == ["/t/other.jsonl"]


def test_who_is_no_agent_is_refused(world: World) -> None:
    with pytest.raises(Unauthenticated, match="agent's key"):
        Told(world, viewer=AS_OPERATOR).starts()
