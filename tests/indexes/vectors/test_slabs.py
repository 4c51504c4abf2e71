"""Slabs: each state stays as it was, whatever states follow it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.indexes.arrays import Labels
from hivelore.indexes.vectors.scan import DOCUMENT, PASSAGE, SPARSE, Quantised, Rows, Slabs, bytes_per_slot

SIZE = 4
DOCUMENTS = [0, 1, 2, 4096, 4097, 1 + 2**40]
"""Some that a look-up by the last bits alone would take for each other."""
DIMENSION = 3


@dataclass(frozen=True)
class Row:
    document: int
    label: int


Content = Mapping[int, Row]
"""By passage; the code of each vector is its passage as well, modulo 100."""


def rows(content: Content) -> Rows:
    made = Rows.empty(len(content), DIMENSION)
    for at, (passage, row) in enumerate(content.items()):
        made.vectors.codes[at] = passage % 100
        made.vectors.shrink[at] = 1.0
        made.vectors.off[at] = passage
        made.vectors.signs[at] = passage % 256
        made.keys[:, at] = (passage, row.document, passage)
    made.labels.put(slice(None), labels([row.label for row in content.values()]))
    return made


def labels(values: list[int]) -> Labels:
    made = Labels.empty(len(values))
    made.codes[:] = values
    made.instants[:] = values
    return made


def content(slabs: Slabs) -> Content:
    found: dict[int, Row] = {}
    for slab in slabs.blocks:
        for at in np.flatnonzero(slab.living()).tolist():
            passage, document, _ = slab.rows.keys[:, at].tolist()
            assert slab.rows.vectors.codes[at].tolist() == [passage % 100] * DIMENSION
            assert (slab.rows.vectors.off[at], *slab.rows.vectors.signs[at]) == (passage, passage % 256)
            (label,) = {*slab.rows.labels.codes[:, at].tolist(), *slab.rows.labels.instants[:, at].tolist()}
            assert passage not in found
            found[passage] = Row(document, label)
    return found


@given(data=st.data())
def test_a_state_never_changes_after_its_creation(data: st.DataObject) -> None:
    slabs, expected = Slabs(DIMENSION, SIZE), dict[int, Row]()
    states = [(slabs, dict(expected))]
    passage = 0
    for _ in range(data.draw(st.integers(1, 12))):
        documents = data.draw(st.lists(st.sampled_from(DOCUMENTS), max_size=2 * SIZE))
        slots = slabs.slots_of(documents)
        match data.draw(st.sampled_from(["add", "drop", "relabel", "set apart", "fail"])):
            case "add":
                new = {passage + at: Row(document, 0) for at, document in enumerate(documents, 1)}
                passage += len(new)
                slabs, expected = slabs.added(rows(new)), expected | new
            case "drop":
                expected = {key: row for key, row in expected.items() if row.document not in documents}
                slabs = slabs.without(slots).compacted()
            case "relabel":
                label = data.draw(st.integers(1, 9))
                slabs = slabs.relabelled(slots, labels([label] * len(slots)))
                expected = {k: replace(r, label=label) if r.document in documents else r for k, r in expected.items()}
            case "set apart":
                aside = {1_000 + at: Row(document, 7) for at, document in enumerate(documents)}
                states.append((slabs.set_apart(rows(aside)), expected | aside))
            case _:
                # Following may stop half-way: what was added then is never seen.
                slabs.added(rows({2_000 + at: Row(9, 9) for at in range(SIZE)}))
        states.append((slabs, dict(expected)))
    for state, then in states:
        assert content(state) == then
        assert len(state) == len(then)
        for document in DOCUMENTS:
            keys = state.keys(state.slots_of([document]))
            assert sorted(keys[PASSAGE].tolist()) == sorted(k for k, row in then.items() if row.document == document)
            assert set(keys[DOCUMENT].tolist()) <= {document}


def test_keys_come_in_the_order_asked_for() -> None:
    slabs = Slabs(DIMENSION, SIZE).added(rows({passage: Row(passage + 50, 0) for passage in range(3 * SIZE)}))
    keys = slabs.keys(np.array([9, 2, 11, 3, 0]))
    assert keys[PASSAGE].tolist() == [9, 2, 11, 3, 0]
    assert keys[DOCUMENT].tolist() == [59, 52, 61, 53, 50]


def test_a_slab_with_many_dead_is_rewritten() -> None:
    full = Slabs(DIMENSION, 100).added(rows({passage: Row(passage, 0) for passage in range(100)}))
    few, many = np.arange(int(100 * SPARSE)), np.arange(int(100 * SPARSE) + 1)
    assert full.without(few).compacted().memory_bytes == full.memory_bytes
    rewritten = full.without(many).compacted()
    assert rewritten.memory_bytes == len(rewritten) * bytes_per_slot(DIMENSION)


def test_a_million_passages_of_384_dimensions_take_about_half_a_gigabyte() -> None:
    assert Quantised.of(np.ones((1, 384), np.float32)).codes.nbytes < bytes_per_slot(384) < 520
