"""Clones in the workspace of this machine: made, and updated where that changes no work of anybody.

A clone belongs to the agents that work in it, who can change its ``.git`` folder. So git never uses that as a
repository: it fetches into a mirror in the home folder, and works on the files, index and objects of a clone with
another ``.git`` folder there. See ``docs/decisions/0032-repositories.md``.
"""

import codecs
import errno
import fcntl
import hashlib
import os
import posixpath
import re
import shutil
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from hivelore.core.redaction import find
from hivelore.core.sanitizer import sanitize
from hivelore.core.text import in_one_line
from hivelore.core.values import replace
from hivelore.errors import Conflict, Invalid
from hivelore.local import private_files
from hivelore.local.git_command import Git, GitAnswer
from hivelore.local.git_project import normalize_remote
from hivelore.local.signals import deferred_signals
from hivelore.repos.clone_folder import CloneFolder, RefsError
from hivelore.repos.model import FILES, TEXT_BYTES
from hivelore.repos.rules import check_branch, check_name, check_url, is_local, name_key
from hivelore.repos.section import cut_text

FOLDER = "repos"
"""The folder of all clones in the workspace."""
MIRRORS = "mirrors"
"""The folder of mirrors in the home folder. What is in it is made again by the next sync."""
_OWN = ".hivelore"
"""The folder for unfinished clones, which no repository can be named."""
_MOST_LINKS = 5
_MOST_PATH = 4_096
_MOST_CONFIG = 1_000_000
_MOST_CHANGES = 50_000_000
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
_OF_FILES = re.compile(r"core\.(filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf)")
"""Settings of a clone that say how its files are written."""
_OTHERS = ("info/attributes", "info/grafts", "shallow", "commondir")
"""Files in ``.git`` that change what a clone is, and that a sync does not follow."""
_MOST_MERGE = 300
"""Seconds for an update of the work tree, which is not left half done when the time is up."""
_LEAST_LEFT = 2
"""Seconds of the time limit that must be left for an update to begin."""
_GITLINK = b"160000"
"""The mode of a submodule."""
_LOCAL_ERRORS = re.compile(r"No space left|Disk quota exceeded|Read-only file system|unable to create|cannot lock ref")
_VIEW = "view.git"
_LATE = "The time was up. Try again with a longer --timeout."
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
    """Git refused the update, or this machine cannot do it."""
    OWN_SETTINGS = "own-settings"
    """Its ``.git`` folder has settings that a sync does not follow."""
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
IN_USE = (Outcome.DIRTY, Outcome.OTHER_BRANCH, Outcome.DIVERGED)
"""Outcomes of clones that somebody works in, which a sync leaves as they are."""


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
    """``workspace``: the folder that contains ``repos``; ``mirrors``: a folder that agents cannot write to."""

    def __init__(self, workspace: Path, mirrors: Path, *, allows_local: bool) -> None:
        self._root = Path(os.path.realpath(workspace), FOLDER)
        self._mirrors = mirrors
        self._allows_local = allows_local

    def path(self, name: str) -> Path:
        return self._root / name

    def create_folder(self) -> None:
        """Raises Conflict if the folder of clones cannot be created or is a link."""
        try:
            self._root.parent.mkdir(parents=True, exist_ok=True)
            if self._root.is_symlink():
                raise Conflict(f"{self._root} is a link. Replace it by a folder.")
            self._root.mkdir(exist_ok=True)
        except OSError as error:
            raise Conflict(
                f"{self._root} cannot be written ({error.strerror}). Make it writable, or set HIVELORE_WORKSPACE."
            ) from None

    def sync(self, target: CloneTarget, seconds: float) -> SyncResult:
        """Makes a clone, or updates it by fast-forward if it is clean. Nothing in it is lost.

        An update of files that has begun is finished after ``seconds``, too. Raises Unavailable without git, and
        Conflict if the folder of clones cannot be written."""
        try:
            check_name(target.name)
            check_url(target.url, allows_local=self._allows_local)
            if target.branch is not None:
                check_branch(target.branch)
        except Invalid as error:
            return SyncResult(Outcome.REFUSED, str(error))
        self.create_folder()
        git = Git(seconds, self._root, allows_local=is_local(target.url))
        own = self._mirrors / name_key(target.name)
        try:
            private_files.make_folder(own)
            with self._locked(own, git):
                return _Sync(
                    git, Git(seconds, self._root, allows_local=True), target, self.path(target.name), own
                ).run()
        except _StopError as stop:
            return stop.result
        except RefsError as error:
            return SyncResult(Outcome.NOT_A_CLONE, f"{self.path(target.name)} is damaged: {_shown(str(error), 300)}")
        except OSError as error:
            where = os.fsdecode(error.filename or "")
            place = where if where.startswith("/") else self.path(target.name)
            return SyncResult(Outcome.BLOCKED, f"{_shown(str(place), 300)} cannot be used ({error.strerror}).")

    @contextmanager
    def _locked(self, own: Path, git: Git) -> Generator[None]:
        """Holds the folder of a repository, while no other process syncs it."""
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
            yield
        finally:
            os.close(descriptor)


class _Sync:
    """The sync of one clone, under its lock."""

    def __init__(self, git: Git, local: Git, target: CloneTarget, folder: Path, own: Path) -> None:
        """``local``: reads mirrors; ``own``: private folder for what belongs to this repository."""
        self._git = git
        self._local = local
        self._target = target
        self._folder = folder
        self._clone_folder = CloneFolder(folder)
        self._own = own
        self._mirror = own / f"{hashlib.sha256(target.url.encode()).hexdigest()[:16]}.git"
        self._settings: list[str] = []

    def run(self) -> SyncResult:
        self._remove_left()
        is_there = self._is_there()
        if is_there:
            self._check_clone()
        branch, tip = self._fetch()
        found = self._found(branch, tip)
        if not is_there:
            self._clone(branch)
            return SyncResult(Outcome.CLONED, found=found)
        self._check_clone()  # The fetch may have taken long.
        head = self._head()
        outcome, detail = self._update(branch, tip, head)
        now = tip if outcome is Outcome.UPDATED else head
        return SyncResult(outcome, detail, replace(found, clone_commit=now))

    def _remove_left(self) -> None:
        """Removes what a process that was killed left, and mirrors of other URLs."""
        unfinished = self._folder.parent / _OWN
        for left in (*self._own.glob("new-*"), *unfinished.glob(f"{name_key(self._target.name)}-*")):
            shutil.rmtree(left)
        for mirror in self._own.glob("*.git"):
            if mirror != self._mirror:
                shutil.rmtree(mirror)
        for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*"):
            for left in self._mirror.glob(pattern):
                left.unlink()

    def _is_there(self) -> bool:
        """Returns False if the clone is missing. Stops if something else is in its place."""
        try:
            found = self._folder.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise _StopError(Outcome.NOT_A_CLONE, f"{self._folder} is a file or a link. Move it away.")
        return any(self._folder.iterdir())

    # the mirror

    def _fetch(self) -> tuple[str, str]:
        """Brings the mirror up to date, and returns the branch and its newest commit."""
        branch = self._target.branch or self._remote_branch()
        if self._mirror.is_dir():
            options = ("--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
            refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            answer = self._in_mirror("fetch", *options, "--", self._target.url, *refs, git=self._git)
        else:
            answer = self._make_mirror()
        if not answer.is_done:
            self._stop(answer)
        tip = self._text("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
        if tip is None:
            raise _StopError(
                Outcome.BRANCH_GONE,
                f"The remote repository has no branch {_shown(branch, 100)}. Register another one "
                "(hivelore repo update --branch).",
            )
        return branch, tip

    def _make_mirror(self) -> GitAnswer:
        made = self._own / f"new-{os.urandom(8).hex()}"
        options = ("--quiet", "--bare", "--no-local", "--no-recurse-submodules", "--template=")
        try:
            answer = self._git.run(self._own, ["clone", *options, "--", self._target.url, str(made)])
            if answer.is_done:
                made.rename(self._mirror)
            return answer
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _remote_branch(self) -> str:
        """Returns the default branch of the remote repository."""
        answer = self._git.run(self._own, ["ls-remote", "--symref", "--", self._target.url, "HEAD"])
        if not answer.is_done:
            self._stop(answer)
        found = re.match(r"ref: refs/heads/([^\t\n]+)\tHEAD", answer.text)
        if found is None and not answer.text:
            raise _StopError(Outcome.EMPTY, "The remote repository has no commits yet. Sync again later.")
        if found is None:
            detail = "The remote repository names no default branch. Register one (hivelore repo update --branch)."
            raise _StopError(Outcome.BRANCH_GONE, detail)
        try:
            return check_branch(found[1])
        except Invalid as error:
            raise _StopError(Outcome.REFUSED, str(error)) from None

    # a new clone

    def _clone(self, branch: str) -> None:
        """Makes the clone in a private folder, where no agent can change it meanwhile."""
        made = self._own / f"new-{os.urandom(8).hex()}"
        options = ("--quiet", "--no-local", "--no-recurse-submodules", "--template=", "--origin=origin")
        try:
            self._need(self._in_mirror("symbolic-ref", "HEAD", f"refs/heads/{branch}"))
            self._need(self._local.run(self._own, ["clone", *options, "--", str(self._mirror), str(made)]))
            config = f"--file={made / '.git' / 'config'}"
            self._need(self._local.run(self._own, ["config", config, "remote.origin.url", self._target.url]))
            try:
                made.rename(self._folder)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                self._copy(made)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _copy(self, made: Path) -> None:
        """Moves a new clone to another file system."""
        unfinished = self._folder.parent / _OWN
        private_files.make_folder(unfinished)
        copy = unfinished / f"{name_key(self._target.name)}-{os.urandom(8).hex()}"
        try:
            shutil.copytree(made, copy, symlinks=True)
            copy.rename(self._folder)
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    # a clone that is there

    def _check_clone(self) -> None:
        """Stops unless the folder is a clone of this repository that a sync understands."""
        folder = self._folder
        try:
            is_mine = all(one.lstat().st_uid == os.geteuid() for one in (folder, folder / ".git"))
            config = self._clone_folder.read("config")
        except OSError:
            raise _StopError(
                Outcome.NOT_A_CLONE, f"{folder} is no clone with a .git folder of its own. Move it away."
            ) from None
        if not is_mine:
            raise _StopError(Outcome.NOT_A_CLONE, f"{folder} belongs to another user. Move it away.")
        settings = self._read_settings(config)
        urls = [value for name, _, value in settings if name == "remote.origin.url"]
        if {normalize_remote(one) for one in urls} != {normalize_remote(self._target.url)}:
            raise _StopError(
                Outcome.NOT_A_CLONE, f"{folder} is a clone of another repository. Move it away, or rename one."
            )
        others = sorted({name for name, _, _ in settings if not _HARMLESS.fullmatch(name)})
        others += [name for name in _OTHERS if os.path.lexists(folder / ".git" / name)]
        odd = self._clone_folder.odd_entry()
        others += [] if odd is None else [f"{odd} is a link"]
        if others:
            shown = ", ".join(_shown(name, 60) for name in others[:3])
            raise _StopError(
                Outcome.OWN_SETTINGS,
                f"Its .git folder has settings that a sync does not follow ({shown}). Remove them, or run 'git pull' "
                "there yourself.",
            )
        self._settings = [f"{name}{mark and '='}{value}" for name, mark, value in settings if _OF_FILES.fullmatch(name)]

    def _read_settings(self, config: bytes) -> list[tuple[str, str, str]]:
        """Returns the name, a mark if there is a value, and the value of each setting in a configuration."""
        copy = self._own / "clone.config"
        with private_files.replacing(copy) as out:
            out.write(config)
        words = ["config", f"--file={copy}", "--no-includes", "--null", "--list"]
        listed = self._local.run(self._own, words, most=_MOST_CONFIG)
        if not listed.is_done or len(listed.output) >= _MOST_CONFIG:
            self._stop_if_late(listed)
            raise _StopError(
                Outcome.NOT_A_CLONE,
                f"{self._folder}/.git/config cannot be read. Repair it, or move the clone away.",
            )
        return [one.partition("\n") for one in listed.output.decode(errors="replace").split("\0") if one]

    def _head(self) -> str:
        try:
            _, head = self._clone_folder.head()
        except FileNotFoundError:
            head = None
        if head is None:
            raise _StopError(Outcome.NOT_A_CLONE, f"{self._folder} has no commit checked out.")
        return head

    def _update(self, branch: str, tip: str, head: str) -> tuple[Outcome, str]:
        """Moves a clean clone forward to the tip of the remote branch."""
        if head != tip:
            self._open_clone(branch, head)
        with suppress(RefsError, OSError):  # For the people who work in the clone. Another ref may be in the way.
            self._clone_folder.put_ref(f"refs/remotes/origin/{branch}", tip)
        if head == tip:
            return Outcome.CURRENT, ""
        if self._is_ancestor(tip, head):
            return Outcome.AHEAD, ""
        status = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "-z")
        if self._need(self._in_clone(*status)).output:
            return Outcome.DIRTY, f"{self._folder} has changes that are not committed. Commit or stash them."
        if self._clone_folder.head()[0] != branch:
            shown = _shown(branch, 100)
            return Outcome.OTHER_BRANCH, f"Another branch than {shown} is checked out in {self._folder}."
        if not self._is_ancestor(head, tip):
            return Outcome.DIVERGED, f"{self._folder} has commits that the remote branch lacks. Merge or rebase them."
        if self._clone_folder.is_underway():
            return Outcome.BLOCKED, f"A merge or rebase is not finished in {self._folder}. Finish it."
        if submodule := self._changed_submodule(head, tip):
            return (
                Outcome.BLOCKED,
                f"The remote branch has something else in place of the submodule {_shown(submodule, 100)} in "
                f"{self._folder}, which has files. Move them away.",
            )
        return self._merge(branch, tip, head)

    def _merge(self, branch: str, tip: str, head: str) -> tuple[Outcome, str]:
        if self._local.seconds_left < _LEAST_LEFT:
            raise _StopError(Outcome.TIMED_OUT, _LATE)
        git = Git(_MOST_MERGE, self._folder.parent)
        words = ("merge", "--ff-only", "--quiet", "--no-overwrite-ignore", tip)
        try:
            with deferred_signals(), self._clone_folder.holding(branch, head) as move:
                answer = self._in_clone(*words, git=git)
                if answer.is_done:
                    move(tip)
                    return Outcome.UPDATED, ""
        except RefsError as error:
            return Outcome.BLOCKED, f"{self._folder} is in use. {error} Try again later."
        if answer.code is None:
            return (
                Outcome.BLOCKED,
                f"Git did not update {self._folder} in {_MOST_MERGE} seconds. See 'git status' there.",
            )
        return Outcome.BLOCKED, f"Git refused to update {self._folder}: {_shown(answer.errors, 300)}"

    def _changed_submodule(self, head: str, tip: str) -> str | None:
        """Returns a submodule with files that would become something else, or something with files that would become
        one: git does not look into submodules."""
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none", head, tip)
        output = self._need(self._in_clone(*words, most=_MOST_CHANGES)).output
        if len(output) >= _MOST_CHANGES:
            raise _StopError(Outcome.BLOCKED, "Too many files change. Run 'git pull' there yourself.")
        parts = output.split(b"\0")
        for entry, path in zip(parts[::2], parts[1::2], strict=False):
            modes = entry.lstrip(b":").split(b" ")[:2]
            if modes.count(_GITLINK) == 1:
                name = os.fsdecode(path)
                place = self._folder / name
                if os.path.lexists(place) and not (place.is_dir() and not place.is_symlink() and _is_empty(place)):
                    return name
        return None

    def _is_ancestor(self, one: str, other: str) -> bool:
        answer = self._in_clone("merge-base", "--is-ancestor", one, other)
        return answer.is_done if answer.code == 1 else self._need(answer).is_done

    def _open_clone(self, branch: str, head: str) -> None:
        """Prepares a ``.git`` folder of our own for the clone, and fetches the remote branch into its objects."""
        shutil.rmtree(self._own / _VIEW, ignore_errors=True)
        form = self._text("rev-parse", "--show-object-format") or "sha1"
        words = ["init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(self._own / _VIEW)]
        self._need(self._local.run(self._own, words))
        self._need(self._in_clone("update-ref", "--no-deref", "HEAD", head))
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head")
        self._need(self._in_clone("fetch", *options, "--", str(self._mirror), f"+refs/heads/{branch}:refs/heads/tip"))

    # reading

    def _found(self, branch: str, tip: str) -> FoundClone:
        seconds = self._text("show", "-s", "--no-show-signature", "--format=%ct", tip) or "0"
        at = int(seconds) if re.fullmatch(r"\d{1,12}", seconds) else 0
        file = self._instructions(tip)
        name, content, size = (None, None, 0) if file is None else file
        return FoundClone(
            branch=branch,
            commit=tip,
            committed_at=datetime.fromtimestamp(min(at, _LAST_SECOND), UTC),
            clone_commit=tip,
            file=name,
            content=content,
            size=size,
        )

    def _instructions(self, commit: str) -> tuple[str, str, int] | None:
        """Returns the name of the first file of instructions, its beginning, and its size. The file is read from the
        commit, never from a work tree."""
        for name in FILES:
            blob = self._blob(commit, name)
            size = None if blob is None else self._text("cat-file", "-s", blob)
            if blob is None or size is None:
                continue
            data = self._in_mirror("cat-file", "blob", blob, most=TEXT_BYTES)
            if data.is_done:
                text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(data.output)
                return name, cut_text(text.replace("\0", "\ufffd")), int(size)
            self._stop_if_late(data)
        return None

    def _blob(self, commit: str, path: str) -> str | None:
        """Returns the id of a file in a commit, through links that stay in the repository."""
        for _ in range(_MOST_LINKS):
            entry = self._in_mirror("ls-tree", "--full-tree", "-z", commit, "--", path)
            found = re.fullmatch(rb"(\d+) blob ([0-9a-f]+)\t[^\0]*\0", entry.output)
            if not entry.is_done or found is None:
                self._stop_if_late(entry)
                return None
            blob = found[2].decode()
            if found[1] != b"120000":
                return blob
            target = self._in_mirror("cat-file", "blob", blob, most=_MOST_PATH)
            path = posixpath.normpath(
                posixpath.join(posixpath.dirname(path), target.output.decode(errors="surrogateescape"))
            )
            if "\0" in path or path.startswith("/") or path.split("/")[0] in ("..", "."):
                return None
        return None

    # commands of git

    def _in_mirror(self, *words: str, most: int = 65_536, git: Git | None = None) -> GitAnswer:
        return (git or self._local).run(self._own, words, most, variables={"GIT_DIR": str(self._mirror)})

    def _in_clone(self, *words: str, most: int = 65_536, git: Git | None = None) -> GitAnswer:
        """Runs git on the files, index and objects of the clone. Its own configuration, hooks, refs and logs are not
        used."""
        inside = self._folder / ".git"
        variables = {
            "GIT_DIR": str(self._own / _VIEW),
            "GIT_INDEX_FILE": str(inside / "index"),
            "GIT_OBJECT_DIRECTORY": str(inside / "objects"),
            "GIT_WORK_TREE": str(self._folder),
        }
        return (git or self._local).run(self._folder, words, most, settings=self._settings, variables=variables)

    def _text(self, *words: str) -> str | None:
        """Returns what git prints about the mirror; None if it fails."""
        answer = self._in_mirror(*words)
        self._stop_if_late(answer)
        return answer.text if answer.is_done else None

    def _need(self, answer: GitAnswer) -> GitAnswer:
        """Returns the answer of a command on this machine. Stops if it failed."""
        self._stop_if_late(answer)
        if not answer.is_done:
            raise _StopError(Outcome.BLOCKED, f"Git failed for {self._folder}: {_shown(answer.errors, 300)}")
        return answer

    def _stop(self, answer: GitAnswer) -> NoReturn:
        """Ends the sync with the error of a command that asked the remote repository."""
        self._stop_if_late(answer)
        shown = _shown(answer.errors, 300)
        if _LOCAL_ERRORS.search(answer.errors):
            raise _StopError(Outcome.BLOCKED, f"Git cannot write {self._own}: {shown}")
        raise _StopError(
            Outcome.UNREACHABLE,
            f"Git failed: {shown} Check the network, and that this user may read the repository.",
        )

    def _stop_if_late(self, answer: GitAnswer) -> None:
        if answer.code is None:
            raise _StopError(Outcome.TIMED_OUT, _LATE)


def _is_empty(folder: Path) -> bool:
    return next(folder.iterdir(), None) is None


def _shown(errors: str, most: int) -> str:
    """Returns the end of an error of git for people, without secrets."""
    lines = [line for line in errors.splitlines() if not line.startswith("hint:")]
    text = _USERINFO.sub("://", in_one_line("\n".join(lines).replace("fatal: ", "")))
    for _, start, stop in reversed(find(text)):
        text = f"{text[:start]}[secret]{text[stop:]}"
    return sanitize(text[-most:])
