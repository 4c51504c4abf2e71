"""Sets and figures of the benchmarks of facts that change."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from bench.injection.data import Note
from bench.truth.chains import Linked, Place, count_links, place_of
from bench.truth.data import (
    ASIDE,
    CONFLICT,
    DIFFERENT,
    LABELS,
    PUBLIC,
    RELATED,
    SAME,
    TUNING,
    UPDATE,
    Chain,
    ChainSet,
    Pair,
    chain_sets,
    pair_sets,
)
from bench.truth.pairs import RATES, rates

from hivelore.links.model import LinkKind

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def pair(label: str) -> Pair:
    return Pair("a", "b", label, "frontend", ("terse",), "en")


def note(name: str, days: int = 0) -> Note:
    return Note(name, name, DAY + timedelta(days=days), None)


def chain(name: str, *values: str) -> Chain:
    tellings = tuple(note(f"{name}/{number}", number) for number in range(len(values)))
    return Chain(tellings, values, ("Which?", "What?"), DAY + timedelta(hours=12))


def test_public_sets_are_missing_without_the_benchmark_data(tmp_path: Path) -> None:
    assert list(pair_sets(None)) == list(pair_sets(tmp_path)) == [ASIDE, TUNING]
    assert [one.name for one in chain_sets(tmp_path)] == [ASIDE, TUNING]


def test_public_sets_are_read_from_the_benchmark_data(tmp_path: Path) -> None:
    (folder := tmp_path / "truth").mkdir()
    line = '{"id": "p3-01", "a": "x", "b": "y", "label": "same", "style": "wordy-de", "category": "state"}'
    (folder / "pairs.jsonl").write_text(line, encoding="utf-8")
    assert pair_sets(tmp_path)[PUBLIC] == [Pair("x", "y", SAME, "p3", ("wordy",), "de")]
    telling = '{"date": "2026-01-01", "author": "ann", "text": "x", "value": "1"}'
    (folder / "chains.jsonl").write_text(
        f'{{"key": "k", "tellings": [{telling}], "question": "q", "question_other": "o", '
        '"asof": {"date": "2026-02-01", "value": "1"}}',
        encoding="utf-8",
    )
    (folder / "distractors.jsonl").write_text(telling, encoding="utf-8")
    (folder / "negatives.jsonl").write_text('{"a": "x", "b": "y"}', encoding="utf-8")
    first = next(iter(chain_sets(tmp_path)))
    assert [one.id for one in first.notes] == ["k/0", "public-other/0", "negative/0a", "negative/0b"]


def test_the_tuning_pairs_are_drawn_evenly_and_each_time_alike() -> None:
    drawn = pair_sets(None)[TUNING]
    by_label = Counter(one.label for one in drawn)
    assert by_label.pop(RELATED) == 140  # Clusters have none.
    assert by_label == dict.fromkeys((SAME, CONFLICT, UPDATE, DIFFERENT), 560)
    assert pair_sets(None)[TUNING] == drawn


def test_pairs_kept_aside_have_each_label_equally_often() -> None:
    assert Counter(one.label for one in pair_sets(None)[ASIDE]) == dict.fromkeys(LABELS, 120)


@pytest.mark.parametrize("one", chain_sets(None), ids=lambda one: one.name)
def test_tellings_follow_each_other_mostly_with_other_values_and_notes_have_distinct_ids(one: ChainSet) -> None:
    assert len({note.id for note in one.notes}) == len(one.notes)
    for chain in one.chains:
        dates = [telling.at for telling in chain.tellings]
        assert dates == sorted(set(dates))
        assert chain.held in chain.ids
    changes = [value != later for each in one.chains for value, later in pairwise(each.values)]
    assert all(changes) or (one.name == ASIDE and sum(changes) > 0.8 * len(changes))  # Some tell the same again.


def test_the_telling_of_a_day_is_the_last_one_before_its_end() -> None:
    assert chain("a", "1", "2").held == "a/0"
    assert chain("a", "1", "2").older == {"a/0"}
    assert chain("a", "1", "2").current == "a/1"


def test_rates_count_each_verdict_among_its_labels() -> None:
    judged = [
        (pair(CONFLICT), "conflict"),
        (pair(CONFLICT), "update"),
        (pair(UPDATE), "same"),
        (pair(SAME), "conflict"),
        (pair(RELATED), "different"),
        (pair(DIFFERENT), "update"),
        (pair(DIFFERENT), "uncertain"),
        (pair(DIFFERENT), "different"),
    ]
    assert dict(zip(RATES, rates(judged), strict=True)) == {
        "pairs": "8",
        "conflicts found": "50.0",
        "updates found": "0.0",
        "rewordings found": "0.0",
        "false change": "40.0",
        "false same": "14.3",
        "uncertain": "12.5",
    }
    assert rates([(pair(SAME), "same")]) == ["1", "", "", "100.0", "0.0", "", "0.0"]


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (["new", "old"], Place(True, True, True)),
        (["x", "new", "old"], Place(False, True, True)),
        (["old", "new"], Place(False, False, True)),
        (["a", "b", "c", "d", "e", "new"], Place(False, True, False)),
        (["old"], Place(False, False, False)),
        ([], Place(False, False, False)),
    ],
)
def test_the_right_telling_is_ahead_if_no_other_one_is_before_it(found: list[str], place: Place) -> None:
    assert place_of(found, "new", frozenset(["old"])) == place


def test_links_are_false_between_different_facts_and_same_only_for_equal_values() -> None:
    part = ChainSet("x", [chain("a", "1", "2", "1"), chain("b", "1", "2")], [note("other")])
    links = [
        ("a/1", "a/0", LinkKind.UPDATES),
        ("a/2", "a/0", LinkKind.UPDATES),  # It skips one, and is right.
        ("a/2", "a/1", LinkKind.CONFLICTS_WITH),
        ("b/1", "b/0", LinkKind.SAME_AS),  # false
        ("a/2", "a/0", LinkKind.SAME_AS),
        ("b/0", "a/0", LinkKind.UPDATES),  # false
        ("other", "a/0", LinkKind.CONFLICTS_WITH),  # false
        ("other", "b/0", LinkKind.SAME_AS),  # false
    ]
    called = {LinkKind.UPDATES: 1, LinkKind.CONFLICTS_WITH: 1, LinkKind.SAME_AS: 1}
    assert count_links(part, links) == Linked(notes=6, changes=3, called=called, false_changes=2, false_same=2)
