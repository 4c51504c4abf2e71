"""Memory folders: keeps memories in step with the files that agents write (A35)."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from msgspec import UNSET

from hivelore.core.agents import AgentId, Interface, Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.supervisor import Report, ignore_report
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, HiveloreError, Invalid, NotFound, Unavailable
from hivelore.folders import rules
from hivelore.folders.model import FolderScan, KnownFile, MemoryFolder
from hivelore.folders.ports import Workspace
from hivelore.folders.rules import FolderChanges
from hivelore.identity.service import Agents
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, Scope, Source
from hivelore.memories.normalizer import CONTENT_LENGTH
from hivelore.memories.record_lookup import same_record
from hivelore.memories.service import MemoryService
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.ports import MemoryStore, Transaction

_LOG = logging.getLogger("hivelore")
SCAN_INTERVAL = 1.0
"""Minimum seconds between two scans."""
SCAN_SHARE = 20
"""The pause after a scan is at least this many times its duration."""
MAX_BYTES = 4 * CONTENT_LENGTH
"""Largest file: the UTF-8 size of the longest memory."""
PAGE = 1_000
FLUSH_AFTER = 100
"""Changed files after which the known state is saved."""
RETRY_AFTER = 60.0
"""Seconds before retrying a file that could not be read or has no owner."""
_NO_SCAN = FolderScan({}, ("",))
"""State before the first scan, in which no file counts as deleted."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """State of the folders for status reports, without file names."""

    known: int = 0
    skipped: int = 0
    scanned_at: datetime | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _SkippedFile:
    """A file that is not a memory in its current state."""

    mark: str
    retry_at: float | None = None
    """When to retry it although it is unchanged."""


class FolderSync:
    """Used by one thread; only ``state`` is read by others."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        workspace: Workspace,
        place: Clean,
        memory_service: MemoryService,
        agents: Agents,
        leader_lease: LeaderLease,
        redactor: Redactor,
        clock: Clock,
    ) -> None:
        """``place``: the key of the workspace in the store. Only the holder of ``leader_lease`` scans it."""
        self._store = store
        self._workspace = workspace
        self._place = place
        self._memory_service = memory_service
        self._agents = agents
        self._leader_lease = leader_lease
        self._redactor = redactor
        self._clock = clock
        self._known: dict[str, KnownFile] | None = None
        self._pending: dict[str, KnownFile | None] = {}
        self._previous_scan = _NO_SCAN
        self._skipped: dict[str, _SkippedFile] = {}
        self._creation_problem: str | None = None
        self.state = FolderState()

    def run(self, stop: threading.Event, report: Report = ignore_report) -> None:
        """Scans until stopped, then releases the lease. ``report`` receives the outcome of each scan."""
        try:
            self._workspace.create_folders()
        except Unavailable as problem:
            _LOG.warning("%s", problem)
            self._creation_problem = str(problem)
        while not stop.is_set():
            took = 0.0
            try:
                took = self.scan(stop.is_set)
                report(None)
            except HiveloreError as problem:  # For example a full disk: the next scan continues.
                self.state = replace(self.state, problem=str(problem))
                report(problem)
            stop.wait(max(SCAN_INTERVAL, SCAN_SHARE * took))
        try:
            self._leader_lease.release_lease()
        except HiveloreError as problem:
            _LOG.warning("%s", problem)

    def scan(self, stopping: Callable[[], bool] = lambda: False) -> float:
        """Applies changes of files to their memories. A change counts once two scans agree. Returns the seconds the
        scan took. Raises Unavailable if the rest must wait for the next scan."""
        if not self._leader_lease.is_leader():
            self._known, self.state = None, FolderState()
            return 0.0
        if self._known is None:
            self._known, self._previous_scan, self._skipped = self._load_known(), _NO_SCAN, {}
        began = self._clock.monotonic()
        now = self._workspace.scan()
        found = rules.find_changes(self._known, self._previous_scan, now)
        took = self._clock.monotonic() - began
        self._previous_scan = now
        try:
            self._apply_changes(found, self._known, now, stopping)
        finally:
            self._flush()
        self._skipped = {path: one for path, one in self._skipped.items() if path in now.marks}
        self.state = FolderState(
            len(self._known), len(self._skipped), self._clock.now(), now.problem or self._creation_problem
        )
        return took

    def _apply_changes(
        self, found: FolderChanges, known: dict[str, KnownFile], now: FolderScan, stopping: Callable[[], bool]
    ) -> None:
        gone: dict[str, KnownFile] = {file.path: file for file in found.deleted}
        for file, path in found.moved:
            self._isolate_errors(
                path, file.mark, lambda file=file, path=path: self._move_file(known, file, path, file.mark)
            )
        for path in found.written:
            if stopping() or not self._leader_lease.is_leader():
                return
            mark = now.marks[path]
            if self._is_due(path, mark):
                self._isolate_errors(path, mark, lambda path=path, mark=mark: self._store_file(known, gone, path, mark))
            if len(self._pending) >= FLUSH_AFTER:
                self._flush()
        for file in gone.values():
            self._isolate_errors(file.path, file.mark, lambda file=file: self._expire_memory(known, file))

    def _isolate_errors(self, path: str, mark: str, work: Callable[[], None]) -> None:
        """Skips a file that fails, so that others are not affected. Raises Unavailable for faults of the store."""
        try:
            work()
        except Unavailable:
            raise
        except NotFound:
            return  # It is being written or was deleted; the next scan shows which.
        except HiveloreError as problem:
            self._skip(path, mark, str(problem))

    def _store_file(self, known: dict[str, KnownFile], gone: dict[str, KnownFile], path: str, mark: str) -> None:
        """Stores a new or changed file."""
        if self._redactor.clean(path) != path:
            raise Invalid("Its name looks like a secret. Rename it.")
        folder, viewer = self._folder_and_viewer(path)
        if viewer is None:
            self._skip(path, mark, f"There is no agent {folder.agent!r}.", self._clock.monotonic() + RETRY_AFTER)
            return
        try:
            found, content = self._workspace.read(path, MAX_BYTES)
        except Unavailable as problem:
            self._skip(path, mark, str(problem), self._clock.monotonic() + RETRY_AFTER)
            return
        if found != mark:
            return
        digest, before = rules.content_digest(content), known.get(path)
        if before is not None and before.digest == digest:
            self._memory_service.renew(before.memory, viewer)
            self._set_known(known, path, replace(before, mark=mark))
            return
        elsewhere = None if before is not None else rules.find_renamed(gone.values(), path, digest)
        if elsewhere is not None:
            del gone[elsewhere.path]
            self._move_file(known, elsewhere, path, mark)
            return
        text = rules.decode_content(content)
        if not text.strip():
            if before is not None:
                self._expire_memory(known, before)
            self._skipped[path] = _SkippedFile(mark)
            return
        draft = Draft(
            content=text,
            name=rules.memory_name(path),
            scope=folder.scope,
            source=Source.FILE_INDEX,
            source_path=self._source_path(path),
        )
        # In one transaction: a file deleted while no service runs leaves no other trace.
        memory = self._memory_service.remember(
            draft, viewer, also=lambda tx, memory: tx.put_files([self._known_file(path, mark, digest, memory)])
        ).memory
        self._set_known(known, path, self._known_file(path, mark, digest, memory))
        del self._pending[path]

    def _known_file(self, path: str, mark: str, digest: str, memory: Memory) -> KnownFile:
        return KnownFile(self._place, Clean(path), mark, digest, memory.id)

    def _move_file(self, known: dict[str, KnownFile], file: KnownFile, path: str, mark: str) -> None:
        """Applies a new name or folder of a file."""
        memory = self._load_memory(file)
        old, owner = self._folder_and_viewer(file.path)
        new, taker = self._folder_and_viewer(path)
        viewer = owner if new.scope is Scope.SWARM else taker
        changes_owner = new.scope is Scope.AGENT and new != old
        is_own = memory is None or (viewer is not None and memory.owner == viewer.agent)
        if self._redactor.clean(path) != path or (changes_owner and not is_own):
            self._expire_memory(known, file)
            self._store_file(known, {}, path, mark)
            return
        if memory is not None and viewer is not None:
            named = memory.name == rules.memory_name(file.path)
            edit = Edit(
                name=rules.memory_name(path) if named else UNSET,
                scope=new.scope if new.scope != old.scope else UNSET,
                source_path=self._source_path(path),
                reason=f"Its file was moved from {file.path}.",
            )
            self._edit_with_path(path, new, memory, edit, viewer)
        self._set_known(known, file.path, None)
        self._set_known(known, path, replace(file, path=Clean(path), mark=mark))

    def _expire_memory(self, known: dict[str, KnownFile], file: KnownFile) -> None:
        """Expires the memory of a deleted file. It can be restored by undo or by its file."""
        memory, (_, viewer) = self._load_memory(file), self._folder_and_viewer(file.path)
        now = self._clock.now()
        if memory is not None and viewer is not None and memory.is_live(now):
            edit = Edit(expires_at=now, reason="Its file was deleted.")
            self._memory_service.edit(memory.id, edit, viewer)
        self._set_known(known, file.path, None)

    def _edit_with_path(self, path: str, folder: MemoryFolder, memory: Memory, edit: Edit, viewer: Viewer) -> None:
        """Edits a memory; if an older memory has the path, removes the path from that one first."""
        try:
            self._memory_service.edit(memory.id, edit, viewer)
        except Conflict:
            home = viewer.agent if folder.scope is Scope.AGENT else None
            with self._store.read() as view:
                other = same_record(view.memories_at_path(home, self._source_path(path)), memory.project)
            if other is not None:
                freed = Edit(source_path=None, reason="Another file now has its path.")
                self._memory_service.edit(other.memory.id, freed, viewer)
            self._memory_service.edit(memory.id, edit, viewer)

    def _folder_and_viewer(self, path: str) -> tuple[MemoryFolder, Viewer | None]:
        """Returns the folder of a file and its owner; None if the agent does not exist."""
        folder = rules.memory_folder(path)
        if folder is None:
            raise Invalid("It is outside the memory folders.")
        if folder.agent is None:
            agent = self._agents.local_agent()
        else:
            try:
                agent = self._agents.agent(AgentId(folder.agent))
            except NotFound:
                return folder, None
        return folder, Viewer(role=agent.role, agent=agent.id, interface=Interface.SERVICE)

    def _load_memory(self, file: KnownFile) -> Memory | None:
        """Returns the memory of a file, unless it was deleted or its path changed since."""
        with self._store.read() as view:
            stored = view.get(file.memory)
        is_there = stored is not None and stored.memory.source_path == self._source_path(file.path)
        return stored.memory if stored is not None and is_there else None

    def _source_path(self, path: str) -> Clean:
        return self._redactor.clean(f"{self._workspace.path}/{path}")

    def _skip(self, path: str, mark: str, why: str, again: float | None = None) -> None:
        passed = self._skipped.get(path)
        if passed is None or passed.mark != mark:
            _LOG.warning("%s", self._redactor.clean(f"Skipped the file {path!r} in {self._workspace.path}. {why}"))
        self._skipped[path] = _SkippedFile(mark, again)

    def _is_due(self, path: str, mark: str) -> bool:
        passed = self._skipped.get(path)
        if passed is None or passed.mark != mark:
            return True
        return passed.retry_at is not None and passed.retry_at <= self._clock.monotonic()

    def _set_known(self, known: dict[str, KnownFile], path: str, file: KnownFile | None) -> None:
        self._pending[path] = file
        if file is None:
            known.pop(path, None)
        else:
            known[path] = file
            self._skipped.pop(path, None)

    def _flush(self) -> None:
        """Saves pending changes of known files. After a crash the next scan finds unsaved changes again."""
        if not self._pending:
            return
        kept = [file for file in self._pending.values() if file is not None]
        dropped = [path for path, file in self._pending.items() if file is None]

        def save(tx: Transaction) -> None:
            tx.put_files(kept)
            tx.drop_files(self._place, dropped)

        self._store.write(save)
        self._pending = {}

    def _load_known(self) -> dict[str, KnownFile]:
        known: dict[str, KnownFile] = {}
        path = ""
        with self._store.read() as view:
            while page := [file for file in view.files_after(self._place, path, PAGE) if file.place == self._place]:
                known.update((file.path, file) for file in page)
                path = page[-1].path
        self._pending = {}
        return known
