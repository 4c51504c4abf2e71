"""Rough English for German and Chinese notes, with the lists that ship."""

from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.models.onnx.rough_english import MOST_CHARACTERS, WORD_LISTS, RoughEnglish
from support.laws import examples

FOLDER = Path(str(files("hivelore.models.onnx"))) / "judge"
SHIPPED = RoughEnglish.read(*(FOLDER / name for name in WORD_LISTS))
SMALL = RoughEnglish(
    {
        "nicht": "not",
        "nicht mehr": "no longer",
        "frist": "deadline",
        "die": "the",
        "server": "server",
        "wechsel": "change",
    },
    {"改成": "changed to", "改": "change", "的": "-"},
    frozenset(("die", "server")),
)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Umgestellt von 2:15 auf 4 Uhr", "switched to from 2:15 to 4 o'clock"),
        ("Der Dump läuft nicht mehr nachts", "the Dump runs no longer at night"),
        ("默认改成 pnpm", "default changed to  pnpm"),
        ("不再使用 npm", "no longer use  npm"),
        ("Die Größe bleibt, der Rest ist größer", "the size remains, the Rest is bigger"),
    ],
)
def test_notes_are_read_in_rough_english(text: str, english: str) -> None:
    assert SHIPPED(text).split() == english.split()


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("nicht mehr", "no longer"),
        ("Nicht  MEHR!", "no longer!"),
        ("nicht, mehr", "not, mehr"),
        ("nicht Fristwechsel", "not deadline change"),
        ("nicht Serverwechsel-Frist", "not server change-deadline"),
        ("nicht Serversfrist, Xyzfrist, nicht", "not server deadline, Xyzfrist, not"),
        ("改成X的", "changed to X"),
        ("改的东", "change 东"),
    ],
)
def test_the_longest_entry_counts_and_unknown_words_stay(text: str, english: str) -> None:
    assert SMALL(text).split() == english.split()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We moved from npm to pnpm",
        "The die was cast on the server",
        "The servers die after a Frist of two days in the dark",
        "Die server die",
        "Rest: 5 µm",
        "Deploy the WAR to nicht",
        "nicht/frist, /nicht/mehr.txt and `frist`, nicht-mehr.service, frist_nicht=1",
        "改を使う",
        "のメモ",
        "x" * 100_000,
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert SMALL(text) == text


@settings(max_examples=examples(50))
@given(st.text(st.characters(codec="ascii")))
def test_english_notes_stay_as_they_are_without_german_words(text: str) -> None:
    assert RoughEnglish({}, {"改": "change"}, frozenset())(text) == text


@settings(max_examples=examples(50))
@given(
    st.lists(st.sampled_from(["改", "成", "的", "x", " ", "nicht", "mehr", "-", "ß", "\n"]), max_size=30).map("".join)
)
def test_no_text_breaks_it_and_numbers_stay(text: str) -> None:
    english = SMALL(f"{text} 42")
    assert english.endswith("42")
    assert "改" not in english


def test_entries_have_a_form_that_can_match() -> None:
    german, chinese = ((FOLDER / name).read_text("utf-8").splitlines() for name in WORD_LISTS)
    assert all(line == line.lower() for line in german)
    assert all(1 <= len(line.partition("\t")[0]) <= MOST_CHARACTERS for line in chinese)
    assert all(line.partition("\t")[2].isascii() for line in (*german, *chinese))
