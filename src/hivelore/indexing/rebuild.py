"""The state of a rebuild of the keyword index, as it is kept with the data, and what requests and progress make of it.

Documents are indexed from the newest to the oldest, so one key says how far a rebuild came.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from hivelore.core.clock import Clock
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import DocumentKey, Stored
from hivelore.indexing.writer import IndexWriter
from hivelore.search.model import EVERYTHING
from hivelore.search.tokenizer import TERMS_VERSION
from hivelore.storage.planner_statistics import PlannerStatistics
from hivelore.storage.ports import MemoryStore, Transaction, View

_IN_PLACE = "in-place "


@dataclass(frozen=True, slots=True)
class Rebuild:
    below: DocumentKey
    """Documents with a smaller key are still to be indexed."""
    in_place: bool
    """Whether these are found meanwhile by what was indexed for them before; else the index began empty."""

    @property
    def text(self) -> str:
        return f"{_IN_PLACE if self.in_place else ''}{self.below}"


def rebuild_of(text: str | None) -> Rebuild | None:
    """The rebuild that a setting tells of; None for an absent or empty one: nothing is rebuilt."""
    if not text:
        return None
    return Rebuild(DocumentKey(int(text.removeprefix(_IN_PLACE))), text.startswith(_IN_PLACE))


def requested(running: Rebuild | None, newest: DocumentKey | None) -> Rebuild | None:
    """What runs after a request: the rebuild that runs already, else one of everything. ``newest``: None where there
    is nothing to index."""
    if running is not None or newest is None:
        return running
    return Rebuild(DocumentKey(newest + 1), in_place=True)


def advanced(running: Rebuild, indexed: Sequence[DocumentKey], limit: int) -> Rebuild | None:
    """The state after a step that indexed these, the newest ``limit`` of what was left; None: it is complete."""
    return replace(running, below=min(indexed)) if len(indexed) >= limit else None


INDEX = "keywords.index"
"""The setting that names the engine and the version of the terms of what is indexed."""
BUILDING = "keywords.building"
"""The setting with the state of a rebuild (``indexing.rebuild``)."""
REPAIR = "keywords.repair"
"""The setting with the number of the last request for a repair; absent or empty where nothing is known to be
missing."""
AT_A_TIME = 50
"""Documents that are indexed in one unit of work."""
BUDGET = 0.5
"""Seconds of this, about, before the background worker does something else."""
_CLAIM = b"keywords.building"
_ALL = 2**62
_BEFORE_ALL = DocumentKey(0)
_FIRST_REQUEST = "1"


@dataclass(frozen=True, slots=True)
class _State:
    """What one snapshot shows."""

    rebuild: Rebuild | None
    repair: str
    """The number of the request; empty: none."""

    @property
    def is_complete(self) -> bool:
        return not self.repair and (self.rebuild is None or self.rebuild.in_place)


class IndexRebuild:
    def __init__(
        self,
        store: MemoryStore,
        keywords: KeywordIndex,
        others: Sequence[KeywordIndex],
        index_writer: IndexWriter,
        clock: Clock,
    ) -> None:
        """``others`` are the engines that may have indexed this store before."""
        self._store = store
        self._keywords = keywords
        self._others = others
        self._index_writer = index_writer
        self._clock = clock
        self._wanted = f"{keywords.name} {TERMS_VERSION}"
        self._planner_statistics = PlannerStatistics(store)
        self._building = Lock()
        """Held in ``go_on``, which alone uses the three that follow."""
        self._compared: str | None = None
        """The request for a repair that was answered last; None before the first comparison."""
        self._comparing = ""
        """The request that is being answered, ..."""
        self._after = _BEFORE_ALL
        """... and the document up to which that is done."""
        self._is_complete = False

    def begin(self) -> None:
        """Clear an index of another engine or version, to be built anew. To be called before anything is written."""
        with self._store.read() as view:
            if view.setting(INDEX) == self._wanted:
                self._see(view)
                return

        def work(tx: Transaction) -> None:
            if tx.setting(INDEX) == self._wanted:  # Another process on the same store was quicker.
                return
            for engine in (self._keywords, *self._others):
                engine.clear(tx)
            newest = _newest(tx)
            tx.set_setting(INDEX, self._wanted)
            _put(tx, None if newest is None else Rebuild(DocumentKey(newest + 1), in_place=False))

        self._store.write(work)
        self.look()

    def again(self) -> None:
        """Ask for a rebuild of everything, or join the one that runs. The leader does it."""

        def work(tx: Transaction) -> None:
            tx.claim(_CLAIM)
            _put(tx, requested(rebuild_of(tx.setting(BUILDING)), _newest(tx)))

        self._store.write(work)

    def repair(self) -> None:
        """Ask for a comparison with the store, and for what is missing to be indexed. The leader does it."""
        self._store.write(_ask_for_repair)
        self.look()

    def go_on(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Index some more; to be called about once a second, by the leader."""
        with self._building:
            began = self._clock.monotonic()
            while self._clock.monotonic() - began < BUDGET and not stopping():
                if not self._step():
                    self._planner_statistics.load_ended()
                    break
        self.look()

    def look(self) -> None:
        """See what there is to be done, as others, or the leader, have left it."""
        with self._store.read() as view:
            self._see(view)

    @property
    def left(self) -> int:
        """Documents that are still to be indexed, or to be indexed anew."""
        with self._store.read() as view:
            state = _state(view)
            left = set[DocumentKey]()
            if state.rebuild is not None:
                left.update(view.keys_below(state.rebuild.below, _ALL))
            if state.repair:
                left.update(self._keywords.unindexed_documents(view, _BEFORE_ALL, _ALL))
        return len(left)

    @property
    def is_done(self) -> bool:
        """Whether keywords find everything in what is read from now on."""
        return self._is_complete

    def lacking(self, view: View) -> int:
        """How many documents keywords do not find, or not by all of their words, although nothing is being built."""
        rebuild = _state(view).rebuild
        if rebuild is not None and not rebuild.in_place:
            return 0
        return len(self._keywords.unindexed_documents(view, _BEFORE_ALL, _ALL))

    # steps

    def _see(self, view: View) -> None:
        self._is_complete = _state(view).is_complete

    def _step(self) -> bool:
        """Whether there may be more to do."""
        with self._store.read() as view:
            state = _state(view)
            if state.rebuild is None and state.repair == self._compared:
                return False
            if state.repair != self._comparing:
                self._comparing, self._after = state.repair, _BEFORE_ALL
            if state.rebuild is not None:
                keys = view.keys_below(state.rebuild.below, AT_A_TIME)
            else:
                keys = self._keywords.unindexed_documents(view, self._after, AT_A_TIME)
            self._index_writer.prepare(view, _there(view, keys))
        if state.rebuild is not None:
            self._rebuild(state.rebuild, keys)
        elif keys:
            self._fill(keys)
        else:
            return self._compare()
        return True

    def _rebuild(self, rebuild: Rebuild, keys: Sequence[DocumentKey]) -> None:
        def work(tx: Transaction) -> bool:
            tx.claim(_CLAIM)
            if rebuild_of(tx.setting(BUILDING)) != rebuild:  # Another process was quicker.
                return False
            there = _there(tx, keys)
            if rebuild.in_place:
                self._keywords.remove(tx, [chunk.key for stored in there for chunk in tx.chunks(stored.key)])
            self._index_writer.index_all(tx, there)
            _put(tx, advanced(rebuild, keys, AT_A_TIME))
            return True

        if self._store.write(work):
            self._planner_statistics.rows_written(len(keys))
            self._compared = None

    def _fill(self, keys: Sequence[DocumentKey]) -> None:
        def work(tx: Transaction) -> bool:
            """Whether it was the first to notice that something is missing."""
            tx.claim(_CLAIM)
            is_first = not tx.setting(REPAIR)
            if is_first:
                _ask_for_repair(tx)
            self._index_writer.index_all(tx, _there(tx, keys))
            return is_first

        if self._store.write(work):
            self._comparing = _FIRST_REQUEST
        self._planner_statistics.rows_written(len(keys))
        self._after = keys[-1]

    def _compare(self) -> bool:
        """Whether there may be more: strays are let go of at the end, then nothing is left of the repair, but for what
        cannot be indexed."""
        with self._store.read() as view:
            strays = self._keywords.orphaned_chunks(view, AT_A_TIME)
            asked = _state(view).repair
            is_sound = not asked or not self._keywords.unindexed_documents(view, _BEFORE_ALL, 1)
        if strays:
            self._store.write(lambda tx: self._keywords.forget(tx, strays))
            return True
        if asked and is_sound:
            self._store.write(lambda tx: tx.set_setting(REPAIR, "") if tx.setting(REPAIR) == asked else None)
        self._compared, self._after = "" if is_sound else asked, _BEFORE_ALL
        return False


def _state(view: View) -> _State:
    return _State(rebuild_of(view.setting(BUILDING)), view.setting(REPAIR) or "")


def _put(tx: Transaction, rebuild: Rebuild | None) -> None:
    tx.set_setting(BUILDING, "" if rebuild is None else rebuild.text)


def _ask_for_repair(tx: Transaction) -> None:
    tx.claim(_CLAIM)
    known = tx.setting(REPAIR)
    tx.set_setting(REPAIR, str(int(known) + 1) if known else _FIRST_REQUEST)


def _newest(view: View) -> DocumentKey | None:
    return next(iter(view.keys_below(DocumentKey(_ALL), 1)), None)


def _there(view: View, keys: Sequence[DocumentKey]) -> list[Stored]:
    return [Stored(key, memory) for key, memory in view.memories_of(keys, EVERYTHING).items()]
