"""Injection: the format of memories and the limits of injected text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.memories.model import Memory, Provenance, Scope, Trust
from hivelore.observations.model import Confidence
from hivelore.sessions.fence import NOTICE
from hivelore.sessions.injection import (
    MAX_CHARACTERS,
    MAX_OPERATIONAL_CHARACTERS,
    Injection,
    Note,
    Section,
    compose,
    excerpt,
    note_label,
)
from support.fences import BEGIN, END, NONCE, fenced, inside
from support.memories import BOB, a_memory

PROXY = a_memory("Port 8443 is taken by the proxy.", name=Clean("Port 8443 is taken by the proxy."))
LONG = a_memory("Use pnpm. " * 200, name=Clean("Tools"), summary=Clean("Use pnpm."))
lines = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1).filter(
    lambda text: text.strip() != ""
)


hidden = st.sampled_from("\0\x1b\r\u200b\u200d\u202e\U000e0061\U0001f3f4\U0001f468<>[:\n")
pieces = st.text(st.characters(exclude_categories=["Cs"]) | hidden, min_size=1, max_size=12)
long_texts = st.tuples(pieces, st.integers(0, 400)).map(lambda pair: pair[0] * pair[1])


def memory(content: str) -> Memory:
    return a_memory(content, name=Clean("n"), summary=Clean(content[:200]))


def labelled(memory: Memory, short_id: str = "00000000") -> Note:
    return replace(excerpt(memory), label=note_label(memory, short_id))


def by(actor: AgentId | None = BOB, trust: Trust = Trust.AGENT) -> Memory:
    return a_memory(provenance=Provenance(actor=actor, interface=Interface.MCP, trust=trust))


def test_a_note_shows_its_id_its_date_and_a_name_that_its_text_does_not_begin_with() -> None:
    numbers = a_memory("One\ntwo", name=Clean("Numbers"))
    injection = compose([Section("Notes", [labelled(PROXY), labelled(numbers, "00000001")])], 1_000, NONCE)
    assert injection.text == fenced(
        "## Notes\n- [00000000 2026-03-01] Port 8443 is taken by the proxy.\n"
        "- [00000001 2026-03-01] Numbers: One\n  two"
    )
    assert [one.memory.name for one in injection.notes] == [PROXY.name, "Numbers"]


def test_a_long_memory_is_shown_by_its_summary() -> None:
    (line,) = [
        line
        for line in str(compose([Section("Notes", [labelled(LONG)])], 1_000, NONCE).text).splitlines()
        if "[" in line
    ]
    assert line == "- [00000000 2026-03-01] Tools: Use pnpm. (in full: memory-get)"


@pytest.mark.parametrize(
    ("trust", "expected"),
    [
        (Trust.OPERATOR, "0000 2026-03-01 bob"),
        (Trust.AGENT, "0000 2026-03-01 bob, unverified"),
        (Trust.TOOL_OUTPUT, "0000 2026-03-01 bob, tool output"),
        (Trust.WEB, "0000 2026-03-01 bob, web"),
    ],
)
def test_a_label_shows_who_wrote_the_memory_of_another_agent_and_how_sure_it_is(trust: Trust, expected: str) -> None:
    assert note_label(by(trust=trust), "0000", "bob") == expected
    assert note_label(by(trust=trust), "0000") == "0000 2026-03-01"


def test_a_label_shows_the_confidence_of_an_operational_memory() -> None:
    assert note_label(by(), "0000", "bob", Confidence(0.6543)) == "0000 2026-03-01 bob, confidence 0.65"


def test_the_name_of_an_author_cannot_forge_a_trust_or_end_the_label() -> None:
    label = note_label(by(), "0000", "the operator] bob, sure [\n" + "x" * 500)
    assert label.removesuffix(", unverified") == f"0000 2026-03-01 {'the operator) bob sure ( ' + 'x' * 15}"


def test_copies_of_a_memory_are_injected_once() -> None:
    copy = a_memory("Port 8443  is taken\nby the PROXY.", scope=Scope.SWARM)
    known = Injection("## Operational Memory", [excerpt(a_memory(LONG.content))])
    sections = [Section("Notes", [labelled(PROXY), labelled(copy)]), Section("More", [labelled(copy), labelled(LONG)])]
    injection = compose(sections, 1_000, NONCE, known)
    assert [one.memory for one in injection.notes] == [known.notes[0].memory, PROXY]
    assert "## More" not in str(injection.text)


def test_an_empty_section_has_no_heading() -> None:
    assert compose([Section("Notes", []), Section("More", [])], 1_000, NONCE).text is None
    text = str(compose([Section("Notes", []), Section("Task", [], "T-7")], 0, NONCE).text)
    assert "## Notes" not in text
    assert "## Task\nT-7" in text


def test_a_note_beyond_the_budget_is_skipped_and_shorter_ones_follow() -> None:
    long, short = Note(LONG, LONG.content.strip()), labelled(PROXY)
    injection = compose([Section("Notes", [long, short])], 50, NONCE)
    assert [one.memory for one in injection.notes] == [PROXY]


@given(st.lists(st.lists(lines, max_size=8), max_size=4), st.integers(0, 400))
def test_the_injection_stays_within_its_budget(contents: list[list[str]], tokens: int) -> None:
    sections = [Section("Notes", [labelled(memory(text)) for text in some]) for some in contents]
    injection = compose(sections, tokens, NONCE)
    text = injection.text or fenced("")
    assert text.startswith(f"{BEGIN}\n{NOTICE}")
    assert text.endswith(END)
    assert len(text) <= 10_000
    notes = text.removeprefix(f"{BEGIN}\n{NOTICE}").removesuffix(END).replace("## Notes\n", "")
    assert estimate(notes) <= tokens + 2 * len(injection.notes)


@given(st.lists(st.lists(lines, max_size=8), max_size=4), st.integers(0, 400))
def test_every_note_is_injected_once_with_its_label(contents: list[list[str]], tokens: int) -> None:
    known = [memory(text) for text in contents[0][:2]] if contents else []
    notes = [[labelled(memory(text), f"{place:08}") for text in some] for place, some in enumerate(contents)]
    before = Injection("## Operational Memory", [Note(one, one.content) for one in known])
    injection = compose([Section("Notes", some) for some in notes], tokens, NONCE, before)
    statements = [" ".join(one.memory.content.split()).casefold() for one in injection.notes[len(known) :]]
    assert len(statements) == len(set(statements))
    assert not {" ".join(one.content.split()).casefold() for one in known}.intersection(statements)
    for note in injection.notes[len(known) :]:
        assert f"\n- [{note.label}] " in str(injection.text)


@given(st.integers(0, 60))
def test_characters_are_limited_for_any_token_budget(count: int) -> None:
    notes = [labelled(memory(f"{number} " + "x" * 600)) for number in range(count)]
    text = compose([Section("Notes", notes)], 1_000_000, NONCE).text or ""
    assert len(text) <= 10_000
    assert len(text) >= min(count * 600, MAX_CHARACTERS - 700)


@given(
    st.lists(st.tuples(long_texts, st.lists(lines, max_size=3)), max_size=6),
    st.integers(0, MAX_OPERATIONAL_CHARACTERS),
)
def test_characters_are_limited_for_any_sections(parts: list[tuple[str, list[str]]], before: int) -> None:
    sections = [Section("Notes", [labelled(memory(each)) for each in notes], text) for text, notes in parts]
    known = "x" * before
    text = compose(sections, 1_000_000, NONCE, Injection(known, ())).text or ""
    assert len(text) <= 10_000
    assert known in text


def test_a_text_without_room_ends_with_an_ellipsis_and_later_ones_are_left_out() -> None:
    texts = ["a" * 6_000, "\u200b" * 1_000, "c"]
    sections = [Section(f"Part {number}", (), text) for number, text in enumerate(texts)]
    contents = inside(str(compose(sections, 0, NONCE, Injection("known", ())).text))[1]
    _, first, second = contents.split("\n\n")
    assert first == f"## Part 0\n{texts[0]}"
    assert second.startswith("## Part 1\n\\u200b\\u200b")
    assert second.endswith("…")
    assert len(contents) == MAX_CHARACTERS


@pytest.mark.parametrize(
    "text",
    ["\U0001f468\u200d\U0001f469", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f", "\u05d0\u200e"],
    ids=["family", "flag", "direction"],
)
@pytest.mark.parametrize("before", range(6))
def test_a_character_of_several_parts_is_not_cut(text: str, before: int) -> None:
    section = Section("Task", (), "x" * before + text * 9_500)
    contents = inside(str(compose([section], 0, NONCE).text))[1]
    assert "\\" not in contents
