"""Excerpts: what is cut from a long text hides no secret from redaction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.redaction import Redactor
from hivelore.core.redaction.excerpts import MARGIN, beginning, ending, safe_start
from support.fake_secrets import private_key

LENGTH = 1_500
FILLER = "a line of a log\n"
REDACTOR = Redactor(b"a key for tests only")


@given(st.text(max_size=50), st.integers(0, 60))
def test_an_excerpt_of_a_short_text_is_the_whole_text(text: str, length: int) -> None:
    assert beginning(text, length) == text == ending(text, length)


@given(st.sampled_from(["x", "x\n", FILLER, "word "]), st.integers(0, 3_000), st.integers(0, 2_000))
def test_an_excerpt_has_the_length_and_at_most_the_margin(piece: str, times: int, length: int) -> None:
    text = piece * times
    for excerpt in (beginning(text, length), ending(text, length)):
        assert min(length, len(text)) <= len(excerpt) <= length + MARGIN
    assert text.startswith(beginning(text, length))
    assert text.endswith(ending(text, length))


@pytest.mark.parametrize("lines", [20, 50, 190])
@pytest.mark.parametrize("separator", ["\n", "\\n"])
def test_the_end_of_an_excerpt_has_no_part_of_a_private_key(lines: int, separator: str) -> None:
    key = private_key(lines)
    body = key.split("\n")[1:-1]
    shown = key.replace("\n", separator)
    for after in range(0, 2 * LENGTH + len(shown), 97):
        text = f"{FILLER * 2_000}{shown}\n{(FILLER * 400)[:after]}{shown}\nend"
        clean = REDACTOR.clean(ending(text, LENGTH))
        assert not any(line in clean for line in body)
        assert clean.endswith("end")


def test_a_line_is_not_cut() -> None:
    line = "DB_PASSWORD=" + "hunter2horse\n"
    text = line * 2_000
    for length in range(LENGTH, LENGTH + 30):
        assert ending(text, length).startswith(line)
        assert beginning(f"{text}", length).endswith(line.strip())


def test_a_key_without_an_end_reaches_to_the_end_of_the_text() -> None:
    text = private_key(50).rsplit("\n", 1)[0]
    assert safe_start(text, len(text) - 200) == len(text)
