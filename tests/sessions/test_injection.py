"""What a model is told: how memories read, and that it is never more than there is room for."""

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


def test_a_memory_reads_with_its_date_and_its_name_where_that_says_more() -> None:
    briefed = compose(
        [Section("Notes", [excerpt(PROXY), excerpt(a_memory("One\ntwo", name=Clean("Numbers")))])], 1_000, NONCE
    )
    assert briefed.text == fenced(
        "## Notes\n- [2026-03-01] Port 8443 is taken by the proxy.\n- [2026-03-01] Numbers: One\n  two"
    )
    assert [one.memory.name for one in briefed.notes] == [PROXY.name, "Numbers"]


def test_a_long_one_says_what_it_is_about_and_where_the_rest_is() -> None:
    (line,) = [
        line
        for line in str(compose([Section("Notes", [excerpt(LONG)])], 1_000, NONCE).text).splitlines()
        if "[" in line
    ]
    assert line == f"- [2026-03-01] Tools: Use pnpm. (in full: memory-get {LONG.id})"


def test_where_there_is_nothing_to_tell_there_is_no_heading() -> None:
    assert compose([Section("Notes", []), Section("More", [])], 1_000, NONCE).text is None
    text = str(compose([Section("Notes", []), Section("Task", [], "T-7")], 0, NONCE).text)
    assert "## Notes" not in text
    assert "## Task\nT-7" in text


def test_what_is_too_long_for_the_rest_is_left_out_and_shorter_ones_follow() -> None:
    long, short = Note(LONG, LONG.content.strip()), excerpt(PROXY)
    briefed = compose([Section("Notes", [long, short])], 50, NONCE)
    assert [one.memory for one in briefed.notes] == [PROXY]


@given(st.lists(st.lists(lines, max_size=8), max_size=4), st.integers(0, 400))
def test_it_is_never_more_than_there_is_room_for(contents: list[list[str]], tokens: int) -> None:
    sections = [Section("Notes", [excerpt(memory(text)) for text in some]) for some in contents]
    briefed = compose(sections, tokens, NONCE)
    text = briefed.text or fenced("")
    assert text.startswith(f"{BEGIN}\n{NOTICE}")
    assert text.endswith(END)
    assert len(text) <= 10_000
    told = text.removeprefix(f"{BEGIN}\n{NOTICE}").removesuffix(END).replace("## Notes\n", "")
    assert estimate(told) <= tokens + 2 * len(briefed.notes)


@given(st.integers(0, 60))
def test_characters_are_bounded_whatever_the_tokens(count: int) -> None:
    notes = [excerpt(memory(f"{number} " + "x" * 600)) for number in range(count)]
    text = compose([Section("Notes", notes)], 1_000_000, NONCE).text or ""
    assert len(text) <= 10_000
    assert len(text) >= min(count * 600, MAX_CHARACTERS - 700)
