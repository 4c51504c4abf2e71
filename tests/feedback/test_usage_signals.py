"""Signs of use in a transcript."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.feedback.recalls import Sign
from hivelore.feedback.usage_signals import GivenMemory, ObservedUsage, observe_usage, recalls_in, session_outcome
from hivelore.memories.model import MemoryId
from hivelore.search.model import RecallId
from hivelore.search.tokenizer import STOP_WORDS, distinct_terms
from hivelore.sessions.model import Speaker, Tool, ToolEffect, Turn
from support.clocks import START

MEMORY = MemoryId("01a00000-0000-7000-8000-00000000000a")
TEXT = "Start the quokka gateway with --legacy-peer-deps, else the wombat cache is stale. It listens on 8443."
WORDS = distinct_terms(TEXT) - STOP_WORDS
ASKED = RecallId("01a00000-0000-7000-8000-00000000000b")
SECOND = timedelta(seconds=1)
SEARCH = Tool("mcp__hivelore__memory-search", ToolEffect.OTHER, "how do I start it")


def user(text: str) -> Turn:
    return Turn(speaker=Speaker.USER, text=text)


def says(text: str, at: datetime | None = None) -> Turn:
    return Turn(speaker=Speaker.ASSISTANT, text=text, at=at)


def runs(command: str, at: datetime | None = None) -> Turn:
    return Turn(speaker=Speaker.CALL, text="", tool=Tool("Bash", ToolEffect.RUN, command), at=at)


def writes(text: str, path: str = "src/start.sh") -> Turn:
    return Turn(speaker=Speaker.CALL, text="", tool=Tool("Write", ToolEffect.WRITE, path, text))


def outputs(text: str) -> Turn:
    return Turn(speaker=Speaker.RESULT, text=text, tool=Tool("Bash", ToolEffect.RUN, "cat README.md"))


def finds(recall: RecallId = ASKED) -> Turn:
    return Turn(
        speaker=Speaker.RESULT, text=f'{{"recallId":"{recall}","results":[{{"snippet":"{TEXT}"}}]}}', tool=SEARCH
    )


SHOWN = GivenMemory(memory=MEMORY, words=WORDS, shown_at=START)
GIVEN = GivenMemory(memory=MEMORY, words=WORDS, recalls=frozenset({ASKED}))
USES = "npm ci --legacy-peer-deps && quokka gateway"


def look(what: GivenMemory, *turns: Turn) -> ObservedUsage:
    return observe_usage(turns, [what])[MEMORY]


def sign(what: GivenMemory, *turns: Turn, rare: frozenset[str] = WORDS) -> Sign | None:
    return look(what, *turns).sign(rare)


@pytest.mark.parametrize("act", [runs(USES), writes(f"#!/bin/sh\n{USES}\n")])
def test_an_action_with_words_that_only_the_memory_had_is_use(act: Turn) -> None:
    assert sign(SHOWN, user("Start it."), act) is Sign.APPLIED
    assert sign(GIVEN, user("Start it."), finds(), act) is Sign.APPLIED


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (MEMORY, Sign.CITED),
        (MEMORY[:8], Sign.CITED),
        (f"({MEMORY[:15].upper()})", Sign.CITED),
        (MEMORY[:7], None),
        (f"{MEMORY[:8]}b", None),
        (f"x{MEMORY[:8]}", None),
    ],
)
def test_an_answer_that_names_the_id_or_its_beginning_cites_the_memory(named: str, expected: Sign | None) -> None:
    assert sign(SHOWN, user("Start it."), says(f"As note {named} says, it listens.")) is expected


@pytest.mark.parametrize("named", [MEMORY, MEMORY[:8]])
def test_reading_a_memory_by_the_beginning_of_its_id_opens_it(named: str) -> None:
    get = Tool("mcp__hivelore__memory-get", ToolEffect.OTHER, f'{{"memory":"{named}"}}')
    assert look(SHOWN, user("Start it."), Turn(speaker=Speaker.CALL, text="", tool=get)).is_opened


def test_repeating_an_injected_memory_is_no_use() -> None:
    assert sign(SHOWN, user("Start it."), says(TEXT), says(f"As I remember: {TEXT}")) is None


def test_repeating_a_recalled_memory_is_use() -> None:
    assert sign(GIVEN, finds(), says(TEXT)) is Sign.REPEATED
    both = GivenMemory(memory=MEMORY, words=WORDS, shown_at=START, recalls=frozenset({ASKED}))
    assert sign(both, says(TEXT)) is None
    assert sign(both, finds(), says(TEXT)) is Sign.REPEATED


@pytest.mark.parametrize("what", [SHOWN, GIVEN])
def test_mentioning_its_id_is_use_however_it_was_given(what: GivenMemory) -> None:
    assert sign(what, finds(), says(f"See {MEMORY.upper()}.")) is Sign.CITED
    assert sign(what, finds(), runs(f"git commit -m 'As of {MEMORY}'")) is Sign.CITED


@pytest.mark.parametrize("source", [user(f"Run {USES}"), outputs(f"## Setup\n{USES}"), outputs(TEXT)])
def test_words_that_somebody_else_said_before_do_not_count(source: Turn) -> None:
    assert sign(SHOWN, source, runs(USES)) is None
    assert sign(GIVEN, finds(), source, runs(USES)) is None
    assert sign(SHOWN, runs(USES), source) is Sign.APPLIED


def test_words_that_the_agent_used_before_it_was_given_do_not_count() -> None:
    for before in (says(TEXT), runs(USES)):
        assert sign(GIVEN, before, finds(), runs(USES)) is None
    late = GivenMemory(memory=MEMORY, words=WORDS, shown_at=START + SECOND)
    assert sign(late, runs(USES, START), runs(USES, START + 2 * SECOND)) is None
    assert sign(late, says("Hm.", START), runs(USES, START + 2 * SECOND)) is Sign.APPLIED


def test_a_recall_of_other_memories_gives_nothing() -> None:
    assert sign(GIVEN, finds(RecallId("another-one")), runs(USES), says(TEXT)) is None


@pytest.mark.parametrize(
    "copy",
    [
        writes(TEXT, "personal/memory/gateway.md"),
        writes(TEXT, "/work/shared/memory/gateway.md"),
        runs(f"hivelore remember '{TEXT}'"),
        Turn(speaker=Speaker.CALL, text="", tool=Tool("mcp__hivelore__memory-store", ToolEffect.OTHER, TEXT)),
        Turn(speaker=Speaker.CALL, text="", tool=Tool("Task", ToolEffect.OTHER, TEXT)),
    ],
)
def test_copying_it_into_a_memory_or_passing_it_on_is_no_action(copy: Turn) -> None:
    assert sign(SHOWN, copy) is None
    assert sign(GIVEN, finds(), copy) is None


def test_opening_it_is_noticed_and_is_no_sign_here() -> None:
    opens = Turn(speaker=Speaker.CALL, text="", tool=Tool("mcp__hivelore__memory-get", ToolEffect.OTHER, MEMORY))
    for act in (opens, runs(f"hivelore get {MEMORY}")):
        found = look(GIVEN, finds(), act)
        assert (found.is_opened, found.sign(WORDS)) == (True, None)
        assert not look(GIVEN, act).is_opened


def test_words_that_many_memories_have_do_not_count() -> None:
    assert sign(SHOWN, runs(USES), rare=frozenset()) is None
    assert sign(SHOWN, runs(USES), rare=frozenset({"quokka", "gateway"})) is None


def test_one_number_is_enough_and_few_of_many_words_are_not() -> None:
    assert sign(SHOWN, runs("curl localhost:8443")) is Sign.APPLIED
    assert sign(SHOWN, runs("ls quokka wombat")) is None
    wordy = GivenMemory(
        memory=MEMORY, words=WORDS | {f"word{letter}" for letter in "abcdefghijklmnopqrst"}, shown_at=START
    )
    assert sign(wordy, runs("quokka gateway wombat"), rare=wordy.words) is None


def test_words_from_many_places_do_not_add_up() -> None:
    assert sign(SHOWN, runs("quokka"), runs("wombat"), runs("gateway")) is None


def test_the_strongest_sign_counts() -> None:
    assert sign(GIVEN, finds(), says(TEXT), says(MEMORY)) is Sign.CITED
    assert sign(GIVEN, finds(), runs(USES), says(MEMORY)) is Sign.APPLIED


def test_recalls_are_read_only_from_answers_of_our_own_tools() -> None:
    text = finds().text
    escaped = Turn(speaker=Speaker.RESULT, text=text.replace('"', '\\"'), tool=SEARCH)
    elsewhere = [outputs(text), user(text), says(text)]
    assert recalls_in([escaped]) == recalls_in([finds(), *elsewhere]) == {ASKED}
    assert recalls_in(elsewhere) == frozenset()


tools = st.sampled_from([None, SEARCH, Tool("Bash", ToolEffect.RUN, USES), Tool("Write", ToolEffect.WRITE, "a", TEXT)])
turns = st.builds(Turn, speaker=st.sampled_from(Speaker), text=st.sampled_from(["", TEXT, USES, MEMORY]), tool=tools)


@given(st.lists(turns, max_size=8))
def test_a_memory_that_was_not_given_was_not_used(turns: list[Turn]) -> None:
    never = GivenMemory(memory=MEMORY, words=WORDS)
    found = look(never, *turns)
    assert (found.is_given, found.is_opened, found.sign(WORDS)) == (False, False, None)


@given(st.lists(turns, max_size=8), turns)
def test_a_longer_transcript_removes_no_sign(turns: list[Turn], more: Turn) -> None:
    order = [None, *Sign]
    for what in (SHOWN, GIVEN):
        assert order.index(sign(what, *turns, more)) >= order.index(sign(what, *turns))


def test_the_outcome_follows_from_passed_checks_and_remaining_failures() -> None:
    def check(*, failed: bool) -> Turn:
        text = "E   KeyError: 'x'" if failed else "1 passed"
        return Turn(speaker=Speaker.RESULT, text=text, tool=Tool("Bash", ToolEffect.RUN, "pytest -q"), failed=failed)

    assert session_outcome([check(failed=True), check(failed=False)]) is Sign.SUCCEEDED
    assert session_outcome([check(failed=False), check(failed=True)]) is Sign.FAILED
    assert session_outcome([says("Done, all tests pass.")]) is None
