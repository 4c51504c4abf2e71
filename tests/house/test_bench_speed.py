"""The speed benchmark: its memories, its questions and its charts."""

import json
from pathlib import Path

import numpy as np
import pytest
from bench.filling import Lines as KnownLines
from bench.material import Bench
from bench.plots import Lines
from bench.report import Section, Table, keep, render
from bench.speed.section import Target
from bench.speed.turns import TURN, Row, take_turns

from hivelore.indexing.model import TextEmbedding
from hivelore.memories.chunking import chunk
from hivelore.search.ranking import TOKEN_BYTES

NEVER = float("inf")


def material(folder: Path) -> Bench:
    return Bench(0.01, None, folder, lambda _: None)


def picture(points: list[tuple[float, float]]) -> Lines:
    return Lines("speed", "Speed", "memories", {"theirs": points, "ours": points})


def test_memories_are_distinct_with_200_to_500_characters_in_one_passage(tmp_path: Path) -> None:
    memories = list(material(tmp_path).memories(200))
    assert len(set(memories)) == 200
    for memory in memories:
        assert 200 <= len(memory) <= 500
        assert [len(one.passages) for one in chunk(memory)] == [1]


def test_generated_memories_are_reproducible(tmp_path: Path) -> None:
    assert list(material(tmp_path).memories(20)) == list(material(tmp_path).memories(20))


def test_a_passage_has_the_tokens_of_its_lines_and_a_similar_vector() -> None:
    units = np.eye(4, dtype=np.float32)
    lines = KnownLines({name: TextEmbedding(units[at], bytes([at]) * TOKEN_BYTES) for at, name in enumerate("abcd")})
    one, other = lines.composed(["Memory 1.\na\nc", "Memory 2.\nd"])
    assert one.tokens == bytes([0]) * TOKEN_BYTES + bytes([2]) * TOKEN_BYTES
    assert other.tokens == bytes([3]) * TOKEN_BYTES
    assert one.vector @ units[0] == pytest.approx(0.7, abs=0.1)
    assert other.vector @ units[3] == pytest.approx(1.0, abs=0.1)
    assert np.linalg.norm(one.vector) == pytest.approx(1.0)


def test_rows_are_measured_alternately() -> None:
    asked: list[str] = []
    questions = [str(number) for number in range(TURN + 5)]
    rows = {name: Row(lambda text, name=name: asked.append(f"{name}{text}"), questions) for name in "ab"}
    take_turns(rows, 2, NEVER)
    warm = ["a0", "a1", "b0", "b1"]
    first = [f"{name}{number}" for name in "ab" for number in range(2, TURN + 2)]
    rest = [f"{name}{number}" for name in "ab" for number in range(TURN + 2, TURN + 5)]
    assert asked == [*warm, *first, *rest]
    assert [len(row.milliseconds) for row in rows.values()] == [TURN + 3, TURN + 3]


def test_a_row_stops_when_its_time_is_used() -> None:
    row = Row(lambda _: None, ["one", "two", "three"], [2_000.0])
    row.turn(row.questions, 1.0)
    assert row.milliseconds == [2_000.0]


def test_a_target_reports_met_or_missed() -> None:
    assert Target("recall", 50, 2.0).judged([1.0, 1.0, 9.0]) == "p50 < 2 ms: met"
    assert Target("recall", 99, 2.0).judged([1.0, 1.0, 9.0]) == "p99 < 2 ms: **missed**"


def test_a_chart_has_the_points_of_all_its_sections(tmp_path: Path) -> None:
    table = Table("", ["", "ms"], [["ours", "1"]])
    for name, points in (("speed-1m", [(1e6, 9.0)]), ("speed", [(1e3, 1.0), (1e5, 3.0)])):
        keep(tmp_path, name, Section("Speed", "Text.", [table], lines=[picture(points)]), 1.0, 1.0, 0.0)
    both = (tmp_path / "results" / "speed.svg").read_text(encoding="utf-8")
    for value in ("1", "3", "9"):
        assert f"<!-- {value} -->" in both
    kept = json.loads((tmp_path / "results" / "speed-1m.json").read_text(encoding="utf-8"))
    assert kept["lines"][0]["series"]["ours"] == [[1e6, 9.0]]
    assert render(tmp_path, ["speed", "speed-1m"]).count("![Speed](results/speed.svg)") == 1
    joined = picture([(1e6, 9.0)]).joined(picture([(1e3, 1.0)]))
    assert joined.series["ours"] == [(1e3, 1.0), (1e6, 9.0)]
