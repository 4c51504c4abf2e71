"""The store's own engine on SQLite: no copy in memory, every admitted vector is compared in SQL."""

import json
from collections.abc import Collection
from math import sqrt

from hivelore.adapters.sql.names import load
from hivelore.adapters.sql.where import condition
from hivelore.adapters.sqlite.view import SqliteView
from hivelore.adapters.vectors.cosines import DECIMALS, NOBODY, best_per_document, order, unit
from hivelore.adapters.vectors.direct import Direct
from hivelore.domain.index import ChunkKey, DocumentKey, Near, Neighbours, PassageKey, Vector
from hivelore.domain.search import Filter
from hivelore.policies.vectors import to_blob
from hivelore.ports import View

_SQL = load(("hivelore.adapters.vectors", "sqlite_vec.sql"))
_WIDENING = 4


class SqliteVecVectors(Direct):
    """Needs views of a SQLite store whose connections have sqlite-vec loaded. Takes time in step with the number of
    admitted passages, 2 to 3 ms per 1,000; for when ``ScanVectors`` would need more memory than it may have."""

    name = "sqlite-vec"

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        query = unit(query, self._dimension)
        model = view.model(self._fingerprint)
        if model is None:
            return NOBODY
        sql, params = condition(where)
        params |= {"model": model, "query": to_blob(query), "decimals": DECIMALS, "also": json.dumps(list(also))}
        statement = _SQL["nearest"].replace("{where}", sql)
        take = limit
        while True:
            rows = _sqlite(view).rows(statement, {**params, "take": take})
            if not rows:
                return NOBODY
            found = [Near(DocumentKey(d), ChunkKey(c), PassageKey(p), cosine) for d, c, p, cosine, *_ in rows]
            _, _, _, _, count, mean, square = rows[0]
            documents = {near.document for near in sorted(found, key=order)[:take]}
            # A long document took several places: ask deeper until enough documents are there.
            if len(documents) >= limit or take >= count:
                deviation = sqrt(max(square - mean * mean, 0.0))
                return Neighbours(best_per_document(found, limit, also), count, mean, deviation)
            take *= _WIDENING


def _sqlite(view: View) -> SqliteView:
    if not isinstance(view, SqliteView):
        raise TypeError("sqlite-vec searches views of a SQLite store only")
    return view
