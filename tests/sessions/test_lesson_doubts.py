"""Lessons that later turns make doubtful: only the user takes back the own explicit word."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from hivelore.sessions.lesson_recorder import LessonRecorder
from hivelore.sessions.lessons.classifier import LessonClassifier
from hivelore.sessions.lessons.drawing import ANCHOR, EVIDENCE, LEAST, draw_lessons
from hivelore.sessions.lessons.features import Odds
from hivelore.sessions.lessons.statements import Statement
from hivelore.sessions.model import Turn
from hivelore.sessions.transcripts import read_conversation
from support.memories import EVERYTHING
from support.sessions import ClaudeSession, an_end
from support.world import AS_ADA, World

RULE = "Remember for this project: the staging database listens on port 5433, never on 5432."
CAUSE = "The export hung because the metrics proxy took port 5432 in March."


class Doubting:
    """Classifier that is sure of all statements of a conversation of one prompt, and of none later."""

    def odds(self, turns: Sequence[Turn], statements: Sequence[Statement]) -> Odds:
        share = max(ANCHOR, EVIDENCE) if len(turns) <= 2 else LEAST / 2
        return np.full(len(statements), share, np.float32)

    def retraction_odds(
        self, turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds, pairs: Sequence[tuple[int, int]]
    ) -> Odds:
        return np.zeros(len(pairs), np.float32)


class Knowing(Doubting):
    """Classifier that knows which words carry a lesson."""

    def __init__(self, odds: Mapping[str, float]) -> None:
        self._odds = odds

    def odds(self, turns: Sequence[Turn], statements: Sequence[Statement]) -> Odds:
        shares = [next((share for word, share in self._odds.items() if word in one.text), 0.0) for one in statements]
        return np.array(shares, np.float32)


def record(world: World, session: ClaudeSession, name: str = "s1") -> list[str]:
    """Returns what is stored after the lessons of a session."""
    turns = read_conversation("claude-code", session.lines).turns
    doubting = cast(LessonClassifier, Doubting())
    recorder = LessonRecorder(world.store, world.memory_service, world.novelty_filter, world.clock, lambda: doubting)
    recorder.record(an_end(session=name), AS_ADA, turns)
    with world.store.read() as view:
        return [one.content for one in view.page(EVERYTHING, None, 100)]


def recorded(world: World, session: ClaudeSession) -> tuple[list[str], list[str]]:
    """Returns the stored lessons after the first turn, and after a second one."""
    before = record(world, session)
    return before, record(world, session.user("Thanks.").says("You are welcome."))


def test_the_explicit_word_of_a_user_outlasts_later_doubts(world: World) -> None:
    for state in recorded(world, ClaudeSession().user(RULE).says("Understood.")):
        assert any(RULE in content for content in state)


def test_a_lesson_that_later_turns_make_doubtful_is_forgotten(world: World) -> None:
    begun, ended = recorded(world, ClaudeSession().user("Why does the export hang?").says(CAUSE))
    assert any(CAUSE in content for content in begun)
    assert ended == []


def test_a_lesson_that_shares_a_sentence_with_another_is_stored(world: World) -> None:
    done = "I copied the build to the staging host with scp and restarted nginx."
    rule, other = "Never copy builds by hand.", "The watchdog restarts nginx, so leave it alone."
    record(world, ClaudeSession().user(rule).says(done), "s1")
    lessons = record(world, ClaudeSession().user(other).says(done), "s2")
    assert [any(one in content for content in lessons) for one in (rule, other)] == [True, True]


def test_a_lesson_learned_again_is_not_stored_again(world: World) -> None:
    session = ClaudeSession().user(RULE).says(CAUSE)
    assert record(world, session, "s1") == record(world, session, "s2")


def test_an_instruction_beside_a_lesson_is_not_lost() -> None:
    cause, rule = "The import failed because old carts have no currency.", "From now on use Decimal for money."
    turns = read_conversation("claude-code", ClaudeSession().user(f"{cause} {rule}").says("OK.").lines).turns
    knowing = cast(LessonClassifier, Knowing({"carts": 0.9, "money": 0.05, "OK": 0.9}))
    drawing = draw_lessons(turns, knowing, has_taught=True)
    assert any(rule in lesson.text for lesson in drawing.lessons)
