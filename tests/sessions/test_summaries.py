"""Session summaries: each session that ended becomes one memory."""

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.core.agents import Viewer
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid, Unavailable
from hivelore.feedback.implicit import ImplicitFeedback
from hivelore.feedback.model import UsageCounts
from hivelore.memories.model import Json, Lifetimes, Memory, Scope, Source, Trust
from hivelore.memories.summary import sentences
from hivelore.observations.curation import RatedQuery
from hivelore.sessions.lessons.extractive import extract_summary
from hivelore.sessions.lessons.information import is_informative
from hivelore.sessions.lessons.summary_draft import MAX_SUMMARISED
from hivelore.sessions.lessons.tool_use import analyze_tool_use
from hivelore.sessions.model import (
    AgentEvent,
    EventId,
    EventKind,
    HandoverState,
    Speaker,
    SubAgent,
    Summary,
    Task,
    Transcript,
    Turn,
)
from hivelore.sessions.ports import Summarizer
from hivelore.sessions.summaries import ATTEMPTS, FIRST_PAUSE, LAG, LEASE, LEASE_NAME, RETENTION, SessionSummaries
from hivelore.sessions.transcript_files import TranscriptFiles
from hivelore.storage.leader_lease import LeaderLease
from support.clocks import START, SteppingClock
from support.fake_secrets import private_key
from support.fences import fenced
from support.memories import EVERYTHING
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.sessions import FOLDER, ClaudeSession, a_fix, an_end
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

TITLE = "Session: The checkout test fails, please have a look."
SAID = "The root cause of the slow start was the cache, which is built anew each time."


class Quoting:
    """Quotes the assistant, whatever a session taught."""

    name = "extractive"

    def summarize(self, conversation: Transcript, task: Task | None) -> Summary:
        del task
        failures = [one for one in analyze_tool_use(conversation.turns).failures if one.solved]
        said = [
            sentence
            for turn in reversed(conversation.turns)
            if turn.speaker is Speaker.ASSISTANT
            for sentence in sentences(turn.text)
            if is_informative(sentence)
        ]
        points = [*(f"{one.command} failed: {one.error}" for one in failures), *said]
        return Summary(tuple(points[:7]), quotes_tools=bool(failures), by=self.name)


class Failing(Quoting):
    """Raises what it is told to, so often; then works."""

    def __init__(self, error: Exception, times: int) -> None:
        self._error, self.left, self.calls = error, times, 0

    def summarize(self, conversation: Transcript, task: Task | None) -> Summary:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self._error
        return super().summarize(conversation, task)


class Service:
    def __init__(self, folder: Path) -> None:
        self.clock = SteppingClock()
        self.store = ReferenceStore(self.clock)
        self.world = World(self.store, ReferenceKeywords(), self.clock)
        self.folder = folder
        self.session_summaries = self.with_summarizer(Quoting())

    def with_summarizer(self, summarizer: Summarizer) -> SessionSummaries:
        self.session_summaries = SessionSummaries(
            store=self.store,
            memory_service=self.world.memory_service,
            novelty_filter=self.world.novelty_filter,
            lesson_recorder=self.world.lesson_recorder,
            implicit_feedback=ImplicitFeedback(self.store, self.world.keywords, Lifetimes(), self.clock),
            transcripts=TranscriptFiles([self.folder]),
            summarizer=summarizer,
            fallback=Quoting(),
            redactor=Redactor(b"a key for tests only"),
            clock=self.clock,
            leader_lease=LeaderLease(self.store, self.clock, "one", LEASE_NAME, LEASE),
            ingest_markers=self.world.marker_ingest.ingest,
        )
        return self.session_summaries

    def file(self, session: ClaudeSession, name: str = "s1.jsonl") -> Path:
        path = self.folder / name
        path.write_text("\n".join(session.lines) + "\n", encoding="utf-8")
        return path

    def work(self) -> None:
        while self.session_summaries.step():
            pass

    def prompt(self, text: str, session: str = "s1") -> str:
        """Returns the context injected at a prompt."""
        event = AgentEvent(
            id=EventId(f"asked-{session}"),
            kind=EventKind.PROMPTED,
            program="claude-code",
            session=Clean(session),
            text=Clean(text),
            at=START,
        )
        context = self.world.capture.handle(event, AS_ADA).context or ""
        self.world.session_buffer.flush()  # As at the end of a session, before it is handed over.
        return context

    def memories(self) -> list[Memory]:
        """Returns all but the lessons."""
        with self.store.read() as view:
            found = view.page(EVERYTHING, None, 100)
        return [one for one in found if not (one.external_id or "").startswith("lesson:")]

    def states(self) -> dict[HandoverState, int]:
        return {state: count for state, count in self.session_summaries.counts().items() if count}


@pytest.fixture
def service(tmp_path: Path) -> Generator[Service]:
    service = Service(tmp_path)
    with closing(service.store):
        yield service


def test_a_delayed_end_is_summarized_after_its_time_unless_a_later_one_comes_first(service: Service) -> None:
    delay, path = timedelta(minutes=2), service.file(a_fix())
    service.session_summaries.hand_over(an_end(path, is_partial=True), AS_ADA, delay)
    service.clock.advance(delay - timedelta(seconds=1))
    service.work()
    assert service.states() == {HandoverState.WAITING: 1}
    service.session_summaries.hand_over(an_end(path, at=START + timedelta(minutes=1)), AS_ADA)
    service.work()
    assert service.states() == {HandoverState.WAITING: 1, HandoverState.DONE: 1}
    before = service.memories()
    service.clock.advance(timedelta(seconds=1))
    service.work()
    assert service.states() == {HandoverState.DONE: 2}
    assert service.memories() == before


def test_a_session_becomes_a_memory_of_its_agent(service: Service) -> None:
    service.session_summaries.hand_over(an_end(service.file(a_fix()), project="shop"), AS_ADA)
    assert service.memories() == []
    service.work()
    (memory,) = service.memories()
    assert (memory.owner, memory.scope, memory.source) == (AS_ADA.agent, Scope.AGENT, Source.SESSION_SUMMARY)
    assert (memory.name, memory.session, memory.project) == (TITLE, "s1", "shop")
    assert memory.external_id == "session:claude-code:s1"
    assert memory.metadata == {"program": "claude-code", "summarizer": "extractive", "ended": START.isoformat()}
    assert "The checkout test passes." in memory.content
    assert service.states() == {HandoverState.DONE: 1}


def test_the_memory_is_named_after_the_task(service: Service) -> None:
    task = Task("t-7", f"Fix the\n checkout {'test ' * 30}")
    service.session_summaries.hand_over(an_end(service.file(a_fix()), task=task), AS_ADA)
    service.work()
    (memory,) = service.memories()
    assert memory.name.startswith("Session: Fix the checkout test")
    assert len(memory.name) <= len("Session: ") + 80
    assert memory.source_task_id == "t-7"


def test_known_facts_are_reinforced_and_not_stored_again(service: Service) -> None:
    path = service.file(a_fix())
    service.session_summaries.hand_over(an_end(path), AS_ADA)
    service.work()
    service.clock.advance(timedelta(days=2))
    service.session_summaries.hand_over(an_end(path, session="s2"), AS_ADA)
    service.work()
    (memory,) = service.memories()
    assert memory.session == "s1"
    assert memory.access_count == 1
    assert memory.expires_at == service.clock.now() + timedelta(days=3)


def test_only_the_new_points_of_a_summary_are_stored(service: Service) -> None:
    service.world.remember("The root cause is that carts from before March have no currency field. It cost us a day.")
    service.session_summaries.hand_over(an_end(service.file(a_fix())), AS_ADA)
    service.work()
    (summary,) = (memory for memory in service.memories() if memory.session == "s1")
    assert "before March" not in summary.content
    assert "The checkout test passes." in summary.content


@pytest.mark.parametrize("viewer", [AS_BOB, AS_LEA])
def test_private_memories_of_another_agent_do_not_make_a_point_known(service: Service, viewer: Viewer) -> None:
    path = service.file(a_fix())
    service.session_summaries.hand_over(an_end(path), AS_ADA)
    service.work()
    service.session_summaries.hand_over(an_end(path, session="s2"), viewer)
    service.work()
    assert len(service.memories()) == 2


def test_memories_of_another_project_do_not_make_a_point_known(service: Service) -> None:
    path = service.file(a_fix())
    for session, project in (("s1", "shop"), ("s2", "bank")):
        service.session_summaries.hand_over(an_end(path, session=session, project=project), AS_ADA)
    service.work()
    assert len(service.memories()) == 2


def test_repeated_sessions_do_not_grow_the_store(service: Service) -> None:
    path = service.file(a_fix())
    for number in range(100):
        service.session_summaries.hand_over(an_end(path, session=f"s{number}"), AS_ADA)
        service.work()
    assert len(service.memories()) == 1


def test_the_same_event_is_handled_once(service: Service) -> None:
    ended = an_end(service.file(a_fix()))
    for _ in range(2):
        service.session_summaries.hand_over(ended, AS_ADA)
    service.work()
    service.session_summaries.hand_over(ended, AS_ADA)
    service.work()
    assert service.states() == {HandoverState.DONE: 1}
    assert len(service.memories()) == 1


def test_a_later_summary_of_a_session_replaces_the_earlier_one(service: Service) -> None:
    session = a_fix()
    service.session_summaries.hand_over(an_end(service.file(session)), AS_ADA)
    service.work()
    session.user("And the speed?").says(SAID)
    service.session_summaries.hand_over(an_end(service.file(session)), AS_ADA)
    service.work()
    (memory,) = service.memories()
    assert SAID in memory.content
    assert memory.version == 2


def test_an_unchanged_summary_makes_no_new_version_and_is_renewed(service: Service) -> None:
    path = service.file(a_fix())
    for minute in range(9):
        service.session_summaries.hand_over(
            an_end(path, at=START + timedelta(minutes=minute), is_partial=minute < 8), AS_ADA
        )
        service.work()
        service.clock.advance(timedelta(minutes=1))
    (memory,) = service.memories()
    assert (memory.version, memory.access_count) == (1, 0)
    assert memory.expires_at == service.clock.now() - timedelta(minutes=1) + timedelta(days=3)


@pytest.mark.parametrize("is_partial", [True, False])
def test_a_turn_delivered_late_does_not_replace_the_summary_of_the_end(service: Service, is_partial: bool) -> None:
    session = a_fix().user("And the speed?").says(SAID)
    service.session_summaries.hand_over(an_end(service.file(session), at=START + timedelta(minutes=2)), AS_ADA)
    service.work()
    earlier = service.file(a_fix(), "earlier.jsonl")
    service.session_summaries.hand_over(
        an_end(earlier, at=START + timedelta(minutes=1), is_partial=is_partial, last_message="So."), AS_ADA
    )
    service.work()
    (memory,) = service.memories()
    assert (SAID in memory.content) == is_partial


@pytest.mark.parametrize("noted", ["yesterday", 7, None, "2999-01-01T00:00:00"])
def test_an_invalid_end_time_in_the_metadata_is_ignored(service: Service, noted: Json) -> None:
    service.world.remember("Old.", external_id="session:claude-code:s1", metadata={"ended": noted})
    service.session_summaries.hand_over(an_end(service.file(a_fix()), is_partial=True, last_message="So."), AS_ADA)
    service.work()
    (memory,) = service.memories()
    assert "currency" in memory.content


def test_only_the_newest_end_of_a_session_is_summarized(service: Service) -> None:
    summarizer = Failing(Unavailable("never"), 0)
    service.with_summarizer(summarizer)
    path = service.file(a_fix())
    for minute in (2, 0, 1):
        service.session_summaries.hand_over(an_end(path, at=START + timedelta(minutes=minute)), AS_ADA)
    service.work()
    assert summarizer.calls == 1
    assert service.states() == {HandoverState.DONE: 3}
    (memory,) = service.memories()
    assert memory.metadata["ended"] == (START + timedelta(minutes=2)).isoformat()


def test_sessions_agents_and_sub_agents_have_separate_summaries(service: Service) -> None:
    path = service.file(a_fix())
    side = service.file(
        ClaudeSession(sidechain=True).user("Look.").says(f"{SAID} It is written to disk."), "agent.jsonl"
    )
    service.session_summaries.hand_over(an_end(path, project="shop"), AS_ADA)
    service.session_summaries.hand_over(an_end(path, session="s2", project="bank"), AS_ADA)
    service.session_summaries.hand_over(an_end(path), AS_BOB)
    service.session_summaries.hand_over(an_end(side, subagent=SubAgent("a1", "Explore")), AS_ADA)
    service.work()
    found = {(memory.owner, memory.external_id) for memory in service.memories()}
    assert found == {
        ("ada", "session:claude-code:s1"),
        ("ada", "session:claude-code:s2"),
        ("bob", "session:claude-code:s1"),
        ("ada", "session:claude-code:s1:a1"),
    }
    (of_subagent,) = (memory for memory in service.memories() if memory.metadata.get("subagent"))
    assert of_subagent.metadata["subagent"] == "Explore"


def test_an_empty_summary_is_not_stored(service: Service) -> None:
    path = service.file(
        ClaudeSession().user("Hello! How are you today, my dear friend?" * 3).says("Hello! How can I help you?")
    )
    service.session_summaries.hand_over(an_end(path), AS_ADA)
    service.work()
    assert service.memories() == []
    assert service.states() == {HandoverState.DONE: 1}


@pytest.mark.parametrize("path", ["gone.jsonl", "../s1.jsonl", "\0", "x" * 5_000, ""])
def test_the_last_message_is_summarized_if_the_transcript_is_missing(service: Service, path: str) -> None:
    ended = an_end(service.folder / path, last_message=f"{SAID} It is kept between starts now, in the home folder.")
    service.session_summaries.hand_over(ended, AS_ADA)
    service.work()
    (memory,) = service.memories()
    assert SAID in memory.content


def test_a_last_message_missing_from_the_file_is_added(service: Service) -> None:
    service.session_summaries.hand_over(an_end(service.file(a_fix()), last_message=SAID), AS_ADA)
    service.work()
    assert SAID in service.memories()[0].content


def test_a_conversation_given_as_text_is_summarized(service: Service) -> None:
    service.session_summaries.hand_over(
        an_end(text=f"We looked at the start. {SAID} It is kept now.", program="other"), AS_ADA
    )
    service.work()
    assert SAID in service.memories()[0].content


def test_secrets_are_masked_before_anything_is_stored(service: Service) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    session = a_fix().says(f"The deploy job failed because the key {key} was read from the wrong file.")
    service.session_summaries.hand_over(
        an_end(service.file(session), last_message=f"It was caused by the key {key}, too."), AS_ADA
    )
    with service.store.read() as view:
        (waiting,) = view.handovers_due(START, 9)
    assert key not in str(waiting)
    service.work()
    with service.store.read() as view:
        contents = [one.content for one in view.page(EVERYTHING, None, 100)]
    assert any("because the key [" in one for one in contents)
    assert not any(key in one for one in contents)


def test_injected_text_is_not_summarized(service: Service) -> None:
    ours = fenced("The root cause of all evil is that the cache is cold.")
    session = ClaudeSession().user(f"Go on with the work on the cache. {ours}").says(f"{ours}\n\n{SAID}")
    service.session_summaries.hand_over(an_end(service.file(session), last_message=f"{ours} {SAID}"), AS_ADA)
    service.work()
    (memory,) = service.memories()
    assert "evil" not in memory.content


def test_characters_that_cannot_be_stored_are_replaced(service: Service) -> None:
    service.session_summaries.hand_over(
        an_end(last_message=f"a\0b \ud800 {SAID} It is kept between starts now."), AS_ADA
    )
    service.work()
    assert SAID in service.memories()[0].content


def test_an_unavailable_summarizer_is_retried(service: Service) -> None:
    service.with_summarizer(Failing(Unavailable("overloaded"), 1))
    service.session_summaries.hand_over(an_end(service.file(a_fix())), AS_ADA)
    service.work()
    assert service.states() == {HandoverState.WAITING: 1}
    assert service.session_summaries.last_error == "overloaded"
    service.clock.advance(FIRST_PAUSE)
    service.work()
    assert service.states() == {HandoverState.DONE: 1}
    assert len(service.memories()) == 1


@pytest.mark.parametrize(("error", "calls"), [(Unavailable("down"), ATTEMPTS), (Invalid("not this one"), 1)])
def test_an_end_that_keeps_failing_is_given_up_and_counted(service: Service, error: Exception, calls: int) -> None:
    failing = Failing(error, 99)
    service.with_summarizer(failing)
    service.session_summaries.hand_over(an_end(service.file(a_fix()), text=SAID), AS_ADA)
    for _ in range(9):
        service.work()
        service.clock.advance(timedelta(hours=1))
    assert failing.calls == calls
    assert service.states() == {HandoverState.FAILED: 1}
    assert [memory.metadata["summarizer"] for memory in service.memories()] == ["extractive"]
    with service.store.read() as view:
        assert SAID not in str(view.handovers_after(an_end().id.__class__(""), 9))


def test_an_active_session_is_summarized_without_a_model_after_a_lag(service: Service) -> None:
    service.with_summarizer(failing := Failing(Unavailable("down"), 99))
    service.session_summaries.hand_over(an_end(service.folder / "s1.jsonl", is_partial=True), AS_ADA)
    assert not service.session_summaries.step()
    service.file(a_fix())
    service.clock.advance(LAG)
    service.work()
    assert (failing.calls, service.states(), len(service.memories())) == (0, {HandoverState.DONE: 1}, 1)


def test_an_end_interrupted_too_often_is_summarized_without_a_model(service: Service) -> None:
    failing = Failing(Unavailable("down"), 99)
    service.with_summarizer(failing)
    service.session_summaries.hand_over(an_end(service.file(a_fix())), AS_ADA)
    with service.store.read() as view:
        (waiting,) = view.handovers_due(START, 1)
    service.store.write(lambda tx: tx.put_handover(replace(waiting, attempts=ATTEMPTS)))
    service.work()
    assert failing.calls == 0
    assert service.states() == {HandoverState.DONE: 1}
    assert [memory.metadata["summarizer"] for memory in service.memories()] == ["extractive"]


def test_an_end_that_kills_the_process_is_given_up(service: Service) -> None:
    service.session_summaries.hand_over(an_end(service.file(a_fix())), AS_ADA)
    with service.store.read() as view:
        (waiting,) = view.handovers_due(START, 1)
    service.store.write(lambda tx: tx.put_handover(replace(waiting, attempts=ATTEMPTS + 1)))
    service.work()
    assert service.states() == {HandoverState.FAILED: 1}
    assert service.memories() == []


def test_markers_are_read_from_the_whole_last_message(service: Service) -> None:
    code = "\n".join(["```", *["make all"] * (MAX_SUMMARISED // 5), "[MEMORY:timing:shop] An example", "```"])
    said = f"[MEMORY:timing:cart] Takes 60s to start\n{code}\n[MEMORY:timing:till] Takes 10s to start\n"
    service.session_summaries.hand_over(an_end(last_message=said), AS_ADA)
    service.work()
    known = service.world.curation.page(RatedQuery(), AS_ADA, None).memories
    assert {one.memory.content for one in known} == {"Takes 60s to start", "Takes 10s to start"}


def test_an_operator_without_an_agent_is_refused(service: Service) -> None:
    with pytest.raises(Invalid, match="agent"):
        service.session_summaries.hand_over(an_end(), AS_OPERATOR)


@pytest.mark.parametrize("session", ["", "x" * 501])
def test_a_session_id_must_be_valid(service: Service, session: str) -> None:
    with pytest.raises(Invalid, match="session id"):
        service.session_summaries.hand_over(an_end(session=session), AS_ADA)


def test_summarized_ends_are_pruned(service: Service) -> None:
    service.session_summaries.hand_over(an_end(text=SAID), AS_ADA)
    service.work()
    service.clock.advance(RETENTION + timedelta(seconds=1))
    service.work()
    assert service.states() == {}


def test_summaries_that_quote_tools_are_trusted_less(service: Service) -> None:
    service.session_summaries.hand_over(an_end(service.file(a_fix())), AS_ADA)
    service.session_summaries.hand_over(
        an_end(last_message=f"{SAID} It is kept between starts now.", session="s2"), AS_ADA
    )
    service.work()
    trust = {memory.session: memory.provenance.trust for memory in service.memories()}
    assert trust == {Clean("s1"): Trust.TOOL_OUTPUT, Clean("s2"): Trust.AGENT}


def test_use_of_injected_memories_is_counted_and_own_tool_results_are_not_summarized(
    service: Service,
) -> None:
    for number in range(30):
        service.world.remember(f"The kettle number {number} boils in the kitchen {number % 7}.")
    memory = service.world.remember("The quokka gateway wants --legacy-peer-deps, else its wombat cache is stale.")
    assert memory.content in service.prompt("What does the quokka gateway want?")
    service.world.write_buffer.flush()
    session = a_fix().uses("mcp__hivelore__memory-search", f"The root cause was: {memory.content}", query="quokka")
    session.runs("yarn --legacy-peer-deps")
    service.session_summaries.hand_over(an_end(service.file(session)), AS_ADA)
    service.work()
    assert service.world.rating.of(memory.id, AS_ADA).use == UsageCounts(applied=1)
    summary = next(one for one in service.memories() if one.source is Source.SESSION_SUMMARY)
    assert "quokka" not in summary.content


class Recording(Quoting):
    """Records what it is given."""

    def __init__(self) -> None:
        self.conversations: list[Transcript] = []

    def summarize(self, conversation: Transcript, task: Task | None) -> Summary:
        self.conversations.append(conversation)
        return replace(super().summarize(conversation, task), points=("[EVENT:info] A point", SAID, "It is so."))


def test_private_text_never_reaches_a_summarizer(service: Service) -> None:
    summarizer = Recording()
    service.with_summarizer(summarizer)
    middle = "a line of a log\n" * 2_000
    long = f"<private>zebrafinch\n{middle}zebrafinch</private>{SAID}"
    session = ClaudeSession().user(long).runs("make <private>zebrafinch", long).runs("make", long, failed=True)
    ended = an_end(service.file(session.says(long)), last_message=long, task=Task("t", long))
    service.session_summaries.hand_over(ended, AS_ADA)
    service.work()
    (given,) = summarizer.conversations
    assert SAID in given.turns[0].text
    assert "zebrafinch" not in repr((given, service.memories()))


def test_files_whose_edits_all_failed_are_not_reported_as_changed(service: Service) -> None:
    given: list[Sequence[Turn]] = []

    class Reading(Quoting):
        def summarize(self, conversation: Transcript, task: Task | None) -> Summary:
            given.append(conversation.turns)
            return extract_summary(conversation)

    service.with_summarizer(Reading())
    session = a_fix()
    for number in range(3):
        session.uses("Edit", "String to replace not found.", failed=True, file_path=f"{FOLDER}/a{number}.py")
    service.session_summaries.hand_over(an_end(service.file(session.says(SAID))), AS_ADA)
    service.work()
    assert given
    assert not [name for name in analyze_tool_use(given[0]).files if name.startswith("a")]
    assert "a0.py" not in service.memories()[0].content


@pytest.mark.parametrize("after", range(0, MAX_SUMMARISED + 2_000, 700))
def test_no_part_of_a_cut_secret_reaches_a_summarizer_or_the_handover(service: Service, after: int) -> None:
    summarizer = Recording()
    service.with_summarizer(summarizer)
    key, log, name = private_key(26), "a line of a log\n", "DB_PASSWORD=hunter2horse"
    end = f"\n{(log * 2_000)[:after]}\n{name}\n{(log * 2_000)[: after // 2]}\n"
    text = f"{log * 2_000}{key}{end}"
    begin = f"{(log * 100)[: after % 2_100]}{key}"
    session = ClaudeSession().says("I begin.").user(f"{begin}{end}").says(text)
    session.runs(f"cat <<X\n{begin}", text).uses("Write", "ok", file_path="a.py", content=begin)
    ended = an_end(service.file(session), text=text, task=Task("t", text))
    service.session_summaries.hand_over(ended, AS_ADA)
    with service.store.read() as view:
        waiting = view.handovers_due(START, 9)
    service.work()
    seen = repr((waiting, summarizer.conversations, service.memories()))
    assert not [part for part in (*key.split("\n")[1:-1], "hunter2horse") if part[-10:] in seen]


def test_markers_leave_the_summary(service: Service) -> None:
    summarizer = Recording()
    service.with_summarizer(summarizer)
    said = f"{SAID}\n[MEMORY:timing:cart] Takes 60s to start\n- [EVENT:info] Done"
    session = ClaudeSession().user("Why is it slow?").says("[EVENT:info] I begin").runs("make", said).says(said)
    service.session_summaries.hand_over(an_end(service.file(session), last_message=said), AS_ADA)
    service.work()
    assert [turn.text for turn in summarizer.conversations[0].turns] == ["Why is it slow?", "", SAID, SAID]
    memories = {memory.source: memory.content for memory in service.memories()}
    assert memories[Source.SESSION_SUMMARY] == f"- {SAID}\n- It is so."
    (known,) = service.world.curation.page(RatedQuery(), AS_ADA, None).memories
    assert known.memory.content == "Takes 60s to start"


def names(service: Service) -> set[str]:
    return {memory.name for memory in service.memories() if memory.source is Source.SESSION_SUMMARY}


def end(service: Service, session: str, prompt: str | None, said: str, minutes: int = 0) -> None:
    whole = ClaudeSession(session) if prompt is None else ClaudeSession(session).user(prompt)
    path = service.file(whole.says(said), f"{session}.jsonl")
    at = START + timedelta(minutes=minutes)
    service.session_summaries.hand_over(an_end(path, session=session, at=at), AS_ADA)
    service.work()


LAMP = "The lamp in the hall is broken because of the rain, and nobody has repaired it since the last summer."


def test_sessions_are_named_after_their_first_prompt(service: Service) -> None:
    end(service, "s1", "Why is\n the start slow? " + "Look at the cache first. " * 10, SAID)
    end(service, "s2", None, LAMP)
    assert names(service) == {
        "Session: Why is the start slow? Look at the cache first. Look at the cache first. Look…",
        f"Session: {LAMP[:78]}…",
    }


def test_the_first_prompt_of_a_session_without_a_file_is_known_from_its_hook(service: Service) -> None:
    service.prompt("Why is the start slow?")
    service.prompt("Go on.")
    service.session_summaries.hand_over(an_end(last_message=f"{SAID} {LAMP}"), AS_ADA)
    service.work()
    assert names(service) == {"Session: Why is the start slow?"}


def test_sessions_with_the_same_prompt_are_told_apart_and_keep_their_names(service: Service) -> None:
    end(service, "s1", "Continue.", f"{SAID} It was measured with a profiler.")
    end(service, "s2", "Continue.", LAMP, minutes=5)
    end(service, "s2", "Continue.", f"{LAMP} The switch next to the door is broken as well.", minutes=20)
    assert names(service) == {"Session: Continue.", "Session: Continue. (2026-03-01 12:05)"}
