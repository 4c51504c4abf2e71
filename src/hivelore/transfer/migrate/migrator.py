"""Migration of a swarm from one store to another, while the source may be in use.

Memories and their parts keep their keys, so that the target can follow the change log of the source. The target stores
the progress in the same transaction as the copied rows, so a killed process continues where it stopped: the target has
the memories up to a key, as of a snapshot of the source. Differences that the log does not record (access counts,
dropped vectors) are found when both stores are compared at the end.
"""

import hashlib
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, TypeVar

from hivelore.changes.model import Batch, BatchFilter, Preimage
from hivelore.configuration.model import ConfigChange, ConfigEntry, ConfigId, ConfigVersion, EnvLine
from hivelore.core.agents import AgentId
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.jobs import Job, JobState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import Event, EventFilter
from hivelore.feedback.recalls import Recall, RecallFilter
from hivelore.folders.model import KnownFile
from hivelore.identity.profile import ProfileChange, ProfileVersion
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import ChangeCursor, ChangeKind
from hivelore.indexing.rebuild import INDEX, IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.links.model import StoredLink
from hivelore.memories import whole_reader
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.whole import Counts
from hivelore.memories.whole_reader import Checksum, MemoryBatch, canonical
from hivelore.repos.model import Repo, RepoChange, RepoId, RepoReport
from hivelore.repos.rules import name_key
from hivelore.review.model import Proposal, ProposalFilter, ProposalId
from hivelore.search.model import EVERYTHING, RecallId
from hivelore.sessions.model import EventId
from hivelore.setup_scripts.model import ScriptVersion
from hivelore.storage.migration_state import MOVE, MigrationState, fitting, known, origin_of
from hivelore.storage.planner_statistics import PlannerStatistics
from hivelore.storage.ports import MemoryStore, Snapshots, Transaction, View

T = TypeVar("T")
PAGE = 1_000
"""Rows of a log that are read at a time."""
BATCH_PAGE = 100
"""Change batches that are read at a time, each with its pre-images; also repositories and setup scripts."""
VERSION_PAGE = 20
"""Versions of profiles that are read at a time."""
CANCELLED_BY_MOVE = Clean("It was running when the swarm was moved. Start it again.")

Progress = Callable[[str, float | None], AbstractContextManager[Callable[[float], None]]]
"""Opens a progress bar with a label and a total. The result is called with the amount done."""


@contextmanager
def no_progress(_label: str, _total: float | None) -> Generator[Callable[[float], None]]:
    yield lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDigest:
    """Counts and checksum of a store."""

    counts: Counts
    sha256: str
    """Independent of the order of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    source: StoreDigest
    target: StoreDigest

    @property
    def is_equal(self) -> bool:
        return self.source == self.target


class Migrator:
    """Call ``begin`` first, then ``follow`` and ``index`` any number of times, and ``finish`` once nobody writes to the
    source."""

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
        """``engines``: the keyword index of the target, then others that its store may have had. ``settings``: names of
        the settings that belong to the swarm; all others are facts about a store."""
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
        """Claims the target, or returns the state of an earlier run. Raises the errors of ``fitting``."""
        with self._source.read() as view:
            origin = origin_of(view)
        fresh = MigrationState(origin=origin, began_at=self._clock.now().isoformat(timespec="seconds"))

        def claim(tx: Transaction) -> MigrationState:
            state = fitting(tx, origin)
            if state is None:
                tx.set_setting(MOVE, fresh.text)
            return state or fresh

        return self._target.write(claim)

    def follow(self, *, logs: bool = False) -> int:
        """Updates the target to the current memories of the source; with ``logs`` also everything else. Returns the
        number of memories copied or deleted."""
        with self._source.read() as view:
            done = self._copy_memories(view)
            if logs:
                self._copy_rest(view)
        return done

    def index(self) -> None:
        """Indexes memories copied before the index existed, so that the first service can search all keywords."""
        self._index_rebuild.begin()
        total = self._index_rebuild.remaining
        with self._progress("Indexing", total) as advance:
            while not self._index_rebuild.is_complete():
                self._index_rebuild.run_step()
                advance(total - self._index_rebuild.remaining)
        while self._keywords.compact(self._target):
            pass

    def compare(self) -> Comparison:
        """Compares both stores without changing them."""
        with self._source.read() as view:
            return self._compare(view, repair=False)

    def finish(self) -> Comparison | None:
        """Copies the rest and compares both stores; if they are equal, services may use the target. Returns None if
        somebody wrote to the source meanwhile: call it again when nobody does."""
        self.follow(logs=True)
        self.index()
        self._target.analyze()
        with self._source.read() as view:
            self._copy_memories(view)
            self._copy_rest(view)
            compared = self._compare(view, repair=True)
            cursor = view.change_cursor()
        with self._source.read() as view:
            if any(changes for _, changes in view.changes(cursor)):
                return None
        if compared.is_equal:
            now = self._clock.now().isoformat(timespec="seconds")
            self._target.write(lambda tx: tx.set_setting(MOVE, replace(known(tx), finished_at=now).text))
        return compared

    # memories

    def _copy_memories(self, view: View) -> int:
        with self._target.read() as target:
            state = known(target)
        done = 0 if state.shown is None else self._catch_up(view, state, state.shown)
        state = replace(state, shown=view.change_cursor())
        models = [(fingerprint, view.dimension(model)) for fingerprint, model in whole_reader.list_models(view)]

        def prepare(tx: Transaction) -> None:
            for fingerprint, dimension in models:
                tx.register_model(fingerprint, dimension)
            tx.set_setting(MOVE, state.text)

        self._target.write(prepare)
        new = sorted(key for key in view.matching_keys(EVERYTHING) if key > state.upto)
        with self._progress("Copying", len(new)) as advance:
            copied = 0
            for keys in whole_reader.split_into_batches(view, new):
                self._put(whole_reader.read_memories(view, keys), replace(state, upto=keys[-1]))
                copied += len(keys)
                advance(copied)
                self._planner_statistics.rows_written(len(keys))
        self._planner_statistics.load_ended()
        return done + len(new)

    def _catch_up(self, view: View, state: MigrationState, since: ChangeCursor) -> int:
        """Repeats the changes to memories that the target already has. All changed memories are deleted before the
        first is written, because one may now have the path of another. After a crash this starts again."""
        changed: dict[DocumentKey, set[ChangeKind]] = {}
        for _, changes in view.changes(since):
            for change in changes:
                if change.document <= state.upto:
                    changed.setdefault(change.document, set()).add(change.kind)
        embedded = sorted(key for key, kinds in changed.items() if kinds == {ChangeKind.VECTORS})
        self._rewrite(view, sorted(changed.keys() - set(embedded)))
        for keys in whole_reader.split_into_batches(view, embedded):
            load = whole_reader.read_memories(view, keys)
            self._target.write(lambda tx, load=load: _put_vectors(tx, load))
        return len(changed)

    def _rewrite(self, view: View, keys: Sequence[DocumentKey]) -> None:
        """Deletes memories from the target and copies those that still exist."""
        existing: list[DocumentKey] = []
        for some in whole_reader.in_batches(keys, whole_reader.BATCH_SIZE):
            found = view.rank_features_of(some, EVERYTHING).keys()
            self._target.write(lambda tx, some=some, found=found: self._remove(tx, some, found))
            existing += sorted(found)
        for some in whole_reader.split_into_batches(view, existing):
            self._put(whole_reader.read_memories(view, some), None)

    def _remove(self, tx: Transaction, keys: Sequence[DocumentKey], to_return: Collection[DocumentKey]) -> None:
        indexed = tx.setting(INDEX) is not None
        for key, memory in tx.memories_of(keys, EVERYTHING).items():
            if not indexed:
                tx.forget(key)
            elif key in to_return:
                self._index_writer.withdraw(tx, Stored(key, memory))
            else:
                self._index_writer.drop(tx, Stored(key, memory))

    def _put(self, load: MemoryBatch, state: MigrationState | None) -> None:
        def put(tx: Transaction) -> None:
            if tx.setting(INDEX) is not None:
                self._index_writer.import_memories(tx, load.memories)
            else:
                tx.import_memories(load.memories)
            _put_vectors(tx, load)
            if state is not None:
                tx.set_setting(MOVE, state.text)

        self._target.write(put)

    # everything else

    def _copy_rest(self, view: View) -> None:
        self._copy_access_counts(view)
        self._copy_audit(view)
        self._copy_recalls(view)
        self._copy_events(view)
        self._copy_proposals(view)
        self._copy_links(view)
        self._copy_batches(view)
        self._copy_config(view)
        self._copy_repos(view)
        self._copy_setup_scripts(view)
        self._copy_files(view)
        self._copy_profiles(view)
        for page in _pages(lambda after: view.handovers_after(after, PAGE), EventId(""), lambda one: one.ended.id):
            self._target.write(lambda tx, page=page: _put_each(tx.put_handover, page))
        values = {name: value for name in self._settings if (value := view.setting(name)) is not None}
        agents, keys, jobs = view.agents(), view.api_keys(), list(map(_cancel_running, view.jobs()))

        def put(tx: Transaction) -> None:
            _put_each(tx.put_agent, agents)
            _put_each(tx.put_api_key, keys)
            _put_each(tx.put_job, jobs)
            for name, value in values.items():
                tx.set_setting(name, value)

        self._target.write(put)

    def _copy_access_counts(self, view: View) -> None:
        """Copies access counts, which the change log does not record."""
        for some in whole_reader.in_batches(sorted(view.matching_keys(EVERYTHING)), PAGE):
            wanted = view.rank_features_of(some, EVERYTHING)
            with self._target.read() as target:
                found = target.rank_features_of(some, EVERYTHING)
            reads = {
                key: (one.access_count - found[key].access_count, one.accessed_at)
                for key, one in wanted.items()
                if one.accessed_at is not None and key in found and one.access_count > found[key].access_count
            }
            if reads:
                self._target.write(lambda tx, reads=reads: tx.count_reads(reads))

    def _copy_audit(self, view: View) -> None:
        for page in _audit_pages(view):
            with self._target.read() as target:
                copied = {number for number, _ in target.audit_after(page[0][0] - 1, PAGE)}
            missing = {number: entry for number, entry in page if number not in copied}
            if missing:
                self._target.write(lambda tx, missing=missing: tx.import_audit(missing))

    def _copy_recalls(self, view: View) -> None:
        with self._target.read() as target:
            copied = {recall.id for recall in chain.from_iterable(_recall_pages(target))}
        kept: set[RecallId] = set()
        oldest = datetime.max.replace(tzinfo=UTC)
        for page in _recall_pages(view):
            if missing := [recall for recall in page if recall.id not in copied]:
                self._target.write(lambda tx, missing=missing: tx.log_recalls(missing))
            kept.update(recall.id for recall in page)
            oldest = page[-1].at
        # Recalls that the source has pruned since they were copied, which are the oldest.
        while (
            copied - kept and self._target.write(lambda tx: tx.prune_recalls(oldest, max(len(kept), 1), PAGE)) == PAGE
        ):
            pass

    def _copy_events(self, view: View) -> None:
        """Copies events and cooldowns after the memories that they are about, and drops others from the target."""
        with self._target.read() as target:
            copied = {event.id for event in chain.from_iterable(_event_pages(target))}
            found = {(one.service, one.action): one for one in target.cooldowns(_BEGINNING)}
        for page in _event_pages(view):
            if missing := [event for event in page if event.id not in copied]:
                self._target.write(lambda tx, missing=missing: tx.log_events(missing))
            copied.difference_update(event.id for event in page)
        wanted = {(one.service, one.action): one for one in view.cooldowns(_BEGINNING)}

        def update(tx: Transaction) -> None:
            _put_each(tx.drop_event, copied)
            for service, action in found.keys() - wanted.keys():
                tx.drop_cooldown(service, action)
            _put_each(tx.put_cooldown, [one for name, one in wanted.items() if found.get(name) != one])

        self._target.write(update)

    def _copy_proposals(self, view: View) -> None:
        with self._target.read() as target:
            found = {one.id: one for one in chain.from_iterable(_proposal_pages(target))}
        kept = {one.id for one in chain.from_iterable(_proposal_pages(view))}
        for page in _proposal_pages(view):
            if changed := [one for one in page if found.get(one.id) != one]:
                plain = [one for one in changed if one.script is None]
                self._target.write(lambda tx, plain=plain: _put_each(tx.put_proposal, plain))
                for one in changed:
                    if one.script is not None:
                        text = view.script_draft(one.id)
                        self._target.write(lambda tx, one=one, text=text: _put_script_proposal(tx, one, text))
        for deleted in found.keys() - kept:
            self._target.write(lambda tx, deleted=deleted: tx.drop_proposal(deleted))

    def _copy_links(self, view: View) -> None:
        for keys in _key_pages(view):
            wanted = set(_links_from(view, keys))
            with self._target.read() as target:
                found = set(_links_from(target, keys))
            if wanted != found:
                self._target.write(lambda tx, old=found - wanted, new=wanted - found: _replace_links(tx, old, new))

    def _copy_batches(self, view: View) -> None:
        with self._target.read() as target:
            digests = {one[0].id: _digest(one) for one in all_batches(target)}
        for one in all_batches(view):
            if digests.pop(one[0].id, None) != _digest(one):
                self._target.write(lambda tx, one=one: _put_batch(tx, *one))
        for deleted in digests:
            self._target.write(lambda tx, deleted=deleted: tx.drop_batch(deleted))

    def _copy_config(self, view: View) -> None:
        with self._target.read() as target:
            found = {entry.id: (entry, versions) for entry, versions in config_of(target)}
        kept = {entry.id for entry, _ in config_of(view)}
        for deleted in found.keys() - kept:  # Another entry may have its key now.
            self._target.write(lambda tx, deleted=deleted: tx.drop_config_entry(deleted))
        for entry, versions in config_of(view):
            if found.get(entry.id) != (entry, versions):
                self._target.write(lambda tx, entry=entry, versions=versions: _put_config(tx, entry, versions))
        lines = set(env_lines_of(view))
        with self._target.read() as target:
            surplus = [one for one in env_lines_of(target) if one not in lines]
        for line in surplus:
            self._target.write(lambda tx, line=line: tx.drop_env_line(line.workspace, line.path, line.key))
        for line in lines:
            self._target.write(lambda tx, line=line: tx.put_env_line(line))

    def _copy_repos(self, view: View) -> None:
        with self._target.read() as target:
            found = {one.id: _digest(one) for one in repos_of(target)}
            reports = {(one.repo, one.owner): _digest(one) for one in repo_reports_of(target)}
        wanted = {one.id: _digest(one) for one in repos_of(view)}
        for repo, digest in found.items():
            if wanted.get(repo) != digest:  # Another one may have its name now.
                self._target.write(lambda tx, repo=repo: tx.drop_repo(repo))
                reports = {key: one for key, one in reports.items() if key[0] != repo}
        for one in repos_of(view):
            if found.get(one.id) != wanted[one.id]:
                self._target.write(lambda tx, one=one: tx.put_repo(one))
        for report in repo_reports_of(view):
            if reports.pop((report.repo, report.owner), None) != _digest(report):
                self._target.write(lambda tx, report=report: tx.put_repo_report(report))
        for repo, owner in reports:
            self._target.write(lambda tx, repo=repo, owner=owner: tx.drop_repo_report(repo, owner))

    def _copy_setup_scripts(self, view: View) -> None:
        with self._target.read() as target:
            found = {(one.agent, one.number): _digest(one) for one in setup_scripts_of(target)}
        first: dict[AgentId | None, int] = {}
        for one in setup_scripts_of(view):
            first.setdefault(one.agent, one.number)
            if found.get((one.agent, one.number)) != _digest(one):
                self._target.write(lambda tx, one=one: tx.put_setup_script(one))
        for agent in {agent for agent, _ in found}:
            last = first[agent] - 1 if agent in first else _LAST_NUMBER
            self._target.write(lambda tx, agent=agent, last=last: tx.drop_setup_scripts(agent, last))

    def _copy_profiles(self, view: View) -> None:
        for page in profile_version_pages(view):
            with self._target.read() as target:
                changed = [one for one in page if target.profile_version(one.agent, one.number) != one]
            if changed:
                self._target.write(lambda tx, changed=changed: _put_each(tx.put_profile_version, changed))
        profiles = view.profiles()
        # The current version may be older than all others that are kept.
        oldest = {
            profile: min(
                (number for number, _ in view.profile_version_sizes(profile.agent) if number != profile.version),
                default=profile.last + 1,
            )
            for profile in profiles
        }

        def put(tx: Transaction) -> None:
            _put_each(tx.put_profile, profiles)
            for profile, number in oldest.items():
                tx.drop_profile_versions(profile.agent, number - 1, profile.version)

        self._target.write(put)

    def _copy_files(self, view: View) -> None:
        kept: set[tuple[str, str]] = set()
        for page in _file_pages(view):
            self._target.write(lambda tx, page=page: tx.put_files(page))
            kept.update((file.place, file.path) for file in page)
        with self._target.read() as target:
            dropped = [one for one in chain.from_iterable(_file_pages(target)) if (one.place, one.path) not in kept]
        for file in dropped:
            self._target.write(lambda tx, file=file: tx.drop_files(file.place, [file.path]))

    # comparison

    def _compare(self, view: View, *, repair: bool) -> Comparison:
        """``repair``: copies differing memories again, and compares them once more."""
        here, there = Checksum(), Checksum()
        with self._target.read() as target:
            keys = sorted({*view.matching_keys(EVERYTHING), *target.matching_keys(EVERYTHING)})
        with self._progress("Comparing", len(keys)) as advance:
            done = 0
            for some in whole_reader.split_into_batches(view, keys):
                wanted = whole_reader.memory_digests(whole_reader.read_memories(view, some))
                found = self._target_digests(some)
                different = [key for key in some if wanted.get(key) != found.get(key)]
                if different and repair:
                    self._rewrite(view, different)
                    self._copy_proposals(view)  # Deleting a memory also deletes its proposals.
                    found = self._target_digests(some)
                for one in wanted.values():
                    here.add(one)
                for one in found.values():
                    there.add(one)
                done += len(some)
                advance(done)
        if repair:  # Deleting a memory also deletes its links and the events about it.
            self._copy_links(view)
            self._copy_events(view)
        with self._target.read() as target:
            return Comparison(source=_store_digest(view, here), target=_store_digest(target, there))

    def _target_digests(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, bytes]:
        with self._target.read() as target:
            return whole_reader.memory_digests(whole_reader.read_memories(target, keys))


def _put_each(put: Callable[[T], object], rows: Collection[T]) -> None:
    for row in rows:
        put(row)


def _put_vectors(tx: Transaction, load: MemoryBatch) -> None:
    for fingerprint, made in load.embedded.items():
        tx.put_vectors(tx.register_model(fingerprint, made.dimension), made.vectors, made.tokens)


def _replace_links(tx: Transaction, old: Collection[StoredLink], new: Collection[StoredLink]) -> None:
    for one in old:
        tx.drop_link(one.source, one.target, one.link.kind)
    _put_each(tx.put_link, new)


def _put_script_proposal(tx: Transaction, proposal: Proposal, text: Clean | None) -> None:
    tx.put_proposal(proposal)
    if text is not None:
        tx.put_script_draft(proposal.id, text)


def _put_batch(
    tx: Transaction,
    batch: Batch,
    preimages: Sequence[Preimage],
    config_changes: Sequence[ConfigChange],
    repo_changes: Sequence[RepoChange],
    profile_changes: Sequence[ProfileChange],
) -> None:
    tx.drop_batch(batch.id)
    tx.put_batch(batch, preimages)
    tx.put_config_changes(batch.id, config_changes)
    tx.put_repo_changes(batch.id, repo_changes)
    tx.put_profile_changes(batch.id, profile_changes)


def _put_config(tx: Transaction, entry: ConfigEntry, versions: Sequence[ConfigVersion]) -> None:
    tx.put_config_entry(entry)
    tx.drop_config_versions(entry.id, _LAST_NUMBER)
    _put_each(tx.put_config_version, versions)


def _digest(row: object) -> bytes:
    return hashlib.sha256(canonical(row)).digest()


def _cancel_running(job: Job) -> Job:
    """Returns the job as copied: a running job does not continue in the target."""
    return replace(job, state=JobState.CANCELLED, error=CANCELLED_BY_MOVE) if job.state is JobState.RUNNING else job


def _store_digest(view: View, memories: Checksum) -> StoreDigest:
    checksums = [memories]
    for rows in (
        view.agents(),
        view.api_keys(),
        map(_cancel_running, view.jobs()),
        chain.from_iterable(_audit_pages(view)),
        chain.from_iterable(_recall_pages(view)),
        chain.from_iterable(_event_pages(view)),
        view.cooldowns(_BEGINNING),
        chain.from_iterable(_proposal_pages(view)),
        chain.from_iterable(_links_from(view, keys) for keys in _key_pages(view)),
        all_batches(view),
        config_of(view),
        env_lines_of(view),
        repos_of(view),
        repo_reports_of(view),
        setup_scripts_of(view),
        script_drafts_of(view),
        view.profiles(),
        chain.from_iterable(profile_version_pages(view)),
    ):
        checksum = Checksum()
        checksum.add_all(rows)
        checksums.append(checksum)
    sha256 = hashlib.sha256(b"".join(one.digest for one in checksums)).hexdigest()
    return StoreDigest(counts=view.counts(), sha256=sha256)


# All rows of a log in pages

_LAST_NUMBER = 2**31 - 1
"""At least the number of every version."""
_BEGINNING = datetime.min.replace(tzinfo=UTC)
_SEEN = EVERYTHING.visibility


def _pages(read: Callable[[Any], Sequence[T]], start: object, cursor: Callable[[T], object]) -> Iterator[Sequence[T]]:
    """Yields pages until one is empty. ``read`` returns the rows after a cursor, ``cursor`` that of a row."""
    after = start
    while page := read(after):
        yield page
        after = cursor(page[-1])


def _recall_pages(view: View) -> Iterator[Sequence[Recall]]:
    where = RecallFilter(seen=_SEEN, operators=True)
    return _pages(lambda after: view.recalls(where, after, PAGE), None, lambda one: (one.at, one.id))


def _event_pages(view: View) -> Iterator[Sequence[Event]]:
    where = EventFilter(seen=_SEEN)
    return _pages(lambda after: view.events(where, after, PAGE), None, lambda one: (one.at, one.id))


def _proposal_pages(view: View) -> Iterator[Sequence[Proposal]]:
    where = ProposalFilter(seen=_SEEN)
    return _pages(lambda after: view.proposals(where, after, PAGE), None, lambda one: (one.at, one.id))


def _audit_pages(view: View) -> Iterator[Sequence[tuple[int, AuditEntry]]]:
    return _pages(lambda after: view.audit_after(after, PAGE), 0, lambda one: one[0])


def _file_pages(view: View) -> Iterator[Sequence[KnownFile]]:
    return _pages(lambda after: view.files_after(after[0], after[1], PAGE), ("", ""), lambda one: (one.place, one.path))


def _key_pages(view: View) -> Iterator[Sequence[DocumentKey]]:
    return whole_reader.in_batches(sorted(view.matching_keys(EVERYTHING)), PAGE)


def _links_from(view: View, keys: Collection[DocumentKey]) -> Sequence[StoredLink]:
    """Returns the links whose source is one of these memories."""
    sources = set(keys)
    return [one for one in view.links_of(keys) if one.source in sources]


def config_of(view: View) -> Iterator[tuple[ConfigEntry, tuple[ConfigVersion, ...]]]:
    """Yields all configuration entries with their versions, by id."""
    pages = _pages(lambda after: view.config_entries_after(after, PAGE), ConfigId(""), lambda one: one.id)
    return ((entry, tuple(view.config_versions(entry.id))) for page in pages for entry in page)


def env_lines_of(view: View) -> Iterator[EnvLine]:
    """Yields all lines of .env files, by workspace, path and key."""
    pages = _pages(
        lambda after: view.env_lines_after(after, PAGE), ("", "", ""), lambda one: (one.workspace, one.path, one.key)
    )
    return chain.from_iterable(pages)


def repos_of(view: View) -> Iterator[Repo]:
    """Yields all repositories, by name."""
    return chain.from_iterable(_pages(lambda after: view.repos(after, BATCH_PAGE), "", lambda one: name_key(one.name)))


def repo_reports_of(view: View) -> Iterator[RepoReport]:
    """Yields all reports about clones, by repository and owner."""
    start = (RepoId(""), None)
    pages = _pages(lambda after: view.repo_reports_after(after, BATCH_PAGE), start, lambda one: (one.repo, one.owner))
    return chain.from_iterable(pages)


def setup_scripts_of(view: View) -> Iterator[ScriptVersion]:
    """Yields all versions of all setup scripts, by agent and number."""
    pages = _pages(
        lambda after: view.all_setup_scripts(after, BATCH_PAGE), ("", 0), lambda one: (one.agent or "", one.number)
    )
    return chain.from_iterable(pages)


def script_drafts_of(view: View) -> Iterator[tuple[ProposalId, Clean]]:
    """Yields the texts of all proposals to change a setup script."""
    for one in chain.from_iterable(_proposal_pages(view)):
        if one.script is not None and (text := view.script_draft(one.id)) is not None:
            yield one.id, text


def profile_version_pages(view: View) -> Iterator[Sequence[ProfileVersion]]:
    """Yields the versions of all profiles, by agent and newest first."""
    for profile in view.profiles():
        agent = profile.agent
        yield from _pages(
            lambda before, agent=agent: view.profile_versions(agent, before, VERSION_PAGE),
            profile.last + 1,
            lambda one: one.number,
        )


def all_batches(
    view: View,
) -> Iterator[
    tuple[Batch, tuple[Preimage, ...], tuple[ConfigChange, ...], tuple[RepoChange, ...], tuple[ProfileChange, ...]]
]:
    """Yields all change batches with their pre-images and their other changes, newest first."""
    where = BatchFilter(seen=_SEEN)
    pages = _pages(lambda after: view.batches(where, after, BATCH_PAGE), None, lambda one: (one.at, one.id))
    return (
        (
            batch,
            tuple(view.preimages(batch.id)),
            tuple(view.config_changes(batch.id)),
            tuple(view.repo_changes(batch.id)),
            tuple(view.profile_changes(batch.id)),
        )
        for page in pages
        for batch in page
    )
