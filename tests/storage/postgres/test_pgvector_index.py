"""pgvector's engine with its index: what the walk along it finds, and how it comes and goes."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

import numpy as np
import pytest

from hivelore.core.agents import AgentId
from hivelore.errors import Broken
from hivelore.indexes.vectors.brute_force import ExactVectors, InDatabase
from hivelore.indexes.vectors.pgvector import PgVectors
from hivelore.memories.stored import DocumentKey
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Filter, Visibility
from hivelore.storage.postgres.store import PostgresStore
from support import partitions, postgres
from support.memories import ADA, BOB, EVERYTHING, a_memory
from support.vector_engines import MODEL, Library, assert_right, batched, clustered, follow
from support.waiting import until

DIMENSION = 128
SIZE = 6_000
PASSAGES = 5
"""Of each memory."""
OTHER = AgentId("carol")
FEW = 100
"""Below this number of passages, the engine of these tests compares all."""
ROWS = clustered(SIZE, DIMENSION, clusters=60, spread=0.7)
QUERIES = clustered(30, DIMENSION, seed=1, spread=1.0)
"""Unlike the texts, as questions are."""
A_TENTH = Filter(visibility=Visibility(own=ADA, swarm=False))
A_FIFTIETH = Filter(visibility=Visibility(own=BOB, swarm=False))


def engine() -> PgVectors:
    return PgVectors(MODEL, DIMENSION, exact_below=FEW, sample_size=SIZE, sample_age=1)


def never() -> bool:
    return False


def settled(store: PostgresStore, index: PgVectors) -> PgVectors:
    with store.read() as view:
        follow(index, view)
    while index.maintain(store, never):
        pass
    return index


@pytest.fixture(scope="module", autouse=True)
def _index() -> None:
    postgres.needs_index()


@pytest.fixture(scope="module")
def crowd() -> Generator[PostgresStore]:
    """6,000 indexed passages about 60 subjects. One in ten belongs to Ada, one in fifty to Bob."""
    with closing(PostgresStore(postgres.schema(), clock=SystemClock(), connections=2)) as store:
        library = Library(store, engine(), dimension=DIMENSION)
        owners = [ADA if at % 10 == 0 else BOB if at % 50 == 1 else OTHER for at in range(SIZE // PASSAGES)]
        rows = batched(ROWS, PASSAGES)
        library.keep([(a_memory(owner=owner), some) for owner, some in zip(owners, rows, strict=True)])
        settled(store, engine())
        yield store


def indexes(store: PostgresStore) -> list[str]:
    named = "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND indexname LIKE 'vectors_near%'"
    with store.autocommit() as apart:
        return [name for (name,) in apart.rows(named)]


@pytest.fixture
def compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*asked: object) -> None:
        raise AssertionError("all vectors were compared")

    monkeypatch.setattr(InDatabase, "nearest", fail)


@dataclass(frozen=True)
class Truth:
    nearest: Mapping[DocumentKey, float]
    """The twenty nearest documents with their cosines, best first."""
    count: int
    mean: float
    deviation: float


Exactly = Callable[[Filter], Sequence[Truth]]


@pytest.fixture(scope="module")
def exactly(crowd: PostgresStore) -> Exactly:
    """The answers to the queries among what a filter admits, from the vectors that were stored."""

    @cache
    def answers(where: Filter) -> Sequence[Truth]:
        with crowd.read() as view:
            keys, admitted = sorted(view.matching_keys(EVERYTHING)), set(view.matching_keys(where))
        rows = ROWS.reshape(len(keys), PASSAGES, DIMENSION)[[key in admitted for key in keys]]
        found: list[Truth] = []
        for cosines in np.einsum("dpx,qx->qdp", rows, QUERIES):
            best = sorted(zip(sorted(admitted), cosines.max(axis=1).tolist(), strict=True), key=itemgetter(1))
            found.append(Truth(dict(best[:-21:-1]), cosines.size, float(cosines.mean()), float(cosines.std())))
        return found

    return answers


@pytest.mark.usefixtures("compares_nothing")
@pytest.mark.parametrize("where", [EVERYTHING, A_TENTH, A_FIFTIETH], ids=["all", "a tenth", "a fiftieth"])
@pytest.mark.parametrize("limit", [10, 20])
def test_97_in_100_of_the_ten_nearest_are_found_under_any_filter(
    crowd: PostgresStore, exactly: Exactly, where: Filter, limit: int
) -> None:
    index, found = engine(), 0
    with crowd.read() as view:
        follow(index, view)
        for query, right in zip(QUERIES, exactly(where), strict=True):
            answer = index.nearest(view, query, where, limit)
            found += len({*list(right.nearest)[:10]} & {one.document for one in answer.nearest[:10]})
            assert all(abs(one.cosine - right.nearest.get(one.document, one.cosine)) < 1e-5 for one in answer.nearest)
            assert len(answer.nearest) == limit
            assert answer.spread.count == pytest.approx(right.count, rel=0.1)
            assert (answer.spread.mean, answer.spread.deviation) == pytest.approx(
                (right.mean, right.deviation), abs=0.01
            )
    assert found >= 0.97 * 10 * len(QUERIES)


def test_a_narrow_filter_compares_all_passages(crowd: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    index = PgVectors(MODEL, DIMENSION, exact_below=SIZE)
    monkeypatch.setattr(PgVectors, "_walked", None)
    with crowd.read() as view:
        for query in QUERIES[:3]:
            assert_right(index, view, query, A_FIFTIETH, limit=50)


def test_a_walk_with_too_few_results_compares_all_passages(
    crowd: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hivelore.indexes.vectors.pgvector._SETTINGS", {"effort": "1", "most": "1", "memory": "1"})
    with crowd.read() as view:
        assert_right(engine(), view, QUERIES[0], A_FIFTIETH, limit=20)


@pytest.mark.usefixtures("compares_nothing")
def test_documents_asked_for_are_found_by_a_walk_too(crowd: PostgresStore) -> None:
    with crowd.read() as view:
        index, (query, *_) = engine(), QUERIES
        follow(index, view)
        far = [one.document for one in ExactVectors(MODEL, DIMENSION).nearest(view, query, A_TENTH, SIZE).nearest][-3:]
        hidden = ExactVectors(MODEL, DIMENSION).nearest(view, query, A_FIFTIETH, 1).nearest[0].document
        answer = index.nearest(view, query, A_TENTH, 5, [*far, hidden])
        assert [one.document for one in answer.nearest[5:]] == far
        assert hidden not in {one.document for one in answer.nearest}


@pytest.mark.usefixtures("compares_nothing")
def test_later_passages_are_found_and_forgotten_ones_are_not(
    store: PostgresStore,
) -> None:
    library = Library(store, engine(), dimension=DIMENSION)
    keys = library.add_all(ROWS[: 2 * FEW])
    index = settled(store, engine())
    with store.read() as old:
        index.nearest(old, ROWS[0], EVERYTHING, 1)
        late = library.add(QUERIES[0])
        library.forget(keys[0])
        with store.read() as view:
            assert [one.document for one in index.nearest(view, QUERIES[0], EVERYTHING, 1).nearest] == [late]
            assert keys[0] not in {one.document for one in index.nearest(view, ROWS[0], EVERYTHING, 20).nearest}
        assert [one.document for one in index.nearest(old, ROWS[0], EVERYTHING, 1).nearest] == keys[:1]
        assert late not in {one.document for one in index.nearest(old, QUERIES[0], EVERYTHING, 20).nearest}


@pytest.mark.usefixtures("compares_nothing")
def test_a_document_with_very_many_passages_is_walked_past(store: PostgresStore) -> None:
    library = Library(store, engine(), dimension=DIMENSION)
    near_one = clustered(4 * FEW, DIMENSION, clusters=1, spread=0.1)
    flood = library.add(*near_one)
    others = library.add_all(-near_one[:FEW])
    index = settled(store, engine())
    with store.read() as view:
        found = [one.document for one in index.nearest(view, near_one[0], EVERYTHING, 5).nearest]
    assert found[0] == flood
    assert len(found) == 5
    assert set(found[1:]) <= set(others)


@pytest.mark.usefixtures("compares_nothing")
def test_row_level_security_does_not_change_the_results(crowd: PostgresStore) -> None:
    index = engine()
    with crowd.read() as view:
        follow(index, view)
        open_answer = index.nearest(view, QUERIES[0], A_TENTH, 10)
    assert crowd.row_level_security
    with crowd.read(sees=A_TENTH.visibility) as view:
        answer = engine().nearest(view, QUERIES[0], A_TENTH, 10)
        assert {one.document for one in answer.nearest} == {one.document for one in open_answer.nearest}
        assert (answer.spread.count, answer.spread.mean) == (open_answer.spread.count, open_answer.spread.mean)
        assert {one.document for one in engine().nearest(view, QUERIES[0], EVERYTHING, 10).nearest} == {
            one.document for one in answer.nearest
        }


# How it comes and goes.


def test_it_is_made_once_there_are_enough_vectors_and_until_then_all_are_compared(store: PostgresStore) -> None:
    library = Library(store, engine(), dimension=DIMENSION)
    index = settled(store, engine())
    assert indexes(store) == []
    library.add_all(ROWS[: FEW - 1])
    assert not index.maintain(store, never)
    library.add_all(ROWS[FEW : 2 * FEW])
    with store.read() as view:
        assert_right(index, view, QUERIES[0])
        assert index.name == "pgvector"
    assert index.maintain(store, never)
    assert not index.maintain(store, never)
    assert len(indexes(store)) == 1
    with store.read() as view:
        assert_right(index, view, QUERIES[0])
        assert index.name == "pgvector, hnsw"


def test_it_is_not_made_where_another_engine_answers(store: PostgresStore) -> None:
    Library(store, engine(), dimension=DIMENSION).add_all(ROWS[: 2 * FEW])
    assert not engine().maintain(store, never)
    assert indexes(store) == []


def test_it_goes_with_the_vectors_of_its_model(store: PostgresStore) -> None:
    Library(store, engine(), dimension=DIMENSION).add_all(ROWS[: 2 * FEW])
    settled(store, engine())
    (name,) = indexes(store)
    other = PgVectors("another model", DIMENSION, exact_below=FEW)
    assert settled(store, other) is other
    assert indexes(store) == [name]
    with store.read() as view:
        model = view.model_key(MODEL)
    assert model is not None
    assert store.write(lambda tx: tx.drop_vectors(model, SIZE)) == 2 * FEW
    settled(store, other)
    assert indexes(store) == []


def test_an_unfinished_index_is_rebuilt(store: PostgresStore) -> None:
    Library(store, engine(), dimension=DIMENSION).add_all(ROWS[: 2 * FEW])
    index = settled(store, engine())
    (name,) = indexes(store)
    with store.autocommit() as apart:
        apart.rows(f"UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = '{name}'::regclass")
    with store.read() as view:
        assert_right(index, view, QUERIES[0])
        assert index.name == "pgvector"
    settled(store, index)
    with store.read() as view:
        assert_right(index, view, QUERIES[0])
        assert index.name == "pgvector, hnsw"


def test_the_partition_of_the_namespace_has_the_index(url: str) -> None:
    partitions.migrate(url)
    with closing(PostgresStore(url, clock=SystemClock(), connections=2, namespace=2)) as store:
        Library(store, engine(), dimension=DIMENSION).add_all(ROWS[: 2 * FEW])
        index = settled(store, engine())
        assert indexes(store) == ["vectors_near_2_1"]
        with store.read() as view:
            assert_right(index, view, QUERIES[0])
        assert index.name == "pgvector, hnsw"


def test_only_one_service_makes_it(store: PostgresStore) -> None:
    Library(store, engine(), dimension=DIMENSION).add_all(ROWS[: 2 * FEW])
    index = engine()
    with store.autocommit() as other:
        other.rows("SELECT pg_advisory_lock(hashtext('hivelore.vectors'), :namespace ::int)")
        settled(store, index)
        assert indexes(store) == []
    assert index.maintain(store, never)


def test_a_stopped_service_does_not_wait_and_the_server_finishes_the_index(store: PostgresStore) -> None:
    Library(store, engine(), dimension=DIMENSION).add_all(ROWS[: 2 * FEW])
    index = engine()
    with store.read() as view:
        follow(index, view)
        view.setting("name")  # an older snapshot, for whose end the server waits
        assert index.maintain(store, lambda: True)
    until(lambda: ended(store, index))
    with store.read() as view:
        assert_right(index, view, QUERIES[0])


def ended(store: PostgresStore, index: PgVectors) -> bool:
    with store.read() as view:
        index.nearest(view, QUERIES[0], EVERYTHING, 1)
    return index.name == "pgvector, hnsw"


def test_a_failure_to_build_the_index_is_logged(store: PostgresStore) -> None:
    with store.autocommit() as apart, pytest.raises(Broken, match="syntax error"):
        apart.run("CREATE NONSENSE", never)


@pytest.mark.parametrize("dimension", [1_536, 4_001])
def test_long_vectors_have_an_index_within_the_limit_of_pgvector(store: PostgresStore, dimension: int) -> None:
    index = PgVectors(MODEL, dimension, exact_below=10)
    Library(store, index, dimension=dimension).add_all(clustered(20, dimension))
    settled(store, index)
    assert len(indexes(store)) == (dimension <= 4_000)
    with store.read() as view:
        assert_right(index, view, clustered(1, dimension, seed=1)[0], limit=5)
