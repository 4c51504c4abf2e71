"""Compares new and changed memories with their neighbours, in the background, and stores the verdicts as links (X23).

A memory is compared once per version and model, with the memories nearest to it in meaning and in words. It waits for
its vectors a while; without them it is compared with those that share its words. The links change no memory.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from datetime import datetime, timedelta

from hivelore.core.clock import Clock
from hivelore.core.supervisor import Report, ignore_report
from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.embeddings.active_model import ActiveModel
from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import Vector
from hivelore.links.comparer import Comparer
from hivelore.links.decisions import is_comparable, make_link, may_compare, stated_at
from hivelore.links.judge import READ_IN_FULL
from hivelore.links.model import LinkKind, StoredLink
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.search.model import EVERYTHING, Filter, Visibility
from hivelore.search.tokenizer import query_terms
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.ports import MemoryStore, Transaction, View

LEASE_NAME = "linking"
LEASE = timedelta(minutes=2)
"""Longer than comparing one memory takes."""
NEAREST, SHARING = 12, 4
"""Memories that one is compared with: those nearest in meaning, and those that share most of its words."""
READ_AT_MOST = 560
"""Estimated tokens that the model reads for one memory, about half a second: long memories are compared with fewer."""
LINKED = 20
"""Memories with a link that one is always compared with again, the latest judged ones."""
BATCH = 50
NEW = timedelta(hours=1)
"""Older memories, as in a store that was never compared, are compared half of the time, so that a core stays free."""
VECTORS_AWAITED = timedelta(minutes=5)
"""How long a memory waits for its vectors before it is compared by its words."""
REMEMBERED = 50_000
"""Pairs that this process compared, which it does not compare again."""
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 3_600.0
"""Seconds of pause after a failure of the model, multiplied by six for each further one in a row, and their limit."""

_Pair = tuple[DocumentKey, int, DocumentKey, int]
"""Two memories and their versions."""


class Linker:
    """Call ``run``, or ``step``, from one thread."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        keywords: KeywordIndex,
        active_model: ActiveModel,
        comparer: Comparer,
        leader_lease: LeaderLease,
        clock: Clock,
        linked: Callable[[Collection[DocumentKey]], None] = lambda _: None,
    ) -> None:
        """``leader_lease`` has the name ``LEASE_NAME``, so that no two processes compare the same memories. ``linked``
        is called with each memory that got links."""
        self._store = store
        self._keywords = keywords
        self._active_model = active_model
        self._comparer = comparer
        self._leader_lease = leader_lease
        self._clock = clock
        self._linked = linked
        self._compared: dict[_Pair, None] = {}
        self._seen = -1
        """Number of changes at the last time when nothing was left."""
        self._failed = 0

    def run(self, stop: threading.Event, idle: float, report: Report = ignore_report) -> None:
        """Runs until ``stop`` is set, pausing ``idle`` seconds when nothing is due. ``report`` receives the outcome of
        each round."""
        while not stop.is_set():
            try:
                done = self.step(stop)
                self._failed = 0
                report(None)
            except (Broken, Unavailable) as error:
                self._failed += 1
                done = False
                report(error)
            if not done:
                pause = FIRST_PAUSE * 6 ** (self._failed - 1) if self._failed else idle
                stop.wait(min(pause, LONGEST_PAUSE))
        with suppress(HiveloreError):  # The lease expires anyway.
            self._leader_lease.release_lease()

    def step(self, stop: threading.Event | None = None) -> bool:
        """Compares some memories. Returns False if none is left, or another process compares them. Raises Unavailable
        or Broken if the model or the store fails."""
        model = self._comparer.model
        if model is None or not self._leader_lease.is_leader():
            return False
        with self._store.read() as view:
            seen = view.change_cursor().number
            if seen == self._seen:
                return False
            keys = view.uncompared(model, BATCH)
            due = [key for key in keys if self._is_due(view, key)]
        for key in due:
            if stop is not None and stop.is_set():
                return False
            began = self._clock.monotonic()
            is_new = self._compare(key, model)
            self._leader_lease.is_leader()
            if stop is not None and not is_new:
                stop.wait(self._clock.monotonic() - began)
        if not keys:
            self._seen = seen
        return bool(due)

    def _is_due(self, view: View, key: DocumentKey) -> bool:
        """Returns False while a new memory waits for its vectors, or all memories wait for the vector index."""
        model = self._active_model.current
        if model is None or self._active_model.outage is not None:
            return True
        if not model.index.ready:
            return False
        stored = next(iter(view.memories_of([key], EVERYTHING).values()), None)
        if stored is None or self._clock.now() - stored.updated_at > VECTORS_AWAITED:
            return True
        return _first_vector(view, key, model.provider.fingerprint) is not None

    def _compare(self, key: DocumentKey, model: Clean) -> bool:
        """Compares one memory with its neighbours and stores the links. Returns False for one that is not new."""
        with self._store.read() as view:
            memory = view.memories_of([key], EVERYTHING).get(key)
            if memory is None:
                return True
            stored, dates = Stored(key, memory), dict[DocumentKey, datetime]()
            links = view.links_of([key])
            ends = dict.fromkeys(end for one in links for end in (one.source, one.target) if end != key)
            linked = list(ends)[:LINKED]
            others = list(self._candidates(view, stored, linked)) if is_comparable(memory) else []
            for one in (stored, *others):
                history = view.history(one.key) if one.memory.version > 1 else ()
                dates[one.key] = stated_at(one.memory, history)
        found, compared, known = list[StoredLink](), list[_Pair](), set[DocumentKey]()
        left = READ_AT_MOST
        for other in others:
            pair = _pair(stored, other)
            if pair in self._compared:
                known.add(other.key)
                continue
            left -= _length(stored) + _length(other)
            if left < 0 and compared and other.key not in linked:
                continue
            older, newer = sorted((stored, other), key=lambda one: (dates[one.key], one.memory.id))
            judged = self._comparer.read(older.memory.content, newer.memory.content)
            compared.append(pair)
            link = make_link(older.memory, newer.memory, judged, model, self._clock.now())
            if link is not None:
                found.append(StoredLink(newer.key, older.key, link))
        if self._store.write(lambda tx: _store_links(tx, stored, found, known, model)):
            self._remember(compared)
            if found:
                self._linked([stored.key])
        return self._clock.now() - memory.updated_at < NEW

    def _remember(self, compared: Sequence[_Pair]) -> None:
        self._compared |= dict.fromkeys(compared)
        while len(self._compared) > REMEMBERED:
            self._compared.pop(next(iter(self._compared)))

    def _candidates(self, view: View, stored: Stored, linked: Iterable[DocumentKey]) -> Iterator[Stored]:
        """Yields the ``linked`` memories, then others, nearest in meaning and in words in turns: long memories are
        compared with the first ones only."""
        memory = stored.memory
        where = Filter(
            visibility=Visibility(own=memory.home, swarm=memory.home is None),
            project=memory.project,
            live_at=self._clock.now(),
        )
        words = self._keywords.search(view, query_terms(memory.content), where, SHARING + 1)
        nearest = self._nearest(view, stored, where)
        in_turns = sorted([*enumerate(nearest), *enumerate(one.document for one in words)])
        keys = dict.fromkeys((*linked, *(key for _, key in in_turns)))
        keys.pop(stored.key, None)
        others = view.memories_of(list(keys), where)
        for key in keys:
            if key in others and may_compare(memory, others[key]):
                yield Stored(key, others[key])

    def _nearest(self, view: View, stored: Stored, where: Filter) -> Sequence[DocumentKey]:
        model = self._active_model.current
        if model is None or not model.index.ready:
            return ()
        model.index.follow(view)
        vector = _first_vector(view, stored.key, model.provider.fingerprint)
        if vector is None:
            return ()
        return [one.document for one in model.index.nearest(view, vector, where, NEAREST + 1).nearest]


def _length(stored: Stored) -> int:
    """Returns the estimated tokens of a memory that the model reads."""
    return min(estimate(stored.memory.content), READ_IN_FULL)


def _pair(one: Stored, other: Stored) -> _Pair:
    first, second = sorted((one, other), key=lambda each: each.key)
    return first.key, first.memory.version, second.key, second.memory.version


def _first_vector(view: View, key: DocumentKey, fingerprint: str) -> Vector | None:
    """Returns the vector of the first passage of a memory."""
    model = view.model_key(fingerprint)
    chunks = view.chunks(key)
    if model is None or not chunks or not chunks[0].passages:
        return None
    return view.vectors(model, chunks[0].passages[:1]).get(chunks[0].passages[0])


def _store_links(
    tx: Transaction, stored: Stored, found: Sequence[StoredLink], known: Set[DocumentKey], model: Clean
) -> bool:
    """Stores the links of a memory. Returns False if it was changed meanwhile. Earlier links that are not found again
    are deleted, except rejected ones and those to the ``known`` memories, which it was compared with before."""
    now = tx.get(stored.memory.id)
    if now is None or now.memory.version != stored.memory.version:
        return False
    confirmed = {(one.source, one.target, one.link.kind) for one in found}
    rejected, rejected_places = set[frozenset[DocumentKey]](), set[tuple[DocumentKey, DocumentKey, LinkKind]]()
    for one in tx.links_of([stored.key]):
        place = (one.source, one.target, one.link.kind)
        if not one.link.counts:
            rejected.add(frozenset((one.source, one.target)))
            rejected_places.add(place)
        elif place not in confirmed and known.isdisjoint((one.source, one.target)):
            tx.drop_link(*place)
    for one in found:
        is_same = one.link.kind is LinkKind.SAME_AS
        is_allowed = is_same or frozenset((one.source, one.target)) not in rejected
        if is_allowed and (one.source, one.target, one.link.kind) not in rejected_places:
            tx.put_link(one)
    tx.put_compared(stored.key, stored.memory.version, model)
    return True
