"""Extractive summaries: the points selected from a session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.lessons.claims import is_informative
from hivelore.sessions.lessons.extractive import MAX_POINTS, extract_summary
from hivelore.sessions.lessons.tool_use import analyze_tool_use, error_line, simplify_command
from hivelore.sessions.model import EMPTY_SUMMARY, Speaker, Tool, ToolEffect, Transcript, Turn
from hivelore.sessions.transcripts import read_conversation
from support.sessions import ClaudeSession, a_fix

IDLE = "Here is some talk that only makes the conversation long enough to be looked at all, and nothing more than that."


def points(session: ClaudeSession) -> list[str]:
    return list(extract_summary(read_conversation("claude-code", session.lines)).points)


def points_of_messages(*said: str) -> list[str]:
    """Returns the points of a session with a long prompt and these messages of the assistant."""
    session = ClaudeSession().user(IDLE)
    for one in said:
        session.says(one)
    return points(session)


def test_a_fix_is_summarized() -> None:
    assert points(a_fix()) == [
        "The user: No, use the currency of the customer instead of EUR.",
        "`pytest tests/test_checkout.py -q` failed: KeyError: 'currency'. It worked after changing `shop/cart.py`.",
        "The root cause is that carts from before March have no currency field.",
        "Old carts now take the currency of their customer.",
        "Files changed: `shop/cart.py`.",
        "Passed: `pytest tests/test_checkout.py -q`.",
    ]


def test_a_short_conversation_has_an_empty_summary() -> None:
    assert extract_summary(Transcript(())) == EMPTY_SUMMARY
    assert points(ClaudeSession().says("The root cause was the cache of the build.")) == []


def test_small_talk_has_an_empty_summary() -> None:
    assert (
        points_of_messages("Hello! How can I help you today?", "Sure, I'd be happy to help. What would you like to do?")
        == []
    )


def test_activity_alone_has_an_empty_summary() -> None:
    session = ClaudeSession().user(IDLE).writes("a.py").runs("make test", "ok").says("Done.")
    assert points(session) == []


@pytest.mark.parametrize(
    "correction",
    [
        "No, use pnpm in this repository.",
        "Don't touch the generated files.",
        "Always run the linter before you commit.",
        "I said the staging database, not production.",
        "We never mock the clock here.",
        "Nein, nimm bitte pnpm in diesem Projekt.",
        "Bitte nie die generierten Dateien ändern.",
        "Verwende Postgres statt SQLite.",
        "Non, utilise pnpm dans ce dépôt.",
        "Ne touche pas aux fichiers générés.",
        "No uses npm, usa pnpm en este repositorio.",
        "Nunca cambies los archivos generados.",
        "不要使用 npm，请改用 pnpm。",
        "以后提交之前都要运行测试。",
    ],
)
def test_corrections_by_the_user_come_first(correction: str) -> None:
    session = ClaudeSession().user(IDLE).says("I looked into the files of the project now.").user(correction)
    assert points(session)[:1] == [f"The user: {correction}"]


@pytest.mark.parametrize(
    "said", ["Thanks, that looks fine to me.", "Can you also add a test for it?", "Now write the documentation.", "No."]
)
def test_other_messages_of_the_user_are_not_corrections(said: str) -> None:
    session = ClaudeSession().user(IDLE).says("I looked into the files of the project now.").user(said)
    assert points(session) == []


def test_the_first_prompt_is_not_a_correction() -> None:
    assert points(ClaudeSession().user(f"Don't use npm in this repository. {IDLE}")) == []


@pytest.mark.parametrize(
    "said",
    [
        "The root cause is a race between the two writers of the cache.",
        "We decided to keep the tokens in the keyring and not in a file.",
        "Migrations must run before the workers start.",
        "Die Ursache war ein Wettlauf zwischen den beiden Schreibern.",
        "Wir haben uns für Postgres entschieden, statt SQLite zu teilen.",
        "La cause était une course entre les deux processus d'écriture.",
        "Nous avons choisi Postgres plutôt que SQLite partagé.",
        "El problema era una carrera entre los dos procesos que escriben.",
        "Elegimos Postgres en lugar de compartir SQLite.",
        "根本原因是两个写入进程之间的竞争。",
        "我们决定采用 Postgres，而不是共享 SQLite。",
    ],
)
def test_causes_decisions_and_facts_are_found_in_all_languages(said: str) -> None:
    assert said in points_of_messages(
        "Let me have a look at the files first.", said, "Done. Let me know if you need anything else."
    )


def test_repetitions_of_the_prompt_are_left_out() -> None:
    prompt = "The login must always redirect to the dashboard page because customers complained about it last week."
    session = (
        ClaudeSession().user(prompt).says("The login must redirect to the dashboard because customers complained.")
    )
    assert points(session) == []


def test_repeated_points_are_left_out() -> None:
    cause = "The root cause is a race between the two writers of the cache."
    found = points_of_messages(
        cause, "It was fixed by a lock file.", "The root cause is the race between the two cache writers."
    )
    assert sum("race" in point for point in found) == 1


def test_later_statements_are_preferred() -> None:
    found = points_of_messages(
        *(f"The root cause is in module number {number} of the scheduler." for number in range(9))
    )
    assert "module number 8" in found[0]
    assert not any("module number 0" in point for point in found)


def test_a_summary_has_at_most_seven_points() -> None:
    session = ClaudeSession().user(IDLE)
    for word in ("alpha", "beta", "gamma", "delta"):
        session.says(f"The root cause of the {word} outage was a stale {word} certificate in {word}.")
        session.says(f"We decided to rotate the {word} keys weekly, by design of {word}.")
        session.says(f"The {word} service must start behind the {word} proxy, never before it.")
        session.user(f"No, never restart {word} by hand.")
        session.runs(f"{word} up", f"Error: {word} is down", failed=True).writes(f"{word}.yml").runs(f"{word} up")
        session.runs(f"make test-{word}")
    found = points(session)
    assert len(found) == MAX_POINTS
    assert found[-1].startswith("Passed: ")


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
