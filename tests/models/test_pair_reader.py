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
from hivelore.models.onnx.pairs import OnnxPairReader
from hivelore.observations.model import PairScores

SHIPPED = Path(str(files("hivelore.models.onnx")))
READER = OnnxPairReader()


def stance(one: str, other: str) -> PairScores:
    return READER.stance(Clean(one), Clean(other))


def test_it_distinguishes_a_rewording_a_contradiction_and_another_note() -> None:
    same = stance("Old images are pruned at night", "Pruning of old images happens during the night")
    conflict = stance("Anonymous access is enabled", "Anonymous access is disabled")
    different = stance("Old images are pruned at night", "The registry needs a certificate")
    assert same.same > max(same.conflict, same.different)
    assert conflict.conflict > max(conflict.same, conflict.different)
    assert different.different > max(different.same, different.conflict)


@settings(max_examples=30)
@given(st.text(max_size=3_000), st.text(max_size=3_000))
def test_the_shares_are_those_of_one_and_the_same_from_either_side(one: str, other: str) -> None:
    judged = stance(one, other)
    assert judged.same + judged.conflict + judged.different == pytest.approx(1)
    assert min(judged.same, judged.conflict, judged.different) >= 0
    assert stance(other, one) == judged


def test_many_threads_may_ask_at_once() -> None:
    fresh = OnnxPairReader()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(fresh.stance, Clean("Takes 60 s to start"), Clean("Starts at once")) for _ in range(8)]
        judged = [one.result() for one in asked]
    assert judged == [judged[0]] * 8


def test_nothing_is_read_from_disk_before_it_is_asked(tmp_path: Path) -> None:
    reader = OnnxPairReader(tmp_path)
    with pytest.raises(Broken, match="Reinstall"):
        reader.stance(Clean("a"), Clean("b"))


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    for name in ("model/model.json", "model/tokenizer.json", "judge/model.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(SHIPPED / name, tmp_path / name)
    (tmp_path / "judge" / "model.onnx").write_bytes(b"something else")
    with pytest.raises(Broken, match=r"model\.onnx"):
        OnnxPairReader(tmp_path).stance(Clean("a"), Clean("b"))


def test_a_damaged_model_is_read_from_disk_only_once(tmp_path: Path) -> None:
    reader = OnnxPairReader(tmp_path)
    with pytest.raises(Broken) as first:
        reader.stance(Clean("a"), Clean("b"))
    for name in ("model", "judge"):
        (tmp_path / name).symlink_to(SHIPPED / name)
    with pytest.raises(Broken) as later:
        reader.stance(Clean("a"), Clean("b"))
    assert str(later.value) == str(first.value)
