"""Reads memories by id, their history, and pages of memories."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hivelore.changes.journal import last_known_state
from hivelore.changes.model import BatchFilter
from hivelore.core.access import memory_for_viewer, visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import LEAST_PREFIX, id_made_at, resolve_id, shortest_prefix
from hivelore.core.paging import cut_page
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.embeddings.active_model import ActiveModel
from hivelore.errors import Invalid, NotFound
from hivelore.feedback.recall_log import WriteBehindBuffer
from hivelore.memories.diff import difference
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.service import memory_not_found
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.temporal import adjacent_facts
from hivelore.observations.naming import Naming
from hivelore.search.model import (
    Difference,
    Filter,
    History,
    MemoryPage,
    ScopeChoice,
    Snippet,
    Stats,
    UndoneChange,
    Visibility,
)
from hivelore.search.snippets import make_snippet, memories_as_of
from hivelore.storage.ports import MemoryStore, View

_AUDIT_LIMIT = 1_000
"""Maximum audit entries read for one memory."""
_SIMILAR = 50
"""Ids with a common beginning that are read at a time."""


class MemoryReader:
    def __init__(
        self,
        *,
        store: MemoryStore,
        active_model: ActiveModel,
        lead_sees: LeadSees,
        naming: Naming,
        write_buffer: WriteBehindBuffer,
        clock: Clock,
    ) -> None:
        self._store = store
        self._active_model = active_model
        self._lead_sees = lead_sees
        self._naming = naming
        self._write_buffer = write_buffer
        self._clock = clock

    def now(self) -> datetime:
        return self._clock.now()

    def get(self, memory: MemoryId, viewer: Viewer, as_of: datetime | None = None) -> Memory:
        """Returns one memory by id, including expired and superseded ones. A read by an agent counts as an access
        (A25).

        ``as_of``: returns the state at that instant; raises NotFound if the memory was not valid then.
        """
        with self._store.read(sees=self._visibility(viewer)) as view:
            key, found = self._get_visible(view, memory, viewer)
            if as_of is not None:
                if not found.held_at(as_of):
                    raise _not_valid_at(found, as_of)
                (found,) = memories_as_of(view, [found], as_of)
        self._write_buffer.note_opened(key, memory, viewer, self._clock.now())
        return memory_for_viewer(viewer, found)

    def resolve(self, text: str, viewer: Viewer, *, or_deleted: bool = False) -> MemoryId:
        """Returns the id that a caller means: the whole id, or at least eight characters of its beginning. Raises
        Invalid if several visible memories begin with them. ``or_deleted``: if no memory does, also finds deleted ones
        that the journal still has."""
        seen = self._visibility(viewer)

        def find_ids(prefix: str, limit: int) -> Sequence[MemoryId]:
            with self._store.read(sees=seen) as view:
                found = view.ids_from(prefix, Filter(visibility=seen), limit)
                return found if found or not or_deleted else _deleted_ids(view, prefix, seen, limit)

        return MemoryId(resolve_id(text, find_ids, "memory"))

    def short_ids(self, memories: Iterable[MemoryId], viewer: Viewer) -> Mapping[MemoryId, str]:
        """Returns the shortest beginning of each id that means no other memory to this viewer, not even one that is
        stored later."""
        where, soon = self.widest_filter(viewer), id_made_at(self._clock.now())
        with self._store.read(sees=where.visibility) as view:
            return {one: _short_id(view, one, where, soon) for one in memories}

    def chunks(self, memory: MemoryId, viewer: Viewer) -> list[Snippet]:
        """Returns the chunks of a memory in order (A20)."""
        with self._store.read(sees=self._visibility(viewer)) as view:
            key, found = self._get_visible(view, memory, viewer)
            chunks = view.chunks(key)
        return [make_snippet(found, one.chunk, one.chunk.start, one.chunk.stop, len(chunks)) for one in chunks]

    def history(self, memory: MemoryId, viewer: Viewer) -> History:
        """Returns every version, oldest first, with the predecessor and successors."""
        with self._store.read(sees=self._visibility(viewer)) as view:
            key, found = self._get_visible(view, memory, viewer)
            _, newer = adjacent_facts(view, Stored(key, found))
            after = {one.memory.id: one.memory for one in (*view.successors_of(found.id), *((newer,) if newer else ()))}
            seen = self._visibility(viewer)
            linked = view.links_of([key])
            others = view.memories_of(
                {one.source for one in linked} | {one.target for one in linked}, Filter(visibility=seen)
            )
            return History(
                versions=tuple(view.history(key)),
                supersedes=found.supersedes,
                superseded_by=tuple(one.id for one in after.values() if seen.admits(one.owner, one.scope)),
                taken_back=_undo_entries(view, found.id),
                links=tuple(one.link for one in linked if one.source in others and one.target in others),
            )

    def difference(
        self, memory: MemoryId, viewer: Viewer, older: int | None = None, newer: int | None = None
    ) -> Difference:
        """Returns the difference between two versions. Default: the current version and the one before it."""
        versions = {one.number: one for one in self.history(memory, viewer).versions}
        last = max(versions) if newer is None else newer
        first = max((one for one in versions if one < last), default=last) if older is None else older
        for number, field in ((first, "from"), (last, "to")):
            if number not in versions:
                raise Invalid(
                    f"{field} is {min(versions)} to {max(versions)}, a version of this memory, not {number}.",
                    field=field,
                )
        return difference(versions[first], versions[last])

    def page(
        self,
        where: Filter,
        after: tuple[datetime, MemoryId] | None,
        limit: int,
        viewer: Viewer,
        category: Clean | None = None,
    ) -> MemoryPage:
        """Returns a page of the memories that the filter admits, in the state at ``held_at`` if set. Callers narrow
        ``widest_filter``, so the filter respects the viewer's visibility. ``category``: only memories of this category,
        in any spelling."""
        with self._store.read(sees=self._visibility(viewer)) as view:
            if category is not None:
                where = replace(where, categories=self._naming.categories_like(category, view.categories()))
            found = view.page(where, after, limit + 1)
            if where.held_at is not None:
                found = memories_as_of(view, found, where.held_at)
        found, cursor = cut_page(found, limit, lambda memory: (memory.created_at, memory.id))
        page = tuple(memory_for_viewer(viewer, one) for one in found)
        self._write_buffer.note_reads(page, viewer, self._clock.now())
        return MemoryPage(memories=page, next=cursor)

    def widest_filter(self, viewer: Viewer, scope: ScopeChoice = ScopeChoice.ALL) -> Filter:
        """Returns the widest filter this viewer may use."""
        return Filter(visibility=visible_to(viewer, self._lead_sees, scope))

    def stats(self, viewer: Viewer, where: Filter | None = None) -> Stats:
        now = self._clock.now()
        with self._store.read(sees=self._visibility(viewer)) as view:
            model = self._active_model.wanted_model(view)
            return view.stats(where or self.widest_filter(viewer), model, now)

    # steps

    def _visibility(self, viewer: Viewer) -> Visibility:
        return visible_to(viewer, self._lead_sees)

    def _get_visible(self, view: View, memory: MemoryId, viewer: Viewer) -> tuple[DocumentKey, Memory]:
        stored = view.get(memory)
        seen = self._visibility(viewer)
        if stored is None or not seen.admits(stored.memory.owner, stored.memory.scope):
            raise memory_not_found(memory)
        self._write_buffer.note_reads([stored.memory], viewer, self._clock.now())
        return stored.key, stored.memory


def _deleted_ids(view: View, prefix: str, seen: Visibility, limit: int) -> list[MemoryId]:
    changed = view.changed_ids_from(prefix, BatchFilter(seen=seen), limit)
    last_known = ((memory, last_known_state(view, memory)) for memory in changed)
    return [
        memory
        for memory, was in last_known
        if was is not None and seen.admits(was.memory.owner, was.memory.scope) and view.get(memory) is None
    ]


def _not_valid_at(memory: Memory, at: datetime) -> NotFound:
    ended = "" if memory.valid_until is None else f" until {memory.valid_until.isoformat()}"
    return NotFound(
        f"Memory {memory.id} was not valid at {at.isoformat()}, but from {memory.holds_since.isoformat()}{ended}. "
        "Omit as_of, or read its history for predecessors and successors."
    )


def _short_id(view: View, memory: MemoryId, where: Filter, soon: str) -> str:
    """Returns the shortest beginning of an id that no other admitted id shares. ``soon``: see ``id_made_at``."""
    length = LEAST_PREFIX
    while len(found := view.ids_from(memory[:length], where, _SIMILAR)) == _SIMILAR and length < len(memory):
        length += 4  # Ids that were made in bulk share more.
    return shortest_prefix(memory, (soon, *found), length)


def _undo_entries(view: View, memory: MemoryId) -> tuple[UndoneChange, ...]:
    entries = view.audit(_AUDIT_LIMIT, memory)
    undone = [one for one in entries if one.action is Action.UNDONE]
    return tuple(
        UndoneChange(at=one.at, actor=one.actor, interface=one.interface, change=one.detail or "") for one in undone
    )
