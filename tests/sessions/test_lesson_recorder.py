"""Lesson recorder: each lesson of a session is a memory, and later turns add, refine or take back."""

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from bench.injection.data import OWN
from bench.injection.sessions import claude_lines

from hivelore.core.text import Clean
from hivelore.links.judge import Verdict
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, Scope, Source
from hivelore.sessions.lesson_recorder import LessonRecorder
from hivelore.sessions.lessons.classifier import LessonClassifier, shipped_classifier
from hivelore.sessions.model import Lesson, LessonKind, Session, Speaker, SubAgent, Turn
from hivelore.sessions.transcripts import read_conversation
from support.clocks import START, SteppingClock
from support.memories import ADA, EVERYTHING
from support.pair_readers import TableReader
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.sessions import an_end
from support.world import AS_ADA, AS_OPERATOR, World

RULE, OTHER = "Always run the linter before you commit.", "Never push to main directly."
REWORDED = "Always run the linter before any commit."


class Recording:
    """A recorder, and the sessions that it has seen."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.recorder = world.lesson_recorder

    def record(self, *said: str, **more: Any) -> bool:
        """Records a conversation of user and agent, in turns."""
        speakers = (Speaker.USER, Speaker.ASSISTANT)
        turns = [Turn(speaker=speakers[number % 2], text=text, at=START) for number, text in enumerate(said)]
        return self.recorder.record(an_end(**more), AS_ADA, turns)

    def memories(self) -> list[Memory]:
        with self.world.store.read() as view:
            return sorted(view.page(EVERYTHING, None, 100), key=lambda one: one.id)

    def texts(self) -> list[str]:
        return [one.content for one in self.memories()]


@pytest.fixture
def recording() -> Generator[Recording]:
    clock = SteppingClock()
    store, reader = ReferenceStore(clock), TableReader({(RULE, REWORDED): Verdict.SAME})
    with closing(store):
        yield Recording(World(store, ReferenceKeywords(), clock, reader=reader))


def test_a_lesson_is_a_private_memory_with_its_evidence(recording: Recording) -> None:
    assert recording.record(RULE, "OK.", project="shop", subagent=SubAgent("a1", "tester"))
    (memory,) = recording.memories()
    assert (memory.content, memory.name, memory.category) == (RULE, RULE, "convention")
    assert (memory.owner, memory.scope, memory.project, memory.session) == (ADA, Scope.AGENT, "shop", "s1")
    assert (memory.external_id or "").startswith("lesson:claude-code:s1:a1:")
    assert memory.metadata == {
        "program": "claude-code",
        "extractor": "extractive",
        "turn": 0,
        "said": START.isoformat(),
        "subagent": "tester",
    }


def test_a_user_s_explicit_word_never_expires(recording: Recording) -> None:
    recording.record(RULE, "OK.")
    (memory,) = recording.memories()
    assert (memory.source, memory.expires_at) == (Source.MANUAL, None)


def test_other_lessons_expire_after_thirty_days(recording: Recording) -> None:
    lesson = Lesson(kind=LessonKind.FIX, text="Old carts have no currency field.", name="Old carts")
    recording.recorder.record_given(an_end(), AS_ADA, [lesson], "model")
    (memory,) = recording.memories()
    assert memory.source is Source.LESSON
    assert memory.expires_at == recording.world.clock.now() + timedelta(days=30)


def test_a_lesson_given_again_is_renewed_and_not_stored_twice(recording: Recording) -> None:
    lesson = Lesson(kind=LessonKind.FIX, text="Old carts have no currency field.", name="Old carts")
    recording.recorder.record_given(an_end(), AS_ADA, [lesson], "model")
    recording.world.clock.advance(timedelta(days=20))
    recording.recorder.record_given(an_end(session="s2"), AS_ADA, [lesson], "model")
    (memory,) = recording.memories()
    assert memory.expires_at == recording.world.clock.now() + timedelta(days=30)
    assert memory.access_count == 1


def give(recording: Recording, text: str, **more: Any) -> None:
    """Records a lesson that a model found."""
    lesson = Lesson(kind=LessonKind.CONVENTION, text=text, name=text)
    recording.recorder.record_given(an_end(**more), AS_ADA, [lesson], "model")


@pytest.mark.parametrize("text", [RULE, REWORDED])
def test_a_given_lesson_that_the_session_has_stays_the_user_s_word(recording: Recording, text: str) -> None:
    recording.record(RULE, "OK.")
    give(recording, text)
    (memory,) = recording.memories()
    assert (memory.content, memory.source, memory.expires_at) == (RULE, Source.MANUAL, None)
    assert memory.metadata["extractor"] == "extractive"


def test_a_user_s_word_that_a_model_gave_before_is_stored_without_end(recording: Recording) -> None:
    give(recording, RULE)
    recording.record(RULE, "OK.")
    assert [(one.source, one.content) for one in recording.memories()] == [
        (Source.LESSON, RULE),
        (Source.MANUAL, RULE),
    ]
    recording.record(RULE, "OK.", "Thanks!", "Bye.")
    give(recording, RULE)
    assert len(recording.memories()) == 2


def test_a_lesson_given_in_other_words_when_a_session_ends_again_is_not_stored_again(recording: Recording) -> None:
    give(recording, RULE)
    recording.world.clock.advance(timedelta(days=20))
    give(recording, REWORDED)
    give(recording, RULE)
    (memory,) = recording.memories()
    assert memory.content == RULE
    assert memory.expires_at == recording.world.clock.now() + timedelta(days=30)


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_deleted_lesson_is_not_stored_when_it_is_given_again(recording: Recording, is_drawn: bool) -> None:
    if is_drawn:
        recording.record(RULE, "OK.")
    else:
        give(recording, RULE)
    recording.world.memory_service.forget(recording.memories()[0].id, AS_ADA)
    give(recording, RULE)
    assert recording.memories() == []


@pytest.mark.parametrize("is_drawn", [True, False])
def test_an_edited_lesson_stays_as_it_is_when_it_is_given_again(recording: Recording, is_drawn: bool) -> None:
    if is_drawn:
        recording.record(RULE, "OK.")
    else:
        give(recording, RULE)
    edited = recording.world.memory_service.edit(recording.memories()[0].id, Edit(content="Run ruff."), AS_ADA)
    give(recording, RULE)
    assert recording.memories() == [edited]


def test_later_turns_leave_a_given_lesson_unless_the_user_gives_it_up_by_name(recording: Recording) -> None:
    said = ["How do we install?", "With yarn."]
    recording.record(*said)
    give(recording, "Use yarn instead of npm in this project.")
    said += ["Thanks!", "Bye."]
    recording.record(*said)
    assert recording.texts() == ["Use yarn instead of npm in this project."]
    recording.record(*said, "Forget the rule about yarn.", "OK.")
    assert recording.texts() == []


def test_a_lesson_with_another_number_is_not_known(recording: Recording) -> None:
    recording.record("Remember: the staging database listens on port 5433.", "OK.")
    recording.record("Remember: the staging database listens on port 5434.", "OK.", session="s2")
    assert len(recording.memories()) == 2


def expiring(recording: Recording, content: str, source: Source, session: str | None = None) -> Memory:
    """Stores a memory that expires."""
    memory = recording.world.remember(content, source=source, session=session)
    assert memory.expires_at is not None
    return memory


@pytest.mark.parametrize("source", [Source.SESSION_SUMMARY, Source.TASK_COMPLETION, Source.LESSON, Source.FILE_INDEX])
def test_a_user_s_explicit_word_is_stored_beside_a_memory_that_expires(recording: Recording, source: Source) -> None:
    weaker = expiring(recording, f"- {RULE}", source)
    recording.record(RULE, "OK.")
    (before, memory) = sorted(recording.memories(), key=lambda one: one.source is Source.MANUAL)
    assert before == weaker
    assert (memory.content, memory.source, memory.expires_at) == (RULE, Source.MANUAL, None)


def test_a_user_s_explicit_word_is_known_from_a_memory_without_end(recording: Recording) -> None:
    expiring(recording, f"- {RULE}", Source.SESSION_SUMMARY)
    known = recording.world.remember(RULE)
    recording.record(RULE, "OK.")
    assert len(recording.memories()) == 2
    assert next(one for one in recording.memories() if one.id == known.id).access_count == 1


@pytest.mark.parametrize(
    ("source", "is_known"), [(Source.SESSION_SUMMARY, False), (Source.LESSON, True), (Source.MANUAL, True)]
)
def test_a_lesson_is_known_from_a_memory_that_lives_as_long(
    recording: Recording, source: Source, is_known: bool
) -> None:
    lesson = Lesson(kind=LessonKind.FIX, text="Old carts have no currency field.", name="Old carts")
    recording.world.remember(f"- {lesson.text}", source=source)
    recording.recorder.record_given(an_end(), AS_ADA, [lesson], "model")
    assert (len(recording.memories()) == 1) is is_known


def test_a_lesson_is_never_known_from_the_summary_of_its_session(recording: Recording) -> None:
    lesson = Lesson(kind=LessonKind.FIX, text="Old carts have no currency field.", name="Old carts")
    endless = Draft(content=f"- {lesson.text}", source=Source.SESSION_SUMMARY, session="s1")
    memory = recording.world.memory_service.remember(endless, AS_ADA).memory
    recording.world.memory_service.edit(memory.id, Edit(expires_at=None), AS_ADA)
    recording.recorder.record_given(an_end(), AS_ADA, [lesson], "model")
    assert len(recording.memories()) == 2
    recording.recorder.record_given(an_end(session="s2"), AS_ADA, [lesson], "model")
    assert len(recording.memories()) == 2


def test_the_same_conversation_again_changes_nothing(recording: Recording) -> None:
    recording.record(RULE, "OK.", "Thanks!", "Bye.")
    before = recording.memories()
    recording.record(RULE, "OK.", "Thanks!", "Bye.")
    assert recording.memories() == before


def test_lessons_of_earlier_turns_stay(recording: Recording) -> None:
    said = [RULE, "OK."]
    recording.record(*said)
    for number in range(8):
        said += [f"Now rename the file number {number}.", "Renamed."]
        recording.record(*said)
    recording.record(*said, OTHER, "Understood.")
    assert recording.texts() == [RULE, OTHER]


def test_a_lesson_that_a_later_turn_takes_back_is_forgotten(recording: Recording) -> None:
    said = ["Use yarn instead of npm.", "OK."]
    recording.record(*said)
    assert recording.texts() == ["Use yarn instead of npm."]
    recording.record(*said, "Scrap yarn, it breaks the lock file.", "OK.")
    assert recording.texts() == []


def test_a_lesson_of_turns_out_of_sight_is_taken_back(recording: Recording) -> None:
    said = ["Use yarn instead of npm.", "OK."]
    recording.record(*said)
    said += ["Go on.", "I did the next part of it."] * 40
    recording.record(*said)
    recording.record(*said, "Scrap yarn, it breaks the lock file.", "OK.")
    assert recording.texts() == []


TESTS = "Always run the integration tests before you push."
YARN = "Use yarn instead of npm."


def texts_after_a_long_session(recording: Recording, lesson: str, prompt: str) -> list[str]:
    """Returns the lessons that are left after a prompt, long after one was stored."""
    said = [lesson, "OK.", *["Go on.", "I did the next part of it."] * 40]
    recording.record(*said[:2])
    recording.record(*said)
    assert recording.texts() == [lesson]
    recording.record(*said, prompt, "OK.")
    return recording.texts()


@pytest.mark.parametrize(
    ("lesson", "prompt"),
    [
        (TESTS, "The integration tests no longer run on my machine, have a look."),
        (TESTS, "Please delete the tests folder under tmp"),
        (TESTS, "Revert the change in tests/conftest.py"),
        (TESTS, "undo the last push"),
        (TESTS, "Forget the integration tests, they can wait."),
        (TESTS, "Forget the rule about integration tests for now."),
        (TESTS, "Did you forget the rule about integration tests?"),
        (TESTS, "Don't forget the rule about integration tests."),
        (TESTS, "Scrap integration results and header colors."),
        (TESTS, "Forget the rule about running tests."),
        (YARN, "Forget npm, it is slow."),
        ("Never use npm here.", "Forget npm, it is slow."),
        ("Always run eslint before each commit.", "Scrap the eslint rules and start over."),
        ("Always write release notes in English and mention the yarn version.", "Scrap yarn, it breaks the lock file."),
    ],
)
def test_a_task_or_a_doubtful_word_takes_back_no_lesson_of_turns_out_of_sight(
    recording: Recording, lesson: str, prompt: str
) -> None:
    assert texts_after_a_long_session(recording, lesson, prompt) == [lesson]


@pytest.mark.parametrize(
    ("lesson", "prompt"),
    [
        (TESTS, "Forget the rule about the integration tests."),
        (TESTS, "OK, scrap the integration test rule, it takes too long."),
        (TESTS, "The rule about integration tests no longer applies."),
        (YARN, "Forget what I said about yarn."),
        (YARN, "Vergiss yarn, das macht nur Ärger."),
        ("Never use npm here.", "Scrap the npm rule."),
        (YARN, "Take the yarn decision back, please."),
    ],
)
def test_a_rule_that_the_user_gives_up_by_name_is_forgotten_long_after(
    recording: Recording, lesson: str, prompt: str
) -> None:
    assert texts_after_a_long_session(recording, lesson, prompt) == []


def test_a_deleted_lesson_is_not_stored_again(recording: Recording) -> None:
    said = [RULE, "OK."]
    recording.record(*said)
    recording.world.memory_service.forget(recording.memories()[0].id, AS_ADA)
    recording.record(*said, "Thanks!", "Bye.")
    assert recording.memories() == []


def test_an_edited_lesson_stays_as_it_is(recording: Recording) -> None:
    said = [RULE, "OK."]
    recording.record(*said)
    recording.world.memory_service.edit(recording.memories()[0].id, Edit(content="Run ruff."), AS_ADA)
    recording.record(*said, "Thanks!", "Bye.")
    assert recording.texts() == ["Run ruff."]


def test_an_edited_lesson_stays_when_it_is_taken_back_or_in_doubt(recording: Recording) -> None:
    said = ["Use yarn instead of npm.", "OK."]
    recording.record(*said)
    recording.world.memory_service.edit(recording.memories()[0].id, Edit(content="Yarn 4 in this project."), AS_ADA)
    recording.record(*said, "Scrap yarn, it breaks the lock file.", "OK, back to npm.")
    assert recording.texts() == ["Yarn 4 in this project."]


def test_lessons_that_end_with_the_same_yes_are_told_apart(recording: Recording) -> None:
    said = ["Where do carts go?", "I recommend Postgres, one row for each cart.", "Yes, do that.", "Done."]
    said += ["And the retries?", "I recommend exponential backoff with a cap of 30 s.", "Yes, do that.", "Done."]
    recording.record(*said)
    before = recording.memories()
    assert len(before) == 2
    recording.world.memory_service.forget(before[1].id, AS_ADA)
    for _ in range(3):
        said += ["Thanks!", "Bye."]
        recording.record(*said)
    assert [one.id for one in recording.memories()] == [before[0].id]


def test_one_yes_to_two_recommendations_is_one_lesson(recording: Recording) -> None:
    advice = "I recommend Postgres for the carts. I recommend exponential backoff with a cap of 30 s."
    said = ["How should we do it?", advice, "Yes, do that.", "Done."]
    recording.record(*said)
    (before,) = recording.memories()
    recording.record(*said, "Thanks!", "Bye.")
    (after,) = recording.memories()
    assert (after.id, after.version) == (before.id, before.version)
    assert advice in after.content


def test_two_sessions_of_one_project_have_their_own_lessons(recording: Recording) -> None:
    recording.record(RULE, "OK.", session="s1")
    recording.record(OTHER, "OK.", session="s2")
    recording.record(RULE, "OK.", "Thanks!", "Bye.", session="s1")
    assert recording.texts() == [RULE, OTHER]


def test_the_progress_of_a_session_keeps_what_else_is_known_of_it(recording: Recording) -> None:
    store = recording.world.store
    session = Session(agent=ADA, id=Clean("claude-code:s1"), updated_at=START, goal=Clean("Fix the login"))
    store.write(lambda tx: tx.put_session(session))
    recording.record(RULE, "OK.")
    with store.read() as view:
        after = view.session(ADA, session.id)
    assert after is not None
    assert (after.goal, len(after.progress.lessons)) == ("Fix the login", 1)


def test_an_operator_without_an_agent_has_no_lessons(recording: Recording) -> None:
    turns = [Turn(speaker=Speaker.USER, text=RULE)]
    assert not recording.recorder.record(an_end(), AS_OPERATOR, turns)
    assert recording.memories() == []


class Counting(LessonClassifier):
    """Counts the turns it reads."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def odds(self, turns: Sequence[Turn], statements: Any) -> Any:
        self.read.append(len(turns))
        return shipped_classifier().odds(turns, statements)


def test_of_a_long_session_only_the_newest_turns_are_read(recording: Recording) -> None:
    world, counting = recording.world, Counting()
    recording.recorder = LessonRecorder(
        world.store, world.memory_service, world.novelty_filter, world.clock, lambda: counting
    )
    recording.record(*["Go on with the next part.", "I did the next part."] * 150)
    assert counting.read == [60]


def test_lessons_of_all_turns_are_there_at_the_end() -> None:
    """A session replayed turn by turn has the lessons that it has when it is read as a whole."""
    session = next(
        session
        for session in map(json.loads, (OWN / "sessions" / "dee.jsonl").read_text("utf-8").splitlines())
        if len(session["lessons"]) >= 2 and not any(one.get("retracted") for one in session["lessons"])
    )
    turns = session["turns"]
    stops = [place for place, turn in enumerate(turns) if turn["role"] == "user" and place] + [len(turns)]

    def texts(stops: Sequence[int]) -> set[str]:
        clock = SteppingClock()
        with closing(ReferenceStore(clock)) as store:
            recording = Recording(World(store, ReferenceKeywords(), clock))
            for stop in stops:
                lines = [json.dumps(line) for line in claude_lines(session, stop)]
                recording.recorder.record(an_end(), AS_ADA, read_conversation("claude-code", lines).turns)
            return set(recording.texts())

    whole = texts(stops[-1:])
    assert whole
    assert texts(stops) == whole


@pytest.mark.parametrize("writer", ["eve", "gus", "hal"])
def test_sessions_are_read_turn_by_turn(writer: str) -> None:
    """What was stored is refined or falls apart when more turns are known; each statement stays in one lesson."""
    for line in (OWN / "sessions" / f"{writer}.jsonl").read_text("utf-8").splitlines()[:12]:
        session, clock = json.loads(line), SteppingClock()
        with closing(ReferenceStore(clock)) as store:
            recording = Recording(World(store, ReferenceKeywords(), clock))
            for stop in range(2, len(session["turns"]) + 1):
                lines = [json.dumps(one) for one in claude_lines(session, stop)]
                recording.recorder.record(an_end(), AS_ADA, read_conversation("claude-code", lines).turns)
            with store.read() as view:
                known = view.session(ADA, Clean("claude-code:s1"))
        stated = [] if known is None else [one for lesson in known.progress.lessons for one in lesson.statements]
        assert len(stated) == len(set(stated))
