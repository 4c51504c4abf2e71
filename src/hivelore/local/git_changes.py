"""Files that changed lately in the repository of a folder: uncommitted ones, then those of the last commits.

Git is asked, for a few milliseconds at most; what it has not answered by then is left out. Hooks run this, so it avoids
slow imports.
"""

import os
import select
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
else:
    import _signal as signal  # Its C part: the module itself is slow to import.

PATIENCE = 0.02
"""Seconds to wait for git."""
MAX_FILES = 50
MAX_CHARACTERS = 4_000
_LARGEST_ANSWER = 65_536
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C")
_UNCOMMITTED = ("status", "--porcelain", "--untracked-files=no", "--no-renames", "--ignore-submodules", "-z")
_COMMITTED = ("log", "-5", "--name-only", "--format=", "-z")
_STATUS = 3
"""Characters before the name of a file in the first answer."""


class _Question:
    """A running git command."""

    def __init__(self, folder: str, words: "Sequence[str]") -> None:
        """Raises OSError if git is not installed."""
        self.answer, self.is_complete = b"", False
        self.pipe, out = os.pipe()
        try:
            null = os.open(os.devnull, os.O_RDWR)
            try:
                actions = [(os.POSIX_SPAWN_DUP2, source, target) for source, target in ((null, 0), (out, 1), (null, 2))]
                self.process = os.posix_spawnp("git", [*_GIT, folder, *words], os.environ, file_actions=actions)
            finally:
                os.close(null)
        except OSError:
            os.close(self.pipe)
            raise
        finally:
            os.close(out)

    def read(self) -> None:
        piece = os.read(self.pipe, _LARGEST_ANSWER)
        self.answer += piece
        self.is_complete = not piece or len(self.answer) >= _LARGEST_ANSWER

    def end(self) -> None:
        os.close(self.pipe)
        try:
            if not self.is_complete:
                os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        except (ProcessLookupError, ChildProcessError):  # A hook that was forked meanwhile is not the parent of git.
            pass

    def names(self) -> "list[str]":
        names = self.answer.split(b"\0")[:-1]  # The last one is empty or incomplete.
        return [name.decode(errors="replace").strip("\n") for name in names]


class ChangedFiles:
    """Asks git in the background. Without git, or outside a repository, there are no files."""

    def __init__(self, folder: str) -> None:
        self._deadline = time.monotonic() + PATIENCE
        self._asked: list[_Question] = []
        for words in (_UNCOMMITTED, _COMMITTED):
            try:
                self._asked.append(_Question(folder, words))
            except OSError:
                return

    def read(self) -> "Sequence[str]":
        """Return the paths, uncommitted files first. Call it once."""
        open_ones = {one.pipe: one for one in self._asked}
        try:
            while open_ones and (left := self._deadline - time.monotonic()) > 0:
                for pipe in select.select(list(open_ones), [], [], left)[0]:
                    open_ones[pipe].read()
                    if open_ones[pipe].is_complete:
                        del open_ones[pipe]
        finally:
            for one in self._asked:
                one.end()
        if len(self._asked) < 2:
            return []
        uncommitted, committed = self._asked
        found = [*(name[_STATUS:] for name in uncommitted.names()), *committed.names()]
        return _limited(list(dict.fromkeys(name for name in found if name and "\n" not in name)))


def _limited(names: "Sequence[str]") -> "Sequence[str]":
    size, kept = 0, list[str]()
    for name in names[:MAX_FILES]:
        size += len(name) + 1
        if size > MAX_CHARACTERS:
            break
        kept.append(name)
    return kept
