"""Redaction against many invented secrets, and against ordinary text."""

import random
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hivelore.core.redaction import Redactor, find
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


COSTLY = (
    *(
        "password=Xk29abQ7&",
        "[password:",
        "password:Ab12cd34:",
        "password is Xk29abQ7 ",
        "\u5bc6\u7801",
        "login ",
        "pw ",
    ),
    *(
        "\u043f\u0430\u0440\u043e\u043b\u044c ",
        "https://a:b1c2d3@c ",
        "root:",
        "arepasswort://a:b@",
        "login)password%3D",
    ),
    *(
        "\u5bc6\u7801 Xk29abQ7insert ",
        "=>login$api-keyhvs.",
        "user / ",
        "| password |\n",
        "password\n",
        "mysql -p",
        "' + '",
    ),
)
"""Names, signs and values close together, all of which are judged."""


@pytest.mark.parametrize("unit", COSTLY)
def test_time_is_proportional_to_the_length(unit: str) -> None:
    text = unit * (10_000 // len(unit))
    REDACTOR.clean(text)
    began = time.process_time()
    REDACTOR.clean(text)
    assert time.process_time() - began < 10 * 0.02, "20 ms a kilobyte, several times what it takes on a busy machine"


@pytest.mark.slow
@pytest.mark.parametrize("unit", COSTLY)
def test_a_long_hostile_text_is_cleaned_within_seconds(unit: str) -> None:
    began = time.process_time()
    REDACTOR.clean(unit * (500_000 // len(unit)))
    assert time.process_time() - began < 500 * 0.02, "20 ms a kilobyte, several times what it takes on a busy machine"


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


def test_ordinary_text_is_unchanged() -> None:
    megabytes = 2
    assert sum(len(find(text)) for text in ordinary(megabytes * 1_000_000, seed=1)) <= 2 * megabytes


@pytest.mark.slow
def test_20_megabytes_of_ordinary_text_are_unchanged_and_fast() -> None:
    megabytes = 20
    texts = list(ordinary(megabytes * 1_000_000, seed=2))
    find(texts[0])
    began = time.process_time()
    masks = sum(len(find(text)) for text in texts)
    assert masks <= 2 * megabytes
    assert time.process_time() - began < 0.000_5 * sum(map(len, texts)) / 1_000
