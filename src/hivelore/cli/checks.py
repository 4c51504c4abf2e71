"""Checks of ``hivelore doctor``: findings from facts about an installation and its service."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from hivelore.core.text import counted
from hivelore.errors import HiveloreError, Unavailable
from hivelore.local import endpoint, launcher
from hivelore.local.lock import SERVICE, Owner
from hivelore.local.protection import Exposed
from hivelore.sessions.missed_answers import DAYS

LEAST_FREE = 50_000_000
LITTLE_FREE = 500_000_000
LARGE_LOG = 100_000_000
"""Bytes."""
MOST_SHOWN = 5
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_KEY = re.compile(r"hl_\d+_[0-9a-f]{10}_[0-9a-f]{64}")
_ON_A_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.glusterfs", "davfs")
_TRY_AGAIN = "Fix this, then run 'hivelore doctor' again. A temporary error needs no action."
_RESTART = "Run 'hivelore stop' and 'hivelore start'."
_CLOCK_SLACK = timedelta(hours=1)
_MOST_FOLDERS = 100


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """It works, but not as well or as safely as it should."""
    ERROR = "error"
    """Something does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check. Warnings and errors have a remedy."""

    name: str
    level: Level
    what: str
    remedy: str | None = None

    def __post_init__(self) -> None:
        if (self.remedy is None) != (self.level is Level.OK):
            raise ValueError("warnings and errors have a remedy, and nothing else has")


def ok(name: str, what: str) -> Finding:
    return Finding(name, Level.OK, what)


def warning(name: str, what: str, remedy: str) -> Finding:
    return Finding(name, Level.WARNING, what, remedy)


def error(name: str, what: str, remedy: str) -> Finding:
    return Finding(name, Level.ERROR, what, remedy)


def program(found: str | None, ours: Path, version: str) -> Finding:
    """``found``: the ``hivelore`` on the PATH; ``ours``: folder of the running program."""
    if found is None:
        return warning(
            "program",
            f"Hivelore {version} is not on your PATH: agents and hooks that call 'hivelore' cannot find it.",
            f"Add {ours} to your PATH.",
        )
    if Path(found).parent != ours:
        return warning(
            "program", f"'hivelore' is another installation, {found}.", f"Remove one, or put {ours} first on your PATH."
        )
    return ok("program", f"Hivelore {version}, {found}")


def folder(home: Path) -> Finding:
    if not home.exists():
        return ok("home", f"{home} does not exist yet; the first start creates it")
    if not home.is_dir():
        return error("home", f"{home} is not a folder.", "Move it away, or choose another with HIVELORE_HOME.")
    if not os.access(home, os.W_OK | os.X_OK):
        return error("home", f"{home} cannot be written to.", "Make it writable, or choose another with HIVELORE_HOME.")
    if home.stat().st_mode & _OTHERS:
        return warning("home", f"Other users of this machine can access {home}.", f"chmod 700 {home}")
    return ok("home", f"{home}, private")


def file_system(kind: str) -> Finding:
    """``kind``: its name in the kernel."""
    if kind in _ON_A_NETWORK:
        return error(
            "file system",
            f"The home folder is on a network drive ({kind}), where locks and the database are not safe.",
            "Choose a folder on a local disk with HIVELORE_HOME.",
        )
    return ok("file system", kind)


def file_system_of(path: Path, mounts: str) -> str:
    """Return the file system that contains a path, from the text of /proc/self/mounts."""
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
        return error("disk", f"Only {what}: soon nothing can be stored.", "Free some space.")
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
            wrong.append(f"{name} contains no key")
            remedies.append(f"rm {file}, then 'hivelore stop' and 'hivelore start' to create a new one")
    if wrong:
        return error("keys", f"{'; '.join(wrong)}.", "; ".join(remedies))
    return ok("keys", "private" if (home / endpoint.OPERATOR_KEY).exists() else "created at the first start")


def encryption_keys(home: Path, *, is_given: bool) -> Finding:
    """``is_given``: the keys are in HIVELORE_CONFIG_KEYS."""
    file = home / endpoint.CONFIG_KEYS
    try:
        found = file.lstat()
    except FileNotFoundError:
        return ok("encryption keys", "in HIVELORE_CONFIG_KEYS" if is_given else "created with the first secret")
    except OSError as problem:
        return error("encryption keys", f"{file}: {problem.strerror}.", f"Make {file} readable.")
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        return error("encryption keys", f"{file} is not a regular file of this user.", f"Restore {file} from a backup.")
    if found.st_mode & _OTHERS:
        return error("encryption keys", f"Other users can read {file}.", f"chmod 600 {file}")
    return ok("encryption keys", f"{file}, private")


def configuration(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Check secrets and .env files. ``report``: of the service."""
    shown = "; ".join(f"{one['key']} ({one['scope']}): {one['reason']}" for one in report["unreadable"][:MOST_SHOWN])
    if report["keyProblem"] is not None:
        yield error("secrets", report["keyProblem"], "Restore the keys, then run 'hivelore doctor' again.")
    elif report["unreadableCount"]:
        what = f"{counted(report['unreadableCount'], 'value')} cannot be read: {shown}"
        yield error("secrets", what, "Set these entries again, or restore the keys.")
    else:
        yield ok("secrets", f"{counted(report['secrets'], 'value')}, all readable")
    if report["problemCount"]:
        due = [one for one in report["problems"] if one["since"] is not None]
        edited = [one for one in report["problems"] if one["since"] is None]
        lines = "; ".join(
            f"{one['key']} in {one['path']} of {one['workspace']}: {one['problem']}"
            for one in (*due, *edited)[:MOST_SHOWN]
        )
        remedies = [
            "Correct the cause of what is not written; that is tried again each minute." if due else "",
            "Set the entries of edited lines again: nothing else replaces these." if edited else "",
        ]
        what = f"{counted(report['problemCount'], 'line')} of .env files differ from the configuration: {lines}"
        yield warning("env files", what, " ".join(filter(None, remedies)))
    else:
        yield ok("env files", f"{counted(report['lines'], 'line')} in order")
    if report["unknownRepoCount"]:
        shown = ", ".join(report["unknownRepos"][:MOST_SHOWN])
        count = counted(report["unknownRepoCount"], "repository", "repositories")
        yield warning(
            "configuration",
            f"There are entries of {count} not registered any more: {shown}.",
            "'hivelore config list --scope repo' shows them. Delete them, or undo the removal of the repository.",
        )


def files(found: Sequence[Exposed]) -> Finding:
    """``found``: files that other users can access."""
    if not found:
        return ok("files", "private")
    what = "; ".join(f"{one.path}: {one.why}" for one in found[:MOST_SHOWN])
    remedy = "; ".join(one.remedy for one in found[:MOST_SHOWN])
    if more := len(found) - MOST_SHOWN if len(found) > MOST_SHOWN else 0:
        what, remedy = f"{what}; and {more} more", f"{remedy}; then run 'hivelore doctor' again"
    return warning("files", f"{what}.", remedy)


def database(home: Path, file: Path, *, may_create: bool) -> Finding | None:
    """Check a missing database file; None if it exists. ``may_create``: a new database may be created."""
    if file.exists() and file.stat().st_size:
        return None
    if may_create or not endpoint.has_key_file(home):
        return ok("database", "created at the first start")
    return error(
        "database",
        f"The database {file} is missing or empty, but the home folder has keys of an earlier one.",
        "Put it back, or restore a backup. To start with an empty one: HIVELORE_NEW_DATABASE=1 hivelore start",
    )


def write_ahead_log(home: Path) -> Finding:
    file = home / f"{endpoint.DATABASE}-wal"
    size = file.stat().st_size if file.exists() else 0
    what = f"{size / 1_000_000:,.1f} MB not yet copied into the database"
    if size > LARGE_LOG:
        return warning(
            "write-ahead log",
            f"{what}: a reader has not finished for a long time.",
            "Run 'hivelore stop' and 'hivelore start'; close other programs that have the database open.",
        )
    return ok("write-ahead log", what)


def last_start(home: Path, owner: Owner | None) -> Finding:
    """Check what the last service logged when it could not start."""
    said = launcher.last_log_line(home) if owner is None and (home / endpoint.LOG).exists() else ""
    if said.startswith("hivelore: "):
        remedy = f"Fix that, then run 'hivelore start'. The whole log is {home / endpoint.LOG}."
        return error("last start", f"The service did not start: {said.removeprefix('hivelore: ')}", remedy)
    return ok("last start", "no errors")


def holder(owner: Owner | None, alive: Callable[[str], bool]) -> Finding:
    """``alive``: returns True if a Hivelore answers at a URL."""
    if owner is None:
        return ok("service", "not running; verbs start it when they need it. Its own checks were skipped")
    if owner.kind != SERVICE or owner.url is None:
        return warning(
            "service",
            f"Process {owner.pid} has the data directory open. Commands cannot use it until that process ends.",
            "End that process, or run 'hivelore start' before it, so that it uses the service.",
        )
    if not alive(owner.url):
        return error(
            "service",
            f"The service (pid {owner.pid}) does not answer at {owner.url}.",
            f"Wait a moment. If that does not help: kill {owner.pid}, then 'hivelore start'.",
        )
    return ok("service", f"pid {owner.pid} answers at {owner.url}")


def port(url: str, owner: Owner | None, taken: Callable[[str], bool], alive: Callable[[str], bool]) -> Finding:
    """Check the port of the service. ``taken``: returns True if a program listens at a URL."""
    if owner is not None and owner.url is not None:
        return ok("port", f"{owner.url} is used by the service")
    if not taken(url):
        return ok("port", f"{url} is free")
    remedy = "End the other program, or choose another port with HIVELORE_URL=http://127.0.0.1:PORT."
    if alive(url):
        return error("port", f"A Hivelore with another home folder answers at {url}.", remedy)
    return error("port", f"Another program listens at {url}.", remedy)


def run_check(name: str, what: str, trial: Callable[[], Sequence[str]], remedy: str) -> Finding:
    """Run a check that returns problems as sentences, or raises one of our errors.

    ``remedy`` helps against damage. It is not shown when something is only unavailable.
    """
    try:
        problems = trial()
    except Unavailable as trouble:
        return error(name, str(trouble), _TRY_AGAIN)
    except HiveloreError as trouble:
        return error(name, str(trouble), remedy)
    if problems:
        return error(name, " ".join(problems), remedy)
    return ok(name, what)


def readiness(reasons: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """``reasons``: why the service reports that it is not ready."""
    if not reasons:
        yield ok("readiness", "the service is ready")
    for reason in reasons:
        since = f"since {reason['since']}" if reason["lasting"] else "may be temporary"
        yield error("readiness", f"{reason['message']} ({reason['cause']}, {since})", reason["remedy"])


def problems(status: Mapping[str, Any]) -> Iterator[Finding]:
    """Report current problems of a service that is ready; the others are among its reasons for not being ready."""
    standing = status.get("problems", ())
    for problem in standing:
        if status["ready"]:
            message, detail = problem["message"], problem["detail"]
            said = message if detail.startswith(message) else f"{message} ({detail})"
            yield warning("degraded", said, problem["remedy"])


def workers(status: Mapping[str, Any]) -> Finding:
    known: Sequence[Mapping[str, Any]] = status.get("workers", ())
    failing = [one for one in known if one["failuresInARow"]]
    if failing:
        said = "; ".join(
            f"{one['name']} failed {counted(one['failuresInARow'], 'time')}: {one['error']}" for one in failing
        )
        return warning(
            "workers", f"{said.removesuffix('.')}.", "They retry automatically; see service.log for details."
        )
    failed = sum(one["failures"] for one in known)
    recovered = f"; recovered from {counted(failed, 'failure')} since the start" if failed else ""
    return ok("workers", f"{len(known)} running{recovered}")


def version(service: str, ours: str) -> Finding:
    if service != ours:
        return warning("version", f"The service has version {service}, this command {ours}.", _RESTART)
    return ok("version", service)


def failed_embeddings(count: int) -> Finding:
    if count:
        return warning(
            "embeddings",
            f"{counted(count, 'passage')} could not be embedded. Until a retry succeeds, only keywords find "
            f"{'it' if count == 1 else 'them'}.",
            "Run 'hivelore reembed' to retry now.",
        )
    return ok("embeddings", "none failed")


def embedding_queue(status: Mapping[str, Any]) -> Finding:
    pending, trouble = status["pendingEmbeddings"], status["embeddingTrouble"]
    if status["wantedModel"] is None:
        return ok("embedding queue", "no embedding model is configured: keywords only")
    if trouble is not None:
        waiting = "" if pending is None else f"{counted(pending, 'passage waits', 'passages wait')} for a vector. "
        return error(
            "embedding queue",
            f"{waiting}The embedder fails: {trouble}",
            "Check HIVELORE_EMBEDDER and its settings. Nothing is lost meanwhile.",
        )
    if pending is None:
        return warning("embedding queue", "The database does not answer.", "See 'readiness' above.")
    return ok("embedding queue", f"{counted(pending, 'passage')} waiting" if pending else "empty")


def vectors(status: Mapping[str, Any]) -> Finding:
    if status["wantedModel"] is None:
        return ok("vectors", "no embedding model is configured")
    if status["model"] is None:
        return warning(
            "vectors",
            "The embedding model was changed. Searches use keywords only until all passages are embedded again.",
            "Wait; 'hivelore reembed' shows the progress.",
        )
    if status["embeddingOutage"] is not None:
        return warning(
            "vectors",
            f"Searches use keywords only: {status['embeddingOutage']}.",
            "Check the embedding server. When it answers again, the next search uses it.",
        )
    if not status["vectorsReady"]:
        return warning(
            "vectors",
            "The vector index is not ready: searches use keywords only meanwhile.",
            f"Wait a minute. If it stays so: {_RESTART}",
        )
    return ok("vectors", f"{status['vectors']}, {status['model']}")


def relevance_model(outage: str | None) -> Finding:
    """``outage``: why the model fails."""
    if outage is not None:
        return warning(
            "relevance model",
            f"Searches are not reranked, and prompts get memories without it: {outage}.",
            f"Reinstall Hivelore: pip install --force-reinstall --no-deps hivelore. {_RESTART}",
        )
    return ok("relevance model", "works")


def indexes(repairs: Sequence[str]) -> Finding:
    """Check that the indexes are complete. ``repairs``: what was missing."""
    if repairs:
        return warning("indexes", " ".join(repairs), "Run 'hivelore doctor' again in a few minutes.")
    return ok("indexes", "complete")


def own_folders(workspace: Path) -> Sequence[Path]:
    """Return the personal folders of 'workspace prepare --own-folder'."""
    try:
        with os.scandir(workspace / "agents") as found:
            return sorted(Path(one.path) for one in islice(found, _MOST_FOLDERS) if one.is_dir(follow_symlinks=False))
    except OSError:
        return ()


def workspace_folder(workspace: Path, *, runs: bool) -> Finding:
    """Check the folders that agents work in. ``runs``: 'workspace prepare' runs start-up files here."""
    own = own_folders(workspace)
    needed = [workspace / "shared/memory", *(one / "memory" for one in own or (workspace / "personal",))]
    if runs:
        needed.append(workspace / "repos")
    missing = [str(one.relative_to(workspace)) for one in needed if not one.is_dir()]
    if missing:
        what = f"{workspace} has no {', '.join(missing[:MOST_SHOWN])}."
        remedy = "Run 'hivelore workspace prepare', with --own-folder for a folder in 'agents'."
        return warning("workspace", what, remedy)
    folders = [*needed, workspace / "personal/memory", workspace / "repos"]
    closed = {str(one): None for one in folders if one.is_dir() and not os.access(one, os.W_OK | os.X_OK)}
    if closed:
        what = f"{', '.join(list(closed)[:MOST_SHOWN])} cannot be written to."
        return error("workspace", what, "Make them yours (chown).")
    return ok("workspace", f"{workspace} can be written to")


def start_up_file(folder: Path, *, runs: bool) -> Finding:
    """Check the file of a folder that prepares the machine of an agent. ``runs``: it is run."""
    from hivelore.integrations import start_up_files

    try:
        found = start_up_files.find(folder)
        edits = () if found is None else start_up_files.edited(found)
    except HiveloreError as problem:
        return error("start-up file", str(problem), _TRY_AGAIN)
    except OSError as problem:
        return error("start-up file", f"It cannot be read ({problem.strerror}).", _TRY_AGAIN)
    how = "'hivelore workspace prepare' runs it" if runs else "HIVELORE_RUN_SETUP_SCRIPTS is off, so it is not run"
    if found is None:
        return ok("start-up file", f"none in {folder}; {how}")
    if edits:
        return warning(
            "start-up file",
            f"{found.path} was edited in {counted(len(edits), 'setup script')}, which 'workspace prepare' replaces.",
            "Run 'hivelore setup-script sync' to propose the edit. If it is proposed already, decide it.",
        )
    if kept := start_up_files.kept_edits(folder):
        return warning(
            "start-up file",
            f"{counted(len(kept), 'edit')} in {folder} could not be proposed, such as {kept[0].name}.",
            "Look at them ('hivelore setup-script set' changes a script), and delete them.",
        )
    return ok("start-up file", f"{found.path}; {how}")


def clones(workspace: Path, repos: Sequence[Mapping[str, Any]], git: str | None) -> Finding:
    """Check the clones of a workspace for agents. ``repos``: those that every machine clones; ``git``: the program on
    the PATH."""
    if not repos or not (workspace / "repos").is_dir():
        return ok("clones", f"none are needed in {workspace}")
    if git is None:
        return warning("clones", "Repositories cannot be cloned: git is not on your PATH.", "Install git.")
    missing: list[str] = []
    for name in sorted(str(one["name"]) for one in repos):
        clone = workspace / "repos" / name
        if clone.is_symlink() or (clone.exists() and not (clone / ".git").is_dir()):
            what = f"{clone} is in the place of a clone."
            return warning("clones", what, "Move it away, then run 'hivelore repo sync'.")
        if not clone.exists():
            missing.append(name)
    if missing:
        shown = ", ".join(missing[:MOST_SHOWN])
        what = f"{counted(len(missing), 'repository', 'repositories')} not cloned in {workspace}: {shown}."
        return warning(
            "clones", what, "Run 'hivelore repo sync', or switch that off: 'hivelore repo update NAME --no-auto'."
        )
    return ok("clones", f"{counted(len(repos), 'clone')} in {workspace}")


def profile_files(left_over: Sequence[str], prepared: Sequence[str], problems: Mapping[str, str]) -> Iterator[Finding]:
    """``left_over``: files that no session uses, and that were not restored; ``prepared``: those that wait for a
    session; ``problems``: with their remedies."""
    if left_over:
        yield warning(
            "profile files",
            f"{', '.join(left_over)} contain the profile of an agent, but no session uses them any more.",
            "Start a session of the agent program, or run 'hivelore setup PROGRAM --no-profile'. Both restore files.",
        )
    for problem, remedy in problems.items():
        yield warning("profile files", problem, remedy)
    if prepared:
        what = f"{', '.join(prepared)} contain the profile of an agent for its next session, and come back after it."
        yield ok("profile files", what)
    elif not left_over and not problems:
        yield ok("profile files", "nothing is left over")


def folders(status: Mapping[str, Any]) -> Finding:
    """Check memories that agents write as files."""
    trouble, passed = status["foldersTrouble"], status["filesPassedOver"]
    if trouble is not None:
        return warning("folders", trouble, "Check HIVELORE_WORKSPACE. Memories of its files stay meanwhile.")
    if passed:
        return warning(
            "folders",
            f"{counted(passed, 'file')} in {status['workspace']} cannot become memories.",
            "See service.log for the files and reasons.",
        )
    return ok("folders", f"{counted(status['filesKnown'], 'file')} in {status['workspace']}")


def missed_answers(status: Mapping[str, Any]) -> Iterator[Finding]:
    """Check answers that reached no agent program."""
    missed = status.get("missedAnswers") or ()
    for one in missed:
        remedy = (
            "Hooks wait HIVELORE_HOOK_WAIT seconds (0.2) for the service; a longer time delays agents more."
            if one["late"]
            else "The service was not running: 'hivelore start'."
            if one["down"]
            else "Check HIVELORE_URL and HIVELORE_KEY of the agent program."
        )
        what = f"{one['program']} went without an answer: {count_misses(one)} in {DAYS} days."
        yield warning("hook answers", what, remedy)
    if not missed:
        yield ok("hook answers", f"none was missed in {DAYS} days")


def count_misses(missed: Mapping[str, Any]) -> str:
    """Return the missed answers of a program in words, by reason."""
    counts = ((missed["late"], "late"), (missed["down"], "with no service"), (missed["refused"], "refused"))
    return ", ".join(f"{count:,} {what}" for count, what in counts if count)


def row_level_security(status: Mapping[str, Any]) -> Iterator[Finding]:
    """Check row-level security, which PostgreSQL offers."""
    stands = status.get("rowLevelSecurity")
    if stands is None:
        return
    if stands:
        yield ok("row-level security", "the database checks visibility, too")
    else:
        yield warning(
            "row-level security",
            "The database does not check visibility itself; only Hivelore does.",
            "Have an administrator run: CREATE ROLE hivelore_viewer NOLOGIN; GRANT hivelore_viewer TO the role of "
            "HIVELORE_DATABASE. Then restart Hivelore.",
        )


def clock(newest: datetime | None, now: datetime) -> Finding:
    """``newest``: creation time of the newest memory."""
    if newest is not None and newest > now + _CLOCK_SLACK:
        return warning(
            "clock",
            f"The newest memory is from {newest.isoformat(timespec='minutes')}, which is in the future.",
            "Set the clock of this machine, or of the one that wrote it: ranking depends on the age of memories.",
        )
    return ok("clock", now.isoformat(timespec="seconds"))
