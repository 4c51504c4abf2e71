"""The arithmetic that all vector engines share."""

import numpy as np
import pytest

from hivelore.indexes.arrays import best_per_document, cosines, spread
from hivelore.indexing.model import Neighbour
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey
from support.vector_engines import clustered


def found(document: int, passage: int, cosine: float) -> Neighbour:
    return Neighbour(DocumentKey(document), ChunkKey(1), PassageKey(passage), cosine)


@pytest.mark.parametrize("passages", [(3, 7, 5), (7, 5, 3), (5, 3, 7)])
def test_of_equal_passages_the_first_stands_for_its_document(passages: tuple[int, int, int]) -> None:
    assert best_per_document([found(1, passage, 0.5) for passage in passages], 1, ()) == (found(1, 3, 0.5),)


def test_one_document_takes_one_place() -> None:
    all_found = [found(1, 1, 0.9), found(1, 2, 0.8), found(2, 3, 0.7), found(3, 4, 0.6), found(4, 5, 0.5)]
    assert best_per_document(all_found, 2, ()) == (all_found[0], all_found[2])
    assert best_per_document(all_found, 2, {DocumentKey(1), DocumentKey(4)}) == (*all_found[::2],)


def test_equal_vectors_have_equal_cosines_at_any_position() -> None:
    row, query = clustered(2, 384)
    for size in range(1, 40):
        assert len(set(cosines(np.tile(row, (size, 1)), query).tolist())) == 1


def test_the_spread_covers_all_compared_passages() -> None:
    found = spread(np.array([0.1, 0.2, 0.6]))
    assert (found.count, found.mean) == (3, pytest.approx(0.3))
    assert found.deviation == pytest.approx(np.std([0.1, 0.2, 0.6]))
