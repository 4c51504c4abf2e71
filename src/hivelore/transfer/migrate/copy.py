"""Moving a whole swarm from one store to another, while the first one may be in use.

Memories and their parts keep their keys, so that the target can follow the change log of the source. How far it has
come is kept in the target, in the same unit as what was copied, so a killed process goes on where it was: the target
has the memories up to a key, as a moment of the source shows them. What the log does not tell (reads, vectors that were
dropped) is found when both are compared in the end.
"""

import hashlib
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from hivelore.changes.model import Batch, BatchFilter, BatchId, Preimage
from hivelore.core.clock import Clock
from hivelore.core.jobs import Job, JobState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import Cooldown, Event, EventFilter
from hivelore.feedback.recalls import Recall, RecallFilter
from hivelore.folders.model import KnownFile
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import ChangeCursor, ChangeKind, DocumentKey, Stored
from hivelore.indexing.rebuild import INDEX, IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.memories import whole_reader
from hivelore.memories.whole import Counts
from hivelore.memories.whole_reader import Checksum, MemoryBatch, canonical
from hivelore.review.model import Proposal, ProposalFilter
from hivelore.search.model import EVERYTHING, RecallId
from hivelore.sessions.model import EventId, Handover
from hivelore.storage.migration_state import MOVE, MigrationState, fitting, known, origin_of
from hivelore.storage.planner_statistics import PlannerStatistics
from hivelore.storage.ports import MemoryStore, Snapshots, Transaction, View

PAGE = 1_000
"""Rows of a log that are read at a time."""
CANCELLED_BY_MOVE = Clean("It was going on while the swarm was moved. Begin it again.")
_ALL_RECALLS = RecallFilter(seen=EVERYTHING.visibility, operators=True)

Progress = Callable[[str, float | None], AbstractContextManager[Callable[[float], None]]]
"""Opens a bar with a label and a total, to be told how much is done."""


@contextmanager
def no_progress(_label: str, _total: float | None) -> Generator[Callable[[float], None]]:
    """The progress that nobody looks at."""
    yield lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDigest:
    """What one of the two stores has."""

    counts: Counts
    sha256: str
    """Over all there is, in whatever order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    source: StoreDigest
    target: StoreDigest

    @property
    def is_equal(self) -> bool:
        return self.source == self.target


class Migrator:
    """``begin`` first; then ``follow`` and ``index`` as often as one likes; ``finish`` when nobody writes to the source
    any more."""

    def __init__(
        self,
        source: Snapshots,
        target: MemoryStore,
        engines: Sequence[KeywordIndex],
        clock: Clock,
        *,
        settings: Sequence[str] = (),
        progress: Progress = no_progress,
    ) -> None:
        """``runtime.engines``: the keyword index of the target, then others that its store may have had.
        ``settings``: the names of those that belong to the swarm; all others are facts about a store."""
        self._source = source
        self._target = target
        self._keywords, *others = engines
        self._clock = clock
        self._settings = settings
        self._progress = progress
        self._index_writer = IndexWriter(self._keywords)
        self._planner_statistics = PlannerStatistics(target)
        self._index_rebuild = IndexRebuild(target, self._keywords, others, self._index_writer, clock)

    def begin(self) -> MigrationState:
        """Claim the target, or find what was begun. Raises as ``fitting``."""
        with self._source.read() as view:
            origin = origin_of(view)
        fresh = MigrationState(origin=origin, began_at=self._clock.now().isoformat(timespec="seconds"))

        def work(tx: Transaction) -> MigrationState:
            stand = fitting(tx, origin)
            if stand is None:
                tx.set_setting(MOVE, fresh.text)
            return stand or fresh

        return self._target.write(work)

    def follow(self, *, logs: bool = False) -> int:
        """Bring the target to what the source has now; with ``logs`` all that is no memory too. Answers how many
        memories had to be copied or taken away."""
        with self._source.read() as view:
            done = self._copy_memories(view)
            if logs:
                self._copy_rest(view)
        return done

    def index(self) -> None:
        """Index what was copied before there was an index: the first service on the target finds all by its words."""
        self._index_rebuild.begin()
        total = self._index_rebuild.remaining
        with self._progress("Indexing", total) as advance:
            while not self._index_rebuild.is_complete:
                self._index_rebuild.run_step()
                advance(total - self._index_rebuild.remaining)
        while self._keywords.compact(self._target):
            pass

    def compare(self) -> Comparison:
        """What both have, as it is."""
        with self._source.read() as view:
            return self._compare(view, mend=False)

    def finish(self) -> Comparison | None:
        """Copy the rest, compare both, and let the target be used where they are equal. None where somebody has written
        to the source meanwhile: to be called again when nobody does."""
        self.follow(logs=True)
        self.index()
        self._target.analyze()
        with self._source.read() as view:
            self._copy_memories(view)
            self._copy_rest(view)
            compared = self._compare(view, mend=True)
            moment = view.change_cursor()
        with self._source.read() as view:
            if any(batch for _, batch in view.changes(moment)):
                return None
        if compared.is_equal:
            self._target.write(self._mark_finished)
        return compared

    def _mark_finished(self, tx: Transaction) -> None:
        now = self._clock.now().isoformat(timespec="seconds")
        tx.set_setting(MOVE, replace(known(tx), finished_at=now).text)

    # memories

    def _copy_memories(self, view: View) -> int:
        with self._target.read() as there:
            stand = known(there)
        done = 0 if stand.shown is None else self._catch_up(view, stand, stand.shown)
        stand = replace(stand, shown=view.change_cursor())
        models = [(fingerprint, view.dimension(model)) for fingerprint, model in whole_reader.list_models(view)]

        def work(tx: Transaction) -> None:
            for fingerprint, dimension in models:
                tx.register_model(fingerprint, dimension)
            tx.set_setting(MOVE, stand.text)

        self._target.write(work)
        new = sorted(key for key in view.matching_keys(EVERYTHING) if key > stand.upto)
        with self._progress("Copying", len(new)) as advance:
            copied = 0
            for portion in whole_reader.split_into_batches(view, new):
                self._put(whole_reader.read_memories(view, portion), replace(stand, upto=portion[-1]))
                copied += len(portion)
                advance(copied)
                self._planner_statistics.rows_written(len(portion))
        self._planner_statistics.load_ended()
        return done + len(new)

    def _catch_up(self, view: View, stand: MigrationState, since: ChangeCursor) -> int:
        """Do what was done to the memories that the target has already. All that changed are taken away before the
        first comes back: one may have the path by now that another had. Killed meanwhile, it is done once more."""
        changed: dict[DocumentKey, set[ChangeKind]] = {}
        for _, batch in view.changes(since):
            for change in batch:
                if change.document <= stand.upto:
                    changed.setdefault(change.document, set()).add(change.kind)
        embedded = sorted(key for key, kinds in changed.items() if kinds == {ChangeKind.VECTORS})
        self._rewrite(view, sorted(changed.keys() - set(embedded)))
        for portion in whole_reader.split_into_batches(view, embedded):
            load = whole_reader.read_memories(view, portion)
            self._target.write(lambda tx, load=load: _put_vectors(tx, load))
        return len(changed)

    def _rewrite(self, view: View, keys: Sequence[DocumentKey]) -> None:
        """Take memories away, then put those back that the source has."""
        left: list[DocumentKey] = []
        for some in whole_reader.in_batches(keys, whole_reader.BATCH_SIZE):
            here = view.rank_features_of(some, EVERYTHING).keys()
            self._target.write(lambda tx, some=some, here=here: self._remove(tx, some, here))
            left += sorted(here)
        for portion in whole_reader.split_into_batches(view, left):
            self._put(whole_reader.read_memories(view, portion), None)

    def _remove(self, tx: Transaction, keys: Sequence[DocumentKey], to_return: Collection[DocumentKey]) -> None:
        indexed = _has_index(tx)
        for key, memory in tx.memories_of(keys, EVERYTHING).items():
            if not indexed:
                tx.forget(key)
            elif key in to_return:
                self._index_writer.withdraw(tx, Stored(key, memory))
            else:
                self._index_writer.drop(tx, Stored(key, memory))

    def _put(self, load: MemoryBatch, stand: MigrationState | None) -> None:
        def work(tx: Transaction) -> None:
            if _has_index(tx):
                self._index_writer.import_memories(tx, load.memories)
            else:
                tx.import_memories(load.memories)
            _put_vectors(tx, load)
            if stand is not None:
                tx.set_setting(MOVE, stand.text)

        self._target.write(work)

    # everything else

    def _copy_rest(self, view: View) -> None:
        self._copy_reads(view)
        self._copy_audit(view)
        self._copy_recalls(view)
        copy_events(view, self._target)
        copy_proposals(view, self._target)
        copy_batches(view, self._target)
        self._copy_handovers(view)
        self._copy_files(view)
        values = {name: value for name in self._settings if (value := view.setting(name)) is not None}
        agents, keys, jobs = view.agents(), view.api_keys(), list(map(_cancel_running, view.jobs()))

        def work(tx: Transaction) -> None:
            for agent in agents:
                tx.put_agent(agent)
            for key in keys:
                tx.put_api_key(key)
            for job in jobs:
                tx.put_job(job)
            for name, value in values.items():
                tx.set_setting(name, value)

        self._target.write(work)

    def _copy_reads(self, view: View) -> None:
        """Access counts: reading a memory is no change that the log tells of."""
        for some in whole_reader.in_batches(sorted(view.matching_keys(EVERYTHING)), PAGE):
            wanted = view.rank_features_of(some, EVERYTHING)
            with self._target.read() as there:
                found = there.rank_features_of(some, EVERYTHING)
            reads = {
                key: (one.access_count - found[key].access_count, one.accessed_at)
                for key, one in wanted.items()
                if one.accessed_at is not None and key in found and one.access_count > found[key].access_count
            }
            if reads:
                self._target.write(lambda tx, reads=reads: tx.count_reads(reads))

    def _copy_audit(self, view: View) -> None:
        number = 0
        while page := view.audit_after(number, PAGE):
            with self._target.read() as there:
                copied = {one for one, _ in there.audit_after(number, PAGE)}
            missing = {one: entry for one, entry in page if one not in copied}
            if missing:
                self._target.write(lambda tx, missing=missing: tx.import_audit(missing))
            number = page[-1][0]

    def _copy_handovers(self, view: View) -> None:
        event = EventId("")
        while page := view.handovers_after(event, PAGE):

            def work(tx: Transaction, page: Sequence[Handover] = page) -> None:
                for one in page:
                    tx.put_handover(one)

            self._target.write(work)
            event = page[-1].ended.id

    def _copy_files(self, view: View) -> None:
        kept: set[tuple[str, str]] = set()
        for page in file_pages(view):
            self._target.write(lambda tx, page=page: tx.put_files(page))
            kept.update((file.place, file.path) for file in page)
        with self._target.read() as there:
            dropped = [file for page in file_pages(there) for file in page if (file.place, file.path) not in kept]
        for file in dropped:
            self._target.write(lambda tx, file=file: tx.drop_files(file.place, [file.path]))

    def _copy_recalls(self, view: View) -> None:
        with self._target.read() as there:
            copied = {recall.id for page in recall_pages(there) for recall in page}
        kept: set[RecallId] = set()
        oldest = datetime.max.replace(tzinfo=UTC)
        for page in recall_pages(view):
            missing = [recall for recall in page if recall.id not in copied]
            if missing:
                self._target.write(lambda tx, missing=missing: tx.log_recalls(missing))
            kept.update(recall.id for recall in page)
            oldest = page[-1].at
        # What the source has let go of since it was copied: the oldest.
        while (
            copied - kept and self._target.write(lambda tx: tx.prune_recalls(oldest, max(len(kept), 1), PAGE)) == PAGE
        ):
            pass

    # comparing

    def _compare(self, view: View, *, mend: bool) -> Comparison:
        """``mend``: what is not equal is copied again and looked at once more."""
        here, there = Checksum(), Checksum()
        with self._target.read() as target:
            keys = sorted({*view.matching_keys(EVERYTHING), *target.matching_keys(EVERYTHING)})
        with self._progress("Comparing", len(keys)) as advance:
            done = 0
            for portion in whole_reader.split_into_batches(view, keys):
                wanted = whole_reader.memory_digests(whole_reader.read_memories(view, portion))
                found = self._target_digests(portion)
                wrong = [key for key in portion if wanted.get(key) != found.get(key)]
                if wrong and mend:
                    self._rewrite(view, wrong)
                    copy_proposals(view, self._target)  # A memory that is taken away takes its own with it.
                    found = self._target_digests(portion)
                for one in wanted.values():
                    here.add(one)
                for one in found.values():
                    there.add(one)
                done += len(portion)
                advance(done)
        if mend:  # What was taken away to be copied again took the events with it that tell of it.
            copy_events(view, self._target)
        with self._target.read() as target:
            return Comparison(source=_store_digest(view, here), target=_store_digest(target, there))

    def _target_digests(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, bytes]:
        with self._target.read() as there:
            return whole_reader.memory_digests(whole_reader.read_memories(there, keys))


def _has_index(tx: Transaction) -> bool:
    return tx.setting(INDEX) is not None


def _put_vectors(tx: Transaction, load: MemoryBatch) -> None:
    for fingerprint, made in load.embedded.items():
        tx.put_vectors(tx.register_model(fingerprint, made.dimension), made.vectors, made.tokens)


def _cancel_running(job: Job) -> Job:
    """What is going on in the source does not go on in the target."""
    return replace(job, state=JobState.CANCELLED, error=CANCELLED_BY_MOVE) if job.state is JobState.RUNNING else job


def recall_pages(view: View) -> Iterable[Sequence[Recall]]:
    """All of them in pages, newest first."""
    page = view.recalls(_ALL_RECALLS, None, PAGE)
    while page:
        yield page
        page = view.recalls(_ALL_RECALLS, (page[-1].at, page[-1].id), PAGE)


def file_pages(view: View) -> Iterable[Sequence[KnownFile]]:
    """All of them in pages."""
    place, path = "", ""
    while page := view.files_after(place, path, PAGE):
        yield page
        place, path = page[-1].place, page[-1].path


def _store_digest(view: View, memories: Checksum) -> StoreDigest:
    kinds = [memories, *(Checksum() for _ in range(9))]
    _, agents, keys, jobs, audit, recalls, events, cooldowns, proposals, batches = kinds
    agents.add_all(view.agents())
    keys.add_all(view.api_keys())
    jobs.add_all(map(_cancel_running, view.jobs()))
    number = 0
    while page := view.audit_after(number, PAGE):
        audit.add_all(page)
        number = page[-1][0]
    for some in recall_pages(view):
        recalls.add_all(some)
    for happened in event_pages(view):
        events.add_all(happened)
    cooldowns.add_all(all_cooldowns(view))
    for page_of_proposals in proposal_pages(view):
        proposals.add_all(page_of_proposals)
    batches.add_all(all_batches(view))
    together = hashlib.sha256(b"".join(kind.digest for kind in kinds)).hexdigest()
    return StoreDigest(counts=view.counts(), sha256=together)


BATCH_PAGE = 100
_ALL_BATCHES = BatchFilter(seen=EVERYTHING.visibility)

BatchWithPreimages = tuple[Batch, tuple[Preimage, ...]]


def all_batches(view: View) -> Iterable[BatchWithPreimages]:
    """All batches with what is kept of them, newest first."""
    page = view.batches(_ALL_BATCHES, None, BATCH_PAGE)
    while page:
        for one in page:
            yield one, tuple(view.preimages(one.id))
        page = view.batches(_ALL_BATCHES, (page[-1].at, page[-1].id), BATCH_PAGE)


def copy_batches(view: View, target: MemoryStore) -> None:
    """Let the target have the batches that the view shows, and no others."""
    with target.read() as there:
        known = {kept[0].id: _batch_digest(kept) for kept in all_batches(there)}
    for kept in all_batches(view):
        if known.pop(kept[0].id, None) != _batch_digest(kept):
            target.write(lambda tx, kept=kept: _put_batch(tx, kept))
    for gone in known:
        target.write(lambda tx, gone=gone: tx.drop_batch(BatchId(gone)))


def _put_batch(tx: Transaction, kept: BatchWithPreimages) -> None:
    batch, preimages = kept
    tx.drop_batch(batch.id)
    tx.put_batch(batch, preimages)


def _batch_digest(kept: BatchWithPreimages) -> bytes:
    return sha256(canonical(kept)).digest()


_ALL_EVENTS = EventFilter(seen=EVERYTHING.visibility)
_ALL_TIME = datetime.min.replace(tzinfo=UTC)


def copy_events(view: View, target: MemoryStore) -> None:
    """See that the target has those of ``view``, and no others. Those that tell of a memory come after it."""
    with target.read() as there:
        copied = {event.id for page in event_pages(there) for event in page}
        known = {(one.service, one.action): one for one in all_cooldowns(there)}
    for page in event_pages(view):
        missing = [event for event in page if event.id not in copied]
        if missing:
            target.write(lambda tx, missing=missing: tx.log_events(missing))
        copied.difference_update(event.id for event in page)
    wanted = {(one.service, one.action): one for one in all_cooldowns(view)}

    def work(tx: Transaction) -> None:
        for event in copied:
            tx.drop_event(event)
        for service, action in known.keys() - wanted.keys():
            tx.drop_cooldown(service, action)
        for place, one in wanted.items():
            if known.get(place) != one:
                tx.put_cooldown(one)

    target.write(work)


def event_pages(view: View) -> Iterable[Sequence[Event]]:
    """All of them in pages, newest first."""
    page = view.events(_ALL_EVENTS, None, PAGE)
    while page:
        yield page
        page = view.events(_ALL_EVENTS, (page[-1].at, page[-1].id), PAGE)


def all_cooldowns(view: View) -> Sequence[Cooldown]:
    """All of them, those too that are over."""
    return view.cooldowns(_ALL_TIME)


_ALL_PROPOSALS = ProposalFilter(seen=EVERYTHING.visibility)


def proposal_pages(view: View) -> Iterable[Sequence[Proposal]]:
    """All proposals in pages, newest first."""
    page = view.proposals(_ALL_PROPOSALS, None, PAGE)
    while page:
        yield page
        page = view.proposals(_ALL_PROPOSALS, (page[-1].at, page[-1].id), PAGE)


def copy_proposals(view: View, target: MemoryStore) -> None:
    """Let the target have the proposals that the view shows, and no others."""
    with target.read() as there:
        copied = {one.id: one for page in proposal_pages(there) for one in page}
    kept = {one.id for page in proposal_pages(view) for one in page}
    for page in proposal_pages(view):
        changed = [one for one in page if copied.get(one.id) != one]
        if changed:
            target.write(lambda tx, changed=changed: _put_proposals(tx, changed))
    for gone in copied.keys() - kept:
        target.write(lambda tx, gone=gone: tx.drop_proposal(gone))


def _put_proposals(tx: Transaction, proposals: Sequence[Proposal]) -> None:
    for one in proposals:
        tx.put_proposal(one)
