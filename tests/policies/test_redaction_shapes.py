"""Redaction against many invented secrets, and against ordinary text."""

import random
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hivelore.policies.redaction import Redactor, find
from support.secret_shapes import shapes

REDACTOR = Redactor(b"a key of some length")
SUFFIXES = {".py", ".pyi", ".md", ".rst", ".txt", ".json", ".toml", ".yml", ".html", ".c", ".h"}
PIECE = 40_000
"""Characters of one file."""


def test_99_of_100_shapes_are_masked() -> None:
    texts = list(shapes(1))
    missed = [shape.name for shape in texts if any(part in REDACTOR.clean(shape.text) for part in shape.secrets)]
    assert len(texts) >= 300
    assert len(missed) <= len(texts) / 100, missed


def test_no_shape_needs_a_second_cleaning() -> None:
    for shape in shapes(2):
        assert find(REDACTOR.clean(shape.text)) == []


def ordinary(size: int, seed: int) -> Iterator[str]:
    """Pieces of installed packages, the standard library and this repository."""
    rng = random.Random(seed)
    roots = [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), str(Path(__file__).parents[2] / "docs")]
    files = [
        file
        for root in roots
        for file in sorted(Path(root).rglob("*"))
        if file.suffix in SUFFIXES and ("site-packages" not in file.parts or root == roots[1])
    ]
    rng.shuffle(files)
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace").replace("\0", "")
        start = rng.randrange(max(1, len(text) - PIECE))
        text = text[start : start + PIECE]
        size -= len(text)
        yield text
        if size < 0:
            return


def test_ordinary_text_is_left_alone() -> None:
    megabytes = 2
    assert sum(len(find(text)) for text in ordinary(megabytes * 1_000_000, seed=1)) <= 2 * megabytes


@pytest.mark.slow
def test_20_megabytes_of_ordinary_text_are_left_alone_and_read_quickly() -> None:
    megabytes = 20
    texts = list(ordinary(megabytes * 1_000_000, seed=2))
    find(texts[0])
    began = time.process_time()
    masks = sum(len(find(text)) for text in texts)
    assert masks <= 2 * megabytes
    assert time.process_time() - began < 0.000_5 * sum(map(len, texts)) / 1_000
