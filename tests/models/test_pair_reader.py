"""The model that reads two notes together, the real one."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import Broken
from hivelore.links.judge import PairScores
from hivelore.models.onnx.pairs import JUDGE, OnnxPairReader
from support.world import READER

SHIPPED = Path(str(files("hivelore.models.onnx")))


def scores(older: str, newer: str) -> PairScores:
    return READER.scores(Clean(older), Clean(newer))


def likeliest(older: str, newer: str) -> str:
    found = scores(older, newer)
    return max(("same", "conflict", "update", "different"), key=lambda one: float(getattr(found, one)))


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("Old images are pruned at night", "Pruning of old images happens during the night", "same"),
        ("Anonymous access is enabled", "Anonymous access is disabled", "conflict"),
        ("Listens on port 8096", "Listens on port 8920", "conflict"),
        ("We use npm", "We moved from npm to pnpm", "update"),
        ("Old images are pruned at night", "The registry needs a certificate", "different"),
    ],
)
def test_it_recognizes_how_the_later_note_relates_to_the_earlier_one(older: str, newer: str, expected: str) -> None:
    assert likeliest(older, newer) == expected


def test_an_update_is_one_in_the_order_of_the_dates_only() -> None:
    assert likeliest("We moved from npm to pnpm", "We use npm") != "update"


@settings(max_examples=30)
@given(st.text(max_size=3_000), st.text(max_size=3_000))
def test_the_probabilities_sum_to_one(one: str, other: str) -> None:
    found = scores(one, other)
    shares = (found.same, found.conflict, found.update, found.different)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0


def test_it_has_the_name_of_the_trained_model_and_no_outage_at_first() -> None:
    assert (OnnxPairReader().name, OnnxPairReader().outage) == (JUDGE, None)


def test_many_threads_may_ask_at_once() -> None:
    fresh = OnnxPairReader()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(fresh.scores, Clean("Takes 60 s to start"), Clean("Starts at once")) for _ in range(8)]
        judged = [one.result() for one in asked]
    assert judged == [judged[0]] * 8


def test_it_is_released_when_it_was_not_used_and_loaded_again() -> None:
    fresh, pair = OnnxPairReader(), (Clean("Takes 60 s to start"), Clean("Starts at once"))
    assert not fresh.release_unused()
    judged = fresh.scores(*pair)
    assert [fresh.release_unused() for _ in range(3)] == [False, True, False]
    assert fresh.scores(*pair) == judged


def test_nothing_is_read_from_disk_before_it_is_asked(tmp_path: Path) -> None:
    reader = OnnxPairReader(tmp_path)
    with pytest.raises(Broken, match="Reinstall"):
        reader.scores(Clean("a"), Clean("b"))


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    for name in ("model/model.json", "model/tokenizer.json", "judge/model.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(SHIPPED / name, tmp_path / name)
    (tmp_path / "judge" / "model.onnx").write_bytes(b"something else")
    with pytest.raises(Broken, match=r"model\.onnx"):
        OnnxPairReader(tmp_path).scores(Clean("a"), Clean("b"))


def test_a_damaged_model_is_read_from_disk_only_once(tmp_path: Path) -> None:
    reader = OnnxPairReader(tmp_path)
    with pytest.raises(Broken) as first:
        reader.scores(Clean("a"), Clean("b"))
    for name in ("model", "judge"):
        (tmp_path / name).symlink_to(SHIPPED / name)
    with pytest.raises(Broken) as later:
        reader.scores(Clean("a"), Clean("b"))
    assert str(later.value) == str(first.value)
    assert str(first.value).startswith(str(reader.outage))
