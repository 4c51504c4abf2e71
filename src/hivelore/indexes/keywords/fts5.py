"""What FTS5 notes about its segments: which hold words of removed rows, and which are being merged.

The format is that of the structure record in ``fts5_index.c``: four bytes of cookie, four that name the
version which knows of tombstones, then varints.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from hivelore.errors import Broken
from hivelore.indexing.model import Candidate, Candidates, ChunkKey, DocumentKey, KeywordEntry
from hivelore.search.model import Filter
from hivelore.search.tokenizer import rarity
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.storage.sql.filters import condition
from hivelore.storage.sqlite.view import SQL, SqliteTransaction, SqliteView

_HEAD = 4
_WITH_TOMBSTONES = b"\xff\x00\x00\x01"
_COUNTED = 3
"""Levels, segments and writes, before the first level."""
_PER_SEGMENT = 8
_TOMBSTONE_PAGES = 5
"""The place of this number among those of a segment."""


@dataclass(frozen=True, slots=True)
class Level:
    segments: int
    merging: int
    """How many of them, the oldest ones, a merge that is under way reads."""
    tombstones: bool
    """Whether one holds words of removed rows."""


@dataclass(frozen=True, slots=True)
class Segments:
    levels: tuple[Level, ...]

    @property
    def are_clean(self) -> bool:
        return not any(level.tombstones for level in self.levels)

    @property
    def oldest_are_merging(self) -> bool:
        """Whether what a merge of all segments began with is still being read."""
        used = [place for place, level in enumerate(self.levels) if level.segments]
        return bool(used) and used[-1] > 0 and self.levels[used[-1] - 1].merging > 0

    @property
    def all_are_merging(self) -> bool:
        """Whether a merge under way reads everything but what it has written: no other can begin before its end."""
        total = sum(level.segments for level in self.levels)
        return any(level.merging and level.merging == level.segments == total - 1 for level in self.levels)


def read_segments(record: bytes) -> Segments:
    """The segments of a structure record. Raises Broken where it is none that this code knows."""
    if record[_HEAD : 2 * _HEAD] != _WITH_TOMBSTONES:
        raise Broken("The keyword index is of a kind that this Hivelore does not know. Restore a backup.")
    numbers = _varints(record[2 * _HEAD :])
    count, *_ = [next(numbers) for _ in range(_COUNTED)]
    levels: list[Level] = []
    for _ in range(count):
        merging, segments = next(numbers), next(numbers)
        pages = [[next(numbers) for _ in range(_PER_SEGMENT)][_TOMBSTONE_PAGES] for _ in range(segments)]
        levels.append(Level(segments, merging, any(pages)))
    return Segments(tuple(levels))


def _varints(data: bytes) -> Iterator[int]:
    """SQLite's: seven bits a byte, the highest first; a ninth byte has eight."""
    value, length = 0, 0
    for byte in data:
        length += 1
        if length == 9:
            yield value << 8 | byte
        elif byte < 0x80:
            yield value << 7 | byte
        else:
            value = value << 7 | byte & 0x7F
            continue
        value, length = 0, 0


_WIDENING = 4
_GENEROUS = 2
"""Of so many times the wanted number, most filters and long documents leave enough."""
_WIPING = "fts5.wiping"
"""The setting that says how far wiping is: absent or empty where nothing is to be wiped."""
_ASKED, _BEGUN = "asked", "begun"
PAGES = 16
"""What one step of wiping writes, about: at 100,000 chunks 2 ms each, 1.7 s in all. A step ends between two terms, so
it is longer where it meets one that many chunks have: 1 in 100 took 12 ms, the longest 24."""


class Fts5:
    """BM25 over the columns own (1.0), context (0.5) and header (1.0) of a SQLite store."""

    name = "fts5"

    def __init__(self, pages: int = PAGES) -> None:
        """``pages``: how much one step of ``tidy`` does."""
        self._pages = pages

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        unit = _transaction(tx)
        for entry in entries:
            columns = {"own": " ".join(entry.own), "context": " ".join(entry.context), "header": " ".join(entry.header)}
            unit.run("keyword_put", {"chunk": entry.chunk, **columns})

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        unit = _transaction(tx)
        for chunk in chunks:
            unit.run("keyword_delete", {"chunk": chunk})

    def forget(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        self.remove(tx, chunks)
        tx.set_setting(_WIPING, _ASKED)

    def is_purged(self, view: View) -> bool:
        return not view.setting(_WIPING)

    def purge_step(self, tx: Transaction) -> None:
        """A row that is deleted leaves its words in the segment that holds it, until that is merged. So all segments
        are merged into one; once a merge that began after the last forgetting has ended, nothing is left."""
        unit = _transaction(tx)
        stage = unit.setting(_WIPING)
        if not stage:
            return
        now = read_segments(unit.row("keyword_segments")[0])
        if stage == _ASKED and not now.are_clean:
            if now.all_are_merging:
                # It may have copied the words already: it ends first.
                self._merge(unit, self._pages)
            else:
                self._merge(unit, -self._pages)
                unit.set_setting(_WIPING, _BEGUN)
        elif stage == _BEGUN and now.oldest_are_merging:
            if not self._merge(unit, self._pages):
                # FTS5 does not go on with a merge of fewer segments than came since: one of all begins again. That
                # is of more than can come before FTS5 merges those by itself, so it happens twice at the most.
                self._merge(unit, -self._pages)
        else:
            unit.set_setting(_WIPING, "")

    def compact(self, store: MemoryStore) -> bool:
        """FTS5 merges by itself, when something is written."""
        del store
        return False

    def clear(self, tx: Transaction) -> None:
        unit = _transaction(tx)
        unit.run("keyword_clear", {})
        unit.set_setting(_WIPING, "")

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        found = _view(view).rows(SQL["keyword_missing"], {"after": after, "limit": limit})
        return [DocumentKey(row[0]) for row in found]

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        return [ChunkKey(row[0]) for row in _view(view).rows(SQL["keyword_strays"], {"limit": limit})]

    def load(self, view: View) -> None:
        """SQLite reads what it needs at each search."""

    @staticmethod
    def _merge(unit: SqliteTransaction, pages: int) -> bool:
        """Go on merging; with a negative number begin to merge all segments. False where there was nothing to do."""
        before = unit.total_changes()
        unit.run("keyword_merge", {"pages": pages})
        return unit.total_changes() - before > 1  # the command itself counts as one

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        if not terms or limit < 1:
            return Candidates.of(())
        snapshot = _view(view)
        sql, params = condition(where)
        params = {**params, "terms": " OR ".join(_quoted(term) for term in terms)}
        # To look up whom a chunk belongs to is dear, so at first only the best are looked at, whoever's they are.
        statement = SQL["keyword_best"].replace("{where}", sql)
        ((found,),) = snapshot.rows(statement, {**params, "limit": _GENEROUS * limit})
        best = _by_document(orjson.loads(found))
        if len(best) >= limit:
            return Candidates.of(best[:limit])
        statement = SQL["keyword_search"].replace("{where}", sql)
        asked = limit
        while True:
            found = snapshot.rows(statement, {**params, "limit": asked})
            best = _by_document(found)
            if len(best) >= limit or len(found) < asked:
                return Candidates.of(best[:limit])
            # A long document took several places: ask deeper until enough documents are there.
            asked *= _WIDENING

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        snapshot = _view(view)
        chunks = _row_count(snapshot.row("keyword_averages")[0])
        return {term: rarity(chunks, snapshot.row("keyword_having", term=_quoted(term))[0]) for term in terms}


def _by_document(found: Sequence[tuple[DocumentKey, ChunkKey, float]]) -> list[Candidate]:
    """The first chunk of each document, in their order."""
    best: dict[DocumentKey, Candidate] = {}
    for document, chunk, score in found:
        if document not in best:
            best[document] = Candidate(document, chunk, score)
    return list(best.values())


def _row_count(record: bytes) -> int:
    """How many rows are indexed: the first number of the averages record (``fts5_storage.c``), a varint."""
    count = 0
    for byte in record:
        count = count << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return count


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
