"""Which project a folder belongs to (N16), read from the files of git without running it.

A repository is one project whatever the folder, clone or worktree: it is named after its ``origin``, else
after the folder of its main worktree. Hooks ask each time and the bridge on its first message, so this does without
slow imports, even that of regular expressions.
"""

import os

_REMARKS = (" #", " ;", "\t#", "\t;")
_LARGEST_FILE = 1_000_000


def place_of(folder: str | os.PathLike[str]) -> str | None:
    """The project of a folder; outside of any repository the folder itself. None where it is gone."""
    try:
        return project_of(folder) or os.path.realpath(folder, strict=True)
    except OSError:
        return None


def project_of(folder: str | os.PathLike[str]) -> str | None:
    """The project a folder lies in, like ``github.com/owner/name``; None outside of any repository."""
    try:
        place = os.path.realpath(folder)
    except OSError:  # The working directory has been removed.
        return None
    while place:
        git = f"{place}/.git"
        if os.access(git, os.F_OK):
            common = _common(git)
            return _origin(common) or common.removesuffix("/.git")
        place = place.rpartition("/")[0]
    return None


def _common(git: str) -> str:
    """The folder all worktrees share. A worktree has a file ``.git`` that points into it."""
    target = _text(git).partition("gitdir:")[2].strip()
    if not target:
        return os.path.realpath(git)
    folder = os.path.realpath(_from(git.removesuffix("/.git"), target))
    shared = _text(f"{folder}/commondir").strip()
    return os.path.realpath(_from(folder, shared)) if shared else folder


def _from(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder}/{path}"


def _origin(common: str) -> str | None:
    inside, url = False, ""
    for line in map(str.strip, _text(f"{common}/config").splitlines()):
        if line.startswith("["):
            kind, _, name = line[1:].partition("]")[0].strip().partition(" ")
            inside = kind.lower() == "remote" and name.strip() == '"origin"'
        elif inside:
            name, _, value = line.partition("=")
            if name.strip().lower() == "url":
                for mark in _REMARKS:
                    value = value.partition(mark)[0]
                url = value.strip().strip('"')
    return normalised(url) if url else None


def _text(file: str) -> str:
    """What stands in a file; nothing where it cannot be read, as in a folder."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _LARGEST_FILE).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def normalised(url: str) -> str:
    """One name for all the ways to write a remote: ``host/path`` in lower-case host, without user or ``.git``."""
    url = url.strip()
    scheme, mark, rest = url.partition("://")
    if mark:
        authority, _, path = rest.partition("/")
        host = authority.rpartition("@")[2].partition(":")[0]
    else:
        # As scp writes it: user@host:path. What has a slash before the colon is a path.
        before, _, path = url.partition(":")
        host = "" if "/" in before else before.rpartition("@")[2]
    if not (host and path) or (mark and not scheme.replace("+", "").isalpha()):
        return url.rstrip("/").removesuffix(".git")
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"
