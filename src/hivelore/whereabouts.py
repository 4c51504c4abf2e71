"""Which project a folder belongs to (N16), read from the files of git without running it.

A repository is one project whatever the folder, clone or worktree: it is named after its ``origin``, else
after the folder of its main worktree. The bridge asks on its first message, so this does without slow imports.
"""

import os
import re

_SCP = re.compile(r"^(?:[^@/]+@)?(?P<host>[^:/]+):(?!//)(?P<path>.+)$")
_URL = re.compile(r"^[a-z+]+://(?:[^@/]*@)?(?P<host>[^:/]+)(?::\d+)?/(?P<path>.+)$", re.IGNORECASE)
_SECTION = re.compile(r'^\[\s*remote\s+"origin"\s*\]', re.IGNORECASE)
_REMARK = re.compile(r"\s[#;].*$")
_LARGEST_FILE = 1_000_000


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
            inside = _SECTION.match(line) is not None
        elif inside:
            name, _, value = line.partition("=")
            if name.strip().lower() == "url":
                url = _REMARK.sub("", value).strip().strip('"')
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
    match = _URL.match(url.strip()) or _SCP.match(url.strip())
    if match is None:
        return url.strip().rstrip("/").removesuffix(".git")
    return f"{match['host'].lower()}/{match['path'].strip('/').removesuffix('.git')}"
