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


def parse_rebuild(text: str | None) -> Rebuild | None:
    """The rebuild that a setting tells of; None for an absent or empty one: nothing is rebuilt."""
    if not text:
        return None
    return Rebuild(DocumentKey(int(text.removeprefix(_IN_PLACE))), text.startswith(_IN_PLACE))


def after_request(running: Rebuild | None, newest: DocumentKey | None) -> Rebuild | None:
    """What runs after a request: the rebuild that runs already, else one of everything. ``newest``: None where there
    is nothing to index."""
    if running is not None or newest is None:
        return running
    return Rebuild(DocumentKey(newest + 1), in_place=True)


def after_step(running: Rebuild, indexed: Sequence[DocumentKey], limit: int) -> Rebuild | None:
    """The state after a step that indexed these, the newest ``limit`` of what was left; None: it is complete."""
    return replace(running, below=min(indexed)) if len(indexed) >= limit else None


INDEX = "keywords.index"
"""The setting that names the engine and the version of the terms of what is indexed."""
BUILDING = "keywords.building"
"""The setting with the state of a rebuild (``indexing.rebuild``)."""
REPAIR = "keywords.repair"
"""The setting with the number of the last request for a repair; absent or empty where nothing is known to be
missing."""
STEP_DOCUMENTS = 50
"""Documents that are indexed in one unit of work."""
STEP_SECONDS = 0.5
"""Seconds of this, about, before the background worker does something else."""
_CLAIM = b"keywords.building"
_MAX_KEY = 2**62
_MIN_KEY = DocumentKey(0)
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
        self._statistics = PlannerStatistics(store)
        self._step_lock = Lock()
        """Held in ``go_on``, which alone uses the three that follow."""
        self._answered_repair: str | None = None
        """The request for a repair that was answered last; None before the first comparison."""
        self._current_repair = ""
        """The request that is being answered, ..."""
        self._checked_to = _MIN_KEY
        """... and the document up to which that is done."""
        self._is_complete = False

    def begin(self) -> None:
        """Clear an index of another engine or version, to be built anew. To be called before anything is written."""
        with self._store.read() as view:
            if view.setting(INDEX) == self._wanted:
                self._update_state(view)
                return

        def work(tx: Transaction) -> None:
            if tx.setting(INDEX) == self._wanted:  # Another process on the same store was quicker.
                return
            for engine in (self._keywords, *self._others):
                engine.clear(tx)
            newest = _newest_document(tx)
            tx.set_setting(INDEX, self._wanted)
            _save_rebuild(tx, None if newest is None else Rebuild(DocumentKey(newest + 1), in_place=False))

        self._store.write(work)
        self.refresh()

    def request_rebuild(self) -> None:
        """Ask for a rebuild of everything, or join the one that runs. The leader does it."""

        def work(tx: Transaction) -> None:
            tx.claim(_CLAIM)
            _save_rebuild(tx, after_request(parse_rebuild(tx.setting(BUILDING)), _newest_document(tx)))

        self._store.write(work)

    def request_repair(self) -> None:
        """Ask for a comparison with the store, and for what is missing to be indexed. The leader does it."""
        self._store.write(_request_repair)
        self.refresh()

    def run_step(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Index some more; to be called about once a second, by the leader."""
        with self._step_lock:
            began = self._clock.monotonic()
            while self._clock.monotonic() - began < STEP_SECONDS and not stopping():
                if not self._step():
                    self._statistics.load_ended()
                    break
        self.refresh()

    def refresh(self) -> None:
        """See what there is to be done, as others, or the leader, have left it."""
        with self._store.read() as view:
            self._update_state(view)

    @property
    def remaining(self) -> int:
        """Documents that are still to be indexed, or to be indexed anew."""
        with self._store.read() as view:
            state = _read_state(view)
            left = set[DocumentKey]()
            if state.rebuild is not None:
                left.update(view.keys_below(state.rebuild.below, _MAX_KEY))
            if state.repair:
                left.update(self._keywords.unindexed_documents(view, _MIN_KEY, _MAX_KEY))
        return len(left)

    @property
    def is_complete(self) -> bool:
        """Whether keywords find everything in what is read from now on."""
        return self._is_complete

    def missing_count(self, view: View) -> int:
        """How many documents keywords do not find, or not by all of their words, although nothing is being built."""
        rebuild = _read_state(view).rebuild
        if rebuild is not None and not rebuild.in_place:
            return 0
        return len(self._keywords.unindexed_documents(view, _MIN_KEY, _MAX_KEY))

    # steps

    def _update_state(self, view: View) -> None:
        self._is_complete = _read_state(view).is_complete

    def _step(self) -> bool:
        """Whether there may be more to do."""
        with self._store.read() as view:
            state = _read_state(view)
            if state.rebuild is None and state.repair == self._answered_repair:
                return False
            if state.repair != self._current_repair:
                self._current_repair, self._checked_to = state.repair, _MIN_KEY
            if state.rebuild is not None:
                keys = view.keys_below(state.rebuild.below, STEP_DOCUMENTS)
            else:
                keys = self._keywords.unindexed_documents(view, self._checked_to, STEP_DOCUMENTS)
            self._index_writer.precompute_entries(view, _existing(view, keys))
        if state.rebuild is not None:
            self._rebuild(state.rebuild, keys)
        elif keys:
            self._index_missing(keys)
        else:
            return self._finish_repair()
        return True

    def _rebuild(self, rebuild: Rebuild, keys: Sequence[DocumentKey]) -> None:
        def work(tx: Transaction) -> bool:
            tx.claim(_CLAIM)
            if parse_rebuild(tx.setting(BUILDING)) != rebuild:  # Another process was quicker.
                return False
            there = _existing(tx, keys)
            if rebuild.in_place:
                self._keywords.remove(tx, [chunk.key for stored in there for chunk in tx.chunks(stored.key)])
            self._index_writer.index_all(tx, there)
            _save_rebuild(tx, after_step(rebuild, keys, STEP_DOCUMENTS))
            return True

        if self._store.write(work):
            self._statistics.rows_written(len(keys))
            self._answered_repair = None

    def _index_missing(self, keys: Sequence[DocumentKey]) -> None:
        def work(tx: Transaction) -> bool:
            """Whether it was the first to notice that something is missing."""
            tx.claim(_CLAIM)
            is_first = not tx.setting(REPAIR)
            if is_first:
                _request_repair(tx)
            self._index_writer.index_all(tx, _existing(tx, keys))
            return is_first

        if self._store.write(work):
            self._current_repair = _FIRST_REQUEST
        self._statistics.rows_written(len(keys))
        self._checked_to = keys[-1]

    def _finish_repair(self) -> bool:
        """Whether there may be more: strays are let go of at the end, then nothing is left of the repair, but for what
        cannot be indexed."""
        with self._store.read() as view:
            strays = self._keywords.orphaned_chunks(view, STEP_DOCUMENTS)
            asked = _read_state(view).repair
            is_sound = not asked or not self._keywords.unindexed_documents(view, _MIN_KEY, 1)
        if strays:
            self._store.write(lambda tx: self._keywords.forget(tx, strays))
            return True
        if asked and is_sound:
            self._store.write(lambda tx: tx.set_setting(REPAIR, "") if tx.setting(REPAIR) == asked else None)
        self._answered_repair, self._checked_to = "" if is_sound else asked, _MIN_KEY
        return False


def _read_state(view: View) -> _State:
    return _State(parse_rebuild(view.setting(BUILDING)), view.setting(REPAIR) or "")


def _save_rebuild(tx: Transaction, rebuild: Rebuild | None) -> None:
    tx.set_setting(BUILDING, "" if rebuild is None else rebuild.text)


def _request_repair(tx: Transaction) -> None:
    tx.claim(_CLAIM)
    known = tx.setting(REPAIR)
    tx.set_setting(REPAIR, str(int(known) + 1) if known else _FIRST_REQUEST)


def _newest_document(view: View) -> DocumentKey | None:
    return next(iter(view.keys_below(DocumentKey(_MAX_KEY), 1)), None)


def _existing(view: View, keys: Sequence[DocumentKey]) -> list[Stored]:
    return [Stored(key, memory) for key, memory in view.memories_of(keys, EVERYTHING).items()]
