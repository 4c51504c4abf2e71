"""The project that a folder belongs to, from the files of git (N16).

All folders, clones and worktrees of a repository are one project. Its name is that of ``origin``, else the folder of
the main worktree. Hooks need it for each event, so this module avoids slow imports, even that of regular expressions.
"""

import os

_COMMENTS = (" #", " ;", "\t#", "\t;")
_LARGEST_FILE = 1_000_000
_BRANCH = "ref: refs/heads/"


def project_or_folder(folder: str | os.PathLike[str]) -> str | None:
    """Return the project of a folder, or the folder itself outside a repository; None if it does not exist."""
    try:
        return project_of(folder) or os.path.realpath(folder, strict=True)
    except OSError:
        return None


def project_of(folder: str | os.PathLike[str]) -> str | None:
    """Return the project of a folder, like ``github.com/owner/name``; None outside a repository."""
    git = _find_git(folder)
    if git is None:
        return None
    common = _shared_folder(_git_folder(git))
    return _origin(common) or common.removesuffix("/.git")


def branch_of(folder: str | os.PathLike[str]) -> str | None:
    """Return the branch that is checked out in a folder; None outside a repository, and without a branch."""
    git = _find_git(folder)
    head = "" if git is None else _read(f"{_git_folder(git)}/HEAD").strip()
    branch = head.removeprefix(_BRANCH)
    return branch if branch != head else None


def _find_git(folder: str | os.PathLike[str]) -> str | None:
    """Return ``.git`` of the repository that contains a folder."""
    try:
        place = os.path.realpath(folder)
    except OSError:  # The working directory has been removed.
        return None
    while place:
        git = f"{place}/.git"
        if os.access(git, os.F_OK):
            return git
        place = place.rpartition("/")[0]
    return None


def _git_folder(git: str) -> str:
    """Return the folder of a worktree's own data; the file ``.git`` of a worktree points to it."""
    target = _read(git).partition("gitdir:")[2].strip()
    return os.path.realpath(_join(git.removesuffix("/.git"), target) if target else git)


def _shared_folder(own: str) -> str:
    """Return the folder that all worktrees share. ``own``: see ``_git_folder``."""
    shared = _read(f"{own}/commondir").strip()
    return os.path.realpath(_join(own, shared)) if shared else own


def _join(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder}/{path}"


def _origin(common: str) -> str | None:
    inside, url = False, ""
    for line in map(str.strip, _read(f"{common}/config").splitlines()):
        if line.startswith("["):
            kind, _, name = line[1:].partition("]")[0].strip().partition(" ")
            inside = kind.lower() == "remote" and name.strip() == '"origin"'
        elif inside:
            name, _, value = line.partition("=")
            if name.strip().lower() == "url":
                for mark in _COMMENTS:
                    value = value.partition(mark)[0]
                url = value.strip().strip('"')
    return normalize_remote(url) if url else None


def _read(file: str) -> str:
    """Return the content of a file without NUL, which no path may have; empty if it cannot be read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _LARGEST_FILE).replace(b"\0", b"").decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def normalize_remote(url: str) -> str:
    """Return the canonical form of a remote URL: ``host/path`` with a lower-case host, without user and ``.git``."""
    url = url.strip()
    scheme, mark, rest = url.partition("://")
    if mark:
        authority, _, path = rest.partition("/")
        host = authority.rpartition("@")[2].partition(":")[0]
    else:
        # The form of scp, user@host:path. Text with a slash before the colon is a path.
        before, _, path = url.partition(":")
        host = "" if "/" in before else before.rpartition("@")[2]
    if not (host and path) or (mark and not scheme.replace("+", "").isalpha()):
        return url.rstrip("/").removesuffix(".git")
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"
