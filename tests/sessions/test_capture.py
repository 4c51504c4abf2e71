"""Capture: the context injected at hook events, and what is stored of a session."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.agents import Interface, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Unauthenticated
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Scope, Source, Trust
from hivelore.observations.curation import RatedQuery
from hivelore.observations.outcomes import Change
from hivelore.sessions.fence import remove_fences
from hivelore.sessions.missed_answers import MissedAnswers, MissReason
from hivelore.sessions.model import AgentEvent, Delegation, EventId, EventKind, Origin, SessionEnd, SubAgent, Task
from support.fences import fenced, inside
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

PROXY = "Port 8443 is taken by the proxy."
ABOUT_PROXY = "Which port is taken by the proxy?"
LAMP = "The lamp in the hall is broken."
HERE, ELSEWHERE = Clean("example.com/bees/hive"), Clean("example.com/bees/other")
SUBAGENT = SubAgent("h1", "Explore")


class Conversation:
    """A session whose hook events each have a new id."""

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

    def send(self, kind: EventKind, text: str | None = None, **more: Any) -> str:
        """Returns the context injected at a new event."""
        return self.deliver(self.event(kind, text, **more))

    def deliver(self, event: AgentEvent) -> str:
        return self.world.capture.handle(event, self.viewer).context or ""

    def start(self, **more: Any) -> str:
        return self.send(EventKind.STARTED, **more)

    def prompt(self, text: str = ABOUT_PROXY, **more: Any) -> str:
        return self.send(EventKind.PROMPTED, text, **more)


@pytest.fixture
def conversation(world: World) -> Conversation:
    return Conversation(world)


def test_memories_matching_a_prompt_are_injected_as_data(world: World, conversation: Conversation) -> None:
    conversation.start()
    world.remember(PROXY, project=HERE)
    context = conversation.prompt()
    assert PROXY in inside(context)[1]
    assert "## Relevant Past Knowledge" in context


def test_nothing_is_injected_if_no_memory_matches(world: World, conversation: Conversation) -> None:
    conversation.start()
    world.remember(LAMP, project=HERE)
    assert conversation.prompt() == ""


def test_a_memory_is_injected_once_per_session(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    assert PROXY in conversation.start()
    assert conversation.prompt() == ""
    assert PROXY in Conversation(world, "s2").prompt()


def test_a_line_names_its_memory_and_the_author_and_trust_of_those_of_others(
    world: World, conversation: Conversation
) -> None:
    own = world.remember(PROXY, project=HERE)
    others = world.remember("The cache listens on port 9443.", AS_BOB, scope=Scope.SWARM, author="ada")
    stated = world.remember("Port 80 is for people.", AS_OPERATOR, scope=Scope.SWARM)
    quoted = world.remember(
        "The printer in the hall needs cartridge 81.", AS_OPERATOR, scope=Scope.SWARM, author="Ines", trust=Trust.WEB
    )
    lines = inside(conversation.start())[1].splitlines()
    assert {line for line in lines if line.startswith("- ")} == {
        f"- [{own.id} 2026-03-01] {PROXY}",
        f"- [{quoted.id} 2026-03-01 Ines, web] The printer in the hall needs cartridge 81.",
        f"- [{stated.id} 2026-03-01 operator] Port 80 is for people.",
        f"- [{others.id} 2026-03-01 bob, unverified] The cache listens on port 9443.",
    }


def test_a_line_about_a_service_has_its_confidence(world: World) -> None:
    world.observe(PROXY, service="proxy")
    conversation = Conversation(world, viewer=AS_BOB)
    operational = inside(conversation.start())[1]
    assert "- [timing] Port 8443 is taken by the proxy. (confidence: 0.7)" in operational
    conversation = Conversation(world, "s2", AS_BOB)
    helper = conversation.send(EventKind.SUBAGENT_STARTED, subagent=SUBAGENT, task=Task("T-7", ABOUT_PROXY))
    assert "2026-03-01 ada, confidence 0.7] " in helper


def test_the_summary_of_the_session_itself_is_not_injected(world: World, conversation: Conversation) -> None:
    about: dict[str, Any] = {"project": HERE, "source": Source.SESSION_SUMMARY, "session": "s1"}
    conversation.start()
    for text in (PROXY, f"{PROXY} It listens on all addresses."):
        world.remember(text, external_id="session:s1", **about)
        assert conversation.prompt() == ""
    assert PROXY in conversation.send(EventKind.SUBAGENT_STARTED, subagent=SUBAGENT, task=Task("T-7", ABOUT_PROXY))
    assert PROXY in Conversation(world, "s2").prompt()


def test_a_copy_of_an_injected_memory_is_not_injected(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    assert conversation.start().count(PROXY) == 1
    world.remember(PROXY, project=HERE, name="another name")
    world.remember(PROXY, AS_BOB, scope=Scope.SWARM)
    assert conversation.prompt() == ""
    assert Conversation(world, "s2").start().count(PROXY) == 1


def test_a_changed_memory_is_injected_again(world: World, conversation: Conversation) -> None:
    memory = world.remember(PROXY, project=HERE)
    conversation.prompt()
    world.memory_service.edit(memory.id, Edit(content="Port 9443 is taken by the proxy."), AS_ADA)
    world.embed()
    assert "9443" in conversation.prompt()
    assert conversation.prompt() == ""


def test_a_memory_with_other_tags_or_another_scope_is_not_injected_again(
    world: World, conversation: Conversation
) -> None:
    memory = world.remember(PROXY, project=HERE)
    conversation.start()
    world.memory_service.edit(memory.id, Edit(tags=("ports",)), AS_ADA)
    assert conversation.prompt() == ""
    world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert conversation.prompt() == ""
    assert world.reading.get(memory.id, AS_ADA).version == 3
    world.memory_service.edit(memory.id, Edit(name="Proxy"), AS_ADA)
    assert "Proxy: Port 8443" in conversation.prompt()
    assert conversation.prompt() == ""


def test_injected_memories_are_not_replaced_by_weaker_ones(world: World, conversation: Conversation) -> None:
    conversation.start()
    for number in range(12):
        world.remember(f"Port {number} is taken by the proxy {number}.", project=HERE)
    context = conversation.prompt()
    assert context.count("- [") == 5
    assert conversation.prompt() == ""


def test_at_the_start_notes_of_the_project_come_first_and_other_projects_are_left_out(
    world: World, conversation: Conversation
) -> None:
    world.remember(PROXY, project=HERE)
    world.remember("Everywhere: use the metric system.")
    world.remember(LAMP, project=ELSEWHERE)
    context = conversation.start()
    assert context.index(PROXY) < context.index("metric")
    assert LAMP not in context


def test_a_session_without_a_project_gets_memories_without_a_project(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    world.remember(LAMP)
    context = conversation.start(project=None)
    assert LAMP in context
    assert PROXY not in context


def test_summaries_of_the_last_sessions_are_injected_except_that_of_the_resumed_one(world: World) -> None:
    texts = ("Moved the parser.", "Renamed the lexer.", "Froze the grammar.", "Tested the printer.")
    for number, text in enumerate(texts):
        world.remember(text, project=HERE, source=Source.SESSION_SUMMARY, session=f"s{number}")
    context = Conversation(world, "s2").start(origin=Origin.RESUMED)
    assert [text in context for text in texts] == [True, True, False, True]


def test_at_the_start_useful_notes_come_before_newer_fillers(world: World, conversation: Conversation) -> None:
    useful = [
        "The parser keeps its tables in cache/parser; delete that folder after you change the grammar, or it crashes.",
        "Never rename a rule of the grammar: please ask me first, the plug-ins of our customers use the names.",
        "Tests of the parser need the flag --slow, without it they always pass and you learn nothing from them.",
    ]
    for text in useful:
        world.remember(text, AS_BOB, scope=Scope.SWARM, project=HERE)
    for number in range(150):
        world.remember(f"Build {number} is done.", project=HERE)
    files = (Clean("src/parser/grammar.py"),)
    context = conversation.start(branch=Clean("fix/parser-crash"), changed_files=files)
    assert [text in context for text in useful] == [True, True, True]
    assert context.count("Build") <= 3


def test_standing_instructions_come_first_however_old_they_are(world: World, conversation: Conversation) -> None:
    world.remember("Answer in German.", project=HERE, category="preference")
    for number in range(30):
        world.remember(f"{LAMP} It is the lamp with the number {number}, in room {number * 7}.", project=HERE)
    context = conversation.start()
    assert "## Standing instructions\n- [m0001 2026-03-01] Answer in German.\n" in context
    assert context.index("German") < context.index("lamp")


def test_notes_that_proved_useful_are_injected_at_the_start(world: World, conversation: Conversation) -> None:
    old = world.remember(PROXY, project=HERE)
    for number in range(450):
        world.remember(f"Ticket {number} is closed.", project=HERE)
    assert PROXY not in conversation.start()
    world.rating.rate(old.id, AS_ADA, useful=True)
    assert PROXY in Conversation(world, "s2").start()


def test_the_task_is_injected_with_matching_memories(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    task = Task("T-7", ABOUT_PROXY)
    context = conversation.start(task=task)
    assert "## Current task\nT-7: Which port" in context
    assert context.index("Relevant Past Knowledge") < context.index(PROXY)


def test_the_first_prompt_makes_up_for_a_missed_start(world: World, conversation: Conversation) -> None:
    world.remember(LAMP, project=HERE)
    assert LAMP in conversation.prompt()
    assert conversation.prompt() == ""


def test_after_a_compaction_the_goal_and_the_memories_are_injected_again(
    world: World, conversation: Conversation
) -> None:
    world.remember(PROXY, project=HERE)
    conversation.start()
    conversation.prompt("Move the proxy to another port.")
    conversation.prompt("And tell Bob.")
    context = conversation.start(origin=Origin.COMPACTED)
    assert "## Session goal\nMove the proxy to another port." in context
    assert "## Last request\nAnd tell Bob." in context
    assert PROXY in context


def test_after_a_compaction_each_reminder_is_shown_however_long_the_others_are(
    world: World, conversation: Conversation
) -> None:
    for number in range(15):
        world.observe(f"Takes {number} s to start. {f'{number}' * 400}", service=f"service{number}")
    conversation.start()
    conversation.prompt("Move the proxy. " + "p" * 1_000)
    conversation.prompt("And tell Bob. " + "\u200b" * 1_000)
    context = conversation.start(origin=Origin.COMPACTED, task=Task("T-7", "Rename the parser. " + "t" * 1_990))
    operational, task, goal, request = inside(context)[1].rsplit("\n\n## ", 3)
    assert len(operational) > 5_000
    assert task.startswith("Current task\nT-7: Rename the parser. ttt")
    assert (len(task), task[-1]) == (len("Current task\n") + 2_000, "…")
    assert goal == f"Session goal\nMove the proxy. {'p' * 984}"
    assert request.startswith("Last request\nAnd tell Bob. \\u200b")
    assert request.endswith("…")
    assert len(context) < 10_000


def test_the_next_prompt_restores_the_context_if_no_start_follows_a_compaction(
    world: World, conversation: Conversation
) -> None:
    world.remember(PROXY, project=HERE)
    conversation.start()
    conversation.prompt("Move the proxy to another port.")
    assert conversation.send(EventKind.COMPACTING) == ""
    context = conversation.prompt("And tell Bob.")
    assert "## Session goal\nMove the proxy to another port." in context
    assert PROXY in context
    assert conversation.prompt("And tell Bob.") == ""


def test_clearing_a_session_starts_it_again(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    before = conversation.start()
    conversation.prompt("Move the proxy to another port.")
    assert conversation.start(origin=Origin.CLEARED) == before


def test_resuming_does_not_repeat_injected_memories(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    conversation.start()
    world.remember(LAMP, project=HERE)
    context = conversation.start(origin=Origin.RESUMED)
    assert LAMP in context
    assert PROXY not in context


def test_operational_memory_is_injected_once_per_session(world: World, conversation: Conversation) -> None:
    world.observe(PROXY, service="proxy")
    assert conversation.start().count(PROXY) == 1
    assert conversation.prompt() == ""
    world.observe(LAMP, service="lamp")
    resumed = conversation.start(origin=Origin.RESUMED)
    assert LAMP in resumed
    assert PROXY not in resumed
    assert conversation.start(origin=Origin.RESUMED) == ""


def test_the_first_prompt_injects_operational_memory_after_a_missed_start(
    world: World, conversation: Conversation
) -> None:
    world.observe(PROXY, service="proxy")
    context = conversation.prompt()
    assert (context.count(PROXY), "## Operational Memory (1 of 1 memories" in context) == (1, True)
    assert conversation.prompt() == ""
    assert Conversation(world, "s2").start(task=Task("T-7", ABOUT_PROXY)).count(PROXY) == 1


@pytest.mark.parametrize("origin", [Origin.COMPACTED, Origin.CLEARED, Origin.NEW])
def test_operational_memory_is_injected_again_after_the_model_lost_its_context(
    world: World, conversation: Conversation, origin: Origin
) -> None:
    world.observe(PROXY, service="proxy")
    for event in (conversation.event(EventKind.STARTED), conversation.event(EventKind.STARTED, origin=origin)):
        assert PROXY in conversation.deliver(event)
        assert conversation.prompt() == ""
    conversation.send(EventKind.COMPACTING)
    assert PROXY in conversation.prompt()


def test_operational_memory_of_a_lost_reply_is_injected_again(world: World, conversation: Conversation) -> None:
    world.observe(PROXY, service="proxy")
    lost = conversation.event(EventKind.STARTED)
    assert PROXY in conversation.deliver(lost)
    world.capture.handle_late(lost, AS_ADA)
    assert PROXY in conversation.prompt()


def test_changed_operational_memory_is_injected_again(world: World, conversation: Conversation) -> None:
    seen = world.observe(PROXY, service="proxy")
    conversation.start()
    world.curation.change(seen.memory.id, Change(observation="Port 9443 is taken by the proxy."), AS_OPERATOR)
    world.embed()
    assert "9443" in conversation.prompt()


def test_each_sub_agent_gets_matching_memories_once(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    conversation.prompt()
    assert PROXY in conversation.send(EventKind.SUBAGENT_STARTED, subagent=SUBAGENT)
    assert conversation.send(EventKind.SUBAGENT_STARTED, subagent=SUBAGENT) == ""
    assert PROXY in conversation.send(EventKind.SUBAGENT_STARTED, subagent=replace(SUBAGENT, id="h2"))
    assert conversation.prompt() == ""


def test_a_sub_agent_gets_what_fits_its_own_task(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    world.remember(LAMP, project=HERE)
    conversation.prompt("Please rename the parser module.")
    for kind, prompt in (("Explore", LAMP), ("Plan", ABOUT_PROXY)):
        task = Delegation(kind, Clean(prompt), world.clock.now())
        assert conversation.send(EventKind.DELEGATED, delegated=task) == ""
    plan = conversation.send(EventKind.SUBAGENT_STARTED, subagent=SubAgent("h2", "Plan"))
    explore = conversation.send(EventKind.SUBAGENT_STARTED, subagent=SubAgent("h1", "Explore"))
    assert PROXY in plan
    assert LAMP not in plan
    assert LAMP in explore
    assert PROXY not in explore
    assert conversation.send(EventKind.SUBAGENT_STARTED, subagent=SubAgent("h1", "Explore")) == ""


def test_two_sub_agents_of_a_type_get_their_tasks_in_order(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    world.remember(LAMP, project=HERE)
    conversation.start(project="elsewhere")
    for prompt in (LAMP, ABOUT_PROXY):
        conversation.send(EventKind.DELEGATED, delegated=Delegation("Explore", Clean(prompt), world.clock.now()))
    assert LAMP in conversation.send(EventKind.SUBAGENT_STARTED, subagent=SubAgent("h1", "Explore"))
    assert PROXY in conversation.send(EventKind.SUBAGENT_STARTED, subagent=SubAgent("h2", "Explore"))


def test_a_task_that_was_not_started_is_forgotten(world: World, conversation: Conversation) -> None:
    world.remember(LAMP, project=HERE)
    conversation.start(project="elsewhere")
    for is_later in (False, True):
        conversation.send(EventKind.DELEGATED, delegated=Delegation("Explore", Clean(LAMP), world.clock.now()))
        if is_later:
            world.clock.advance(timedelta(hours=1))
        else:
            conversation.prompt("Please rename the parser module.", project="elsewhere")
        assert conversation.send(EventKind.SUBAGENT_STARTED, subagent=SubAgent(f"h{is_later}", "Explore")) == ""


def test_a_sub_agent_may_get_what_the_agent_has_seen(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    assert PROXY in conversation.prompt()
    given = conversation.send(EventKind.SUBAGENT_STARTED, ABOUT_PROXY, subagent=SUBAGENT)
    assert PROXY in given


def test_on_a_resumed_session_known_memories_are_not_replaced_by_fillers(
    world: World, conversation: Conversation
) -> None:
    for number in range(40):
        world.remember(f"Report {number} about area {number * 7} of the hall is in folder {number * 9}.", project=HERE)
    shown = {line for line in inside(conversation.start())[1].splitlines() if line.startswith("- ")}
    assert 0 < len(shown) < 40
    assert conversation.start(origin=Origin.RESUMED) == ""


def test_private_memories_of_others_are_never_injected_even_for_a_lead(world: World) -> None:
    world.remember(PROXY, AS_ADA, project=HERE)
    for viewer in (AS_BOB, AS_LEA):
        conversation = Conversation(world, viewer=viewer)
        assert conversation.start() + conversation.prompt() == ""
    world.remember(LAMP, AS_ADA, project=HERE, scope=Scope.SWARM)
    assert LAMP in Conversation(world, "s3", AS_BOB).start()


def test_the_same_session_id_of_another_agent_is_another_session(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE, scope=Scope.SWARM)
    conversation.prompt("Move the proxy to another port.")
    context = Conversation(world, viewer=AS_BOB).start(origin=Origin.COMPACTED)
    assert PROXY in context
    assert "Move the proxy" not in context


def test_memories_of_a_lost_reply_are_injected_again(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    lost = conversation.event(EventKind.PROMPTED, ABOUT_PROXY)
    assert PROXY in conversation.deliver(lost)
    world.capture.handle_late(lost, AS_ADA)
    assert PROXY in conversation.prompt()
    world.capture.handle_late(lost, AS_ADA)
    assert conversation.prompt() == ""


def test_what_a_missed_prompt_asked_for_comes_with_the_next_prompt(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    conversation.start()
    world.remember(LAMP, project=HERE)
    lost = conversation.event(EventKind.PROMPTED, LAMP)
    assert LAMP in conversation.deliver(lost)
    world.capture.handle_late(lost, AS_ADA)
    assert LAMP in conversation.prompt("Please rename the parser module.")
    assert conversation.prompt("Please rename the parser module.") == ""


@pytest.mark.parametrize("prompts", [(LAMP, ABOUT_PROXY), (LAMP, ABOUT_PROXY, ABOUT_PROXY)])
def test_after_late_answers_the_next_one_brings_what_two_prompts_asked_for(
    world: World, conversation: Conversation, prompts: tuple[str, ...]
) -> None:
    conversation.start()
    world.remember(PROXY, project=HERE)
    world.remember(LAMP, project=HERE)
    for text in prompts:
        lost = conversation.event(EventKind.PROMPTED, text)
        assert LAMP in conversation.deliver(lost)
        world.capture.handle_late(lost, AS_ADA)
    context = conversation.prompt("Please rename the parser module.")
    assert PROXY in context
    assert LAMP in context
    assert conversation.prompt("Please rename the parser module.") == ""


def test_a_late_answer_that_is_reported_after_the_next_one_is_owed_with_what_it_owed(
    world: World, conversation: Conversation
) -> None:
    conversation.start()
    world.remember(PROXY, project=HERE)
    world.remember(LAMP, project=HERE)
    first, second = (conversation.event(EventKind.PROMPTED, text) for text in (LAMP, ABOUT_PROXY))
    world.capture.handle_late(first, AS_ADA)
    assert LAMP in conversation.deliver(second)
    assert conversation.prompt("Please rename the parser module.") == ""
    world.capture.handle_late(second, AS_ADA)
    context = conversation.prompt("Please rename the parser module.")
    assert PROXY in context
    assert LAMP in context


def test_only_the_newest_missed_prompts_are_remembered(world: World, conversation: Conversation) -> None:
    conversation.start()
    for number in range(9):
        lost = conversation.event(EventKind.PROMPTED, f"Where is lamp {number}?")
        for _ in range(2):
            conversation.deliver(lost)
            world.capture.handle_late(lost, AS_ADA)
    conversation.prompt("Please rename the parser module.")
    world.session_buffer.flush()
    with world.store.read() as view:
        session = view.session(ADA, Clean("claude-code:s1"))
    assert session is not None
    assert session.owed == ()
    assert [one.prompt for one in session.answered] == ["Where is lamp 7?", "Where is lamp 8?"]


def test_a_memory_that_fits_a_missed_prompt_comes_in_full_where_the_next_one_would_only_point_to_it(
    world: World, conversation: Conversation
) -> None:
    retries = "Mailer retries are capped at 5 attempts, and a restart of the mailer does not reset them in redis."
    other = Conversation(world, "s2")
    for one in (conversation, other):
        one.start()
    for text in (retries, PROXY, LAMP):
        world.remember(text, project=HERE)
    lost = conversation.event(EventKind.PROMPTED, "How many attempts are mailer retries capped at?")
    world.capture.handle_late(lost, AS_ADA)
    assert inside(other.prompt("Restart the redis queue."))[1].startswith("## May be relevant")
    context = conversation.prompt("Restart the redis queue.")
    assert context.count("Mailer retries") == 1
    assert retries in context
    assert "## May be relevant" not in context


def test_a_lost_reply_is_counted_once_and_leaves_the_recall_log(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    given = conversation.event(EventKind.PROMPTED, ABOUT_PROXY)
    assert PROXY in conversation.deliver(given)
    assert len(world.recall_log.page(AS_ADA, None, 9).recalls) == 1
    for _ in range(2):
        world.capture.handle_late(given, AS_ADA, MissReason.DOWN)
    assert world.recall_log.page(AS_ADA, None, 9).recalls == ()
    assert world.capture.missed_answers() == (MissedAnswers(program="claude-code", down=1),)
    assert PROXY in conversation.prompt()
    assert len(world.recall_log.page(AS_ADA, None, 9).recalls) == 1


def test_a_reply_that_is_ready_after_the_hook_gave_up_counts_as_not_injected(
    world: World, conversation: Conversation
) -> None:
    world.remember(PROXY, project=HERE)
    lost = conversation.event(EventKind.PROMPTED, ABOUT_PROXY)
    world.capture.handle_late(lost, AS_ADA)
    assert PROXY in conversation.deliver(lost)
    assert PROXY in conversation.prompt()


def test_the_first_prompt_after_a_missed_start_knows_the_branch(world: World, conversation: Conversation) -> None:
    fact = "Its tables in the cache folder have to be deleted after each change of the grammar, or the parser crashes."
    world.remember(fact, project=HERE)
    for number in range(60):
        world.remember(
            f"Ticket {number} asked for another colour of the lamp in hall {number * 7} of house {number * 9}.",
            project=HERE,
        )
    start = conversation.event(EventKind.STARTED, branch=Clean("fix/parser-grammar-tables-cache"))
    world.capture.handle_late(start, AS_ADA)
    assert fact in conversation.prompt("Go on.")


def test_a_start_delivered_late_changes_nothing(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    start = conversation.event(EventKind.STARTED)
    conversation.prompt()
    world.capture.handle_late(start, AS_ADA)
    assert conversation.prompt() == ""


def test_a_compaction_stores_the_programs_own_summary(world: World, conversation: Conversation) -> None:
    event = conversation.event(EventKind.COMPACTED, f"We moved the parser to Rust.\n{fenced(PROXY)}")
    for _ in range(2):
        assert conversation.deliver(event) == ""
    (kept,) = world.recall("parser", source=Source.SESSION_SUMMARY).hits
    assert kept.memory.content == "We moved the parser to Rust."
    assert (kept.memory.project, kept.memory.session, kept.memory.version) == (HERE, "s1", 1)
    conversation.send(EventKind.COMPACTED, "We moved the parser to Rust, and then to Zig.")
    (kept,) = world.recall("parser", source=Source.SESSION_SUMMARY).hits
    assert (kept.memory.version, kept.memory.content[-4:]) == (2, "Zig.")


def test_a_completed_task_of_a_session_is_stored_once(world: World, conversation: Conversation) -> None:
    conversation.start()
    task = Task("1", f"Move the proxy from 8443 to port 9443\n\n{fenced(PROXY)}")
    event = conversation.event(EventKind.ADVANCED, completed=task, transcript="/t/s1.jsonl")
    for _ in range(2):
        assert conversation.deliver(event) == ""
    conversation.send(EventKind.ADVANCED, completed=task)
    (memory,) = [hit.memory for hit in world.recall("proxy", source=Source.TASK_COMPLETION).hits]
    assert memory.content == "Completed task: Move the proxy from 8443 to port 9443"
    assert (memory.source_task_id, memory.session, memory.project, memory.version) == ("1", "s1", HERE, 1)
    assert [one.is_partial for one in world.handed_over] == [True, True]


def test_equal_task_numbers_of_two_sessions_are_two_tasks(world: World) -> None:
    for session, text in (
        ("s1", "Move the proxy from 8443 to port 9443"),
        ("s2", "Repair the lamp in the hall of Bob"),
    ):
        Conversation(world, session).send(EventKind.ADVANCED, completed=Task("1", text))
    assert world.reading.stats(AS_ADA).total == 2


def test_a_completed_task_without_information_is_not_stored(world: World, conversation: Conversation) -> None:
    for text in ("Run the tests", fenced("A" * 500)):
        conversation.send(EventKind.ADVANCED, completed=Task("1", text))
    assert world.reading.stats(AS_ADA).total == 0


def test_a_summary_without_information_is_not_stored(world: World, conversation: Conversation) -> None:
    for text in (None, "Nothing.", fenced("A" * 500)):
        conversation.send(EventKind.COMPACTED, text)
    assert world.reading.stats(AS_ADA).total == 0


def test_a_summary_of_known_facts_reinforces_them_and_is_not_stored(world: World) -> None:
    before = world.remember(PROXY, project=HERE)
    lamp = world.remember(LAMP)
    for number in range(3):
        Conversation(world, f"s{number}").send(EventKind.COMPACTED, f"Which port is it?\n\n{PROXY} {LAMP}")
    assert world.reading.stats(AS_ADA).total == 2
    assert [world.reading.get(one.id, AS_OPERATOR).access_count for one in (before, lamp)] == [3, 3]


@pytest.mark.parametrize(
    "text", [f"{PROXY} It moves to port 9443 tomorrow.", f"{PROXY}\n```\nport = 9443\n```", "Which port? What is next:"]
)
def test_a_summary_with_a_new_fact_is_stored_in_full(world: World, conversation: Conversation, text: str) -> None:
    world.remember(PROXY, project=HERE)
    conversation.send(EventKind.COMPACTED, text)
    (kept,) = world.recall("port", source=Source.SESSION_SUMMARY).hits
    assert kept.memory.content == text


@pytest.mark.parametrize(
    ("known", "changed"),
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
def test_a_changed_fact_is_not_a_repetition(world: World, conversation: Conversation, known: str, changed: str) -> None:
    before = world.remember(known, project=HERE)
    conversation.send(EventKind.COMPACTED, changed)
    kept = world.reading.page(world.reading.widest_filter(AS_ADA), None, 9, AS_ADA).memories
    assert [one.content for one in kept if one.source is Source.SESSION_SUMMARY] == [changed]
    assert world.reading.get(before.id, AS_OPERATOR).access_count == 0


@pytest.mark.parametrize("about", [{"project": ELSEWHERE}, {"viewer": AS_BOB}])
def test_facts_known_in_another_project_or_to_another_agent_are_new(world: World, about: dict[str, Any]) -> None:
    world.remember(PROXY, about.get("viewer", AS_ADA), project=about.get("project", HERE))
    Conversation(world).send(EventKind.COMPACTED, PROXY)
    assert world.recall("port", source=Source.SESSION_SUMMARY).hits


def test_injected_text_in_a_summary_is_not_stored_again(world: World, conversation: Conversation) -> None:
    world.remember(PROXY, project=HERE)
    for _ in range(100):
        context = conversation.start()
        assert PROXY in context
        conversation.send(EventKind.COMPACTED, context)
        assert remove_fences(context) == ""
    assert world.reading.stats(AS_ADA).total == 1


@pytest.mark.parametrize("kind", [EventKind.ANSWERED, EventKind.COMPACTING, EventKind.ENDED])
def test_an_end_without_text_or_transcript_is_not_summarized(
    world: World, conversation: Conversation, kind: EventKind
) -> None:
    conversation.send(kind)
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
def test_ends_are_queued_for_a_summary(
    world: World, conversation: Conversation, kind: EventKind, is_partial: bool
) -> None:
    world.remember(PROXY, project=HERE)
    subagent = SUBAGENT if kind is EventKind.SUBAGENT_ENDED else None
    task = Task("T-7", "Move the proxy")
    conversation.send(EventKind.STARTED)
    event = conversation.event(kind, "Moved.", subagent=subagent, task=task, transcript="/t/s1.jsonl")
    assert conversation.deliver(event) == ""
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
def test_the_transcript_of_another_agents_session_is_not_read(
    world: World, conversation: Conversation, begins: str
) -> None:
    if begins != "never":
        world.capture.handle(conversation.event(EventKind.STARTED), AS_BOB)
    if begins == "for both":
        conversation.send(EventKind.STARTED)
    with pytest.raises(Forbidden, match="cannot be read for you"):
        conversation.deliver(conversation.event(EventKind.ENDED, transcript="/t/s1.jsonl"))
    assert world.handed_over == []
    conversation.deliver(conversation.event(EventKind.ANSWERED, "I did it.", transcript="/t/s1.jsonl"))
    assert [(one.transcript, one.last_message) for one in world.handed_over] == [(None, "I did it.")]


def test_an_agent_that_names_a_session_later_does_not_take_it_over(world: World, conversation: Conversation) -> None:
    conversation.send(EventKind.STARTED)
    world.capture.handle(
        replace(conversation.event(EventKind.STARTED), at=world.clock.now() - timedelta(days=9)), AS_BOB
    )
    conversation.send(EventKind.STARTED)
    conversation.deliver(conversation.event(EventKind.ENDED, transcript="/t/s1.jsonl"))
    assert [one.transcript for one in world.handed_over] == ["/t/s1.jsonl"]
    with pytest.raises(Forbidden, match="cannot be read for you"):
        world.capture.handle(conversation.event(EventKind.ENDED, transcript="/t/s1.jsonl"), AS_BOB)


def test_the_local_agent_may_name_any_transcript(world: World, conversation: Conversation) -> None:
    local = world.agents.local_agent()
    viewer = Viewer(role=local.role, agent=local.id, interface=Interface.HOOK)
    world.capture.handle(conversation.event(EventKind.ENDED, transcript="/t/other.jsonl"), viewer)
    assert [one.transcript for one in world.handed_over] == ["/t/other.jsonl"]


def test_a_viewer_without_an_agent_is_refused(world: World) -> None:
    with pytest.raises(Unauthenticated, match="agent's key"):
        Conversation(world, viewer=AS_OPERATOR).start()


def test_a_compaction_loses_its_analysis_and_the_tags_of_its_summary(world: World, conversation: Conversation) -> None:
    for text in (
        "<analysis>\nFirst I look at the request.\n</analysis>\n\n<summary>\nWe moved the parser to Rust.\n</summary>",
        "<Analysis>First I look at it.\n<summary>We moved the parser to Rust.",
        "We moved the parser to Rust.\n<analysis>Unfinished thoughts",
    ):
        conversation.send(EventKind.COMPACTED, text)
        (kept,) = world.recall("parser", source=Source.SESSION_SUMMARY).hits
        assert kept.memory.content == "We moved the parser to Rust."


def test_markers_in_a_compaction_are_stored_and_leave_its_summary(world: World, conversation: Conversation) -> None:
    said = "We moved the parser to Rust.\n- [MEMORY:timing:parser] Takes 60s to start\nThe old one is gone."
    conversation.send(EventKind.COMPACTED, said)
    (kept,) = world.recall("parser", source=Source.SESSION_SUMMARY).hits
    assert kept.memory.content == "We moved the parser to Rust.\nThe old one is gone."
    (known,) = world.curation.page(RatedQuery(), AS_ADA, None).memories
    assert known.memory.content == "Takes 60s to start"


def test_a_goal_is_injected_without_its_markers(conversation: Conversation) -> None:
    conversation.prompt("Move the parser to Rust.\n[MEMORY:timing:parser] Takes 60s to start")
    conversation.send(EventKind.COMPACTING)
    again = conversation.start(origin=Origin.COMPACTED)
    assert "Move the parser to Rust." in again
    assert "MEMORY:timing" not in again


def test_a_compaction_is_named_after_the_task_or_the_first_prompt(world: World, conversation: Conversation) -> None:
    conversation.prompt("Move the parser to Rust. Keep the tests.")
    conversation.prompt("Go on.")
    conversation.send(EventKind.COMPACTED, "We moved the parser to Rust.")
    other = Conversation(world, "s2")
    other.send(EventKind.COMPACTED, "The lexer of the parser is slow.", task=Task("t1", "Measure the parser"))
    names = {hit.memory.name for hit in world.recall("parser", source=Source.SESSION_SUMMARY).hits}
    assert names == {
        "Session, compacted: Move the parser to Rust. Keep the tests.",
        "Session, compacted: Measure the parser",
    }
