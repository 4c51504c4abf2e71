"""Rebuilds and repairs the keyword index. The state is stored with the data.

Documents are indexed from the newest to the oldest, so one key is enough to store the progress.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Lock

from hivelore.core.clock import Clock
from hivelore.core.values import replace
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.search.model import EVERYTHING
from hivelore.search.tokenizer import TERMS_VERSION
from hivelore.storage.planner_statistics import PlannerStatistics
from hivelore.storage.ports import MemoryStore, Transaction, View

_IN_PLACE = "in-place "


@dataclass(frozen=True, slots=True)
class Rebuild:
    below: DocumentKey
    """Documents with smaller keys are not yet indexed."""
    in_place: bool
    """True if the remaining documents are still found by their previous entries; False if the index began empty."""

    @property
    def text(self) -> str:
        return f"{_IN_PLACE if self.in_place else ''}{self.below}"


def parse_rebuild(text: str | None) -> Rebuild | None:
    """Parses the setting; None if it is absent or empty."""
    if not text:
        return None
    return Rebuild(DocumentKey(int(text.removeprefix(_IN_PLACE))), text.startswith(_IN_PLACE))


def after_request(running: Rebuild | None, newest: DocumentKey | None) -> Rebuild | None:
    """Returns the state after a request: the running rebuild, else a new one. ``newest`` None: nothing to index."""
    if running is not None or newest is None:
        return running
    return Rebuild(DocumentKey(newest + 1), in_place=True)


def after_step(running: Rebuild, indexed: Sequence[DocumentKey], limit: int) -> Rebuild | None:
    """Returns the state after a step that indexed up to ``limit`` documents; None if the rebuild is complete."""
    return replace(running, below=min(indexed)) if len(indexed) >= limit else None


INDEX = "keywords.index"
"""Setting with the engine and the tokenizer version of the index."""
BUILDING = "keywords.building"
"""Setting with the state of a rebuild."""
REPAIR = "keywords.repair"
"""Setting with the number of the last repair request; absent or empty if none is open."""
STEP_DOCUMENTS = 50
"""Documents indexed per transaction."""
STEP_SECONDS = 0.5
"""Approximate duration of one ``run_step``."""
_CLAIM = b"keywords.building"
_MAX_KEY = 2**62
_MIN_KEY = DocumentKey(0)
_FIRST_REQUEST = "1"


@dataclass(frozen=True, slots=True)
class _State:
    """The state in one snapshot."""

    rebuild: Rebuild | None
    repair: str
    """Number of the open repair request; empty if there is none."""

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
        """``others``: engines that may have indexed this store before."""
        self._store = store
        self._keywords = keywords
        self._others = others
        self._index_writer = index_writer
        self._clock = clock
        self._wanted = f"{keywords.name} {TERMS_VERSION}"
        self._statistics = PlannerStatistics(store)
        self._step_lock = Lock()
        """Held by ``run_step``, the only user of the following three attributes."""
        self._answered_repair: str | None = None
        """The last completed repair request; None before the first comparison."""
        self._current_repair = ""
        """The repair request in progress ..."""
        self._checked_to = _MIN_KEY
        """... and the last document that it checked."""
        self._complete = Event()

    def is_complete(self) -> bool:
        """Returns True if keyword searches find everything from now on."""
        return self._complete.is_set()

    def begin(self) -> None:
        """Clears an index of another engine or version, to be rebuilt. Call before the first write."""
        with self._store.read() as view:
            if view.setting(INDEX) == self._wanted:
                self._update_state(view)
                return

        def start_rebuild(tx: Transaction) -> None:
            if tx.setting(INDEX) == self._wanted:  # Another process was faster.
                return
            for engine in (self._keywords, *self._others):
                engine.clear(tx)
            newest = _newest_document(tx)
            tx.set_setting(INDEX, self._wanted)
            _save_rebuild(tx, None if newest is None else Rebuild(DocumentKey(newest + 1), in_place=False))

        self._store.write(start_rebuild)
        self.refresh()

    def request_rebuild(self) -> None:
        """Requests a complete rebuild, or joins the running one. The leader performs it."""

        def save_request(tx: Transaction) -> None:
            tx.claim(_CLAIM)
            _save_rebuild(tx, after_request(parse_rebuild(tx.setting(BUILDING)), _newest_document(tx)))

        self._store.write(save_request)

    def request_repair(self) -> None:
        """Requests a comparison with the store to index missing documents. The leader performs it."""
        self._store.write(_request_repair)
        self.refresh()

    def run_step(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Indexes for a limited time. The leader calls this about once a second."""
        with self._step_lock:
            began = self._clock.monotonic()
            while self._clock.monotonic() - began < STEP_SECONDS and not stopping():
                if not self._step():
                    self._statistics.load_ended()
                    break
        self.refresh()

    def refresh(self) -> None:
        """Reads the state that other processes may have changed."""
        with self._store.read() as view:
            self._update_state(view)

    @property
    def remaining(self) -> int:
        """Number of documents still to be indexed."""
        with self._store.read() as view:
            state = _read_state(view)
            left = set[DocumentKey]()
            if state.rebuild is not None:
                left.update(view.keys_below(state.rebuild.below, _MAX_KEY))
            if state.repair:
                left.update(self._keywords.unindexed_documents(view, _MIN_KEY, _MAX_KEY))
        return len(left)

    def missing_count(self, view: View) -> int:
        """Returns how many documents lack entries in the index while it is not being built."""
        rebuild = _read_state(view).rebuild
        if rebuild is not None and not rebuild.in_place:
            return 0
        return len(self._keywords.unindexed_documents(view, _MIN_KEY, _MAX_KEY))

    # steps

    def _update_state(self, view: View) -> None:
        if _read_state(view).is_complete:
            self._complete.set()
        else:
            self._complete.clear()

    def _step(self) -> bool:
        """Returns True if there may be more to do."""
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
        def rebuild_batch(tx: Transaction) -> bool:
            tx.claim(_CLAIM)
            if parse_rebuild(tx.setting(BUILDING)) != rebuild:  # Another process was faster.
                return False
            there = _existing(tx, keys)
            if rebuild.in_place:
                self._keywords.remove(tx, [chunk.key for stored in there for chunk in tx.chunks(stored.key)])
            self._index_writer.index_all(tx, there)
            _save_rebuild(tx, after_step(rebuild, keys, STEP_DOCUMENTS))
            return True

        if self._store.write(rebuild_batch):
            self._statistics.rows_written(len(keys))
            self._answered_repair = None

    def _index_missing(self, keys: Sequence[DocumentKey]) -> None:
        def index_batch(tx: Transaction) -> bool:
            """Returns True for the first process to notice missing documents."""
            tx.claim(_CLAIM)
            is_first = not tx.setting(REPAIR)
            if is_first:
                _request_repair(tx)
            self._index_writer.index_all(tx, _existing(tx, keys))
            return is_first

        if self._store.write(index_batch):
            self._current_repair = _FIRST_REQUEST
        self._statistics.rows_written(len(keys))
        self._checked_to = keys[-1]

    def _finish_repair(self) -> bool:
        """Removes entries of deleted documents, then closes the repair request unless documents could not be indexed.
        Returns True if there may be more to do."""
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
