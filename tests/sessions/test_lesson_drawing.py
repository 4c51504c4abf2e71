"""Drawing lessons: which statements of a conversation are lessons, and what later turns take back."""

import json

import pytest
from bench.injection.data import OWN
from bench.injection.sessions import claude_lines
from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.lessons.classifier import shipped_classifier
from hivelore.sessions.lessons.drawing import Drawing, draw_lessons
from hivelore.sessions.lessons.features import describe
from hivelore.sessions.lessons.statements import statements_of
from hivelore.sessions.model import LessonKind, Speaker, Tool, ToolEffect, Transcript, Turn
from hivelore.sessions.transcripts import read_conversation

SESSIONS = {
    session["id"]: session
    for name in ("ben", "dee")
    for session in map(json.loads, (OWN / "sessions" / f"{name}.jsonl").read_text("utf-8").splitlines())
}


def conversation(*said: str) -> list[Turn]:
    """Returns turns of user and agent, in turns."""
    speakers = (Speaker.USER, Speaker.ASSISTANT)
    return [Turn(speaker=speakers[number % 2], text=text) for number, text in enumerate(said)]


def draw(*said: str) -> Drawing:
    return draw_lessons(conversation(*said), shipped_classifier())


def replayed(session: str) -> Transcript:
    lines = [json.dumps(line) for line in claude_lines(SESSIONS[session], len(SESSIONS[session]["turns"]))]
    return read_conversation("claude-code", lines)


@pytest.mark.parametrize(
    "said",
    [
        "Remember: the staging database listens on port 5433, not 5432.",
        "Remember that we deploy only on Tuesdays.",
        "Remember for this project: the search service listens on port 7700",
        "remember: never log passwords",
        "No, do not use npm here, always use pnpm.",
        "Always run the linter before you commit.",
        "Never push to main directly.",
        "From now on write all commit messages in English.",
        "We decided to keep Postgres 15 until March because of the extension pg_ivm.",
        "No, use pnpm in this repository.",
        "Bitte nimm pnpm statt npm.",
        "不要使用 npm，请改用 pnpm。",
    ],
)
@pytest.mark.parametrize("before", [(), ("Fix the login test.", "The login test passes now.")])
def test_what_a_user_says_to_do_from_now_on_is_a_lesson_without_end(before: tuple[str, ...], said: str) -> None:
    (lesson,) = draw(*before, said, "Understood.").lessons
    assert (lesson.text, lesson.is_explicit) == (said, True)


def test_a_yes_is_stored_with_the_recommendation() -> None:
    advice = "I recommend Redis with a TTL of 30 minutes, since the cookies are short."
    (lesson,) = draw("How should we store sessions?", advice, "Yes, do that").lessons
    assert lesson.text == f"Agent: {advice}\nUser: Yes, do that"
    assert lesson.is_explicit


@pytest.mark.parametrize(
    "said",
    [
        ("hi", "Hello! How can I help you today?"),
        ("remember: it's always dns. say it with me", "It was DNS."),
        ("Freut mich, schönen Abend!", "Gern geschehen."),
        ("How much is 96 times 30?", "96 per day x 30 days = 2880"),
        ("Rename tmp to intensity", "Renamed `tmp` to `intensity`."),
        ("Why is it slow?", "The problem was probably noon."),
        ("Do you remember when we always used npm?", "I do."),
        ("What would you use?", "I would use Redis.", "Hm, let me ask Joost first."),
        ("", ""),
    ],
)
def test_talk_teaches_nothing(said: tuple[str, ...]) -> None:
    assert draw(*said).lessons == ()


def test_a_lesson_that_is_taken_back_is_none() -> None:
    drawing = draw(
        "We decided to use SIGTERM as the save signal.", "Done.", "OK, forget SIGTERM. We decided to use USR1.", "Done."
    )
    assert [one.text for one in drawing.lessons] == ["We decided to use USR1."]
    assert [one.text for one in drawing.retracted] == ["We decided to use SIGTERM as the save signal."]


def test_other_lessons_stay_when_one_is_taken_back() -> None:
    drawing = draw(
        "Always run the linter before you commit.",
        "OK.",
        "Use yarn instead of npm.",
        "OK.",
        "Scrap yarn, it breaks the lock file.",
        "OK.",
    )
    assert [one.text for one in drawing.lessons] == ["Always run the linter before you commit."]


def test_a_retraction_of_something_else_takes_nothing_back() -> None:
    drawing = draw("Never push to main directly.", "OK.", "Scrap header colors, they were nicer before.", "Done.")
    assert len(drawing.lessons) == 1
    assert [one.what for one in drawing.retractions] == ["header colors"]


def test_a_correction_is_recognized() -> None:
    (lesson,) = draw("Install it", "Running npm install.", "No, do not use npm here, always use pnpm.").lessons
    assert lesson.kind is LessonKind.CORRECTION


def test_most_lessons_of_writers_kept_aside_are_found_and_most_quiet_sessions_stay_quiet() -> None:
    classifier = shipped_classifier()
    passed = {name: bool(draw_lessons(replayed(name).turns, classifier).lessons) for name in SESSIONS}
    teaching = [passed[name] for name, session in SESSIONS.items() if session["lessons"]]
    quiet = [passed[name] for name, session in SESSIONS.items() if not session["lessons"]]
    assert sum(teaching) / len(teaching) >= 0.75
    assert sum(quiet) / len(quiet) <= 0.05


words = st.sampled_from(
    [
        "always use",
        "no, use",
        "forget that",
        "I recommend",
        "yes",
        "`x.py`",
        "because",
        "?",
        "\n",
        "- ",
        "``` ",
        "因为",
        "7",
    ]
)
turns = st.builds(
    Turn,
    speaker=st.sampled_from(Speaker),
    text=st.lists(words | st.text(max_size=9), max_size=9).map(" ".join),
    tool=st.none()
    | st.builds(Tool, st.sampled_from(["Bash", "Edit"]), st.sampled_from(ToolEffect), st.text(max_size=9)),
    failed=st.booleans(),
)


@given(st.lists(turns, max_size=12))
def test_any_conversation_can_be_read(said: list[Turn]) -> None:
    statements = statements_of(said)
    assert len(describe(said, statements)) == len(statements)
    drawing = draw_lessons(said, shipped_classifier())
    assert drawing == draw_lessons(said, shipped_classifier())
    for lesson in drawing.lessons:
        assert lesson.text.strip()
        assert lesson.name
        assert lesson.first_turn <= lesson.last_turn < len(said)
        assert set(lesson.statements) <= set(drawing.statements)


def test_odds_of_no_statements_are_empty() -> None:
    assert len(shipped_classifier().odds([], [])) == 0
