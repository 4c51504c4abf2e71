"""Clones in the workspace of this machine: made, and updated where that changes no work of anybody.

A clone belongs to the agents that work in it. Its configuration is read before git uses it, since it can name programs.
"""

import codecs
import fcntl
import os
import posixpath
import re
import shutil
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from hivelore.core.redaction import find
from hivelore.core.sanitizer import sanitize
from hivelore.core.text import in_one_line
from hivelore.errors import Conflict, Invalid
from hivelore.local import private_files
from hivelore.local.git_command import Git, GitAnswer
from hivelore.local.git_project import normalize_remote
from hivelore.repos.model import FILES, TEXT_BYTES
from hivelore.repos.rules import check_branch, check_name, check_url, is_local, name_key
from hivelore.repos.section import cut_text

FOLDER = "repos"
"""The folder of all clones in the workspace."""
_OWN = ".hivelore"
"""The folder for locks and unfinished clones, which no repository can be named."""
_MOST_LINKS = 5
_MOST_PATH = 4_096
_MOST_CONFIG = 1_000_000
_LAST_SECOND = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
_PAUSE = 0.1
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|"
    r"safecrlf|quotepath)|extensions\.objectformat|user\.(name|email)|init\.defaultbranch|color\..*|rerere\..*|"
    r"remote\.[\w-][\w.-]*\.(url|fetch|tagopt|gh-resolved)|pull\.(rebase|ff)|push\.(default|autosetupremote)|"
    r"branch\..*\.(remote|merge|rebase|pushremote|description|vscode-merge-base|gh-merge-base|"
    r"github-pr-owner-number)|submodule\..*(active|url)|lfs\.repositoryformatversion|lfs\..*\.access",
    re.DOTALL,
)
"""Settings of a clone that name no program, no other folder and no other configuration."""
_FORMER_REMOTES = ("remotes", "branches")
"""Folders in .git that may say where the address of a remote repository leads."""
_MOST_MERGE = 300
"""Seconds for an update of the work tree, which is not left half done when the time is up."""
_USERINFO = re.compile(r"://[^/\s@]+@")


class Outcome(StrEnum):
    """What a sync did with one clone."""

    CLONED = "cloned"
    UPDATED = "updated"
    CURRENT = "current"
    AHEAD = "ahead"
    """It has commits of its own on top of the remote branch."""
    DIRTY = "dirty"
    """It has changes that are not committed."""
    OTHER_BRANCH = "other-branch"
    """Another branch than the default one is checked out."""
    DIVERGED = "diverged"
    """It and the remote branch have commits that the other one lacks."""
    BLOCKED = "blocked"
    """Git refused the update."""
    OWN_SETTINGS = "own-settings"
    """Its configuration has settings that can start programs."""
    NOT_A_CLONE = "not-a-clone"
    """In its place is something else."""
    BRANCH_GONE = "branch-gone"
    EMPTY = "empty"
    """The remote repository has no commits."""
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed-out"
    BUSY = "busy"
    """Another process syncs it."""
    REFUSED = "refused"
    """Its name, URL or branch is not allowed on this machine."""


IN_ORDER = (Outcome.CLONED, Outcome.UPDATED, Outcome.CURRENT, Outcome.AHEAD)
"""Outcomes that need nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneTarget:
    """A repository, as the service describes it."""

    name: str
    url: str
    branch: str | None
    """None: the one that the remote repository names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundClone:
    """What is known of a clone after a sync. See ``RepoReport``."""

    branch: str
    commit: str
    committed_at: datetime
    clone_commit: str
    file: str | None
    content: str | None
    size: int


@dataclass(frozen=True, slots=True)
class SyncResult:
    outcome: Outcome
    detail: str = ""
    """What to do, for outcomes that need somebody."""
    found: FoundClone | None = None
    """None: nothing new is known about the remote repository."""


class _StopError(Exception):
    """The sync of one clone ends with a result."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.result = SyncResult(outcome, detail)


class Clones:
    """``workspace``: the folder that contains ``repos``."""

    def __init__(self, workspace: Path, *, allows_local: bool) -> None:
        self._root = Path(os.path.realpath(workspace), FOLDER)
        self._allows_local = allows_local

    def path(self, name: str) -> Path:
        return self._root / name

    def is_there(self, name: str) -> bool:
        """Returns True if something is in the place of a clone."""
        return os.path.lexists(self.path(name))

    def create_folder(self) -> None:
        """Raises Conflict if the folder of clones cannot be created or is a link."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            private_files.make_folder(self._root / _OWN)
            for folder in (self._root, self._root / _OWN):
                if folder.is_symlink():
                    raise Conflict(f"{folder} is a link. Replace it by a folder.")
        except OSError as error:
            raise Conflict(
                f"{self._root} cannot be written ({error.strerror}). Make it writable, or set HIVELORE_WORKSPACE."
            ) from None

    def sync(self, target: CloneTarget, seconds: float) -> SyncResult:
        """Makes a clone, or updates it by fast-forward if it is clean. Nothing in it is lost. Raises Unavailable
        without git, and Conflict if the folder of clones cannot be written."""
        try:
            check_name(target.name)
            check_url(target.url, allows_local=self._allows_local)
            if target.branch is not None:
                check_branch(target.branch)
        except Invalid as error:
            return SyncResult(Outcome.REFUSED, str(error))
        self.create_folder()
        git = Git(seconds, self._root, allows_local=is_local(target.url))
        try:
            with self._locked(name_key(target.name), git) as own:
                return _Sync(git, target, self.path(target.name), own).run()
        except _StopError as stop:
            return stop.result
        except OSError as error:
            return SyncResult(Outcome.BLOCKED, f"{self.path(target.name)} cannot be written ({error.strerror}).")

    @contextmanager
    def _locked(self, key: str, git: Git) -> Generator[Path]:
        """Yields a private folder for this repository, while no other process syncs it."""
        own = self._root / _OWN / key
        private_files.make_folder(own)
        descriptor = private_files.open_private(own / "lock", os.O_RDWR)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if git.is_late:
                        raise _StopError(Outcome.BUSY, "Another process syncs it. Try again later.") from None
                    time.sleep(_PAUSE)
            yield own
        finally:
            os.close(descriptor)


class _Sync:
    """The sync of one clone, under its lock."""

    def __init__(self, git: Git, target: CloneTarget, folder: Path, own: Path) -> None:
        self._git = git
        self._target = target
        self._folder = folder
        self._own = own

    def run(self) -> SyncResult:
        for left in self._own.glob("clone-*"):  # Those of a process that was killed.
            shutil.rmtree(left)
        try:
            found = self._folder.lstat()
        except FileNotFoundError:
            return self._clone()
        if not stat.S_ISDIR(found.st_mode):
            raise _StopError(Outcome.NOT_A_CLONE, f"{self._folder} is a file or a link. Move it away.")
        if not any(self._folder.iterdir()):
            return self._clone()
        self._check_clone()
        return self._update()

    # a new clone

    def _clone(self) -> SyncResult:
        made = self._own / f"clone-{os.urandom(8).hex()}"
        branch = [] if self._target.branch is None else [f"--branch={self._target.branch}"]
        options = ("--quiet", "--no-recurse-submodules", "--no-local", "--template=", "--origin=origin", *branch)
        try:
            answer = self._git.run("/", ["clone", *options, "--", self._target.url, str(made)])
            if not answer.is_done:
                self._stop(answer)
            head = self._text(made, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
            checked_out = self._text(made, "symbolic-ref", "--quiet", "--short", "HEAD")
            if head is None:
                raise _StopError(Outcome.EMPTY, "The remote repository has no commits yet. Sync again later.")
            if checked_out is None:
                raise _StopError(
                    Outcome.BRANCH_GONE,
                    f"The remote repository has no branch {self._target.branch}.",
                )
            made.rename(self._folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return SyncResult(Outcome.CLONED, found=self._found(checked_out, head))

    # a clone that is there

    def _check_clone(self) -> None:
        """Stops unless the folder is a clone of this repository that git may use."""
        git_folder = self._folder / ".git"
        config = git_folder / "config"
        try:
            is_clone = stat.S_ISDIR(git_folder.lstat().st_mode) and stat.S_ISREG(config.lstat().st_mode)
        except OSError:
            is_clone = False
        if not is_clone or os.path.lexists(git_folder / "commondir"):
            raise _StopError(
                Outcome.NOT_A_CLONE, f"{self._folder} is no clone with a .git folder of its own. Move it away."
            )
        listed = self._git.run(
            "/", ["config", f"--file={config}", "--no-includes", "--null", "--list"], most=_MOST_CONFIG
        )
        if not listed.is_done or len(listed.output) >= _MOST_CONFIG:
            self._stop_if_late(listed)
            raise _StopError(Outcome.NOT_A_CLONE, f"{config} cannot be read. Repair it, or move the clone away.")
        settings = [
            (name, value) for name, _, value in (one.partition("\n") for one in listed.text.split("\0")) if name
        ]
        urls = [value for name, value in settings if name == "remote.origin.url"]
        if {normalize_remote(one) for one in urls} != {normalize_remote(self._target.url)}:
            raise _StopError(
                Outcome.NOT_A_CLONE, f"{self._folder} is a clone of another repository. Move it away, or rename one."
            )
        others = sorted({name for name, _ in settings if not _HARMLESS.fullmatch(name)})
        others += [name for name in _FORMER_REMOTES if any(git_folder.glob(f"{name}/*"))]
        if others:
            shown = ", ".join(_shown(name, 60) for name in others[:3])
            raise _StopError(
                Outcome.OWN_SETTINGS,
                f"Its .git folder has settings that can start programs or lead elsewhere ({shown}). Remove them, or "
                "run 'git pull' there yourself.",
            )

    def _update(self) -> SyncResult:
        branch = self._target.branch or self._remote_branch()
        tracked = f"refs/remotes/origin/{branch}"
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head")
        answer = self._git.run(
            self._folder, ["fetch", *options, "--", self._target.url, f"+refs/heads/{branch}:{tracked}"]
        )
        if not answer.is_done:
            self._stop(answer, branch)
        tip = self._text(self._folder, "rev-parse", "--verify", "--quiet", f"{tracked}^{{commit}}")
        if tip is None:
            raise _StopError(Outcome.NOT_A_CLONE, f"{self._folder} is damaged. Move it away.")
        outcome, detail = self._forward(branch, tracked, tip)
        return SyncResult(outcome, detail, self._found(branch, tip))

    def _remote_branch(self) -> str:
        """Returns the default branch of the remote repository."""
        answer = self._git.run(self._folder, ["ls-remote", "--symref", "--", self._target.url, "HEAD"])
        if not answer.is_done:
            self._stop(answer)
        found = re.match(r"ref: refs/heads/([^\t\n]+)\tHEAD", answer.text)
        if found is None:
            detail = "The remote repository names no default branch. Register one (hivelore repo update --branch)."
            raise _StopError(Outcome.EMPTY if not answer.text else Outcome.BRANCH_GONE, detail)
        try:
            return check_branch(found[1])
        except Invalid as error:
            raise _StopError(Outcome.REFUSED, str(error)) from None

    def _forward(self, branch: str, tracked: str, tip: str) -> tuple[Outcome, str]:
        """Moves a clean clone forward to the tip of the remote branch."""
        head = self._head()
        if head == tip:
            return Outcome.CURRENT, ""
        if self._is_ancestor(tip, head):
            return Outcome.AHEAD, ""
        status = self._git.run(
            self._folder, ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "-z"]
        )
        if not status.is_done:
            self._stop(status)
        if status.output:
            return Outcome.DIRTY, f"{self._folder} has changes that are not committed. Commit or stash them."
        if self._text(self._folder, "symbolic-ref", "--quiet", "--short", "HEAD") != branch:
            return Outcome.OTHER_BRANCH, f"Another branch than {branch} is checked out in {self._folder}."
        if not self._is_ancestor(head, tip):
            return Outcome.DIVERGED, f"{self._folder} has commits that the remote branch lacks. Merge or rebase them."
        git = Git(_MOST_MERGE, self._folder.parent)
        answer = git.run(self._folder, ["merge", "--ff-only", "--quiet", "--no-overwrite-ignore", tracked])
        if answer.is_done:
            return Outcome.UPDATED, ""
        self._stop_if_late(answer)
        return Outcome.BLOCKED, f"Git refused to update {self._folder}: {_shown(answer.errors, 300)}"

    def _is_ancestor(self, one: str, other: str) -> bool:
        answer = self._git.run(self._folder, ["merge-base", "--is-ancestor", one, other])
        if answer.code not in (0, 1):
            self._stop(answer)
        return answer.is_done

    def _head(self) -> str:
        head = self._text(self._folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if head is None:
            raise _StopError(Outcome.NOT_A_CLONE, f"{self._folder} has no commit checked out.")
        return head

    # reading

    def _found(self, branch: str, tip: str) -> FoundClone:
        seconds = self._text(self._folder, "show", "-s", "--no-show-signature", "--format=%ct", tip) or "0"
        at = int(seconds) if re.fullmatch(r"\d{1,12}", seconds) else 0
        file = self._instructions(tip)
        name, content, size = (None, None, 0) if file is None else file
        return FoundClone(
            branch=branch,
            commit=tip,
            committed_at=datetime.fromtimestamp(min(at, _LAST_SECOND), UTC),
            clone_commit=self._head(),
            file=name,
            content=content,
            size=size,
        )

    def _instructions(self, commit: str) -> tuple[str, str, int] | None:
        """Returns the name of the first file of instructions, its beginning, and its size. The file is read from the
        commit, never from the work tree."""
        for name in FILES:
            blob = self._blob(commit, name)
            size = None if blob is None else self._text(self._folder, "cat-file", "-s", blob)
            if blob is None or size is None:
                continue
            data = self._git.run(self._folder, ["cat-file", "blob", blob], most=TEXT_BYTES)
            if data.is_done:
                text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(data.output)
                return name, cut_text(text.replace("\0", "\ufffd")), int(size)
            self._stop_if_late(data)
        return None

    def _blob(self, commit: str, path: str) -> str | None:
        """Returns the id of a file in a commit, through links that stay in the repository."""
        for _ in range(_MOST_LINKS):
            entry = self._git.run(self._folder, ["ls-tree", "--full-tree", "-z", commit, "--", path])
            found = re.fullmatch(rb"(\d+) blob ([0-9a-f]+)\t[^\0]*\0", entry.output)
            if not entry.is_done or found is None:
                self._stop_if_late(entry)
                return None
            blob = found[2].decode()
            if found[1] != b"120000":
                return blob
            target = self._git.run(self._folder, ["cat-file", "blob", blob], most=_MOST_PATH)
            path = posixpath.normpath(
                posixpath.join(posixpath.dirname(path), target.output.decode(errors="surrogateescape"))
            )
            if "\0" in path or path.startswith("/") or path.split("/")[0] in ("..", "."):
                return None
        return None

    # answers of git

    def _text(self, folder: Path, *words: str) -> str | None:
        """Returns what git prints; None if it fails."""
        answer = self._git.run(folder, words)
        self._stop_if_late(answer)
        return answer.text if answer.is_done else None

    def _stop(self, answer: GitAnswer, branch: str | None = None) -> NoReturn:
        """Ends the sync with the error of git."""
        self._stop_if_late(answer)
        if re.search(r"[Rr]emote branch .* not found|couldn't find remote ref", answer.errors):
            name = branch or self._target.branch or ""
            raise _StopError(
                Outcome.BRANCH_GONE,
                f"The remote repository has no branch {name}. Register another one (hivelore repo update --branch).",
            )
        raise _StopError(
            Outcome.UNREACHABLE,
            f"Git failed: {_shown(answer.errors, 300)} Check the network, and that this user may read the repository.",
        )

    def _stop_if_late(self, answer: GitAnswer) -> None:
        if answer.code is None:
            raise _StopError(Outcome.TIMED_OUT, "Git did not finish in time. Try again with a longer --timeout.")


def _shown(errors: str, most: int) -> str:
    """Returns the end of an error of git for people, without secrets."""
    text = _USERINFO.sub("://", in_one_line(errors.replace("fatal: ", "")))
    for _, start, stop in reversed(find(text)):
        text = f"{text[:start]}[secret]{text[stop:]}"
    return sanitize(text[-most:])
