"""Markers in the output of an agent, in pieces of any length (C05, C06, C42)."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hivelore.events.model import Level
from hivelore.observations.markers import (
    MAX_COOLDOWN_MINUTES,
    MAX_LINE,
    MAX_NAME,
    MAX_TEXT,
    CooldownMarker,
    EventMarker,
    InvalidMarker,
    Marker,
    MarkerReader,
    ObservationMarker,
    assistant_texts,
    remove_markers,
)
from support.laws import examples

SLOW = ObservationMarker("timing", "jellyfin", "Takes 60s to start")


def found(*pieces: str, categories: Sequence[str] | None = None) -> list[Marker]:
    reader = MarkerReader() if categories is None else MarkerReader(categories)
    return [one for piece in pieces for one in reader.read(piece)] + list(reader.end())


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("[MEMORY:timing:jellyfin] Takes 60s to start", SLOW),
        ("[MEMORY:timing] DNS takes a minute", ObservationMarker("timing", None, "DNS takes a minute")),
        ("[MEMORY:timing:jellyfin]Takes 60s to start", SLOW),
        ("[MEMORY:timing:jellyfin]\t Takes 60s to start \t", SLOW),
        ("I note: [MEMORY:timing:jellyfin] Takes 60s to start", SLOW),
        ("- **[MEMORY:timing:jellyfin] Takes 60s to start", SLOW),
        ("[MEMORY:behavior:a_b-C9] Ünïcode 数据库", ObservationMarker("behavior", "a_b-C9", "Ünïcode 数据库")),
        ("[MEMORY:timing:a] one [MEMORY:timing:b] two", ObservationMarker("timing", "a", "one [MEMORY:timing:b] two")),
        ("Use `x` here: [MEMORY:timing:jellyfin] Takes 60s to start", SLOW),
        ("Use ``a ` b`` then [MEMORY:timing:jellyfin] Takes 60s to start", SLOW),
        ("It` slow: [MEMORY:timing:jellyfin] Takes 60s to start", SLOW),
        ("It`` slow: [MEMORY:timing:jellyfin] Takes 60s to start", SLOW),
        ("A \\` and [MEMORY:timing:a] another `", ObservationMarker("timing", "a", "another `")),
        (f"[MEMORY:timing:{'a' * MAX_NAME}] slow", ObservationMarker("timing", "a" * MAX_NAME, "slow")),
        ("[EVENT:warning:backup] It is late", EventMarker(Level.WARNING, "backup", "It is late")),
        ("[EVENT:critical] The disk is full", EventMarker(Level.CRITICAL, None, "The disk is full")),
        ("[COOLDOWN:jellyfin:restart] 30", CooldownMarker("jellyfin", "restart", 30)),
        ("[COOLDOWN:jellyfin:restart] 30 minutes, that is", CooldownMarker("jellyfin", "restart", 30)),
    ],
)
def test_a_marker_is_found_and_parsed(text: str, marker: Marker) -> None:
    assert found(text) == [marker]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Takes 60s to start",
        "[MEMORY] Takes 60s",
        "[MEMORY:] Takes 60s",
        "[memory:timing] Takes 60s",
        "[ MEMORY:timing] Takes 60s",
        "[MEMORY:timing Takes 60s",
        "Write `[MEMORY:timing:jellyfin] Takes 60s` for that",
        "Write `` a ` [MEMORY:timing:jellyfin] Takes 60s`` for that",
        "Write \\\\`[MEMORY:timing:jellyfin] Takes 60s` for that",
        "> [MEMORY:timing:jellyfin] Takes 60s",
        "  > [MEMORY:timing:jellyfin] Takes 60s",
        "```\n[MEMORY:timing:jellyfin] Takes 60s\n```",
        "~~~ text\n[MEMORY:timing:jellyfin] Takes 60s\n~~~",
        "````\n```\n[MEMORY:timing:jellyfin] Takes 60s\n````",
        "```\nnever closed\n[MEMORY:timing:jellyfin] Takes 60s",
        "- so:\n  ```sh\n  [MEMORY:timing:jellyfin] Takes 60s\n  ```",
        "```md\n    ```\n[MEMORY:timing:jellyfin] Takes 60s\n```",
        "- ```sh\n  [MEMORY:timing:jellyfin] never closed",
        "- > [MEMORY:timing:jellyfin] Takes 60s",
        "1. - > [MEMORY:timing:jellyfin] Takes 60s",
        "> ```\n> [MEMORY:timing:jellyfin] Takes 60s\n> ```",
    ],
)
def test_other_brackets_and_quoted_markers_are_ignored(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "[MEMORY:gossip:jellyfin] They say it is slow",
        "[MEMORY:timing:jellyfin]",
        "[MEMORY:timing:jellyfin]   ",
        "[MEMORY:timing:two words] Takes 60s",
        "[MEMORY:timing:a:b] Takes 60s",
        "[MEMORY:timing:küche] Dauert 60 s",
        "[EVENT:info:auth/api] Done",
        f"[MEMORY:timing:{'a b' * MAX_NAME}] Slow",
        "[EVENT:panic] All is lost",
        "[COOLDOWN:jellyfin] 30",
        "[COOLDOWN:jellyfin:restart] soon",
        "[COOLDOWN:jellyfin:restart] -1",
        "[COOLDOWN:jellyfin:restart] 0",
        "[COOLDOWN:jellyfin:restart] 30.5",
        f"[COOLDOWN:jellyfin:restart] {MAX_COOLDOWN_MINUTES + 1}",
        f"[MEMORY:timing:{'a' * (MAX_NAME + 1)}] Slow",
        f"[EVENT:info:{'a' * (MAX_NAME + 1)}] Done",
        f"[COOLDOWN:jellyfin:{'a' * (MAX_NAME + 1)}] 30",
    ],
)
def test_an_invalid_marker_is_reported_with_its_error(text: str) -> None:
    (wrong,) = found(text)
    assert isinstance(wrong, InvalidMarker)
    assert wrong.why
    assert len(wrong.marker) < MAX_NAME * 2


@pytest.mark.parametrize(
    "block",
    [
        "```\n{}\n```",
        "- ```sh\n  {}\n  ```",
        "* ~~~\n  {}\n  ~~~",
        "1. ```sh\n   {}\n   ```",
        "10) ```sh\n    {}\n    ```",
        "-\t```sh\n\t{}\n\t```",
        "+ - ```sh\n    {}\n    ```",
        "- a\n  - b\n\n    ```sh\n    {}\n    ```",
        "- ```sh\n  {}\n```",
        "- ```sh\n  {}\n\n  never closed",
        "1. so:\n   ```sh\n   {}\n   - ```",
        "> ```sh\n> {}",
    ],
)
def test_a_code_block_hides_only_its_content(block: str) -> None:
    shown = block.format("[MEMORY:timing] no")
    assert found(f"{shown}\n[MEMORY:timing:jellyfin] Takes 60s to start") == [SLOW]


def test_inline_code_of_three_backticks_opens_no_block() -> None:
    assert found("```x``` is code\n[MEMORY:timing:jellyfin] Takes 60s to start") == [SLOW]


def test_each_text_begins_outside_of_code() -> None:
    reader = MarkerReader()
    assert [*reader.read("```\n"), *reader.end(), *reader.read("[MEMORY:timing:jellyfin] Takes 60s to start")] == []
    assert list(reader.end()) == [SLOW]


def test_a_text_may_have_one_marker_per_line() -> None:
    text = "[MEMORY:timing:jellyfin] Takes 60s to start\r\nand\r[EVENT:info] done\n\n[COOLDOWN:a:b] 5"
    assert found(text) == [SLOW, EventMarker(Level.INFO, None, "done"), CooldownMarker("a", "b", 5)]


def test_categories_are_a_setting() -> None:
    assert found("[MEMORY:gossip] Slow, they say", categories=["gossip"]) == [
        ObservationMarker("gossip", None, "Slow, they say")
    ]
    (wrong,) = found("[MEMORY:timing] Slow", categories=["gossip"])
    assert isinstance(wrong, InvalidMarker)


def test_a_marker_is_returned_when_its_line_ends() -> None:
    reader = MarkerReader()
    assert list(reader.read("[MEMORY:timing:jellyfin] Takes 60s")) == []
    assert list(reader.read(" to start\n")) == [SLOW]


def test_a_very_long_line_is_read_up_to_its_limit() -> None:
    (marker,) = found("[MEMORY:timing:jellyfin] " + "x" * 10_000_000)
    assert isinstance(marker, ObservationMarker)
    assert len(marker.text) == MAX_TEXT
    assert found("x" * MAX_LINE + "[MEMORY:timing:jellyfin] Takes 60s") == []


MARKDOWN = MarkdownIt("commonmark")


def said(text: str) -> set[str]:
    """Returns the texts of the markers outside of code, according to an implementation of CommonMark."""
    words = [one for token in MARKDOWN.parse(text) for one in token.children or () if one.type == "text"]
    return {match for one in words for match in re.findall(r"\[MEMORY:timing\] (m\d+)", one.content)}


def texts_of(markers: Sequence[Marker]) -> set[str]:
    return {re.findall(r"m\d+", one.text)[0] for one in markers if isinstance(one, ObservationMarker)}


RUNS = st.lists(st.sampled_from(["`", "``", "```", " ", "a", "\\"]), max_size=10).map("".join)


@settings(max_examples=examples(500))
@given(RUNS, RUNS)
def test_backticks_hide_the_same_text_as_in_markdown(before: str, after: str) -> None:
    line = f"So {before}[MEMORY:timing] m1 {after}"
    assert texts_of(found(line)) == said(line)


@st.composite
def blocks(draw: st.DrawFn) -> list[str]:
    """Returns a code block with fences and markers in it, optionally in list items or unclosed."""
    items = "".join(draw(st.lists(st.sampled_from(["- ", "* ", "+   ", "1. ", "12) "]), max_size=3)))
    fence = draw(st.sampled_from(["```", "````", "~~~", "~~~~"]))
    code = draw(st.lists(st.sampled_from(["[MEMORY:timing] m0", "```", "~~~ x", ""]), max_size=4))
    inner = [*code, *[fence for _ in range(draw(st.integers(0, 1)))]]
    return [f"{items}{fence}{draw(st.sampled_from(['', 'sh']))}", *(f"{' ' * len(items)}{line}" for line in inner)]


@settings(max_examples=examples(500))
@given(st.lists(blocks(), max_size=4))
def test_code_blocks_hide_the_same_text_as_in_markdown(document: Sequence[Sequence[str]]) -> None:
    lines: list[str] = []
    for number, block in enumerate(document, start=1):
        lines += [*block, f"[MEMORY:timing] m{number}", ""]
    assert texts_of(found("\n".join(lines))) == said("\n".join(lines))


LINES = st.sampled_from(
    [
        "[MEMORY:timing:jellyfin] Takes 60s to start",
        "[EVENT:info] done",
        "```",
        "~~~",
        "- ",
        "> ",
        "`",
        "[MEMORY:",
        "timing] x",
        "\r",
        "\n",
        "\r\n",
        " ",
    ]
)


@given(st.lists(LINES | st.text(max_size=5), max_size=20).map("".join), st.lists(st.integers(0, 200), max_size=10))
def test_markers_do_not_depend_on_how_a_text_is_split(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert found(*(text[one:other] for one, other in pairwise(places))) == found(text)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    found(text)


def test_only_texts_of_the_assistant_are_read_from_a_stream() -> None:
    said = {"type": "text", "text": "[MEMORY:timing:jellyfin] Takes 60s to start"}
    answered = {"type": "tool_result", "content": [said], "text": said["text"]}
    assert (
        list(assistant_texts({"type": "assistant", "message": {"content": [said, answered, said]}}))
        == [said["text"]] * 2
    )
    assert list(assistant_texts({"type": "assistant", "message": {"content": said["text"]}})) == [said["text"]]
    assert list(assistant_texts({"type": "user", "message": {"content": [said]}})) == []
    assert list(assistant_texts({"type": "result", "result": said["text"]})) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["assistant", "text"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "message", "content", "text"]), inner),
)


@settings(max_examples=examples(300))
@given(json_values)
def test_any_event_can_be_read(value: object) -> None:
    for event in (
        value,
        {"type": "assistant", "message": value},
        {"type": "assistant", "message": {"content": value}},
        {"type": "assistant", "message": {"content": [value]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": value}]}},
    ):
        assert all(isinstance(text, str) for text in assistant_texts(json.loads(json.dumps(event))))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n[MEMORY:timing:jellyfin] Takes 60s to start\nb", "a\nb"),
        ("a\r\n- **[EVENT:warning] It is late**\r\nb", "a\nb"),
        ("1. [COOLDOWN:jellyfin:restart] 30\n2. b", "2. b"),
        ("It was late. [EVENT:warning] The backup is late", "It was late."),
        ("[MEMORY:weather:any] An unknown category", ""),
        ("```\n[EVENT:info] x\n```\n[EVENT:info] y", "```\n[EVENT:info] x\n```"),
        ("Write `[EVENT:info] x` to report.", "Write `[EVENT:info] x` to report."),
        ("> [EVENT:info] x\nb", "> [EVENT:info] x\nb"),
        ("An array [EVENT: x]", "An array [EVENT: x]"),
    ],
)
def test_markers_are_removed_with_their_text_and_the_rest_stays(text: str, left: str) -> None:
    assert remove_markers(text) == left


@given(st.lists(LINES | st.text(max_size=5), max_size=20).map("".join))
def test_no_marker_is_left(text: str) -> None:
    assert all(isinstance(one, InvalidMarker) for one in found(remove_markers(text)))
