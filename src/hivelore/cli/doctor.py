"""The verb ``doctor``: look at everything that could be wrong, and say what helps."""

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

from hivelore import __version__
from hivelore.cli import exits, home_checks, output, service_checks
from hivelore.cli.checks import Finding, Level, error, ok
from hivelore.cli.clock import now
from hivelore.cli.options import AsJson
from hivelore.errors import HiveloreError
from hivelore.local import endpoint, launcher
from hivelore.local.lock import SERVICE, Owner, read_owner
from hivelore.local.protection import exposed
from hivelore.memories import codec
from hivelore.python.client import Client

_MOUNTS = Path("/proc/self/mounts")
_PATIENCE = 2.0
_LONG = 600.0
_REINSTALL = "Install Hivelore anew: pip install --force-reinstall --no-deps hivelore"
_LOOK_AGAIN = "Do what it says, then run 'hivelore doctor' again."
_RESTORE = "Keep a copy of the home folder as it is, then restore your last backup or export."


def doctor(*, json: AsJson = False) -> int:
    """Look for what is wrong, and what helps.

    Starts no service. Exit code 1 where something does not work.

    Example: hivelore doctor
    """
    findings = list(examined(endpoint.home()))
    if json:
        output.as_json({"findings": [asdict(one) for one in findings]})
    else:
        for one in findings:
            _show(one)
    return exits.UNEXPECTED if any(one.level is Level.ERROR for one in findings) else 0


def _show(finding: Finding) -> None:
    style = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "bold red"}[finding.level]
    output.say((f"{finding.level.value:8}", style), f"{finding.name:16} {finding.what}")
    if finding.remedy is not None:
        output.say(f"{'':25}→ {finding.remedy}")


def examined(home: Path) -> Iterator[Finding]:
    """Everything there is to find, the ground first."""
    yield home_checks.program(shutil.which("hivelore"), Path(sys.executable).parent, __version__)
    folder = home_checks.folder(home)
    yield folder
    if folder.level is Level.ERROR:
        return
    place = next(one for one in (home, *home.parents) if one.exists())
    if _MOUNTS.exists():
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        yield home_checks.file_system(home_checks.kind_of_file_system(place, mounts))
    yield home_checks.disk(shutil.disk_usage(place).free)
    yield home_checks.keys(home)
    yield home_checks.write_ahead_log(home)
    owner = read_owner(home)
    yield home_checks.last_start(home, owner)
    yield from _settings(home, owner)
    yield home_checks.holder(owner, launcher.is_alive)
    yield from _service(home, owner)


def _settings(home: Path, owner: Owner | None) -> Iterator[Finding]:
    """The settings, and what can be tried out with them where no service does it already."""
    from hivelore.runtime.settings import Embedder, load

    try:
        settings = load(home=home)
    except HiveloreError as trouble:
        yield error("settings", str(trouble), "Correct the environment variable, or unset it.")
        return
    yield ok("settings", "understood")
    yield home_checks.files(exposed(home, settings.database_path))
    if settings.embedder is Embedder.LOCAL:
        yield home_checks.works("model", "undamaged", lambda: _load_model(home), _REINSTALL)
    if owner is None and settings.postgres_url is not None:
        yield from _checked(lambda: _check_database(home), _LOOK_AGAIN)
    elif owner is None and settings.database_path is not None:
        missing = home_checks.database(home, settings.database_path, may_create=settings.new_database)
        if missing is None:
            yield from _checked(lambda: _check_database(home), _RESTORE)
        else:
            yield missing


def _load_model(home: Path) -> list[str]:
    from hivelore.runtime.app import Application
    from hivelore.runtime.settings import IN_MEMORY, Vectors, load

    Application(load(home=home, database=IN_MEMORY, vectors=Vectors.EXACT)).close()
    return []


def _check_database(home: Path) -> dict[str, list[str]]:
    """Open it as a service would, holding the lock meanwhile."""
    from hivelore.local.lock import EMBEDDED
    from hivelore.runtime.app import Application
    from hivelore.runtime.settings import Embedder, load

    owner = Owner(pid=os.getpid(), kind=EMBEDDED, url=None, started_at=now().isoformat())
    app = Application(load(home=home, embedder=Embedder.NONE), owner=owner)
    try:
        checked = app.integrity_check.check()
        return {"problems": list(checked.problems), "repairs": list(checked.repairs)}
    finally:
        app.close()


def _service(home: Path, owner: Owner | None) -> Iterator[Finding]:
    chosen = endpoint.given_url()
    if chosen is None or launcher.is_local(chosen):
        yield home_checks.port(chosen or endpoint.DEFAULT_URL, owner, _listens, launcher.is_alive)
    if owner is not None and owner.kind == SERVICE and owner.url is not None:
        url = owner.url
    elif chosen is not None and not launcher.is_local(chosen):
        url = chosen
    else:
        return
    try:
        client = Client(url, endpoint.key(endpoint.OPERATOR_KEY, home), interface="cli")
    except HiveloreError as trouble:
        yield error("way in", str(trouble), "Correct HIVELORE_URL, or unset it; 'hivelore start' makes keys.")
        return
    try:
        yield from _answers(client)
    finally:
        client.close()


def _answers(client: Client) -> Iterator[Finding]:
    try:
        reasons = client.reasons(_PATIENCE)
    except HiveloreError as trouble:
        yield error("way in", str(trouble), "Look at HIVELORE_URL.")
        return
    yield from service_checks.readiness(reasons)
    try:
        me = client.call("GET", "/api/me", timeout=_PATIENCE)
    except HiveloreError as trouble:
        if reasons:  # It cannot even look up who we are.
            return
        given = "HIVELORE_KEY" if endpoint.given_key() is not None else "operator.key"
        yield error("way in", str(trouble), f"Look at HIVELORE_URL and {given}.")
        return
    yield ok("way in", f"{client.url} knows us as {me['name'] or me['role']}")
    for facts in (_status, _failed, _clock):
        try:
            yield from facts(client)
        except HiveloreError as trouble:  # The others are told all the same.
            yield error("service", str(trouble), _LOOK_AGAIN)
    if me["role"] == "operator":
        yield from _checked(lambda: client.call("GET", "/api/check", timeout=_LONG), _RESTORE)


def _status(client: Client) -> Iterator[Finding]:
    status = client.call("GET", "/api/status")
    yield service_checks.version(status["version"], __version__)
    yield service_checks.workers(status)
    yield from service_checks.problems(status)
    yield service_checks.queue(status)
    yield service_checks.vectors(status)
    yield service_checks.folders(status)
    yield from service_checks.wall(status)


def _failed(client: Client) -> Iterator[Finding]:
    yield service_checks.failed(client.call("GET", "/api/memory/stats")["failed"])


def _clock(client: Client) -> Iterator[Finding]:
    newest = codec.read_page(client.call("GET", "/api/memory", query={"limit": 1})).memories
    yield service_checks.clock(newest[0].created_at if newest else None, now())


def _checked(check: Callable[[], dict[str, list[str]]], remedy: str) -> Iterator[Finding]:
    """Of the data, and of the indexes over them."""
    found: dict[str, list[str]] = {}

    def problems() -> list[str]:
        found.update(check())
        return found["problems"]

    database = home_checks.works("database", "sound", problems, remedy)
    yield database
    if database.level is Level.OK:
        yield service_checks.indexes(found["repairs"])


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    place = parts.hostname or "", 80 if parts.port is None else parts.port
    try:
        with socket.create_connection(place, timeout=_PATIENCE):
            return True
    except OSError:
        return False
