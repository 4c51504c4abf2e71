"""The reference keyword engine: SQLite's FTS5, fed with ready-made terms (``policies.terms``)."""

from collections.abc import Sequence

from hivelore.adapters.sql.where import condition
from hivelore.adapters.sqlite.transaction import SqliteTransaction
from hivelore.adapters.sqlite.view import SQL, SqliteView
from hivelore.domain.index import Candidate, ChunkKey, DocumentKey, KeywordEntry
from hivelore.domain.search import Filter
from hivelore.ports import Transaction, View

_WIDENING = 4


class Fts5:
    """BM25 over the columns own (1.0), context (0.5) and header (1.0) of a SQLite store."""

    name = "fts5"

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        unit = _transaction(tx)
        for entry in entries:
            columns = {"own": " ".join(entry.own), "context": " ".join(entry.context), "header": " ".join(entry.header)}
            unit.run("keyword_put", {"chunk": entry.chunk, **columns})

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        unit = _transaction(tx)
        for chunk in chunks:
            unit.run("keyword_delete", {"chunk": chunk})

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Sequence[Candidate]:
        if not terms or limit < 1:
            return []
        match = " OR ".join(_quoted(term) for term in terms)
        sql, params = condition(where)
        statement = SQL["keyword_search"].replace("{where}", sql)
        asked = limit
        while True:
            found = _view(view).rows(statement, {**params, "terms": match, "limit": asked})
            best: dict[DocumentKey, Candidate] = {}
            for document, chunk, score in found:
                best.setdefault(document, Candidate(document, chunk, score))
            if len(best) >= limit or len(found) < asked:
                return list(best.values())[:limit]
            # A long document took several places: ask deeper until enough documents are there.
            asked *= _WIDENING


def _quoted(term: str) -> str:
    """A term as a string of the query language: nothing in it is an operator."""
    return '"' + term.replace('"', '""') + '"'


def _view(view: View) -> SqliteView:
    if not isinstance(view, SqliteView):
        raise TypeError("FTS5 searches views of a SQLite store only")
    return view


def _transaction(tx: Transaction) -> SqliteTransaction:
    if not isinstance(tx, SqliteTransaction):
        raise TypeError("FTS5 writes through transactions of a SQLite store only")
    return tx
