"""Private text is removed wherever text is cleaned."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.redaction import Redactor
from hivelore.core.redaction.private_text import PrivateTextRemover, remove_private_text
from hivelore.errors import Invalid

REDACTOR = Redactor(b"a key of some length")
WORD = "zebrafinch"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a <private>{WORD}</private> b", "a  b"),
        (f"a <PRIVATE>{WORD}</Private> b", "a  b"),
        (f"a < private >{WORD}</ private > b", "a  b"),
        (f'a <private reason="pay" level=2>{WORD}</private> b', "a  b"),
        (f"a <private\n  reason='pay'\n>{WORD}\n\n{WORD}</private\n> b", "a  b"),
        (f"a <private>{WORD}</private> b <private>{WORD}</private> c", "a  b  c"),
        (f"a <private>{WORD}<private>{WORD}</private>{WORD}</private> b", "a  b"),
        (f"a <private>{WORD}", "a "),
        (f"a\n<private>\n{WORD}\nb", "a\n"),
        (f"a<private>{WORD}</private>b", "ab"),
        (f"a<Private>{WORD}</Private>b", "ab"),
        (f"<private>{WORD}</private>", ""),
        (f"a &lt;private&gt;{WORD}&lt;/private&gt; b", "a  b"),
        (f"a \\u003cprivate\\u003e{WORD}\\u003c/private\\u003e b", "a  b"),
        (f"a <private>{WORD}<\\/private> b", "a  b"),
        (f"<pri<private>{WORD}</private>vate>{WORD}</private> b", " b"),
        (f"a <private>my password is {WORD} and <b>more</b></private>.", "a ."),
    ],
)
def test_private_text_and_its_tags_are_removed(text: str, left: str) -> None:
    assert remove_private_text(text) == left
    assert REDACTOR.clean(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A private matter. private: yes; a < b > c",
        "<privately>a</privately> <x-private>a</x-private>",
        "fn sign(key: &PKey<Private>) -> Result<Vec<u8>>",
        "An end alone </private> is text.",
        "An empty <private/> or <private /> contains nothing.",
        "private <",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert remove_private_text(text) == text


def test_private_text_hides_no_position_of_an_error_and_makes_none() -> None:
    with pytest.raises(Invalid, match="position 31"):
        REDACTOR.clean(f"<private>{WORD}</private> a\0")


def test_private_values_and_keys_of_metadata_are_removed() -> None:
    given = {"note": f"a <private>{WORD}</private>b", "password": f"<private>{WORD} and {WORD}</private>"}
    assert REDACTOR.clean_metadata({**given, "list": [f"<private>{WORD}"]}) == {
        "note": "a b",
        "password": "",
        "list": [""],
    }


PIECES = st.sampled_from(
    ["<private>", "</private>", "<Private a=b>", "</PRIVATE >", "<pri", "vate>", "<", ">", "/", "a", " ", "\n", "&lt;"]
)


@given(st.lists(PIECES | st.text(max_size=4), max_size=30).map("".join))
def test_removing_twice_is_the_same_as_once(text: str) -> None:
    once = remove_private_text(text)
    assert remove_private_text(once) == once


@given(st.lists(st.sampled_from(["<private>", "</private>", "x", " "]), max_size=20), st.text("ab \n", max_size=20))
def test_what_is_between_the_tags_is_gone_and_the_rest_stays(inside: list[str], around: str) -> None:
    text, depth, left = "", 0, ""
    for piece in inside:
        text += piece
        if piece == "<private>":
            depth += 1
        elif piece == "</private>" and depth:
            depth -= 1
        elif depth == 0:
            left += piece
    assert remove_private_text(around + text) == around + left


@given(st.lists(st.sampled_from(["<private>", "</private>", "x\n", "<private a>", " "]), max_size=20))
def test_pieces_give_the_same_as_the_whole(pieces: list[str]) -> None:
    remover = PrivateTextRemover()
    assert "".join(remover.read(piece) for piece in pieces) == PrivateTextRemover().read("".join(pieces))


@pytest.mark.parametrize(
    "part",
    [
        "<private ",
        "&lt;private ",
        "<private>",
        "</private>",
        "<pri<private>x</private>vate>",
        "< ",
        "<private>x</private>",
    ],
)
def test_any_text_takes_linear_time(part: str) -> None:
    begun = time.process_time()
    remove_private_text(part * (200_000 // len(part)))
    assert time.process_time() - begun < 20
