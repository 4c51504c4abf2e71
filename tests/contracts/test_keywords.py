"""Every keyword engine: finding documents by their terms, under a filter, best first."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.indexes.ports import KeywordIndex
from hivelore.memories.model import Memory
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.search.model import Filter, Visibility
from support.keywords import Columns, Indexed
from support.memories import ADA, BOB, a_memory
from support.small_world import filters, populations
from support.stores import Fresh, law

# Finding.


def test_a_document_is_found_by_any_of_its_terms_in_any_column(indexed: Indexed) -> None:
    stored = indexed.add(Columns(own=("java", "build"), context=("gradle",), header=("setup",)))
    (chunk,) = indexed.chunk_keys(stored)
    for term in ("java", "build", "gradle", "setup"):
        (candidate,) = indexed.search(term)
        assert (candidate.document, candidate.chunk) == (stored.key, chunk)


def test_one_matching_term_is_enough(indexed: Indexed) -> None:
    one, other = indexed.add("java build"), indexed.add("python test")
    assert set(indexed.found("java python nothing")) == {one.key, other.key}


def test_documents_indexed_before_and_after_a_load_are_found(indexed: Indexed) -> None:
    older = indexed.add("java build")
    for _ in range(2):
        with indexed.store.read() as view:
            indexed.index.load(view)
    newer = indexed.add("java test")
    assert set(indexed.found("java")) == {older.key, newer.key}


def test_no_terms_and_unknown_terms_find_nothing(indexed: Indexed) -> None:
    assert indexed.found("anything") == []
    indexed.add("java")
    assert indexed.found("") == []
    assert indexed.found("jav") == []
    assert indexed.found("javas") == []
    assert indexed.found("python") == []


ODD_TERMS = [
    "and",
    "or",
    "not",
    "near",
    "own",
    "own:x",
    "x*",
    "*",
    "^x",
    "c++",
    "(x",
    "x)",
    "-x",
    "{x}",
    'say"x"',
    '"',
    "'",
    "a'b",
    "back\\slash",
    "foo_bar",
    "foo.bar",
    "café",
    "東京",
    "🐝",
    "%",
    "0",
]


@pytest.mark.parametrize("term", ODD_TERMS)
def test_a_term_with_syntax_characters_is_data(indexed: Indexed, term: str) -> None:
    stored = indexed.add(f"before {term} after")
    indexed.add("x say foo bar cafe slash a b")
    assert indexed.found(term) == [stored.key]
    assert stored.key in indexed.found(f"before {term}")


def test_a_chunk_without_terms_is_accepted(indexed: Indexed) -> None:
    indexed.add(Columns())
    stored = indexed.add("java")
    assert indexed.found("java") == [stored.key]


# Ranking.


def test_a_document_is_returned_once_with_its_best_chunk(indexed: Indexed) -> None:
    stored = indexed.add("java one two three", "java java java", "nothing of it")
    _, best, _ = indexed.chunk_keys(stored)
    (candidate,) = indexed.search("java")
    assert (candidate.document, candidate.chunk) == (stored.key, best)


def test_a_rare_term_weighs_more_than_a_common_one(indexed: Indexed) -> None:
    common = [indexed.add(f"common filler{number}") for number in range(9)]
    rare = indexed.add("rare filler9")
    found = indexed.found("common rare")
    assert found[0] == rare.key
    assert set(found[1:]) == {stored.key for stored in common}


def test_more_occurrences_of_a_term_score_higher(indexed: Indexed) -> None:
    fill(indexed)
    once = indexed.add("java one two three")
    thrice = indexed.add("java java java three")
    assert indexed.found("java") == [thrice.key, once.key]


def test_a_short_chunk_scores_higher_than_a_long_one(indexed: Indexed) -> None:
    fill(indexed)
    long = indexed.add("java " + " ".join(f"w{number}" for number in range(60)))
    short = indexed.add("java one")
    assert indexed.found("java") == [short.key, long.key]


def test_more_matching_terms_score_higher(indexed: Indexed) -> None:
    fill(indexed)
    one = indexed.add("java one two")
    both = indexed.add("java build two")
    assert indexed.found("java build") == [both.key, one.key]


@pytest.mark.parametrize("strong", [Columns(own=("java", "x")), Columns(own=("x",), header=("java",))])
def test_own_text_and_headers_weigh_more_than_context(indexed: Indexed, strong: Columns) -> None:
    fill(indexed)
    weak = indexed.add(Columns(own=("x",), context=("java",)))
    better = indexed.add(strong)
    assert indexed.found("java") == [better.key, weak.key]


def fill(indexed: Indexed) -> None:
    """Others that make the terms of a test rare."""
    for number in range(8):
        indexed.add(f"filler{number} other{number} more{number}")


# Filters and limits.


def test_a_filter_is_applied_before_the_limit(indexed: Indexed) -> None:
    for _ in range(60):
        indexed.add("java java", memory=a_memory(owner=BOB))
    mine = indexed.add("java and many other words that make it a worse match than those of Bob")
    only_adas = Filter(visibility=Visibility(own=ADA, swarm=True))
    assert indexed.found("java", only_adas, limit=1) == [mine.key]


def test_many_chunks_of_one_document_do_not_crowd_out_others(indexed: Indexed) -> None:
    crowd = indexed.add(*["java java java"] * 40)
    others = [indexed.add("java and other words") for _ in range(3)]
    found = indexed.found("java", limit=4)
    assert found[0] == crowd.key
    assert set(found[1:]) == {stored.key for stored in others}


def test_a_limit_keeps_the_best(indexed: Indexed) -> None:
    fill(indexed)
    for count in (1, 4, 2, 3):
        indexed.add(" ".join(["java"] * count + ["x"] * (5 - count)))
    everything = indexed.search("java")
    assert len(everything) == 4
    for limit in (1, 2, 3, 4, 5):
        assert list(indexed.search("java", limit=limit)) == list(everything[:limit])


terms = st.lists(st.sampled_from("abcdefg"), max_size=6).map(tuple)
columns = st.builds(Columns, own=terms, context=terms, header=terms)


@law
@given(
    population=populations,
    contents=st.lists(columns, min_size=12, max_size=12),
    asked=st.lists(st.tuples(st.sets(st.sampled_from("abcdefgh"), max_size=4), filters()), min_size=1, max_size=6),
)
def test_exactly_the_matching_and_visible_documents_are_found(
    fresh_searched: Fresh,
    keywords: KeywordIndex,
    population: list[Memory],
    contents: list[Columns],
    asked: list[tuple[set[str], Filter]],
) -> None:
    with fresh_searched() as store:
        indexed = Indexed(store, keywords)
        known: dict[DocumentKey, tuple[Memory, ChunkKey, Columns]] = {}
        for memory, its in zip(population, contents, strict=False):
            stored = indexed.add(its, memory=memory)
            known[stored.key] = memory, indexed.chunk_keys(stored)[0], its
        with store.read() as view:
            for asked_terms, where in asked:
                found = keywords.search(view, sorted(asked_terms), where, 100)
                expected = {
                    key: chunk
                    for key, (memory, chunk, its) in known.items()
                    if where.admits(memory) and asked_terms & {*its.own, *its.context, *its.header}
                }
                assert {candidate.document: candidate.chunk for candidate in found} == expected
                assert len(found) == len(expected)
                scores = [candidate.score for candidate in found]
                assert scores == sorted(scores, reverse=True)
                assert all(score > 0 for score in scores)


# Weighing.


def test_terms_weigh_by_their_rarity(indexed: Indexed) -> None:
    assert indexed.weight("java") < 0.001
    indexed.add("java build", "java", "python")
    indexed.add(Columns(own=("rust",), context=("gradle",), header=("build",)))
    # 4 chunks; one has a term: ln(3.5 / 1.5), two: as good as nothing, none: ln(4.5 / 0.5).
    assert indexed.weight("rust") == pytest.approx(math.log(3.5 / 1.5))
    assert indexed.weight("java") == pytest.approx(0.0, abs=1e-5)
    assert indexed.weight("swift") == pytest.approx(math.log(9.0))
    assert indexed.weight("rust gradle swift") == pytest.approx(2 * math.log(3.5 / 1.5) + math.log(9.0))
    assert indexed.weight("") == 0.0


def test_removed_documents_do_not_affect_weights(indexed: Indexed) -> None:
    gone = indexed.add("java build")
    for word in ("python", "rust", "swift"):
        indexed.add(word)
    assert indexed.weight("java") == pytest.approx(math.log(3.5 / 1.5))
    indexed.remove(*indexed.chunk_keys(gone))
    assert indexed.weight("java") == pytest.approx(math.log(3.5 / 0.5))


def test_score_divided_by_weight_is_the_matched_share_of_a_query(indexed: Indexed) -> None:
    indexed.add(*(f"some filler of number {number}" for number in range(200)))
    indexed.add("the wireguard tunnel must be up first")
    shares = [indexed.search(asked)[0].score / indexed.weight(asked) for asked in ("wireguard tunnel", "wireguard dns")]
    assert 0.8 < shares[0] < 1.3
    assert shares[1] == pytest.approx(shares[0] / 2, rel=0.2)
