"""Remembering: from a draft to a memory on the shelf, and every later change of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hivelore.domain.agent import AgentId, LeadSees, Role, Viewer
from hivelore.domain.audit import AuditEntry
from hivelore.domain.batch import BatchKind
from hivelore.domain.draft import Draft, Edit, Remembered
from hivelore.domain.index import Stored
from hivelore.domain.memory import Action, Chunk, Memory, MemoryId, Scope
from hivelore.domain.proposal import Deletion, Proposal
from hivelore.domain.text import Clean
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from hivelore.policies.access import Verb, may_change, to_review, visible_to
from hivelore.policies.chunking import chunk
from hivelore.policies.summary import named_after, summarise
from hivelore.policies.ttl import Lifetimes
from hivelore.ports import Clock, MemoryStore, Transaction
from hivelore.services.drafting import Drafting, Prepared, refuse_too_much, utc
from hivelore.services.editing import action, owner_of, permit, verb_of
from hivelore.services.keeping import Keeping, gone
from hivelore.services.linking import fact_at, stays
from hivelore.services.observations import begin
from hivelore.services.proposing import Proposing, proposed
from hivelore.services.retelling import rewritten, says_the_same
from hivelore.services.shelving import Shelf
from hivelore.services.succession import succeeding

LEARNING_CATEGORIES = ("mistake-pattern", "best-practice", "codebase-knowledge", "preference")


@dataclass(frozen=True, slots=True)
class PreparedEdit:
    """An edit after all slow work."""

    given: Mapping[str, Any]
    """The fields of the edit, clean."""
    chunks: Sequence[Chunk] | None
    """None: the content stays."""
    reason: Clean | None

    def of(self, memory: Memory) -> dict[str, Any]:
        """What is not like this already."""
        return {name: value for name, value in self.given.items() if getattr(memory, name) != value}


class Remembering:
    def __init__(
        self,
        *,
        store: MemoryStore,
        shelf: Shelf,
        drafting: Drafting,
        proposing: Proposing,
        keeping: Keeping,
        lifetimes: Lifetimes,
        lead_sees: LeadSees,
        clock: Clock,
        written: Callable[[], None],
    ) -> None:
        """``written`` is called after every write that may have left passages without vectors."""
        self._store = store
        self._shelf = shelf
        self._drafting = drafting
        self._proposing = proposing
        self._keeping = keeping
        self._lifetimes = lifetimes
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written

    def remember(
        self,
        draft: Draft,
        viewer: Viewer,
        deadline: float | None = None,
        beside: Callable[[Transaction, Memory], None] | None = None,
    ) -> Remembered:
        """Store one memory. Answers after it is durable. ``beside`` is done in the same unit."""
        (prepared,) = self._prepared([draft], viewer)

        def work(tx: Transaction) -> Remembered:
            placed = self._place(tx, prepared, viewer)
            if beside is not None:
                beside(tx, placed.memory)
            return placed

        done = self._keeping.write(BatchKind.TOLD, viewer, work, deadline)
        self._written()
        return done

    def remember_many(self, drafts: Sequence[Draft], viewer: Viewer, deadline: float | None = None) -> list[Remembered]:
        """Store several in one unit, all or none, in their order."""
        prepared = self._prepared(drafts, viewer)
        done = self._keeping.write(
            BatchKind.TOLD, viewer, lambda tx: [self._place(tx, one, viewer) for one in prepared], deadline
        )
        self._written()
        return done

    def inject_learning(
        self, learning: str, category: str, target: AgentId, viewer: Viewer, scope: Scope = Scope.SWARM
    ) -> Memory:
        """Write a learning into another agent's memory: what only a lead or an operator may (B07)."""
        if viewer.role is Role.WORKER:
            raise Forbidden("Only a lead may inject learnings. Use memory-store to keep one of your own.")
        if category not in LEARNING_CATEGORIES:
            raise Invalid(f"category is one of {', '.join(LEARNING_CATEGORIES)}.", field="category")
        with self._store.read() as view:
            if view.agent(target) is None:
                raise NotFound(f"No agent {target}. The lead's key sees all of them with GET /api/agents.")
        draft = Draft(content=learning, scope=scope, category=category, tags=(category,))
        (prepared,) = self._prepared([draft], viewer, target)
        done = self._keeping.write(BatchKind.TOLD, viewer, lambda tx: self._place(tx, prepared, viewer))
        self._written()
        return done.memory

    def edit(
        self, memory: MemoryId, edit: Edit, viewer: Viewer, *, version: int | None = None, deadline: float | None = None
    ) -> Memory:
        """Change a memory. ``version``: only if this is still the present one, else Stale. What somebody else has to
        decide is proposed to them, and Proposed says so."""
        change = self.prepared(edit)

        def work(tx: Transaction) -> Memory | Proposal:
            before = self._visible(tx, memory, viewer)
            _still(before.memory, version)
            kind = to_review(viewer, before.memory, verb_of(change.of(before.memory)))
            if kind is None:
                return self.edit_within(tx, memory, change, viewer, version).memory
            if not change.of(before.memory):
                return before.memory
            wanted = Edit(**change.given)
            return self._proposing.propose(tx, kind, [before], viewer, wanted=wanted, why=change.reason)

        done = self._keeping.write(BatchKind.EDITED, viewer, work, deadline, reason=change.reason)
        self._written()
        if isinstance(done, Proposal):
            raise proposed(done)
        return done

    def prepared(self, edit: Edit) -> PreparedEdit:
        """Do what is slow about an edit, before a unit of work begins."""
        given = self._cleaned_edit(edit)
        chunks = chunk(given["content"]) if "content" in given else None
        if chunks is not None:
            self._shelf.expect([(given["content"], chunks)])
        return PreparedEdit(given, chunks, self._drafting.field(edit.reason, "reason"))

    def edit_within(
        self, tx: Transaction, memory: MemoryId, change: PreparedEdit, viewer: Viewer, version: int | None = None
    ) -> Stored:
        """``edit`` as a part of a unit of work, where nobody else decides; the memory as it is then."""
        before = self._visible(tx, memory, viewer)
        _still(before.memory, version)
        permit(before.memory, change.of(before.memory), viewer)
        return self.apply(tx, before, change, viewer)

    def apply(self, tx: Transaction, before: Stored, change: PreparedEdit, viewer: Viewer) -> Stored:
        """Make a change that was allowed; the memory as it is then."""
        changes = change.of(before.memory)
        if not changes:
            return before
        after = self._edited(before.memory, change, viewer)
        if not stays(before.memory, after):
            # A memory that is edited has its time already.
            after = self._succeeding(tx, after, viewer, named=change.given.get("supersedes") is not None, has_time=True)
        chunks = change.chunks if after.content != before.memory.content else None
        stored = self._shelf.change(tx, before, after, chunks, action(changes))
        tx.record(_audit(after, action(changes), viewer, after.updated_at))
        return stored

    def renew(self, memory: MemoryId, viewer: Viewer) -> None:
        """Begin its time to live anew: the same was written again (B08). One that has ended, or is gone, stays so."""

        def work(tx: Transaction) -> None:
            stored, now = tx.get(memory), self._clock.now()
            if stored is None or not stored.memory.is_live(now) or not may_change(viewer, stored.memory, Verb.EDIT):
                return
            tx.renew(stored.key, self._lifetimes.expiry(stored.memory.source, now))

        self._store.write(work)

    def forget(self, memory: MemoryId, viewer: Viewer, *, version: int | None = None) -> None:
        """Remove a memory with its history, chunks, vectors and keywords; of one that is gone, what is kept to bring it
        back. What somebody else has to decide is proposed to them, and Proposed says so."""

        def work(tx: Transaction) -> Proposal | None:
            there = tx.get(memory)
            stored = self._seen(there or gone(tx, memory), memory, viewer)
            _still(stored.memory, version)
            kind = to_review(viewer, stored.memory, Verb.DELETE)
            if kind is not None and there is not None:
                return self._proposing.propose(tx, kind, [stored], viewer, wanted=Deletion())
            if not may_change(viewer, stored.memory, Verb.DELETE):
                raise Forbidden(f"You may not delete memory {memory}: it belongs to {owner_of(stored.memory)}.")
            return self.remove(tx, stored, viewer)

        done = self._store.write(work)
        if done is not None:
            raise proposed(done)

    def remove(self, tx: Transaction, stored: Stored, viewer: Viewer) -> None:
        """Forget a memory where that was allowed."""
        self._shelf.forget(tx, stored)
        tx.record(_audit(stored.memory, Action.FORGOTTEN, viewer, self._clock.now()))

    def forget_path(self, path: str, viewer: Viewer, *, owner: AgentId | None = None) -> int:
        """Remove what was indexed from a source path: the caller's private document and the shared one,
        as far as they may. Answers how many (A12)."""
        clean = self._drafting.path(path)
        whose = owner if owner is not None else viewer.agent

        def work(tx: Transaction) -> int:
            places = [tx.at_path(None, clean)] + ([tx.at_path(whose, clean)] if whose is not None else [])
            seen = visible_to(viewer, self._lead_sees)
            gone = [
                stored
                for stored in places
                if stored is not None
                and seen.admits(stored.memory.owner, stored.memory.scope)
                and may_change(viewer, stored.memory, Verb.DELETE)
            ]
            for stored in gone:
                self.remove(tx, stored, viewer)
            return len(gone)

        return self._store.write(work)

    # placing it

    def _prepared(self, drafts: Sequence[Draft], viewer: Viewer, target: AgentId | None = None) -> list[Prepared]:
        for draft in drafts:
            refuse_too_much(draft)
        prepared = [self._drafting.prepare(draft, viewer, target) for draft in drafts]
        self._shelf.expect(((one.memory.content, one.chunks) for one in prepared), (one.memory for one in prepared))
        return prepared

    def _place(self, tx: Transaction, prepared: Prepared, viewer: Viewer) -> Remembered:
        known = self._known(tx, prepared, viewer)
        if known is None:
            memory = self._following(tx, prepared.memory, prepared.draft, viewer)
            stored = self._shelf.add(tx, memory, prepared.chunks)
            begin(tx, stored, viewer)
            if viewer.agent != memory.owner:
                tx.record(_audit(memory, Action.CREATED, viewer, memory.updated_at))
            return Remembered(memory=stored.memory, created=True, changed=True)
        after = rewritten(known.memory, prepared)
        if not stays(known.memory, after):
            after = self._following(tx, after, prepared.draft, viewer)
            after = known.memory if says_the_same(known.memory, after) else after
        if after is known.memory:
            return self._renew(tx, known, prepared)
        chunks = prepared.chunks if after.content != known.memory.content else None
        changed = self._shelf.change(tx, known, after, chunks, Action.EDITED)
        if known.memory.operational is None:
            begin(tx, changed, viewer)
        return Remembered(memory=changed.memory, created=False, changed=True)

    def _renew(self, tx: Transaction, known: Stored, prepared: Prepared) -> Remembered:
        """Writing the same again renews the time to live (B08), except for what is told of the past."""
        expires_at = prepared.memory.expires_at
        if prepared.draft.created_at is not None or expires_at == known.memory.expires_at:
            return Remembered(memory=known.memory, created=False, changed=False)
        tx.renew(known.key, expires_at)
        return Remembered(memory=replace(known.memory, expires_at=expires_at), created=False, changed=True)

    def _known(self, tx: Transaction, prepared: Prepared, viewer: Viewer) -> Stored | None:
        """The memory that this one is a new telling of: same path or external id on the same shelf, else
        same owner, name, content, scope and session."""
        memory = prepared.memory
        if memory.source_path is not None:
            # Whoever writes a shared file writes the one document of that path (A29).
            return tx.at_path(memory.home, memory.source_path)
        if memory.external_id is not None:
            known = tx.with_external_id(memory.home, memory.external_id) or _exported(tx, memory)
            if known is not None and not _may_tell(viewer, known.memory, prepared):
                raise Conflict(f"The external id {memory.external_id} is taken by a memory of another agent.")
            return known
        if memory.topic is not None:
            known = self._known_fact(tx, prepared, viewer)
            if known is not None:
                return known
        known = tx.same_statement(memory.owner, memory.name, memory.content)
        same_place = (
            known is not None
            and known.memory.valid_until is None
            and (memory.subject is None or known.memory.subject is None)
            and known.memory.external_id is None
            and known.memory.source_path is None
            and (known.memory.scope, known.memory.session) == (memory.scope, memory.session)
        )
        return known if same_place else None

    def _known_fact(self, tx: Transaction, prepared: Prepared, viewer: Viewer) -> Stored | None:
        """What holds of its topic then, where it says the same in the same words."""
        memory, topic = prepared.memory, prepared.memory.topic
        assert topic is not None
        known = fact_at(tx, topic, memory.holds_since if _has_time(prepared.draft) else None)
        if known is None or (known.memory.name, known.memory.content) != (memory.name, memory.content):
            return None
        return known if _may_tell(viewer, known.memory, prepared) else None

    def _following(self, tx: Transaction, memory: Memory, draft: Draft, viewer: Viewer) -> Memory:
        return self._succeeding(tx, memory, viewer, named=draft.supersedes is not None, has_time=_has_time(draft))

    def _succeeding(self, tx: Transaction, memory: Memory, viewer: Viewer, *, named: bool, has_time: bool) -> Memory:
        seen = visible_to(viewer, self._lead_sees)
        return succeeding(tx, memory, viewer, seen, named=named, has_time=has_time)

    # editing

    def _visible(self, tx: Transaction, memory: MemoryId, viewer: Viewer) -> Stored:
        return self._seen(tx.get(memory), memory, viewer)

    def _seen(self, stored: Stored | None, memory: MemoryId, viewer: Viewer) -> Stored:
        if stored is None or not visible_to(viewer, self._lead_sees).admits(stored.memory.owner, stored.memory.scope):
            raise unknown(memory)
        return stored

    def _cleaned_edit(self, edit: Edit) -> dict[str, Any]:
        given = edit.given()
        cleaners: dict[str, Callable[[Any], Any]] = {
            "content": self._drafting.content,
            "name": self._drafting.given_name,
            "summary": lambda text: self._drafting.field(text, "summary"),
            "category": self._drafting.category,
            "tags": self._drafting.tags,
            "project": self._drafting.project,
            "source_path": lambda path: self._drafting.field(path, "sourcePath"),
            "metadata": self._drafting.metadata,
            "expires_at": lambda at: utc(at, "expiresAt"),
            "subject": self._drafting.subject,
            "supersedes": self._drafting.memory_named,
            "valid_from": self._drafting.valid_from,
            "scope": lambda scope: scope,
        }
        return {name: cleaners[name](value) for name, value in given.items()}

    def _edited(self, before: Memory, change: PreparedEdit, viewer: Viewer) -> Memory:
        now, given, changes = self._clock.now(), change.given, change.of(before)
        if "content" in changes:
            old, new = summarise(before.content), summarise(str(changes["content"]))
            if "summary" not in given and before.summary == old:
                changes["summary"] = Clean(new)
            if "name" not in given and before.name == named_after(old):
                changes["name"] = Clean(named_after(new))
            if "expires_at" not in given:
                changes["expires_at"] = self._lifetimes.expiry(before.source, now)
        if changes.get("summary", before.summary) is None:
            changes["summary"] = Clean(summarise(str(changes.get("content", before.content))))
        provenance = replace(before.provenance, actor=viewer.agent, door=viewer.door, reason=change.reason)
        return replace(before, **changes, version=before.version + 1, updated_at=now, provenance=provenance)


def unknown(memory: str) -> NotFound:
    """The one answer for an id that does not exist and one that is not for the caller's eyes."""
    return NotFound(f"No memory {memory}: it may have been forgotten. Search again for its current id.")


def _may_tell(viewer: Viewer, known: Memory, prepared: Prepared) -> bool:
    """Whether this may be told of a known memory: what changes nothing may always be."""
    return may_change(viewer, known, Verb.EDIT) or rewritten(known, prepared) is known


def _exported(tx: Transaction, memory: Memory) -> Stored | None:
    """The memory on the same shelf that this one is an export of: an export tells the id as external id."""
    known = tx.get(MemoryId(str(memory.external_id)))
    return known if known is not None and known.memory.home == memory.home else None


def _has_time(draft: Draft) -> bool:
    return draft.created_at is not None or draft.valid_from is not None


def _still(memory: Memory, version: int | None) -> None:
    if version is not None and memory.version != version:
        raise Stale(
            f"Memory {memory.id} is at version {memory.version} by now, not {version}. Read it again and decide anew.",
            current=memory.version,
        )


def _audit(memory: Memory, action: Action, viewer: Viewer, at: datetime) -> AuditEntry:
    return AuditEntry(at=at, actor=viewer.agent, door=viewer.door, action=action, memory=memory.id)
