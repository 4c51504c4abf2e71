"""Extractive summaries: the points selected from a session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.lessons.extractive import MAX_POINTS, extract_summary
from hivelore.sessions.lessons.information import is_informative
from hivelore.sessions.lessons.tool_use import analyze_tool_use, error_line, simplify_command
from hivelore.sessions.model import EMPTY_SUMMARY, Speaker, Summary, Tool, ToolEffect, Transcript, Turn
from hivelore.sessions.transcripts import read_conversation
from support.sessions import ClaudeSession, a_fix

IDLE = "Here is some talk that only makes the conversation long enough to be looked at all, and nothing more than that."


def summary(session: ClaudeSession) -> Summary:
    return extract_summary(read_conversation("claude-code", session.lines))


def points(session: ClaudeSession) -> list[str]:
    return list(summary(session).points)


def test_a_fix_is_summarized() -> None:
    assert points(a_fix()) == [
        "`pytest tests/test_checkout.py -q` failed: KeyError: 'currency'. It worked after changing `shop/cart.py`.",
        "Old carts now take the currency of their customer.",
        "The checkout test passes.",
        "Files changed: `shop/cart.py`.",
        "Passed: `pytest tests/test_checkout.py -q`.",
    ]
    assert summary(a_fix()).shows_work


def test_a_short_conversation_has_an_empty_summary() -> None:
    assert extract_summary(Transcript(())) == EMPTY_SUMMARY
    assert points(ClaudeSession().says("The root cause was the cache of the build.")) == []


def test_small_talk_has_an_empty_summary() -> None:
    session = ClaudeSession().user(IDLE).says("Hello! How can I help you today?").says("Sure, I'd be happy to help.")
    assert points(session) == []


def test_activity_alone_has_an_empty_summary() -> None:
    session = ClaudeSession().user(IDLE).writes("a.py").runs("make test", "ok").says("Done.")
    assert points(session) == []


@pytest.mark.parametrize(("files", "shows_work"), [(2, False), (3, True)])
def test_a_session_shows_work_if_it_changed_several_files(files: int, shows_work: bool) -> None:
    session = ClaudeSession().user(IDLE)
    for number in range(files):
        session.writes(f"page{number}.html")
    assert summary(session.says("The header of all pages has the new logo.")).shows_work is shows_work


# Tool use.


def ran(command: str, output: str = "", *, failed: bool = False) -> list[Turn]:
    tool = Tool("Bash", ToolEffect.RUN, command)
    return [
        Turn(speaker=Speaker.CALL, text="", tool=tool),
        Turn(speaker=Speaker.RESULT, text=output, tool=tool, failed=failed),
    ]


def test_the_commands_that_fixed_a_failure_are_recorded() -> None:
    work = analyze_tool_use(
        [*ran("npm start", "Error: no module x", failed=True), *ran("npm install x"), *ran("npm start")]
    )
    (trouble,) = work.failures
    assert (trouble.error, trouble.commands, trouble.solved) == ("Error: no module x", ["npm install x"], True)


def test_read_only_commands_are_not_recorded_as_a_fix() -> None:
    looking = [*ran("cat package.json"), *ran("git status"), *ran("grep -r x .")]
    (trouble,) = analyze_tool_use([*ran("npm start", "Error: x", failed=True), *looking, *ran("npm start")]).failures
    assert trouble.commands == []


def test_a_check_has_passed_if_its_last_run_did() -> None:
    assert analyze_tool_use([*ran("make test"), *ran("make test", "Error: x", failed=True)]).passed_checks == []
    assert analyze_tool_use([*ran("make test", "Error: x", failed=True), *ran("make test")]).passed_checks == [
        "make test"
    ]


def test_a_denied_call_is_not_a_failure() -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    assert analyze_tool_use(ran("rm -rf build", refused, failed=True)).failures == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd /a/b && make test", "make test"),
        ("cd /a && export X=1; make test 2>&1 | tail -20", "make test"),
        ("pytest -q 2>&1", "pytest -q"),
        ("make", "make"),
        ("cd /a", "cd /a"),
        (f"echo {'x' * 500}", ""),
        ("python - <<EOF\nprint()\nEOF", "python - <<EOF"),
    ],
)
def test_preparation_and_output_filters_are_removed_from_a_command(command: str, expected: str) -> None:
    assert simplify_command(command) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Traceback\n  File x\nKeyError: 'a'\n", "KeyError: 'a'"),
        ("E   AssertionError: assert 1 == 2\n=== 1 failed ===", "AssertionError: assert 1 == 2"),
        ("\x1b[31merror[E0502]: cannot borrow\x1b[0m\n --> a.rs", "error[E0502]: cannot borrow"),
        ("npm ERR! missing script: x", "npm ERR! missing script: x"),
        ("no such file", "no such file"),
        ("1\n2\n3", None),
        ("", None),
    ],
)
def test_the_error_line_of_an_output_is_found(output: str, expected: str | None) -> None:
    assert error_line(output) == expected


@pytest.mark.parametrize(
    "sentence", ["", "Done.", "I fixed it.", "Would you like me to go on with the next one?", "你好！"]
)
def test_sentences_without_information(sentence: str) -> None:
    assert not is_informative(sentence)


texts = st.lists(
    st.sampled_from(
        ["The root cause was x", "no, use y", "we decided", "`", "\n", ". ", "```", "- ", "因为", "|", "x" * 50]
    )
    | st.text(max_size=9),
    max_size=9,
).map(" ".join)
turns = st.builds(
    Turn,
    speaker=st.sampled_from(Speaker),
    text=texts,
    tool=st.none() | st.builds(Tool, st.sampled_from(["Bash", "Edit"]), st.sampled_from(ToolEffect), texts),
    failed=st.booleans(),
)


@given(st.lists(turns, max_size=8))
def test_any_session_has_at_most_seven_single_line_points(said: list[Turn]) -> None:
    summary = extract_summary(Transcript(tuple(said)))
    assert len(summary.points) <= MAX_POINTS
    assert all(point and "\n" not in point for point in summary.points)


def test_a_failed_edit_whose_result_is_outside_the_slice_changed_nothing() -> None:
    edit = Tool("Edit", ToolEffect.WRITE, "a.py")
    turns = [
        Turn(speaker=Speaker.CALL, text="", tool=edit),
        Turn(speaker=Speaker.RESULT, text="Not found.", tool=edit, failed=True),
    ]
    assert analyze_tool_use(turns, slice(0, 1)).files == []
    assert analyze_tool_use(turns[:1]).files == ["a.py"]
