"""Metrics of retrieval quality, and the baselines."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from bench.material import Bench
from bench.plots import COLOURS, Bars, draw
from bench.quality import baselines
from bench.quality.data import Group, collections, names
from bench.quality.metrics import hit_at, ndcg_at, of_deep_answer, recall_at, reciprocal_rank, together
from bench.report import Section, Table, keep, render
from bench.speed.section import DRAWN
from hypothesis import given
from hypothesis import strategies as st

ids = st.text("abcdef", min_size=1, max_size=1)
answers = st.lists(ids, unique=True, max_size=6)


def item(name: str, text: str, timestamp: str | None = None) -> dict[str, Any]:
    return {"id": name, "collection": "c", "text": text, "timestamp": timestamp, "metadata": {}}


def test_recall_is_the_share_of_relevant_items_found() -> None:
    assert recall_at(["a", "x", "b"], frozenset("abcd"), 3) == 0.5
    assert recall_at(["a", "x", "b"], frozenset("abcd"), 2) == 0.25


def test_one_relevant_item_is_a_hit() -> None:
    assert hit_at(["x", "y", "a"], frozenset("ab"), 3) == 1
    assert hit_at(["x", "y", "a"], frozenset("ab"), 2) == 0


def test_gain_is_discounted_by_rank() -> None:
    assert ndcg_at(["a", "b"], frozenset("ab"), 10) == 1
    assert ndcg_at(["x", "a"], frozenset("a"), 10) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg_at(["x", "a", "y", "b"], frozenset("ab"), 10) == pytest.approx(0.6510, abs=1e-4)


def test_the_reciprocal_rank_is_that_of_the_first_relevant_item() -> None:
    assert reciprocal_rank(["x", "a", "b"], frozenset("ab")) == 0.5
    assert reciprocal_rank(["x"], frozenset("ab")) == 0


@given(answers, st.frozensets(ids, min_size=1))
def test_relevant_items_first_never_lower_the_metrics(found: list[str], relevant: frozenset[str]) -> None:
    better = sorted(found, key=lambda one: one not in relevant)
    for depth in (1, 3, 10):
        assert 0 <= ndcg_at(found, relevant, depth) <= ndcg_at(better, relevant, depth) <= 1
        assert 0 <= recall_at(found, relevant, depth) <= recall_at(better, relevant, depth) <= 1


def test_a_session_counts_at_its_first_rank() -> None:
    sessions = {"a1": "A", "a2": "A", "b1": "B", "c1": "C", "d1": "D", "e1": "E", "f1": "F"}
    found = ["a1", "a2", "b1", "c1", "d1", "e1", "f1"]
    assert of_deep_answer(found, frozenset(["e1"]), sessions)["session hit@5"] == 1
    assert of_deep_answer(found, frozenset(["f1"]), sessions)["session hit@5"] == 0
    assert of_deep_answer(found, frozenset(["a2", "z1"]), {**sessions, "z1": "Z"})["session R@10"] == 0.5
    assert "session hit@5" not in of_deep_answer(found, frozenset(["e1"]), {})


def test_figures_are_means_over_questions_and_the_time_is_the_median() -> None:
    figures = together([{"R@1": 1.0, "R@20": 1.0}, {"R@1": 0.0}, {"R@1": 0.0}, {"R@1": 0.0}], [0.001, 0.002, 0.004, 9])
    assert figures.count == 4
    assert figures.shares == {"R@1": 25.0}
    assert figures.milliseconds == pytest.approx(3)
    assert (figures.cell("R@1"), figures.cell("R@20"), figures.cell("ms")) == ("25.0", "", "3.0")


def test_grep_orders_by_matched_words_then_by_newest() -> None:
    ask = baselines.grep(
        [
            item("old", "A red boat", "2025-01-01T00:00:00"),
            item("new", "A boathouse", "2025-02-01T00:00:00"),
            item("both", "The REDDEST boats", "2024-01-01T00:00:00"),
            item("none", "A car", "2026-01-01T00:00:00"),
        ]
    )
    assert ask("Where is the red boat?", 10) == ["old", "both", "new"]
    assert ask("boat", 10) == ["new", "old", "both"]
    assert ask("boat", 1) == ["new"]
    assert ask("What is it?", 10) == []


@pytest.mark.parametrize("query", [baselines.any_word, baselines.phrase])
@pytest.mark.parametrize("text", ["", "?", 'say "boat" OR (', "the", "NEAR(boat*", "\x00"])
def test_full_text_search_accepts_any_question(query: Any, text: str) -> None:
    assert set(baselines.fts5([item("a", "A boat")], query)(text, 10)) <= {"a"}


def test_a_phrase_matches_only_adjacent_words_in_order() -> None:
    notes = [item("a", "the red boat sank"), item("b", "a boat, red")]
    assert baselines.fts5(notes, baselines.phrase)("Red boat", 10) == ["a"]
    assert set(baselines.fts5(notes, baselines.any_word)("Red boat", 10)) == {"a", "b"}


def always(*names: str) -> baselines.Ask:
    def ask(_text: str, _limit: int, _now: datetime | None = None) -> list[str]:
        return list(names)

    return ask


def test_ranks_are_fused_by_the_sum_of_their_reciprocals() -> None:
    ask = baselines.fused_by_rank([always("a", "b", "c"), always("c", "b")])
    # 1/61 + 1/63, 2/62, 1/61
    assert ask("", 10) == ["c", "b", "a"]
    assert ask("", 1) == ["c"]


def test_low_ranks_in_both_lists_beat_the_first_rank_in_one() -> None:
    def ranked(first: str) -> baselines.Ask:
        return always(first, *(f"{first}{number}" for number in range(59)), "both")

    # 2/121 against 1/61
    assert baselines.fused_by_rank([ranked("a"), ranked("b")])("", 1) == ["both"]


def write(folder: Path, items: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True)
    for name, lines in (("corpus", items), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def asked(query: str, category: str) -> dict[str, Any]:
    return {"qid": query, "collection": "c", "query": query, "category": category, "relevant": ["a"]}


def test_every_set_in_the_folder_is_listed_with_known_ones_first(tmp_path: Path) -> None:
    for name in ("zebra", "devbench", "another", "locomo"):
        write(tmp_path / "quality" / name, [], [])
    (tmp_path / "quality" / "no set").mkdir()
    assert names(tmp_path) == ["locomo", "devbench", "another", "zebra"]


def test_questions_are_grouped_by_category_without_adversarial_ones(tmp_path: Path) -> None:
    queries = [asked("one", "temporal"), asked("two", "adversarial"), asked("three", "c")]
    write(tmp_path / "quality" / "own", [item("a", "A boat"), {**item("b", "Lonely"), "collection": "d"}], queries)
    (only,) = collections(Bench(1, tmp_path, tmp_path, print), "own")
    assert [one["id"] for one in only.items] == ["a"]
    assert [(case.query, case.groups) for case in only.cases] == [
        ("one", [Group("own"), Group("own", "temporal")]),
        ("three", [Group("own")]),
    ]


def test_a_scaled_set_keeps_the_items_that_answer_its_questions(tmp_path: Path) -> None:
    items = [item(f"{number}", "A boat") for number in range(200)] + [item("a", "The boat")]
    write(tmp_path / "quality" / "own", items, [asked(f"{number}", "c") for number in range(40)])
    (only,) = collections(Bench(0.001, tmp_path, tmp_path, print), "own")
    assert len(only.cases) == 5
    assert "a" in {one["id"] for one in only.items}
    assert len(only.items) == 61


def test_charts_are_reproducible(tmp_path: Path) -> None:
    bars = Bars("shares", "Shares", ["one, two", "three"], {"theirs": [1.0, 2.0], "ours": [90.0, 100.0]})
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        draw(bars, tmp_path / folder)
    for name in ("shares.svg", "shares.png"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    assert "<dc:date>" not in (tmp_path / "first" / "shares.svg").read_text(encoding="utf-8")


def test_figures_are_stored_as_json_and_charts_are_on_the_page(tmp_path: Path) -> None:
    bars = Bars("shares", "Shares", ["one"], {"ours": [90.0]})
    figures = [{"set": "one", "R@10": 90.0}, {"set": "zwö", "R@10": 1.0}]
    keep(
        tmp_path, "quality", Section("Q", "Words.", [Table("", ["", "x"], [["a", "1"]])], [bars], figures), 1, 2.0, 0.0
    )
    kept = json.loads((tmp_path / "results" / "quality.json").read_text(encoding="utf-8"))
    assert kept["figures"] == figures
    assert kept["seconds"] == 2
    page = render(tmp_path, ["quality"])
    assert "![Shares](results/shares.svg)" in page
    assert (tmp_path / "results" / "shares.svg").exists()
    assert "zwö" not in page


def test_each_line_of_the_chart_of_speed_has_its_own_colour() -> None:
    assert len(DRAWN) <= len(set(COLOURS))
