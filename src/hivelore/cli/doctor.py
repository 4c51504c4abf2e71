"""The verb ``doctor``: looks for problems and shows how to fix them."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from hivelore import __version__
from hivelore.cli import checks, exits, output
from hivelore.cli.checks import Finding, Level, error, ok, warning
from hivelore.cli.options import AsJson
from hivelore.cli.output import now
from hivelore.errors import HiveloreError, Invalid
from hivelore.local import endpoint, launcher, transport, variables
from hivelore.local.lock import SERVICE, Owner, read_owner
from hivelore.local.protection import exposed
from hivelore.python.client import Client

_MOUNTS = Path("/proc/self/mounts")
_TIMEOUT = 2.0
_SLOW = 600.0
_REINSTALL = "Reinstall Hivelore: pip install --force-reinstall --no-deps hivelore"
_TRY_AGAIN = "Fix this, then run 'hivelore doctor' again."
_RESTORE = "Copy the home folder as it is, then restore your last backup or export."


def doctor(*, json: AsJson = False) -> int:
    """Look for problems and show how to fix them.

    Does not start the service. The exit code is 1 if something does not work.

    Example: hivelore doctor
    """
    findings = list(examine(endpoint.home()))
    if json:
        output.print_json({"findings": [asdict(one) for one in findings]})
    else:
        for one in findings:
            _show(one)
    return exits.UNEXPECTED if any(one.level is Level.ERROR for one in findings) else 0


def _show(finding: Finding) -> None:
    style = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "bold red"}[finding.level]
    output.say((f"{finding.level.value:8}", style), f"{finding.name:16} {finding.what}")
    if finding.remedy is not None:
        output.say(f"{'':25}→ {finding.remedy}")


def examine(home: Path) -> Iterator[Finding]:
    """Yield all findings, the basics first."""
    yield checks.program(shutil.which("hivelore"), Path(sys.executable).parent, __version__)
    folder = checks.folder(home)
    yield folder
    if folder.level is Level.ERROR:
        return
    place = next(one for one in (home, *home.parents) if one.exists())
    if _MOUNTS.exists():
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        yield checks.file_system(checks.file_system_of(place, mounts))
    yield checks.disk(shutil.disk_usage(place).free)
    yield checks.keys(home)
    yield checks.write_ahead_log(home)
    owner = read_owner(home)
    yield checks.last_start(home, owner)
    yield from _settings(home, owner)
    yield checks.holder(owner, launcher.is_alive)
    yield from _service(home, owner)


def _settings(home: Path, owner: Owner | None) -> Iterator[Finding]:
    """Check the settings, and what they name, unless a service uses it already."""
    from hivelore.runtime.settings import Embedder, load

    try:
        settings = load(home=home)
    except HiveloreError as problem:
        yield error("settings", str(problem), "Correct the environment variable, or unset it.")
        return
    unknown = list(variables.unknown())
    if unknown:
        yield warning("settings", " ".join(unknown), "Correct the name of the variable, or unset it.")
    else:
        yield ok("settings", "valid")
    yield checks.files(exposed(home, settings.database_path))
    yield checks.encryption_keys(home, is_given=bool(settings.encryption_keys))
    workspace = settings.workspace_folder
    if workspace.is_dir():
        yield checks.workspace_folder(workspace, runs=settings.run_setup_scripts)
        for folder in (workspace, *checks.own_folders(workspace)):
            yield checks.start_up_file(folder, runs=settings.run_setup_scripts)
    yield from _profile_files(home)
    if settings.embedder is Embedder.LOCAL:
        yield checks.run_check("model", "intact", lambda: _load_model(home), _REINSTALL)
    if owner is None and settings.embedder is not Embedder.NONE:
        yield checks.relevance_model(_relevance_outage(home))
    if owner is None and settings.postgres_url is not None:
        yield from _checked(lambda: _check_database(home), _TRY_AGAIN)
    elif owner is None and settings.database_path is not None:
        missing = checks.database(home, settings.database_path, may_create=settings.new_database)
        if missing is None:
            yield from _checked(lambda: _check_database(home), _RESTORE)
        else:
            yield missing


def _profile_files(home: Path) -> Iterator[Finding]:
    from hivelore.hooks.profile_files import NOTES, left_over

    found = [left_over(program, str(home)) for program in NOTES]
    yield from checks.profile_files(
        list(dict.fromkeys(name for one in found for name in one.names)),
        list(dict.fromkeys(name for one in found for name in one.prepared)),
        {problem.what: problem.remedy for one in found for problem in one.problems},
    )


def _load_model(home: Path) -> list[str]:
    from hivelore.runtime.app import Application
    from hivelore.runtime.settings import IN_MEMORY, Vectors, load

    Application(load(home=home, database=IN_MEMORY, vectors=Vectors.EXACT)).close()
    return []


def _relevance_outage(home: Path) -> str | None:
    from hivelore.runtime import engines
    from hivelore.runtime.settings import load

    reader = engines.make_relevance_reader(load(home=home))
    return None if reader is None else engines.try_relevance_reader(reader)


def _check_database(home: Path) -> dict[str, Any]:
    """Open the database as a service would, holding the lock meanwhile."""
    import msgspec

    from hivelore.local.lock import EMBEDDED
    from hivelore.runtime.app import Application
    from hivelore.runtime.settings import Embedder, load

    owner = Owner(pid=os.getpid(), kind=EMBEDDED, url=None, started_at=now().isoformat())
    app = Application(load(home=home, embedder=Embedder.NONE), owner=owner)
    try:
        checked = app.integrity_check.check()
        configuration = msgspec.to_builtins(app.configuration_check.check())
        return {
            "problems": list(checked.problems),
            "repairs": list(checked.repairs),
            "configuration": configuration,
        }
    finally:
        app.close()


def _service(home: Path, owner: Owner | None) -> Iterator[Finding]:
    chosen = endpoint.given_url()
    if chosen is None or transport.is_local(chosen):
        yield checks.port(chosen or endpoint.DEFAULT_URL, owner, _listens, launcher.is_alive)
    if owner is not None and owner.kind == SERVICE and owner.url is not None:
        url = owner.url
    elif chosen is not None and not transport.is_local(chosen):
        url = chosen
    else:
        return
    try:
        client = Client(url, endpoint.key(endpoint.OPERATOR_KEY, home), interface="cli")
    except HiveloreError as problem:
        yield error("access", str(problem), "Correct HIVELORE_URL, or unset it; 'hivelore start' creates keys.")
        return
    try:
        yield from _answers(client)
    finally:
        client.close()


def _answers(client: Client) -> Iterator[Finding]:
    try:
        reasons = client.reasons(_TIMEOUT)
    except HiveloreError as problem:
        yield error("access", str(problem), "Check HIVELORE_URL.")
        return
    yield from checks.readiness(reasons)
    try:
        me = client.call("GET", "/api/me", timeout=_TIMEOUT)
    except HiveloreError as problem:
        if reasons:  # Without its database it cannot check keys.
            return
        given = "HIVELORE_KEY" if endpoint.given_key() is not None else "operator.key"
        yield error("access", str(problem), f"Check HIVELORE_URL and {given}.")
        return
    yield ok("access", f"{client.url} accepts the key of {me['name'] or 'the operator'}")
    for facts in (_status, _failed, _clock, _clones):
        try:
            yield from facts(client)
        except HiveloreError as problem:  # The other checks run all the same.
            yield error("service", str(problem), _TRY_AGAIN)
    if me["role"] == "operator":
        yield from _checked(lambda: client.call("GET", "/api/check", timeout=_SLOW), _RESTORE)
        try:
            yield from checks.configuration(client.call("GET", "/api/config/check", timeout=_SLOW))
        except HiveloreError as problem:
            yield error("secrets", str(problem), _TRY_AGAIN)


def _status(client: Client) -> Iterator[Finding]:
    status = client.call("GET", "/api/status")
    yield checks.version(status["version"], __version__)
    yield checks.workers(status)
    yield from checks.problems(status)
    yield checks.embedding_queue(status)
    yield checks.vectors(status)
    if status["wantedModel"] is not None:
        yield checks.relevance_model(status.get("relevanceOutage"))
    yield checks.folders(status)
    yield from checks.missed_answers(status)
    yield from checks.row_level_security(status)


def _failed(client: Client) -> Iterator[Finding]:
    yield checks.failed_embeddings(client.call("GET", "/api/memory/stats")["failed"])


def _clock(client: Client) -> Iterator[Finding]:
    newest = client.call("GET", "/api/memory", query={"limit": 1})["memories"]
    yield checks.clock(datetime.fromisoformat(newest[0]["createdAt"]) if newest else None, now())


def _clones(client: Client) -> Iterator[Finding]:
    from hivelore.cli.repos import auto_cloned
    from hivelore.runtime.settings import load

    yield checks.clones(load().workspace_folder, list(auto_cloned(client)), shutil.which("git"))


def _checked(check: Callable[[], dict[str, Any]], remedy: str) -> Iterator[Finding]:
    """Check the data and the indexes, and the configuration if the check includes it."""
    found: dict[str, Any] = {}

    def problems() -> list[str]:
        found.update(check())
        return found["problems"]

    database = checks.run_check("database", "intact", problems, remedy)
    yield database
    if database.level is Level.OK:
        yield checks.indexes(found["repairs"])
        if "configuration" in found:
            yield from checks.configuration(found["configuration"])


def _listens(url: str) -> bool:
    try:
        transport.connect(transport.ServiceUrl(url), _TIMEOUT).close()
    except (OSError, Invalid):
        return False
    return True
