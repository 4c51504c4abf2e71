"""How the cosines of very many vectors lie, told from a sample of them that is kept for a while."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.vectors.brute_force import WIDENING, InDatabase, near_of
from hivelore.indexes.vectors.cosines import best_per_document, neighbours, spread, unit
from hivelore.indexing.model import DocumentKey, ModelKey, Neighbour, Neighbours, Vector
from hivelore.search.fusion import Spread
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, View
from hivelore.storage.sql.autocommit import Autocommit, HasAutocommit
from hivelore.storage.sql.filters import condition
from hivelore.storage.sql.view import SqlView

SIZE = 2_048
"""Vectors that tell a mean and a deviation: of cosines that deviate by 0.12 a mean to 0.003."""
WINDOWS = 1_024
"""Neighbouring passages are alike, as parts of one document are: so many places in all keys are looked at."""
LEAST_GROWTH, MOST_GROWTH = 2, 16
"""How much wider the windows get at a time where too few were found."""
KEPT_BYTES = 128_000_000
AGE = 10_000
"""So many transactions later a sample is drawn anew."""

Look = Callable[[Sequence[int], int], NDArray[np.float32]]
"""Those of the admitted vectors whose keys lie in windows: where each begins, and how many keys it holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    count: int
    """Of how many it is, about."""
    vectors: NDArray[np.float16]

    def spread(self, query: Vector) -> Spread:
        told = spread(self.vectors.astype(np.float32) @ query)
        return Spread(count=self.count, mean=told.mean, deviation=told.deviation)


def drawn(look: Look, first: int, last: int, size: int, least: int) -> Sample | None:
    """A sample of about ``size`` of the vectors with keys from ``first`` to ``last``, evenly over these; None where
    there are fewer than ``least`` of them."""
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
    """Those that were drawn last, by what they are of. For many threads."""

    def __init__(self, dimension: int, size: int = SIZE, age: int = AGE) -> None:
        self._age = age
        self._most = max(KEPT_BYTES // (2 * size * dimension), 1)
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[int, Sample | None]] = OrderedDict()

    def known(self, of: Hashable, number: int) -> tuple[Sample | None] | None:
        """What ``keep`` was told not long before or after the transaction ``number``; None: nothing."""
        with self._lock:
            drawn_at, sample = self._kept.get(of, (None, None))
            return None if drawn_at is None or abs(number - drawn_at) >= self._age else (sample,)

    def keep(self, of: Hashable, number: int, sample: Sample | None) -> None:
        """None: that there are too few for one."""
        with self._lock:
            self._kept[of] = number, sample
            self._kept.move_to_end(of)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


EXACT_BELOW = 20_000
"""So few passages are quicker compared all."""
EFFORT = 600
"""Candidates that the walk keeps at a time. Questions are unlike texts: with 100 it misses a sixth of the nearest."""
OVERSAMPLING = 4
"""So many times more are taken: what the walk finds first under a filter is not what is nearest."""
MOST_SCANNED = 100_000
"""Vectors that the walk passes at most before it ends with what it has found."""
MOST_TAKEN = 4_000
"""Where so many do not name enough documents, as where a long one hides all others, all vectors are compared."""
MEMORY = 8
"""So many times ``work_mem`` may be used to remember where the walk has been."""
MOST_DIMENSIONS = 4_000
"""What the index takes."""
_SETTINGS = {"effort": str(EFFORT), "most": str(MOST_SCANNED), "memory": str(MEMORY)}
_NAMES = {False: "pgvector", True: "pgvector, hnsw"}
BESIDE = 1_000
"""Bytes of an entry while the index is built, beside its vector."""
MOST_MEMORY = 1 << 20
"""For building, kilobytes, unless the server allows more by itself."""


class PgVectors(InDatabase):
    """Exact without the index; ``settle`` makes it, where this engine is what answers and there are enough vectors."""

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
                return neighbours(best_per_document(found, limit, also), sample.spread(query))
        return super().nearest(view, query, where, limit, also)

    def _is_indexed(self, snapshot: SqlView, model: ModelKey) -> bool:
        ((is_indexed,),) = snapshot.rows(self._sql["indexed"], {"index": _index_name(snapshot.namespace, model)})
        self.name = _NAMES[is_indexed]
        return is_indexed

    def _many(self, snapshot: SqlView, model: ModelKey, where: Filter) -> Sample | None:
        """A sample of what the filter admits; None where that is not much. It is kept for the next questions."""
        of, number = (model, _lasting(where)), snapshot.change_cursor().number
        known = self._samples.known(of, number)
        if known is not None:
            return known[0]
        with snapshot.unrestricted():
            sample = self._sampled(snapshot, model, where)
        self._samples.keep(of, number, sample)
        return sample

    def _sampled(self, snapshot: SqlView, model: ModelKey, where: Filter) -> Sample | None:
        """The server's planner tells within a millisecond where there is no need to look."""
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

        return drawn(look, first, last, self._sample_size, self._exact_below)

    def _walked(
        self,
        snapshot: SqlView,
        model: ModelKey,
        query: Vector,
        where: Filter,
        limit: int,
        also: Collection[DocumentKey],
    ) -> list[Neighbour] | None:
        """What the index finds, and what there is of ``also``; None where that is too little."""
        sql, params = condition(where)
        asked = {**params, "model": model, "query": snapshot.vector(query), "also": snapshot.array(also)}
        snapshot.rows(self._sql["settings"], _SETTINGS)
        take = OVERSAMPLING * limit
        while take <= MOST_TAKEN:
            statement = self._numbered("near", namespace=snapshot.namespace, model=model, take=take)
            rows = snapshot.rows(statement.replace("{where}", sql), asked)
            walked = [row for row in rows if row[-1]]
            if len({row[0] for row in walked}) >= limit:
                return [near_of(row) for row in rows]
            if len(walked) < take:
                return None
            take *= WIDENING
        return None

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        if not isinstance(store, HasAutocommit):
            raise TypeError(f"{self.name} needs a PostgreSQL store")
        with store.autocommit() as apart:
            ((is_ours,),) = apart.rows(self._sql["lock"])
            if not is_ours:  # Another service is at it.
                return False
            bad = apart.rows(self._sql["indexes"], {"names": f"^{_index_name(apart.namespace)}[0-9]+$"})
            for (index,) in bad:
                if not apart.run(self._numbered("drop", index=index), stopping):
                    return True
            made = self._answers and self._dimension <= MOST_DIMENSIONS and self._made(apart, stopping)
            return bool(bad) or made

    def _made(self, apart: Autocommit, stopping: Callable[[], bool]) -> bool:
        """Whether there was an index to make."""
        enough = max(self._exact_below, 1)
        asked = {"fingerprint": self._fingerprint, "enough": enough}
        for model, table, count in apart.rows(self._sql["wanted"], asked):
            index = _index_name(apart.namespace, model)
            if count >= enough and not apart.rows(self._sql["indexed"], {"index": index})[0][0]:
                ((count, allowed),) = apart.rows(self._sql["count"], {"model": model})
                # Where not all of it fits into memory, building takes many times longer. One process builds: several
                # need memory that they share, of which there is little in a container.
                wanted = count * (2 * self._dimension + BESIDE) >> 10
                apart.rows(f"SET maintenance_work_mem = {max(allowed, min(wanted, MOST_MEMORY))}")
                apart.rows("SET max_parallel_maintenance_workers = 0")
                apart.rows("SET statement_timeout = 0")
                make = self._numbered("make", index=index, table=table, namespace=apart.namespace, model=model)
                if apart.run(make, stopping):
                    apart.run(self._sql["learn"], stopping)
                return True
        return False

    def _numbered(self, name: str, **values: object) -> str:
        sql = self._sql[name]
        for key, value in {"dimension": self._dimension, **values}.items():
            sql = sql.replace(f"{{{key}}}", str(value))
        return sql


def _index_name(namespace: int, model: int | str = "") -> str:
    return f"vectors_near_{namespace}_{model}"


def _lasting(where: Filter) -> Filter:
    """The filter, of which what is alive is told to the hour: it is asked for as of now each time."""
    if where.live_at is None:
        return where
    return replace(where, live_at=where.live_at.replace(minute=0, second=0, microsecond=0))
