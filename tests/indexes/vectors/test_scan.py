"""The scanning engine: being built, keeping within its memory, and following while much else happens."""

import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Expired, Unavailable
from hivelore.indexes.vectors import scan
from hivelore.indexes.vectors.scan import SPARSE, ScanVectors, bytes_per_slot
from hivelore.indexing.model import ModelKey, PassageVectors, Vector
from hivelore.memories.model import Scope
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.model import Filter
from hivelore.storage.ports import View
from support.clocks import SteppingClock
from support.memories import EVERYTHING, a_memory
from support.reference import view as views
from support.reference.store import ReferenceStore
from support.reference.view import ReferenceView
from support.vector_engines import DIMENSION, MODEL, NORTH, SLAB, Library, assert_right, batched, clustered, near


@pytest.fixture
def store() -> Generator[ReferenceStore]:
    with closing(ReferenceStore(SteppingClock())) as store:
        yield store


@pytest.fixture
def index() -> ScanVectors:
    return ScanVectors(MODEL, DIMENSION, slab_size=SLAB)


@pytest.fixture
def library(store: ReferenceStore, index: ScanVectors) -> Library:
    return Library(store, index)


def copy_of(view: View) -> ReferenceView:
    assert isinstance(view, ReferenceView)
    return view


class Slow(ReferenceView):
    """Shows its first batch of vectors and then waits to be let go on."""

    def __init__(self, view: View) -> None:
        super().__init__(copy_of(view).state)
        self.begun, self.go_on = Event(), Event()

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
        for batch in super().all_embedded(model):
            yield batch
            self.begun.set()
            self.go_on.wait()


class Late(ReferenceView):
    """A view whose deadline passes after a number of reads of changed documents."""

    def __init__(self, view: View, reads: int) -> None:
        super().__init__(copy_of(view).state)
        self._reads = reads

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        self._reads -= 1
        if self._reads < 0:
            raise Expired("The deadline of the call passed.")
        return super().embedded(model, keys)


class Met(ReferenceView):
    """Reading changed documents takes until somebody else does so too, or a moment if nobody does."""

    def __init__(self, view: View, arrived: Event, other: Event) -> None:
        super().__init__(copy_of(view).state)
        self.arrived, self._other = arrived, other
        self.met = False

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        self.arrived.set()
        self.met = self._other.wait(0.1)
        self.arrived.clear()
        return super().embedded(model, keys)


class Interrupted(ReferenceView):
    """Something else happens while the store is asked which documents match."""

    def __init__(self, view: View, meanwhile: Callable[[], object]) -> None:
        super().__init__(copy_of(view).state)
        self._meanwhile = meanwhile

    def matching_keys(self, where: Filter) -> Sequence[DocumentKey]:
        self._meanwhile()
        return super().matching_keys(where)


class CountingView(ReferenceView):
    """Counts the vectors and the documents that are read."""

    def __init__(self, view: View) -> None:
        super().__init__(copy_of(view).state)
        self.read = 0
        self.documents: list[DocumentKey] = []

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        self.documents.extend(keys)
        return super().embedded(model, keys)

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]:
        self.read += len(passages)
        return super().vectors(model, passages)


def build(library: Library, index: ScanVectors) -> bool:
    with library.store.read() as view:
        return index.build(view)


# Asking.


@pytest.mark.parametrize("limit", [1, 10, 50])
def test_few_vectors_are_read_for_an_answer(library: Library, index: ScanVectors, limit: int) -> None:
    rows = [near(degrees) for degrees in range(180)]
    random.Random(1).shuffle(rows)
    library.keep([(a_memory(), vectors) for vectors in batched(rows, 3)])
    build(library, index)
    with library.store.read() as view:
        counting = CountingView(view)
        assert len(index.nearest(counting, NORTH, EVERYTHING, limit).nearest) == limit
        assert limit <= counting.read <= 2 * limit + 20


def test_few_vectors_are_read_where_very_many_are_equal(library: Library, index: ScanVectors) -> None:
    keys = library.add_all([near(40)] * 1_000)
    build(library, index)
    with library.store.read() as view:
        counting = CountingView(view)
        answer = index.nearest(counting, NORTH, EVERYTHING, 10)
    assert [found.document for found in answer.nearest] == keys[:10]
    assert counting.read <= 50


def test_without_simsimd_the_answers_are_the_same(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "simsimd", None)
    library.add_all(clustered(3 * SLAB))
    with library.store.read() as view:
        for query in clustered(5, seed=1):
            assert_right(library.index, view, query, limit=20)


# Being built.


def test_before_it_is_built_it_answers_that_it_is_not_ready(library: Library, index: ScanVectors) -> None:
    library.add(NORTH)
    with library.store.read() as view:
        index.follow(view)
        assert not index.ready
        with pytest.raises(Unavailable):
            index.nearest(view, NORTH, EVERYTHING, 1)
        assert index.build(view)
        assert index.ready
        assert_right(index, view, NORTH)


def test_building_blocks_no_one_and_loses_no_changes(library: Library, index: ScanVectors) -> None:
    library.add_all(clustered(2 * SLAB))
    with library.store.read() as view, ThreadPoolExecutor(1) as thread:
        slow = Slow(view)
        building = thread.submit(index.build, slow)
        slow.begun.wait()
        newest = library.add(NORTH)
        with library.store.read() as newer:
            index.follow(newer)
            with pytest.raises(Unavailable):
                index.nearest(newer, NORTH, EVERYTHING, 1)
        slow.go_on.set()
        assert building.result()
    assert library.found(NORTH, limit=1) == [newest]


def test_followed_changes_survive_a_search_in_an_older_view(library: Library, index: ScanVectors) -> None:
    build(library, index)
    key = library.add(NORTH)
    with library.store.read() as view:
        assert [found.document for found in index.nearest(view, NORTH, EVERYTHING, 1).nearest] == [key]


def test_building_again_changes_nothing(library: Library, index: ScanVectors) -> None:
    library.add(NORTH)
    assert build(library, index)
    with library.store.read() as view:
        slow = Slow(view)
        assert index.build(slow)
        assert not slow.begun.is_set()


def test_a_snapshot_from_before_it_was_built_is_refused(library: Library, index: ScanVectors) -> None:
    library.add(near(10))
    with library.store.read() as old:
        library.add(NORTH)
        build(library, index)
        with pytest.raises(Unavailable):
            index.nearest(old, NORTH, EVERYTHING, 1)


def test_after_the_store_was_exchanged_it_waits_to_be_built_again(library: Library, index: ScanVectors) -> None:
    library.add(near(10))
    build(library, index)
    with library.store.read() as old:
        library.store.write(lambda tx: tx.set_setting("incarnation", "another"))
        with library.store.read() as view:
            with pytest.raises(Unavailable):
                index.nearest(view, NORTH, EVERYTHING, 1)
            index.follow(view)
            assert not index.ready
            assert index.build(view)
            assert_right(index, view, NORTH)
        with pytest.raises(Unavailable):
            index.nearest(old, NORTH, EVERYTHING, 1)


# Memory.


def test_vectors_beyond_the_memory_limit_are_not_loaded(library: Library) -> None:
    limit = 100 * bytes_per_slot(DIMENSION)
    index = ScanVectors(MODEL, DIMENSION, memory_limit=limit, slab_size=SLAB)
    assert index.fits(100)
    assert not index.fits(101)
    library.add_all(clustered(100))
    assert build(library, index)
    assert (index.count, index.memory_bytes) == (100, limit)
    library.add(NORTH)
    late = ScanVectors(MODEL, DIMENSION, memory_limit=limit, slab_size=SLAB)
    assert not build(library, late)
    assert not late.ready
    assert late.memory_bytes == 0


def test_without_a_limit_everything_fits(index: ScanVectors) -> None:
    assert index.fits(10**12)


def test_forgotten_passages_free_their_memory(library: Library, index: ScanVectors) -> None:
    keys = library.add_all(clustered(4 * SLAB))
    build(library, index)
    for key in keys[: 3 * SLAB]:
        library.forget(key)
    library.found(NORTH)
    assert index.count == SLAB
    assert index.memory_bytes < 2 * SLAB * bytes_per_slot(DIMENSION)


def test_a_change_of_attributes_takes_no_memory(library: Library, index: ScanVectors) -> None:
    keys = library.add_all(clustered(SLAB))
    build(library, index)
    before = index.memory_bytes
    for key in keys:
        library.relabel(key, scope=Scope.SWARM)
        library.found(NORTH)
    assert index.memory_bytes == before


def test_a_document_embedded_bit_by_bit_takes_little_more_memory(library: Library, index: ScanVectors) -> None:
    rows = list(clustered(2 * SLAB))
    key = library.add()
    build(library, index)
    library.edit(key, *rows)
    for stop in range(0, 2 * SLAB, 8):
        library.embed(key, rows[:stop])
        library.found(NORTH)
    assert index.memory_bytes <= 2 * SLAB * bytes_per_slot(DIMENSION) / (1 - SPARSE)


# Following.


def test_following_that_was_cut_short_goes_on_where_it_stopped(
    library: Library, index: ScanVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PAGE", 3)
    keys = library.add_all([near(degrees) for degrees in range(20)])
    build(library, index)
    with library.store.read() as old:
        for key in keys[:10]:
            library.relabel(key, scope=Scope.SWARM)
            library.edit(key, near(50 + key))
        with library.store.read() as middle:
            for key in keys[::2]:
                library.forget(key)
            with library.store.read() as view, pytest.raises(Expired):
                index.follow(Late(view, reads=4))
            for seen in (old, middle):
                assert_right(index, seen, NORTH, limit=30, also=keys)
            with library.store.read() as view:
                for seen in (view, middle, old, view):
                    assert_right(index, seen, NORTH, limit=30, also=keys)


def test_only_changed_documents_are_read(library: Library, index: ScanVectors) -> None:
    keys = library.add_all([near(degrees) for degrees in range(20)])
    build(library, index)
    for key in keys[:10]:
        library.relabel(key, scope=Scope.SWARM)
    library.embed(keys[3], [near(70)])
    with library.store.read() as view:
        counting = CountingView(view)
        index.follow(counting)
        assert counting.documents == [keys[3]]
        library.embed(keys[5], [near(80)])
        library.found(NORTH)
        index.nearest(counting, NORTH, EVERYTHING, 1)
        assert counting.documents == [keys[3], keys[5]]


def test_following_does_not_disturb_a_search_in_an_older_snapshot(library: Library, index: ScanVectors) -> None:
    tags = (Clean("java"),)
    key = library.add(near(10), tags=tags)
    build(library, index)
    with library.store.read() as old:
        library.edit(key, near(20))
        library.found(NORTH)

        def write_and_follow() -> None:
            library.add_all([near(0)] * 5, tags=tags)
            library.found(NORTH)

        where = replace(EVERYTHING, tag=tags[0])
        answer = index.nearest(Interrupted(old, write_and_follow), NORTH, where, 5)
        assert [found.document for found in answer.nearest] == [key]
        assert answer.spread.mean == pytest.approx(answer.nearest[0].cosine, abs=0.01)


def test_a_snapshot_too_old_to_remember_is_refused(
    library: Library, index: ScanVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "STEPS", 3)
    library.add(near(10))
    build(library, index)
    with library.store.read() as old:
        for step in range(4):
            library.add(near(20 + step))
            library.found(NORTH)
            if step < 3:
                assert_right(index, old, NORTH)
        with pytest.raises(Unavailable):
            index.nearest(old, NORTH, EVERYTHING, 1)
    assert index._state is not None
    assert len(index._state.steps) == 3


def test_only_one_follows_at_a_time(library: Library, index: ScanVectors) -> None:
    library.add(near(10))
    build(library, index)
    library.add(near(20))
    with library.store.read() as older, ThreadPoolExecutor(2) as threads:
        library.add(near(30))
        here, there = Event(), Event()
        with library.store.read() as newer:
            views = [Met(older, here, there), Met(newer, there, here)]
            for following in [threads.submit(index.follow, view) for view in views]:
                following.result()
            assert not any(view.met for view in views)
            assert_right(index, newer, NORTH)
