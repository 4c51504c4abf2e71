"""What can be seen of an installation without a service: the home folder, what lies in it, who holds it."""

import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from hivelore.cli.checks import Finding, error, ok, warning
from hivelore.errors import HiveloreError, Unavailable
from hivelore.local import endpoint, launcher
from hivelore.local.lock import SERVICE, Owner
from hivelore.local.protection import Exposed

LEAST_FREE = 50_000_000
LITTLE_FREE = 500_000_000
LARGE_LOG = 100_000_000
"""Bytes."""
MOST_SHOWN = 5
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_KEY = re.compile(r"hl_\d+_[0-9a-f]{10}_[0-9a-f]{64}")
_ON_A_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.glusterfs", "davfs")


_TRY_AGAIN = "Do what it says, then run 'hivelore doctor' again: an error that passes needs no more."


def program(found: str | None, ours: Path, version: str) -> Finding:
    """``found``: the ``hivelore`` on the PATH; ``ours``: the folder of the one that runs."""
    if found is None:
        return warning(
            "program",
            f"Hivelore {version} is not on your PATH: agents and hooks that call 'hivelore' do not find it.",
            f"Add {ours} to your PATH.",
        )
    if Path(found).parent != ours:
        return warning(
            "program", f"'hivelore' is another installation, {found}.", f"Remove one of them, or put {ours} first."
        )
    return ok("program", f"Hivelore {version}, {found}")


def folder(home: Path) -> Finding:
    if not home.exists():
        return ok("home", f"{home} is not there yet; the first start makes it")
    if not home.is_dir():
        return error("home", f"{home} is no folder.", "Move it away, or choose another with HIVELORE_HOME.")
    if not os.access(home, os.W_OK | os.X_OK):
        return error("home", f"{home} cannot be written to.", "Make it yours, or choose another with HIVELORE_HOME.")
    if home.stat().st_mode & _OTHERS:
        return warning("home", f"{home} is open to other users of this machine.", f"chmod 700 {home}")
    return ok("home", f"{home}, open to you alone")


def file_system(kind: str) -> Finding:
    """``kind``: as the kernel calls it."""
    if kind in _ON_A_NETWORK:
        return error(
            "file system",
            f"The home folder lies on a network drive ({kind}), where locks and the database are not safe.",
            "Choose a folder on a local disk with HIVELORE_HOME.",
        )
    return ok("file system", kind)


def kind_of_file_system(path: Path, mounts: str) -> str:
    """The file system that holds a path, from the text of /proc/self/mounts."""
    best, kind = Path("/"), "unknown"
    for line in mounts.splitlines():
        _, place, found, *_ = line.split(" ")
        folder = Path(place.replace("\\040", " "))
        if path.is_relative_to(folder) and len(folder.parts) >= len(best.parts):
            best, kind = folder, found
    return kind


def disk(free: int) -> Finding:
    """``free``: bytes."""
    what = f"{free // 1_000_000:,} MB free"
    if free < LEAST_FREE:
        return error("disk", f"{what}: soon nothing can be stored.", "Free some space.")
    if free < LITTLE_FREE:
        return warning("disk", f"{what}.", "Free some space.")
    return ok("disk", what)


def keys(home: Path) -> Finding:
    remedies: list[str] = []
    wrong: list[str] = []
    for name in (endpoint.OPERATOR_KEY, endpoint.AGENT_KEY):
        file = home / name
        if not file.exists():
            continue
        if file.stat().st_mode & _OTHERS:
            wrong.append(f"{name} can be read by other users")
            remedies.append(f"chmod 600 {file}")
        if not _KEY.fullmatch(file.read_text(encoding="ascii", errors="replace").strip()):
            wrong.append(f"{name} holds no key")
            remedies.append(f"rm {file}, then 'hivelore stop' and 'hivelore start': a new one is made")
    if wrong:
        return error("keys", f"{'; '.join(wrong)}.", "; ".join(remedies))
    return ok("keys", "private" if (home / endpoint.OPERATOR_KEY).exists() else "made at the first start")


def files(found: Sequence[Exposed]) -> Finding:
    """``found``: what is not this user's alone."""
    if not found:
        return ok("files", "open to you alone")
    what = "; ".join(f"{one.path}: {one.why}" for one in found[:MOST_SHOWN])
    remedy = "; ".join(one.remedy for one in found[:MOST_SHOWN])
    if more := len(found) - MOST_SHOWN if len(found) > MOST_SHOWN else 0:
        what, remedy = f"{what}; and {more} more", f"{remedy}; then run 'hivelore doctor' again"
    return warning("files", f"{what}.", remedy)


def database(home: Path, file: Path, *, may_create: bool) -> Finding | None:
    """Whether the file of the database is there; None where it is. ``may_create``: where it need not be."""
    if file.exists() and file.stat().st_size:
        return None
    if may_create or not endpoint.has_key_file(home):
        return ok("database", "made at the first start")
    return error(
        "database",
        f"There is no database {file}, or nothing in it, but the home folder has keys of an earlier one.",
        "Put it back, or restore a backup. To begin with an empty one: HIVELORE_NEW_DATABASE=1 hivelore start",
    )


def write_ahead_log(home: Path) -> Finding:
    file = home / f"{endpoint.DATABASE}-wal"
    size = file.stat().st_size if file.exists() else 0
    what = f"{size / 1_000_000:,.1f} MB not yet copied into the database"
    if size > LARGE_LOG:
        return warning(
            "write-ahead log",
            f"{what}: something reads without end.",
            "Run 'hivelore stop' and 'hivelore start'; end other programs that have the database open.",
        )
    return ok("write-ahead log", what)


def last_start(home: Path, owner: Owner | None) -> Finding:
    """What the last service wrote when it could not start."""
    said = launcher.last_words(home) if owner is None and (home / endpoint.LOG).exists() else ""
    if said.startswith("hivelore: "):
        remedy = f"Do what it says, then 'hivelore start'. All of it is in {home / endpoint.LOG}."
        return error("last start", f"The service did not start: {said.removeprefix('hivelore: ')}", remedy)
    return ok("last start", "without trouble")


def holder(owner: Owner | None, alive: Callable[[str], bool]) -> Finding:
    """``alive``: whether a Hivelore answers at a URL."""
    if owner is None:
        return ok("service", "none runs; verbs start one when they need it. What only it knows was not looked at")
    if owner.kind != SERVICE or owner.url is None:
        return warning(
            "service",
            f"Process {owner.pid} has the data directory open by itself: no verb can reach it meanwhile.",
            "End that process, or let it talk to a service ('hivelore start' before it).",
        )
    if not alive(owner.url):
        return error(
            "service",
            f"The service (pid {owner.pid}) does not answer at {owner.url}.",
            f"Wait a moment; if that does not help, kill {owner.pid} and 'hivelore start'.",
        )
    return ok("service", f"pid {owner.pid} answers at {owner.url}")


def port(url: str, owner: Owner | None, taken: Callable[[str], bool], alive: Callable[[str], bool]) -> Finding:
    """Whether the service could have its port. ``taken``: whether anything listens at a URL."""
    if owner is not None or not taken(url):
        return ok("port", f"{url} is ours" if owner is not None else f"{url} is free")
    remedy = "End the other program, or choose another port with HIVELORE_URL=http://127.0.0.1:PORT."
    if alive(url):
        return error("port", f"A Hivelore with another home folder answers at {url}.", remedy)
    return error("port", f"Another program listens at {url}.", remedy)


def works(name: str, what: str, trial: Callable[[], Sequence[str]], remedy: str) -> Finding:
    """Try something that answers what is wrong, one sentence each, or raises one of our errors. What is just not
    available is nothing that ``remedy``, which is for damage, would help against."""
    try:
        problems = trial()
    except Unavailable as trouble:
        return error(name, str(trouble), _TRY_AGAIN)
    except HiveloreError as trouble:
        return error(name, str(trouble), remedy)
    if problems:
        return error(name, " ".join(problems), remedy)
    return ok(name, what)
