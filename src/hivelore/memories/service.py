"""Memory writes: store, edit, promote, expire and forget."""

from collections.abc import Callable, Sequence

from hivelore.changes.journal import ChangeJournal, last_known_state
from hivelore.changes.model import BatchKind
from hivelore.core.access import Effect, Permission, may_affect, review_kind, visible_to
from hivelore.core.agents import AgentId, LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Invalid, NotFound, Stale
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.chunking import chunk
from hivelore.memories.drafts import Draft, Edit, WriteResult
from hivelore.memories.edits import (
    PreparedEdit,
    describe_owner,
    edit_action,
    next_version,
    normalize_edit,
    required_review,
)
from hivelore.memories.model import Action, Lifetimes, Memory, MemoryId, Scope
from hivelore.memories.normalizer import NormalizedDraft, Normalizer, check_sizes
from hivelore.memories.record_lookup import require_one_project, same_record
from hivelore.memories.stored import Stored
from hivelore.memories.task_completion import TaskCompletion, completion_draft
from hivelore.memories.temporal import (
    displaced_for_review,
    fact_at,
    find_superseded,
    has_same_placement,
    resolve_placement,
)
from hivelore.memories.upsert import (
    check_upsert_allowed,
    differs_only_in_provenance,
    may_upsert,
    merge_draft,
    without_placement,
)
from hivelore.observations.model import may_set_confidence
from hivelore.observations.records import record_creation
from hivelore.review.model import Proposal, ProposalKind, Wanted
from hivelore.review.proposals import ProposalQueue, proposed_error
from hivelore.storage.ports import MemoryStore, Transaction

LEARNING_CATEGORIES = ("mistake-pattern", "best-practice", "codebase-knowledge", "preference")


class MemoryService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        index_writer: IndexWriter,
        normalizer: Normalizer,
        proposal_queue: ProposalQueue,
        journal: ChangeJournal,
        lifetimes: Lifetimes,
        lead_sees: LeadSees,
        clock: Clock,
        written: Callable[[Viewer, Sequence[MemoryId]], None],
    ) -> None:
        """``written`` is called after every write that may leave passages without vectors, with the memories."""
        self._store = store
        self._index_writer = index_writer
        self._normalizer = normalizer
        self._proposal_queue = proposal_queue
        self._journal = journal
        self._lifetimes = lifetimes
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written

    def remember(
        self,
        draft: Draft,
        viewer: Viewer,
        deadline: float | None = None,
        also: Callable[[Transaction, Memory], None] | None = None,
    ) -> WriteResult:
        """Stores one memory durably. ``also`` runs in the same transaction."""
        (prepared,) = self._normalize([draft], viewer)

        def store_draft(tx: Transaction) -> WriteResult:
            placed = self._store_draft(tx, prepared, viewer)
            if also is not None:
                also(tx, placed.memory)
            return placed

        done = self._journal.write(BatchKind.STORED, viewer, store_draft, deadline)
        self._written(viewer, [done.memory.id])
        return done

    def prepare(self, draft: Draft, viewer: Viewer) -> NormalizedDraft:
        """Normalizes and chunks a draft before its transaction begins, for ``remember_within``."""
        (prepared,) = self._normalize([draft], viewer)
        return prepared

    def remember_within(self, tx: Transaction, prepared: NormalizedDraft, viewer: Viewer) -> WriteResult:
        """Stores a draft in a transaction, without a batch that undoes it. Call ``note_written`` after it."""
        return self._store_draft(tx, prepared, viewer)

    def replace_within(self, tx: Transaction, prepared: NormalizedDraft, viewer: Viewer, *, drops_last: bool) -> None:
        """Like ``remember_within``, for a memory that changes often. Does nothing if its last version was written
        through another interface. ``drops_last``: the last version does not stay in the history if it has the category
        of the draft."""
        known = self._find_existing(tx, prepared, viewer)
        if known is not None and known.memory.provenance.interface is not viewer.interface:
            return
        done = self._store_draft(tx, prepared, viewer)
        if drops_last and known is not None and done.changed and known.memory.category == prepared.memory.category:
            tx.drop_version(known.key, known.memory.version)

    def note_written(self, viewer: Viewer) -> None:
        """Reports that a transaction stored memories."""
        self._written(viewer, ())

    def remember_many(
        self, drafts: Sequence[Draft], viewer: Viewer, deadline: float | None = None
    ) -> list[WriteResult]:
        """Stores several memories in order, in one transaction."""
        prepared = self._normalize(drafts, viewer)
        done = self._journal.write(
            BatchKind.STORED, viewer, lambda tx: [self._store_draft(tx, one, viewer) for one in prepared], deadline
        )
        self._written(viewer, [one.memory.id for one in done])
        return done

    def complete_task(
        self, completion: TaskCompletion, viewer: Viewer, deadline: float | None = None
    ) -> WriteResult | None:
        """Stores a completed or failed task (A38); returns None if there is too little to store. Another output of the
        same task updates its memory."""
        task = self._normalizer.text(completion.task, "task")
        output = self._normalizer.text(completion.output, "output")
        if not completion.id.strip():
            raise Invalid("The id of the task is empty. Provide the id under which it is known.", field="taskId")
        if not task:
            raise Invalid("The task is empty. Provide its text.", field="task")
        draft = completion_draft(replace(completion, task=task, output=output))
        return None if draft is None else self.remember(draft, viewer, deadline)

    def inject_learning(
        self, learning: str, category: str, target: AgentId, viewer: Viewer, scope: Scope = Scope.SWARM
    ) -> Memory:
        """Stores a learning for another agent (B07)."""
        known = self._normalizer.category_among(category, LEARNING_CATEGORIES)
        if known is None:
            raise Invalid(f"category is one of {', '.join(LEARNING_CATEGORIES)}.", field="category")
        with self._store.read() as view:
            if view.agent(target) is None:
                raise NotFound(f"No agent {target!r}. List all agents with GET /api/agents and a lead's key.")
        draft = Draft(content=learning, scope=scope, category=category, tags=(known,))
        (prepared,) = self._normalize([draft], viewer, target)
        done = self._journal.write(BatchKind.STORED, viewer, lambda tx: self._store_draft(tx, prepared, viewer))
        self._written(viewer, [done.memory.id])
        return done.memory

    def edit(
        self, memory: MemoryId, edit: Edit, viewer: Viewer, *, version: int | None = None, deadline: float | None = None
    ) -> Memory:
        """Changes a memory. Raises Stale if ``version`` is given and is not the current one. Raises Proposed if the
        change needs a decision by someone else and was added to the review inbox."""
        change = self.prepare_edit(edit)

        def edit_memory(tx: Transaction) -> Memory | Proposal:
            before = self._get_visible(tx, memory, viewer)
            _check_version(before.memory, version)
            known = self._resolve_reference(tx, before.memory, change, viewer)
            kind, others = required_review(before.memory, known.changes_to(before.memory), viewer), list[Stored]()
            if kind is None:
                others = self._displaced_for_review(
                    tx, before.memory, self._next_version(tx, before.memory, known, viewer), viewer
                )
                kind = ProposalKind.SUPERSESSION if others else None
            if kind is None:
                return self.apply_edit(tx, before, known, viewer).memory
            if not known.changes_to(before.memory):
                return before.memory
            wanted = Wanted(edit=Edit(**known.fields))
            return self._proposal_queue.propose(tx, kind, [*others, before], viewer, wanted=wanted, why=change.reason)

        done = self._journal.write(BatchKind.EDITED, viewer, edit_memory, deadline, reason=change.reason)
        self._written(viewer, [memory])
        if isinstance(done, Proposal):
            raise proposed_error(done)
        return done

    def prepare_edit(self, edit: Edit) -> PreparedEdit:
        """Normalizes and chunks an edit before its transaction begins."""
        given = normalize_edit(edit, self._normalizer)
        chunks = chunk(given["content"]) if "content" in given else None
        if chunks is not None:
            self._index_writer.precompute_terms([(given["content"], chunks)])
        return PreparedEdit(given, chunks, self._normalizer.field(edit.reason, "reason"))

    def edit_within(
        self, tx: Transaction, memory: MemoryId, change: PreparedEdit, viewer: Viewer, version: int | None = None
    ) -> Stored:
        """Edits a memory within a transaction. Raises Forbidden for changes that need a review."""
        before = self._get_visible(tx, memory, viewer)
        _check_version(before.memory, version)
        is_theirs = required_review(before.memory, change.changes_to(before.memory), viewer) is not None
        if is_theirs or self._displaced_for_review(
            tx, before.memory, self._next_version(tx, before.memory, change, viewer), viewer
        ):
            raise Forbidden(f"You may not change memory {memory} like this: only an operator may.")
        return self.apply_edit(tx, before, change, viewer)

    def apply_reviewed_placement(self, tx: Transaction, before: Stored, change: PreparedEdit, viewer: Viewer) -> None:
        """Applies an accepted change of valid time if the accepting viewer may change the affected memories."""
        if self._displaced_for_review(tx, before.memory, self._next_version(tx, before.memory, change, viewer), viewer):
            raise Forbidden("Only operators may replace operational memories. Ask an operator to decide.")
        self.apply_edit(tx, before, change, replace(viewer, role=Role.OPERATOR))

    def place(self, tx: Transaction, before: Stored, change: PreparedEdit, viewer: Viewer) -> Stored:
        """Applies a decided change of valid time. The memory keeps its author, because nobody wrote it again. Raises
        Forbidden if the viewer may not supersede the affected memories."""
        after = self._next_version(tx, before.memory, change, viewer)
        if self._displaced_for_review(tx, before.memory, after, viewer):
            raise Forbidden("Only operators may replace operational memories. Ask an operator to decide.")
        after = replace(after, provenance=replace(before.memory.provenance, reason=change.reason))
        stored = self._index_writer.change(tx, before, after, None, Action.EDITED)
        tx.record_audit(AuditEntry.by_viewer(viewer, Action.EDITED, after.id, after.updated_at))
        return stored

    def apply_edit(self, tx: Transaction, before: Stored, change: PreparedEdit, viewer: Viewer) -> Stored:
        """Applies an allowed edit and returns the stored memory."""
        changes = change.changes_to(before.memory)
        if not changes:
            return before
        after = self._next_version(tx, before.memory, change, viewer)
        chunks = change.chunks if after.content != before.memory.content else None
        stored = self._index_writer.change(tx, before, after, chunks, edit_action(changes))
        tx.record_audit(AuditEntry.by_viewer(viewer, edit_action(changes), after.id, after.updated_at))
        return stored

    def renew(self, memory: MemoryId, viewer: Viewer) -> None:
        """Restarts the lifetime of a memory because it was written again (B08). Expired or deleted memories stay so."""

        def renew_file(tx: Transaction) -> None:
            stored, now = tx.get(memory), self._clock.now()
            if (
                stored is None
                or not stored.memory.is_live(now)
                or not _is_allowed(viewer, Effect.EXPIRE, stored.memory)
            ):
                return
            tx.set_expiry(stored.key, self._lifetimes.expiry(stored.memory.source, now))

        self._store.write(renew_file)

    def forget(self, memory: MemoryId, viewer: Viewer, *, version: int | None = None) -> None:
        """Deletes a memory with its history, chunks, vectors and keywords. For a memory that was deleted before, its
        undo data is deleted. Raises Proposed if the deletion was added to the review inbox."""

        def forget_memory(tx: Transaction) -> Proposal | None:
            there = tx.get(memory)
            stored = self._require_visible(there or last_known_state(tx, memory), memory, viewer)
            _check_version(stored.memory, version)
            ruling = may_affect(viewer, Effect.DELETE, stored.memory)
            if ruling is Permission.PROPOSED and there is not None:
                kind = review_kind(Effect.DELETE, stored.memory)
                return self._proposal_queue.propose(tx, kind, [stored], viewer, wanted=Wanted(forget=True))
            if ruling is not Permission.ALLOWED:
                raise Forbidden(f"You may not delete memory {memory}: it belongs to {describe_owner(stored.memory)}.")
            return self.remove(tx, stored, viewer)

        done = self._store.write(forget_memory)
        if done is not None:
            raise proposed_error(done)

    def remove(self, tx: Transaction, stored: Stored, viewer: Viewer) -> None:
        """Deletes a memory after the permission check."""
        self._index_writer.forget(tx, stored)
        tx.record_audit(AuditEntry.by_viewer(viewer, Action.FORGOTTEN, stored.memory.id, self._clock.now()))

    def forget_path(
        self, path: str, viewer: Viewer, *, owner: AgentId | None = None, project: str | None = None
    ) -> int:
        """Deletes the memories indexed from a source path: the caller's private one and the shared one, where
        permitted. Returns their number (A12).

        ``project``: blank for memories without a project. None raises Invalid if the path was indexed in several
        projects.
        """
        clean, where = self._normalizer.path(path), self._normalizer.project(project)
        whose = owner if owner is not None else viewer.agent

        def forget_files(tx: Transaction) -> int:
            seen = visible_to(viewer, self._lead_sees)
            found = [
                stored
                for home in dict.fromkeys((None, whose))
                for stored in tx.memories_at_path(home, clean)
                if seen.admits(stored.memory.owner, stored.memory.scope)
                and _is_allowed(viewer, Effect.DELETE, stored.memory)
            ]
            last_known_state = (
                require_one_project(found) if project is None else [one for one in found if one.memory.project == where]
            )
            for stored in last_known_state:
                self.remove(tx, stored, viewer)
            return len(last_known_state)

        return self._store.write(forget_files)

    # storing

    def _normalize(
        self, drafts: Sequence[Draft], viewer: Viewer, target: AgentId | None = None
    ) -> list[NormalizedDraft]:
        if any(draft.operational is not None for draft in drafts) and not may_set_confidence(viewer):
            raise Forbidden(
                "Only an operator may set confidence. Report an observation instead: POST /memories, memory-observe "
                "or 'hivelore observe'."
            )
        for draft in drafts:
            check_sizes(draft)
        prepared = [self._normalizer.normalize(draft, viewer, target) for draft in drafts]
        self._index_writer.precompute_terms(
            ((one.memory.content, one.chunks) for one in prepared), (one.memory for one in prepared)
        )
        return prepared

    def _store_draft(self, tx: Transaction, prepared: NormalizedDraft, viewer: Viewer) -> WriteResult:
        known = self._find_existing(tx, prepared, viewer)
        if known is not None:
            return self._upsert(tx, known, prepared, viewer)
        memory = self._resolve_draft_placement(tx, prepared.memory, prepared.draft, viewer)
        others = displaced_for_review(tx, memory, viewer)
        if others:
            return self._propose_placement(tx, others, memory, prepared, viewer)
        stored = self._index_writer.add(tx, memory, prepared.chunks)
        record_creation(tx, stored, viewer)
        if viewer.agent != memory.owner:
            tx.record_audit(AuditEntry.by_viewer(viewer, Action.CREATED, memory.id, memory.updated_at))
        return WriteResult(memory=stored.memory, created=True, changed=True)

    def _upsert(self, tx: Transaction, known: Stored, prepared: NormalizedDraft, viewer: Viewer) -> WriteResult:
        known, after = merge_draft(tx, known, prepared, viewer)
        if not has_same_placement(known.memory, after):
            after = self._resolve_draft_placement(tx, after, prepared.draft, viewer)
            after = known.memory if differs_only_in_provenance(known.memory, after) else after
        others = self._displaced_for_review(tx, known.memory, after, viewer)
        if others:
            return self._propose_placement(tx, others, after, prepared, viewer)
        if after is known.memory:
            return self._renew(tx, known, prepared, viewer)
        chunks = prepared.chunks if after.content != known.memory.content else None
        changed = self._index_writer.change(tx, known, after, chunks, Action.EDITED)
        if known.memory.operational is None:
            record_creation(tx, changed, viewer)
        return WriteResult(memory=changed.memory, created=False, changed=True)

    def _propose_placement(
        self, tx: Transaction, others: Sequence[Stored], placed: Memory, prepared: NormalizedDraft, viewer: Viewer
    ) -> WriteResult:
        """Stores the draft without its temporal fields and proposes these for review."""
        kept = self._store_draft(tx, without_placement(prepared), viewer)
        about = [*others, self._get_visible(tx, kept.memory.id, viewer)]
        has_time = _has_time(prepared.draft)
        proposal = self._proposal_queue.propose_placement(tx, about, placed, viewer, has_time=has_time)
        return replace(kept, proposal=proposal.id)

    def _renew(self, tx: Transaction, known: Stored, prepared: NormalizedDraft, viewer: Viewer) -> WriteResult:
        """Restarts the lifetime when the same memory is written again (B08), except for imports of past memories and
        for memories that the viewer may not expire."""
        expires_at = prepared.memory.expires_at
        unchanged = WriteResult(memory=known.memory, created=False, changed=False)
        if prepared.draft.created_at is not None or expires_at == known.memory.expires_at:
            return unchanged
        if not _is_allowed(viewer, Effect.EXPIRE, known.memory):
            if prepared.draft.expires_at is None:
                return unchanged
            raise Forbidden(f"You may not say when memory {known.memory.id} expires: leave expiresAt out.")
        tx.set_expiry(known.key, expires_at)
        # Only a renewal that the caller asked for counts as a change.
        changed = prepared.draft.expires_at is not None
        return WriteResult(memory=replace(known.memory, expires_at=expires_at), created=False, changed=changed)

    def _find_existing(self, tx: Transaction, prepared: NormalizedDraft, viewer: Viewer) -> Stored | None:
        """Returns the memory that this draft updates: the same path or external id in the same home and project, else
        the same statement."""
        memory = prepared.memory
        if memory.source_path is not None:
            # A shared file has one memory per path (A29).
            known = same_record(tx.memories_at_path(memory.home, memory.source_path), memory.project)
            check_upsert_allowed(known, prepared, viewer)
            return known
        if memory.external_id is not None:
            known = same_record(tx.memories_with_external_id(memory.home, memory.external_id), memory.project)
            known = known or _find_exported(tx, memory)
            check_upsert_allowed(known, prepared, viewer)
            return known
        if memory.topic is not None:
            known = self._find_same_fact(tx, prepared, viewer)
            if known is not None:
                return known
        known = tx.memory_with_statement(memory.statement)
        is_open = (
            known is not None
            and known.memory.valid_until is None
            and (memory.subject is None or known.memory.subject is None)
            and known.memory.external_id is None
            and known.memory.source_path is None
        )
        return known if is_open and known is not None and may_upsert(viewer, known.memory, prepared) else None

    def _find_same_fact(self, tx: Transaction, prepared: NormalizedDraft, viewer: Viewer) -> Stored | None:
        """Returns the fact valid at the draft's time if it has the same name and content."""
        memory, topic = prepared.memory, prepared.memory.topic
        assert topic is not None
        known = fact_at(tx, topic, memory.holds_since if _has_time(prepared.draft) else None)
        if known is None or (known.memory.name, known.memory.content) != (memory.name, memory.content):
            return None
        return known if may_upsert(viewer, known.memory, prepared) else None

    def _resolve_draft_placement(self, tx: Transaction, memory: Memory, draft: Draft, viewer: Viewer) -> Memory:
        return self._resolve_placement(
            tx, memory, viewer, named=draft.supersedes is not None, has_time=_has_time(draft)
        )

    def _resolve_reference(self, tx: Transaction, before: Memory, change: PreparedEdit, viewer: Viewer) -> PreparedEdit:
        """Returns the edit with the id of the memory to supersede, of which the caller may have given the beginning or
        the external id. A proposal then means the same memory whoever accepts it, and when."""
        if change.fields.get("supersedes") in (None, before.supersedes):
            return change
        after = next_version(before, change, viewer, self._clock.now(), self._lifetimes)
        found = find_superseded(tx, after, visible_to(viewer, self._lead_sees))
        return change if found is None else replace(change, fields={**change.fields, "supersedes": found.memory.id})

    def _next_version(self, tx: Transaction, before: Memory, change: PreparedEdit, viewer: Viewer) -> Memory:
        after = next_version(before, change, viewer, self._clock.now(), self._lifetimes)
        if has_same_placement(before, after):
            return after
        return self._resolve_placement(
            tx, after, viewer, named=change.fields.get("supersedes") is not None, has_time=True
        )

    def _displaced_for_review(self, tx: Transaction, before: Memory, after: Memory, viewer: Viewer) -> list[Stored]:
        """Returns the memories displaced by a changed valid time that need a review."""
        return [] if has_same_placement(before, after) else displaced_for_review(tx, after, viewer)

    def _resolve_placement(
        self, tx: Transaction, memory: Memory, viewer: Viewer, *, named: bool, has_time: bool
    ) -> Memory:
        seen = visible_to(viewer, self._lead_sees)
        return resolve_placement(tx, memory, viewer, seen, named=named, has_time=has_time)

    # editing

    def _get_visible(self, tx: Transaction, memory: MemoryId, viewer: Viewer) -> Stored:
        return self._require_visible(tx.get(memory), memory, viewer)

    def _require_visible(self, stored: Stored | None, memory: MemoryId, viewer: Viewer) -> Stored:
        if stored is None or not visible_to(viewer, self._lead_sees).admits(stored.memory.owner, stored.memory.scope):
            raise memory_not_found(memory)
        return stored


def memory_not_found(memory: str) -> NotFound:
    """Returns the same error for an id that does not exist and one that the caller may not see."""
    return NotFound(f"No memory {memory!r}: it may have been forgotten. Search again for its current id.")


def _is_allowed(viewer: Viewer, effect: Effect, memory: Memory) -> bool:
    return may_affect(viewer, effect, memory) is Permission.ALLOWED


def _find_exported(tx: Transaction, memory: Memory) -> Stored | None:
    """Returns the memory in the same home of which this is an export: exports use the id as external id."""
    known = tx.get(MemoryId(str(memory.external_id)))
    if known is None or known.memory.home != memory.home:
        return None
    return same_record([known], memory.project)


def _has_time(draft: Draft) -> bool:
    return draft.created_at is not None or draft.valid_from is not None


def _check_version(memory: Memory, version: int | None) -> None:
    if version is not None and memory.version != version:
        raise Stale(
            f"Memory {memory.id} is at version {memory.version}, not {version}. Read it again, then repeat the edit.",
            current=memory.version,
        )
