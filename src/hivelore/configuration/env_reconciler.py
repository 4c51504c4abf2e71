"""Keeps the lines of .env files as the entries say.

A change of an entry marks lines as due, in its transaction. Afterwards the file is reconciled: under a lock, its lines
are decided by the entries of that moment and written at once. A line that cannot be written stays due, and a background
worker tries again.
"""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hivelore.configuration.decisions import decide_lines, may_forget
from hivelore.configuration.env_files import EnvFiles, MissingFolder
from hivelore.configuration.env_text import quote
from hivelore.configuration.keyring import Keyring
from hivelore.configuration.model import MAX_LINES, EnvLine, EnvProblem
from hivelore.configuration.secret_reader import SecretReader
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, HiveloreError
from hivelore.local.endpoint import LOCKS
from hivelore.local.file_lock import locked
from hivelore.storage.ports import MemoryStore, Transaction, View

EVERY = 5.0
"""Seconds between looks for due lines."""
RETRY_EVERY = 60.0
"""Seconds between attempts to write lines that could not be written."""
_PAGE = 1_000
_NAME_BYTES = 500
_MOST = 2 * MAX_LINES
"""More than the lines and entries of a file, some of which wait for their removal."""


def workspace_name(folder: Path, is_shared: bool) -> str:
    """Returns the name of a workspace in a store. A store that is not shared has one process, even if its machine was
    renamed."""
    host = socket.gethostname() if is_shared else ""
    name = f"{host}:{os.path.realpath(folder)}"
    return name if len(name.encode()) <= _NAME_BYTES else f"{host}:{sha256(name.encode()).hexdigest()}"


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
        workspace: str,
        former_workspace: str,
        clock: Clock,
    ) -> None:
        """``home``: folder of the locks; ``workspace``: name of the workspace in this store; ``former_workspace``: its
        name in a store of the other kind, which a moved database contains."""
        self._store = store
        self._keyring = keyring
        self._env_files = env_files
        self._locks = home / LOCKS
        self._workspace = workspace
        self._former_workspace = former_workspace
        self._is_adopted = False
        self._clock = clock
        self._next_look = self._next_retry = 0.0

    def keep_line(self, tx: Transaction, path: str, key: str) -> None:
        """Makes a line of a file in this workspace one that is kept. Raises Conflict if the file has no room for it."""
        lines = tx.env_lines(self._workspace, path, _MOST)
        if any(one.key == key for one in lines):
            return
        if len(lines) >= MAX_LINES:
            raise Conflict(f"There are {MAX_LINES} entries in {path} already. Choose another envPath.")
        tx.put_env_line(EnvLine(workspace=self._workspace, path=path, key=key))

    def reconcile(self, path: str) -> Sequence[str]:
        """Brings the lines of a file up to date. Returns why some could not be written, which is stored, too."""
        file = f"{self._workspace}/{path}"
        lock = self._locks / f"env-{sha256(file.encode()).hexdigest()[:16]}"
        try:
            with locked(lock), self._env_files.exclusive():
                with self._store.read() as view:
                    wanted = self._read(view, path)
                problems = self._write(path, wanted)
                self._store.write(lambda tx: self._record(tx, path, wanted, problems))
        except HiveloreError as error:
            return [str(error)]
        return sorted({str(error) for error in problems.values()})

    def run_step(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Reconciles files with due lines. Call about once a second."""
        if not self._is_adopted:
            self._adopt(self._former_workspace)
            self._is_adopted = True
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + EVERY
        with self._store.read() as view:
            due = view.due_env_lines(self._workspace, _PAGE)
        is_retried = now >= self._next_retry
        if is_retried:
            self._next_retry = now + RETRY_EVERY
        for path in dict.fromkeys(one.path for one in due if is_retried or one.problem is None):
            if not stopping():
                self.reconcile(path)

    def differences(self) -> tuple[int, Sequence[EnvProblem]]:
        """Returns the number of lines of this workspace, and those that are not as the entries say. Changes none."""
        lines: list[EnvLine] = []
        after = (self._workspace, "", "")
        while True:
            with self._store.read() as view:
                page = [one for one in view.env_lines_after(after, _PAGE) if one.workspace == self._workspace]
            lines += page
            if len(page) < _PAGE:
                break
            after = (self._workspace, page[-1].path, page[-1].key)
        found: list[EnvProblem] = []
        for path in dict.fromkeys(one.path for one in lines):
            with self._store.read() as view:
                wanted = self._read(view, path)
            reasons = {**self._compare(path, wanted), **{key: str(error) for key, error in wanted.problems.items()}}
            found += [_problem(one, reasons[one.key]) for one in lines if one.path == path and one.key in reasons]
        return len(lines), found

    def failed(self, view: View, limit: int) -> Sequence[EnvProblem]:
        """Returns lines of all workspaces that could not be written."""
        return [_problem(one, one.problem or "") for one in view.failed_env_lines(limit)]

    # steps

    def _read(self, view: View, path: str) -> _Wanted:
        lines = view.env_lines(self._workspace, path, _MOST)
        entries = view.config_entries_in_file(path, _MOST)
        reader = SecretReader(self._keyring)
        values: dict[str, str | None] = {}
        problems: dict[str, HiveloreError] = {}
        for key, current in decide_lines([one.key for one in lines], entries).items():
            try:
                value = None if current is None else reader.value(current.content, key)
                if value is not None:
                    quote(value)
                values[key] = value
            except HiveloreError as error:
                problems[key] = error
        return _Wanted(lines, frozenset(one.entry.key for one in entries), values, problems)

    def _write(self, path: str, wanted: _Wanted) -> Mapping[str, HiveloreError]:
        """Writes a file. Returns why lines could not be written, by key."""
        if not wanted.values:
            return wanted.problems
        try:
            self._env_files.update(path, wanted.values)
        except HiveloreError as error:
            return {**dict.fromkeys(wanted.values, error), **wanted.problems}
        return wanted.problems

    def _record(self, tx: Transaction, path: str, wanted: _Wanted, problems: Mapping[str, HiveloreError]) -> None:
        """Stores which lines were written. A line that a change made due again meanwhile stays due."""
        now = {one.key: one for one in tx.env_lines(self._workspace, path, _MOST)}
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
            after = (
                replace(line, written=before.revision, problem=None, since=None)
                if error is None
                else replace(line, problem=Clean(str(error)), since=line.since or at)
            )
            if after != line:
                tx.put_env_line(after)

    def _compare(self, path: str, wanted: _Wanted) -> Mapping[str, str]:
        """Returns why lines of a file differ from the entries, by key."""
        found: dict[str, str] = {}
        for key, value in wanted.values.items():
            try:
                if not self._env_files.is_as_wanted(path, {key: value}):
                    found[key] = "The line in the file is another one." if value else "The line was not removed."
            except HiveloreError as error:
                found[key] = str(error)
        return found

    def _adopt(self, former: str) -> None:
        """Takes over the lines of a former name of this workspace."""
        after = (former, "", "")
        while True:
            with self._store.read() as view:
                page = [one for one in view.env_lines_after(after, _PAGE) if one.workspace == former]
            if not page:
                return
            self._store.write(lambda tx, page=page: self._rename(tx, page))
            after = (former, page[-1].path, page[-1].key)

    def _rename(self, tx: Transaction, lines: Sequence[EnvLine]) -> None:
        for one in lines:
            if all(known.key != one.key for known in tx.env_lines(self._workspace, one.path, _MOST)):
                tx.put_env_line(replace(one, workspace=self._workspace))
            tx.drop_env_line(one.workspace, one.path, one.key)


def _problem(line: EnvLine, why: str) -> EnvProblem:
    return EnvProblem(workspace=line.workspace, path=line.path, key=line.key, problem=why, since=line.since)
