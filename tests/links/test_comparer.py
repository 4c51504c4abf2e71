"""Comparison of two statements: what needs no model, and what counts if the model fails or is missing."""

import pytest

from hivelore.core.text import Clean
from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.links.comparer import Comparer
from hivelore.links.judge import EQUAL, NOT_READ, Verdict
from support.pair_readers import TableReader

SLOW, SAME, OTHER = Clean("Takes 60s to start"), Clean("takes 1 min to start"), Clean("Takes 10 minutes to start")
NPM, PNPM = Clean("We use npm"), Clean("We moved from npm to pnpm")


@pytest.mark.parametrize("reader", [TableReader(others=Verdict.DIFFERENT), None])
def test_equal_words_and_quantities_are_not_read_by_the_model(reader: TableReader | None) -> None:
    comparer = Comparer(reader)
    for compare in (comparer.compare, comparer.read):
        assert compare(SLOW, Clean("takes  60S to start")) == EQUAL
        assert compare(SLOW, SAME).verdict is Verdict.SAME
        assert compare(SLOW, OTHER).verdict is Verdict.CONFLICT
    assert reader is None or reader.read == []


def test_the_model_reads_the_earlier_text_first() -> None:
    reader = TableReader({(NPM, PNPM): Verdict.UPDATE})
    judged = Comparer(reader).compare(NPM, PNPM)
    assert (judged.verdict, judged.certainty, judged.why) == (Verdict.UPDATE, 0.994, "npm -> pnpm")
    assert (Comparer(reader).model, reader.read) == ("table-1", [(NPM, PNPM)])


@pytest.mark.parametrize("error", [Unavailable("not now"), Broken("damaged")])
def test_a_comparison_without_an_answer_counts_as_none(error: HiveloreError) -> None:
    def fail(older: str, newer: str) -> None:
        raise error

    comparer = Comparer(TableReader(before=fail))
    assert comparer.compare(NPM, PNPM) == NOT_READ
    with pytest.raises(type(error)):
        comparer.read(NPM, PNPM)
    assert comparer.read(SLOW, SLOW) == EQUAL


def test_without_a_model_other_texts_are_not_compared() -> None:
    comparer = Comparer(None)
    assert comparer.model is None
    assert comparer.compare(NPM, PNPM) == comparer.read(NPM, PNPM) == NOT_READ
