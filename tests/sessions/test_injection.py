"""Injection: the format of memories and the limits of injected text."""

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.memories.model import Memory
from hivelore.sessions.fence import NOTICE
from hivelore.sessions.injection import MAX_CHARACTERS, Note, Section, compose, excerpt
from support.fences import BEGIN, END, NONCE, fenced
from support.memories import a_memory

PROXY = a_memory("Port 8443 is taken by the proxy.", name=Clean("Port 8443 is taken by the proxy."))
LONG = a_memory("Use pnpm. " * 200, name=Clean("Tools"), summary=Clean("Use pnpm."))
lines = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1).filter(
    lambda text: text.strip() != ""
)


def memory(content: str) -> Memory:
    return a_memory(content, name=Clean("n"), summary=Clean(content[:200]))


def test_a_note_shows_the_date_and_a_name_that_its_text_does_not_begin_with() -> None:
    injection = compose(
        [Section("Notes", [excerpt(PROXY), excerpt(a_memory("One\ntwo", name=Clean("Numbers")))])], 1_000, NONCE
    )
    assert injection.text == fenced(
        "## Notes\n- [2026-03-01] Port 8443 is taken by the proxy.\n- [2026-03-01] Numbers: One\n  two"
    )
    assert [one.memory.name for one in injection.notes] == [PROXY.name, "Numbers"]


def test_a_long_memory_is_shown_by_its_summary_and_id() -> None:
    (line,) = [
        line
        for line in str(compose([Section("Notes", [excerpt(LONG)])], 1_000, NONCE).text).splitlines()
        if "[" in line
    ]
    assert line == f"- [2026-03-01] Tools: Use pnpm. (in full: memory-get {LONG.id})"


def test_an_empty_section_has_no_heading() -> None:
    assert compose([Section("Notes", []), Section("More", [])], 1_000, NONCE).text is None
    text = str(compose([Section("Notes", []), Section("Task", [], "T-7")], 0, NONCE).text)
    assert "## Notes" not in text
    assert "## Task\nT-7" in text


def test_a_note_beyond_the_budget_is_skipped_and_shorter_ones_follow() -> None:
    long, short = Note(LONG, LONG.content.strip()), excerpt(PROXY)
    injection = compose([Section("Notes", [long, short])], 50, NONCE)
    assert [one.memory for one in injection.notes] == [PROXY]


@given(st.lists(st.lists(lines, max_size=8), max_size=4), st.integers(0, 400))
def test_the_injection_stays_within_its_budget(contents: list[list[str]], tokens: int) -> None:
    sections = [Section("Notes", [excerpt(memory(text)) for text in some]) for some in contents]
    injection = compose(sections, tokens, NONCE)
    text = injection.text or fenced("")
    assert text.startswith(f"{BEGIN}\n{NOTICE}")
    assert text.endswith(END)
    assert len(text) <= 10_000
    notes = text.removeprefix(f"{BEGIN}\n{NOTICE}").removesuffix(END).replace("## Notes\n", "")
    assert estimate(notes) <= tokens + 2 * len(injection.notes)


@given(st.integers(0, 60))
def test_characters_are_limited_for_any_token_budget(count: int) -> None:
    notes = [excerpt(memory(f"{number} " + "x" * 600)) for number in range(count)]
    text = compose([Section("Notes", notes)], 1_000_000, NONCE).text or ""
    assert len(text) <= 10_000
    assert len(text) >= min(count * 600, MAX_CHARACTERS - 700)
