"""Keeps the lines of .env files as the entries say.

A change of an entry marks lines as due, in its transaction. Afterwards the file is reconciled: under a lock, its lines
are decided by the entries of that moment and written at once. A line that cannot be written stays due, and a background
worker tries again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

from hivelore.configuration.decisions import crowded_keys, decide_lines, may_forget
from hivelore.configuration.env_files import EnvFiles, MissingFolder
from hivelore.configuration.env_text import quote
from hivelore.configuration.keyring import Keyring
from hivelore.configuration.model import MAX_LINES, ConfigEntry, ConfigScope, EnvLine, EnvProblem
from hivelore.configuration.secret_reader import SecretReader
from hivelore.configuration.workspace_id import WorkspaceId
from hivelore.core.agents import AgentId
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Busy, Conflict, HiveloreError
from hivelore.local.endpoint import LOCKS
from hivelore.local.file_lock import ATTEMPTS, locked
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction, View

EVERY = 5.0
"""Seconds between looks for due lines."""
RETRY_EVERY = 60.0
"""Seconds between attempts to write lines that could not be written."""
LATE = timedelta(minutes=5)
"""Lines that are due for longer are shown as problems."""
WORKER_ATTEMPTS = 5
"""Attempts of the background worker to get the lock of a file; other work waits for it."""
SHARED_ATTEMPTS = 100
"""Most attempts to get the lock that services with other homes use, too."""
_PAGE = 1_000
_MOST = 2 * MAX_LINES
"""More than the lines and entries of a file, some of which wait for their removal."""
_ELSEWHERE = 5
"""Most other workspaces that a warning names."""
_NOT_WRITTEN = (
    "No service wrote it since its entry changed. Start one with HIVELORE_WORKSPACE set to this folder. If the folder "
    "is not used any more, correct the file by hand."
)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The state of a file's lines in the database."""

    lines: Sequence[EnvLine]
    keys: frozenset[str]
    """Names of all entries with this file, also of those that decide no line."""
    values: Mapping[str, str | None]
    problems: Mapping[str, HiveloreError]
    """By key: why the value cannot be read."""


class EnvReconciler:
    def __init__(
        self,
        *,
        store: MemoryStore,
        keyring: Keyring,
        env_files: EnvFiles,
        home: Path,
        workspace: WorkspaceId,
        clock: Clock,
    ) -> None:
        """``home``: folder of the locks, which agents cannot hold."""
        self._store = store
        self._keyring = keyring
        self._env_files = env_files
        self._locks = home / LOCKS
        self._workspace = workspace
        self._clock = clock
        self._next_look = self._next_retry = 0.0

    def keep_line(self, tx: Transaction, path: str, entry: ConfigEntry) -> None:
        """Makes the line of an entry in a file of this workspace one that is kept. Raises Conflict if the file has no
        room for it, or has a line with this key that is not kept."""
        workspace, key = self._workspace.make(), entry.key
        owner = AgentId(entry.place.scope_id) if entry.place.scope is ConfigScope.AGENT else None
        lines = tx.env_lines(workspace, path, _MOST)
        known = next((one for one in lines if one.key == key), None)
        if known is not None:
            if known.owner not in (None, owner):
                tx.put_env_line(replace(known, owner=owner))
            return
        if len(lines) >= MAX_LINES:
            raise Conflict(f"There are {MAX_LINES} entries in {path} already. Choose another envPath.")
        try:
            present = self._env_files.keys(path) or frozenset()
        except HiveloreError:
            present = frozenset[str]()  # The attempt to write it says why.
        if key in present:
            raise _not_ours(path, key)
        tx.put_env_line(
            EnvLine(
                workspace=workspace,
                path=path,
                key=key,
                location=self._workspace.location,
                owner=owner,
                due_at=self._clock.now(),
            )
        )

    def reconcile(self, path: str, attempts: int = ATTEMPTS) -> Sequence[str]:
        """Brings the lines of a file up to date. Returns why some could not be written, which is stored, too.
        ``attempts``: most attempts to get the lock of the file."""
        try:
            workspace = self._workspace.find()
            if workspace is None:
                return []
            lock = self._locks / f"env-{sha256(f'{workspace}/{path}'.encode()).hexdigest()[:16]}"
            try:
                with locked(lock, attempts), self._env_files.exclusive(min(attempts, SHARED_ATTEMPTS)):
                    wanted = self._wanted(workspace, path)
                    problems = self._write(path, wanted)
                    self._store.write(lambda tx: self._record(tx, path, wanted, problems))
            except Busy as error:
                wanted = self._wanted(workspace, path)
                problems = {one.key: error for one in wanted.lines}
                self._store.write(lambda tx: self._record(tx, path, wanted, problems))
        except HiveloreError as error:
            return [str(error)]
        return sorted({str(error) for error in problems.values()})

    def run_step(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Reconciles files with due lines. Call about once a second."""
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + EVERY
        workspace = self._workspace.find()
        if workspace is None:
            return
        with self._store.read() as view:
            due = view.due_env_lines(workspace, _PAGE)
        is_retried = now >= self._next_retry
        if is_retried:
            self._next_retry = now + RETRY_EVERY
        for path in dict.fromkeys(one.path for one in due if is_retried or one.problem is None):
            if not stopping():
                self.reconcile(path, WORKER_ATTEMPTS)

    def differences(self) -> tuple[int, Sequence[EnvProblem]]:
        """Returns the number of lines of this workspace, and those that are not as the entries say. Changes none."""
        workspace = self._workspace.find()
        lines: list[EnvLine] = []
        after = (workspace or "", "", "")
        while workspace is not None:
            with self._store.read() as view:
                page = [one for one in view.env_lines_after(after, _PAGE) if one.workspace == workspace]
            lines += page
            if len(page) < _PAGE:
                break
            after = (workspace, page[-1].path, page[-1].key)
        by_path: dict[str, list[EnvLine]] = {}
        for one in lines:
            by_path.setdefault(one.path, []).append(one)
        found: list[EnvProblem] = []
        for path, in_file in by_path.items():
            wanted = self._wanted(in_file[0].workspace, path)
            reasons = {**self._compare(path, wanted), **{key: str(error) for key, error in wanted.problems.items()}}
            found += [_problem(one, reasons[one.key]) for one in in_file if one.key in reasons]
        return len(lines), found

    def late(self, view: View, seen: Visibility, limit: int, *, only_others: bool = False) -> Sequence[EnvProblem]:
        """Returns lines of all workspaces that could not be written, or are due for long. ``only_others``: not those of
        this workspace."""
        found = view.late_env_lines(seen, self._clock.now() - LATE, _PAGE if only_others else limit)
        own = self._workspace.find() if only_others else None
        return [_problem(one, _NOT_WRITTEN) for one in found if one.workspace != own][:limit]

    def elsewhere(self, path: str, key: str) -> Sequence[str]:
        """Returns warnings about the lines of a deleted entry in other workspaces, which their services remove."""
        workspace = self._workspace.find() or ""
        with self._store.read() as view:
            found = view.other_env_lines(workspace, path, key, _ELSEWHERE)
        return [
            f"{key} is also in {path} of {one.location}, and is removed there when a service uses that workspace."
            for one in found
        ]

    # steps

    def _wanted(self, workspace: str, path: str) -> _Wanted:
        with self._store.read() as view:
            lines = view.env_lines(workspace, path, _MOST)
            entries = view.config_entries_in_file(path, _MOST)
        reader = SecretReader(self._keyring)
        values: dict[str, str | None] = {}
        problems: dict[str, HiveloreError] = dict.fromkeys(
            crowded_keys(entries),
            Conflict(f"It is not written: {path} is shared with entries of others. Set another envPath."),
        )
        kept = [one.key for one in lines if one.key not in problems]
        for key, current in decide_lines(kept, entries).items():
            try:
                is_gone = current is None or current.content.is_erased
                value = None if current is None or is_gone else reader.value(current.content, key)
                if value is not None:
                    quote(value)
                values[key] = value
            except HiveloreError as error:
                problems[key] = error
        return _Wanted(lines, frozenset(one.entry.key for one in entries), values, problems)

    def _write(self, path: str, wanted: _Wanted) -> Mapping[str, HiveloreError]:
        """Writes a file. Returns why lines could not be written, by key."""
        problems = dict(wanted.problems)
        try:
            begun, is_own_file = self._begin(path, wanted)
        except HiveloreError as error:
            return {**dict.fromkeys(wanted.values, error), **problems}
        values = {key: value for key, value in wanted.values.items() if key in begun}
        refused = (key for key, value in wanted.values.items() if value is not None and key not in begun)
        problems |= {key: _not_ours(path, key) for key in refused}
        removals = {key: value for key, value in values.items() if value is None}
        for part in (values, removals):  # Whatever else cannot be written, no secret stays.
            if not part:
                continue
            try:
                self._env_files.update(path, part, may_remove=is_own_file)
            except HiveloreError as error:
                problems |= dict.fromkeys(part, error)
            else:
                for key in part:
                    problems.pop(key, None)
                break
        return problems

    def _begin(self, path: str, wanted: _Wanted) -> tuple[frozenset[str], bool]:
        """Stores which lines may be in the file from now on, before it is written: all but those that the user wrote
        into it meanwhile. Returns the keys of those lines, and whether Hivelore created the file."""
        fresh = [one for one in wanted.lines if not one.is_begun and wanted.values.get(one.key) is not None]
        begun = {one.key for one in wanted.lines if one.is_begun}
        is_own_file = any(one.is_in_own_file for one in wanted.lines)
        if not fresh:
            return frozenset(begun), is_own_file
        present = self._env_files.keys(path)
        is_own_file = is_own_file or present is None
        added = [one for one in fresh if present is None or one.key not in present]

        def store(tx: Transaction) -> None:
            for one in added:
                now = next((line for line in tx.env_lines(one.workspace, path, _MOST) if line.key == one.key), None)
                if now is not None:
                    tx.put_env_line(replace(now, is_begun=True, is_in_own_file=is_own_file))

        if added:
            self._store.write(store)
        return frozenset(begun | {one.key for one in added}), is_own_file

    def _record(self, tx: Transaction, path: str, wanted: _Wanted, problems: Mapping[str, HiveloreError]) -> None:
        """Stores which lines were written. A line that a change made due again meanwhile stays due."""
        if not wanted.lines:
            return
        now = {one.key: one for one in tx.env_lines(wanted.lines[0].workspace, path, _MOST)}
        at = self._clock.now()
        for before in wanted.lines:
            line, error = now.get(before.key), problems.get(before.key)
            if line is None:
                continue
            is_removal = before.key not in wanted.keys and line.revision == before.revision
            is_gone = error is None or (isinstance(error, MissingFolder) and may_forget(line.since, at))
            if is_removal and is_gone:
                tx.drop_env_line(line.workspace, line.path, line.key)
                continue
            after = line
            if error is None:
                due_at = None if line.revision == before.revision else line.due_at
                location = self._workspace.location
                after = replace(
                    line, location=location, written=before.revision, problem=None, since=None, due_at=due_at
                )
            elif line.is_due:
                after = replace(line, problem=Clean(str(error)), since=line.since or at)
            if after != line:
                tx.put_env_line(after)

    def _compare(self, path: str, wanted: _Wanted) -> Mapping[str, str]:
        """Returns why lines of a file differ from the entries, by key."""
        try:
            differing = self._env_files.differing(path, wanted.values)
        except HiveloreError as error:
            return dict.fromkeys(wanted.values, str(error))
        return {
            key: "The line was not removed." if wanted.values[key] is None else "The line in the file is another one."
            for key in differing
        }


def _problem(line: EnvLine, why: str) -> EnvProblem:
    return EnvProblem(
        workspace=line.location,
        path=line.path,
        key=line.key,
        problem=line.problem if line.is_due and line.problem is not None else why,
        since=(line.since or line.due_at) if line.is_due else None,
    )


def _not_ours(path: str, key: str) -> Conflict:
    return Conflict(
        f"{path} has a line with {key} that Hivelore did not write. Remove the line, or choose another envPath or key."
    )
