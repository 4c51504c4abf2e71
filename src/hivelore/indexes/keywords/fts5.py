"""The reference keyword engine: SQLite's FTS5, fed with ready-made terms (``search.tokenizer``).

A deleted row leaves its words in its segment until that segment is merged. So purging merges all segments, and reads
their state from the structure record of FTS5 (``fts5_index.c``): four bytes of cookie, four bytes for the version with
tombstones, then varints.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from hivelore.errors import Broken
from hivelore.indexing.model import Candidate, Candidates, KeywordEntry
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.search.model import Filter
from hivelore.search.tokenizer import rarity
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.storage.sql.statements import condition
from hivelore.storage.sqlite.connection import SQL, SqliteTransaction, SqliteView

_HEAD = 4
_WITH_TOMBSTONES = b"\xff\x00\x00\x01"
_COUNTED = 3
"""Numbers before the first level: levels, segments and writes."""
_PER_SEGMENT = 8
_TOMBSTONE_PAGES = 5
"""The position of this number among those of a segment."""


@dataclass(frozen=True, slots=True)
class Level:
    segments: int
    merging: int
    """The number of oldest segments that a running merge reads."""
    tombstones: bool
    """True if a segment holds words of deleted rows."""


@dataclass(frozen=True, slots=True)
class Segments:
    levels: tuple[Level, ...]

    @property
    def are_clean(self) -> bool:
        return not any(level.tombstones for level in self.levels)

    @property
    def oldest_are_merging(self) -> bool:
        """True while the segments that a full merge started with are still being read."""
        used = [place for place, level in enumerate(self.levels) if level.segments]
        return bool(used) and used[-1] > 0 and self.levels[used[-1] - 1].merging > 0

    @property
    def all_are_merging(self) -> bool:
        """True if a running merge reads everything except its own output; no other merge can start before its end."""
        total = sum(level.segments for level in self.levels)
        return any(level.merging and level.merging == level.segments == total - 1 for level in self.levels)


def read_segments(record: bytes) -> Segments:
    """Parses a structure record. Raises Broken for an unknown format."""
    if record[_HEAD : 2 * _HEAD] != _WITH_TOMBSTONES:
        raise Broken("The keyword index has an unknown format. Restore a backup.")
    numbers = _varints(record[2 * _HEAD :])
    count, *_ = [next(numbers) for _ in range(_COUNTED)]
    levels: list[Level] = []
    for _ in range(count):
        merging, segments = next(numbers), next(numbers)
        pages = [[next(numbers) for _ in range(_PER_SEGMENT)][_TOMBSTONE_PAGES] for _ in range(segments)]
        levels.append(Level(segments, merging, any(pages)))
    return Segments(tuple(levels))


def _varints(data: bytes) -> Iterator[int]:
    """Yields SQLite varints: seven bits per byte, highest first; a ninth byte has eight bits."""
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
"""Factor of candidates to results that is enough for most filters and long documents."""
_PURGING = "fts5.wiping"
"""The setting with the state of purging; empty or absent if there is nothing to purge."""
_ASKED, _BEGUN = "asked", "begun"
PAGES = 16
"""Approximate pages that one purge step writes: at 100,000 chunks 2 ms each, 1.7 s in total. A step ends between two
terms, so a frequent term makes it longer: 1 in 100 steps took 12 ms, the longest 24."""


class Fts5:
    """BM25 over the columns own (1.0), context (0.5) and header (1.0) of a SQLite store."""

    name = "fts5"

    def __init__(self, pages: int = PAGES) -> None:
        """``pages`` is the size of one purge step."""
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
        tx.set_setting(_PURGING, _ASKED)

    def is_purged(self, view: View) -> bool:
        return not view.setting(_PURGING)

    def purge_step(self, tx: Transaction) -> None:
        """Merges all segments into one. Once a merge that began after the last ``forget`` has ended, no deleted
        words are left."""
        unit = _transaction(tx)
        stage = unit.setting(_PURGING)
        if not stage:
            return
        now = read_segments(unit.row("keyword_segments")[0])
        if stage == _ASKED and not now.are_clean:
            if now.all_are_merging:
                # This merge may have copied the words already, so it must end first.
                self._merge(unit, self._pages)
            else:
                self._merge(unit, -self._pages)
                unit.set_setting(_PURGING, _BEGUN)
        elif stage == _BEGUN and now.oldest_are_merging:
            if not self._merge(unit, self._pages):
                # FTS5 abandons a merge of fewer segments than were added since, so a full merge starts again. That can
                # happen at most twice, before FTS5 merges the new segments automatically.
                self._merge(unit, -self._pages)
        else:
            unit.set_setting(_PURGING, "")

    def compact(self, store: MemoryStore) -> bool:
        """Does nothing: FTS5 merges when rows are written."""
        del store
        return False

    def clear(self, tx: Transaction) -> None:
        unit = _transaction(tx)
        unit.run("keyword_clear", {})
        unit.set_setting(_PURGING, "")

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        found = _view(view).rows(SQL["keyword_missing"], {"after": after, "limit": limit})
        return [DocumentKey(row[0]) for row in found]

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        return [ChunkKey(row[0]) for row in _view(view).rows(SQL["keyword_strays"], {"limit": limit})]

    def load(self, view: View) -> None:
        """Does nothing: SQLite reads what it needs at each search."""

    @staticmethod
    def _merge(unit: SqliteTransaction, pages: int) -> bool:
        """Continues merging; a negative number starts a full merge. Returns False if there was nothing to do."""
        before = unit.total_changes()
        unit.run("keyword_merge", {"pages": pages})
        return unit.total_changes() - before > 1  # the command itself counts as one

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        if not terms or limit < 1:
            return Candidates.of(())
        snapshot, rarities = _view(view), self.rarities(view, terms)
        sql, params = condition(where)
        params = {**params, "terms": " OR ".join(_quoted(term) for term in terms)}
        # Looking up the memory of a chunk is expensive, so the first attempt filters only the best chunks.
        statement = SQL["keyword_best"].replace("{where}", sql)
        ((found,),) = snapshot.rows(statement, {**params, "limit": _GENEROUS * limit})
        best = _by_document(orjson.loads(found))
        if len(best) >= limit:
            return Candidates.of(best[:limit], rarities)
        statement = SQL["keyword_search"].replace("{where}", sql)
        asked = limit
        while True:
            found = snapshot.rows(statement, {**params, "limit": asked})
            best = _by_document(found)
            if len(best) >= limit or len(found) < asked:
                return Candidates.of(best[:limit], rarities)
            # A long document took several places: search deeper until there are enough documents.
            asked *= _WIDENING

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        snapshot = _view(view)
        counts = {term: snapshot.row("keyword_having", term=_quoted(term))[0] for term in terms}
        # FTS5 counts the rows of a transaction when it commits.
        chunks = max(_row_count(snapshot.row("keyword_averages")[0]), *counts.values(), 0)
        return {term: rarity(chunks, count) for term, count in counts.items()}


def _by_document(found: Sequence[tuple[DocumentKey, ChunkKey, float]]) -> list[Candidate]:
    """Returns the first chunk of each document, in order."""
    best: dict[DocumentKey, Candidate] = {}
    for document, chunk, score in found:
        if document not in best:
            best[document] = Candidate(document, chunk, score)
    return list(best.values())


def _row_count(record: bytes) -> int:
    """Returns the number of indexed rows, the first varint of the averages record (``fts5_storage.c``)."""
    count = 0
    for byte in record:
        count = count << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return count


def _quoted(term: str) -> str:
    """Quotes a term for the query language, so that it contains no operators."""
    return '"' + term.replace('"', '""') + '"'


def _view(view: View) -> SqliteView:
    if not isinstance(view, SqliteView):
        raise TypeError("FTS5 searches views of a SQLite store only")
    return view


def _transaction(tx: Transaction) -> SqliteTransaction:
    if not isinstance(tx, SqliteTransaction):
        raise TypeError("FTS5 writes through transactions of a SQLite store only")
    return tx
