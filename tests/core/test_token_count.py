"""Token estimate: examples, laws, and the error compared with a real tokenizer."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import hivelore
from hivelore.core.token_count import estimate

ROOT = Path(__file__).parents[2]
TOKENIZER = Path(hivelore.__file__).parent / "models" / "onnx" / "model" / "tokenizer.json"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t ", 0),
        ("Use pnpm here.", 4),
        ("internationalisation", 5),
        ("port 5433", 3),
        ("a.b(c)", 6),
        ("言葉", 2),
    ],
)
def test_short_words_are_one_token_and_long_ones_several(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@given(st.text(), st.text())
def test_the_cost_of_two_texts_is_the_sum(one: str, other: str) -> None:
    assert abs(estimate(f"{one} {other}") - estimate(one) - estimate(other)) <= 1


@given(st.text())
def test_no_text_costs_more_than_its_characters(text: str) -> None:
    assert 0 <= estimate(text) <= len(text)


def test_on_prose_and_code_it_is_within_a_tenth_of_a_real_tokenizer() -> None:
    real = Tokenizer.from_file(str(TOKENIZER))
    real.no_truncation()
    real.no_padding()
    for pattern in ("docs/**/*.md", "src/**/*.py"):
        texts = [file.read_text(encoding="utf-8") for file in sorted(ROOT.glob(pattern))]
        counted = sum(len(real.encode(text, add_special_tokens=False).ids) for text in texts)
        assert sum(map(estimate, texts)) == pytest.approx(counted, rel=0.1)
