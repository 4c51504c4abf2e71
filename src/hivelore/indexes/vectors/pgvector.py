"""pgvector's engine. If a filter admits few vectors, all are compared. Otherwise the HNSW index of pgvector is scanned
until enough results pass the filter, and the distribution of cosines is estimated from a cached sample."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hivelore.core.values import replace
from hivelore.indexes.arrays import best_per_document, spread, unit
from hivelore.indexes.vectors.brute_force import WIDENING, InDatabase, read_neighbour
from hivelore.indexing.model import (
    ModelKey,
    Neighbour,
    Neighbours,
    Spread,
    Vector,
)
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, View
from hivelore.storage.sql.statements import Autocommit, HasAutocommit, condition
from hivelore.storage.sql.view import SqlView

SIZE = 2_048
"""Vectors in a sample. With a deviation of 0.12, the error of the mean is 0.003."""
WINDOWS = 1_024
"""Places in the range of keys that are sampled: neighbouring passages are alike, as parts of one document."""
LEAST_GROWTH, MOST_GROWTH = 2, 16
"""Factors by which windows are widened if too few vectors were found."""
KEPT_BYTES = 128_000_000
AGE = 10_000
"""Transactions after which a new sample is drawn."""

Look = Callable[[Sequence[int], int], NDArray[np.float32]]
"""Reads the admitted vectors in windows of keys, given the start of each window and their width."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    count: int
    """Approximate number of vectors that the sample stands for."""
    vectors: NDArray[np.float16]

    def spread(self, query: Vector) -> Spread:
        sampled = spread(self.vectors.astype(np.float32) @ query)
        return Spread(count=self.count, mean=sampled.mean, deviation=sampled.deviation)


def draw_sample(look: Look, first: int, last: int, size: int, least: int) -> Sample | None:
    """Draws about ``size`` of the vectors with keys from ``first`` to ``last``, evenly distributed. Returns None if
    there are fewer than ``least``."""
    step = ceil((last - first + 1) / WINDOWS)
    starts = range(first, last + 1, step)
    width = 1
    while True:
        found = look(starts, width)
        share = width / step
        count = len(found) / share
        if share >= 1.0 or len(found) >= size / 2:
            return Sample(round(count), found.astype(np.float16)) if count >= least else None
        if count + (2 * sqrt(len(found)) + 4) / share < least:
            return None
        growth = min(max(size / max(len(found), 1), LEAST_GROWTH), MOST_GROWTH)
        width = min(ceil(width * growth), step)


class Samples:
    """A thread-safe cache of the most recent samples."""

    def __init__(self, dimension: int, size: int = SIZE, age: int = AGE) -> None:
        self._age = age
        self._most = max(KEPT_BYTES // (2 * size * dimension), 1)
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[int, Sample | None]] = OrderedDict()

    def known(self, of: Hashable, number: int) -> tuple[Sample | None] | None:
        """Returns the sample stored near the transaction ``number``, as a tuple; None if there is none."""
        with self._lock:
            drawn_at, sample = self._kept.get(of, (None, None))
            return None if drawn_at is None or abs(number - drawn_at) >= self._age else (sample,)

    def keep(self, of: Hashable, number: int, sample: Sample | None) -> None:
        """Stores a sample; None means too few vectors for a sample."""
        with self._lock:
            self._kept[of] = number, sample
            self._kept.move_to_end(of)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


EXACT_BELOW = 20_000
"""Below this number of passages, comparing all of them is faster."""
EFFORT = 600
"""Candidates that the scan keeps (``ef_search``). Queries differ from texts: with 100 it misses a sixth of the
nearest."""
OVERSAMPLING = 4
"""Factor of candidates to results: under a filter, the first candidates of the scan are not the nearest."""
MOST_SCANNED = 100_000
"""Vectors that the scan visits at most."""
MOST_TAKEN = 4_000
"""If this many candidates have too few documents, as when a long one hides the others, all vectors are compared."""
MEMORY = 8
"""Multiple of ``work_mem`` that the scan may use."""
MOST_DIMENSIONS = 4_000
"""The limit of the index."""
_SETTINGS = {"effort": str(EFFORT), "most": str(MOST_SCANNED), "memory": str(MEMORY)}
_NAMES = {False: "pgvector", True: "pgvector, hnsw"}
ENTRY_OVERHEAD = 1_000
"""Bytes of an entry during the build, without its vector."""
MOST_MEMORY = 1 << 20
"""Kilobytes for a build, unless the server allows more."""


class PgVectors(InDatabase):
    """Exact without the index. ``maintain`` builds the index once this engine is in use and has enough vectors."""

    def __init__(
        self,
        fingerprint: str,
        dimension: int,
        *,
        exact_below: int = EXACT_BELOW,
        sample_size: int = SIZE,
        sample_age: int = AGE,
    ) -> None:
        super().__init__(fingerprint, dimension, name=_NAMES[False], file="pgvector.sql", dialect="postgres")
        self._exact_below = exact_below
        self._sample_size = sample_size
        self._samples = Samples(dimension, sample_size, sample_age)
        self._answers = False

    def build(self, view: View) -> bool:
        self.follow(view)
        return True

    def follow(self, view: View) -> None:
        del view
        self._answers = True

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        query = unit(query, self._dimension)
        snapshot, model = self._readable(view), view.model_key(self._fingerprint)
        if model is not None and self._is_indexed(snapshot, model):
            sample = self._many(snapshot, model, where)
            found = None if sample is None else self._walked(snapshot, model, query, where, limit, also)
            if sample is not None and found is not None:
                return Neighbours(best_per_document(found, limit, also), sample.spread(query))
        return super().nearest(view, query, where, limit, also)

    def _is_indexed(self, snapshot: SqlView, model: ModelKey) -> bool:
        ((is_indexed,),) = snapshot.rows(self._sql["indexed"], {"index": _index_name(snapshot.namespace, model)})
        self.name = _NAMES[is_indexed]
        return is_indexed

    def _many(self, snapshot: SqlView, model: ModelKey, where: Filter) -> Sample | None:
        """Returns a cached sample of the admitted vectors; None if the filter admits few."""
        of, number = (model, _cacheable(where)), snapshot.change_cursor().number
        known = self._samples.known(of, number)
        if known is not None:
            return known[0]
        with snapshot.unrestricted():
            sample = self._sampled(snapshot, model, where)
        self._samples.keep(of, number, sample)
        return sample

    def _sampled(self, snapshot: SqlView, model: ModelKey, where: Filter) -> Sample | None:
        """Draws a sample, unless the planner estimates within a millisecond that the filter admits few."""
        sql, params = condition(where)
        ((plan,),) = snapshot.rows(self._sql["estimate"].replace("{where}", sql), params)
        ((first, last),) = snapshot.rows(self._sql["ends"], {"model": model})
        if first is None or plan[0]["Plan"]["Plan Rows"] < self._exact_below:
            return None
        statement = self._sql["windows"].replace("{where}", sql)

        def look(starts: Collection[int], width: int) -> NDArray[np.float32]:
            more = {"model": model, "starts": snapshot.array(starts), "width": width}
            found = [blob for (blob,) in snapshot.rows(statement, {**params, **more})]
            return snapshot.floats(found) if found else np.empty((0, self._dimension), np.float32)

        return draw_sample(look, first, last, self._sample_size, self._exact_below)

    def _walked(
        self,
        snapshot: SqlView,
        model: ModelKey,
        query: Vector,
        where: Filter,
        limit: int,
        also: Collection[DocumentKey],
    ) -> list[Neighbour] | None:
        """Returns the results of the index and those for ``also``; None if the index finds too few documents."""
        sql, params = condition(where)
        asked = {**params, "model": model, "query": snapshot.vector(query), "also": snapshot.array(also)}
        snapshot.rows(self._sql["settings"], _SETTINGS)
        take = OVERSAMPLING * limit
        while take <= MOST_TAKEN:
            statement = self._numbered("near", namespace=snapshot.namespace, model=model, take=take)
            rows = snapshot.rows(statement.replace("{where}", sql), asked)
            walked = [row for row in rows if row[-1]]
            if len({row[0] for row in walked}) >= limit:
                return [read_neighbour(row) for row in rows]
            if len(walked) < take:
                return None
            take *= WIDENING
        return None

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        if not isinstance(store, HasAutocommit):
            raise TypeError(f"{self.name} needs a PostgreSQL store")
        with store.autocommit() as connection:
            ((is_ours,),) = connection.rows(self._sql["lock"])
            if not is_ours:  # Another service maintains the index.
                return False
            bad = connection.rows(self._sql["indexes"], {"names": f"^{_index_name(connection.namespace)}[0-9]+$"})
            for (index,) in bad:
                if not connection.run(self._numbered("drop", index=index), stopping):
                    return True
            made = self._answers and self._dimension <= MOST_DIMENSIONS and self._build_index(connection, stopping)
            return bool(bad) or made

    def _build_index(self, connection: Autocommit, stopping: Callable[[], bool]) -> bool:
        """Builds the index; returns False if none is needed."""
        enough = max(self._exact_below, 1)
        asked = {"fingerprint": self._fingerprint, "enough": enough}
        for model, table, count in connection.rows(self._sql["wanted"], asked):
            index = _index_name(connection.namespace, model)
            if count >= enough and not connection.rows(self._sql["indexed"], {"index": index})[0][0]:
                ((count, allowed),) = connection.rows(self._sql["count"], {"model": model})
                # A build that does not fit into memory takes many times longer. It uses one process, because parallel
                # ones need shared memory, of which containers have little.
                wanted = count * (2 * self._dimension + ENTRY_OVERHEAD) >> 10
                connection.rows(f"SET maintenance_work_mem = {max(allowed, min(wanted, MOST_MEMORY))}")
                connection.rows("SET max_parallel_maintenance_workers = 0")
                connection.rows("SET statement_timeout = 0")
                make = self._numbered("make", index=index, table=table, namespace=connection.namespace, model=model)
                if connection.run(make, stopping):
                    connection.run(self._sql["learn"], stopping)
                return True
        return False

    def _numbered(self, name: str, **values: object) -> str:
        sql = self._sql[name]
        for key, value in {"dimension": self._dimension, **values}.items():
            sql = sql.replace(f"{{{key}}}", str(value))
        return sql


def _index_name(namespace: int, model: int | str = "") -> str:
    return f"vectors_near_{namespace}_{model}"


def _cacheable(where: Filter) -> Filter:
    """Returns the filter with ``live_at`` rounded down to the hour, so that it can be a cache key."""
    if where.live_at is None:
        return where
    return replace(where, live_at=where.live_at.replace(minute=0, second=0, microsecond=0))
