"""Output and exit codes of the command line where a service is not ready or its database is missing."""

from pathlib import Path
from typing import Any

import apsw
import pytest

from hivelore.cli import checks, exits
from hivelore.errors import Broken, Unavailable
from hivelore.local import endpoint, private_files
from hivelore.local.lock import EMBEDDED
from hivelore.python.client import Client
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load
from support import failing, postgres
from support.command_line import CommandLine
from support.failing import wait_for
from support.service import Service
from support.vfs import Deed, Kind

WRITE_FAULTS = [(apsw.FullError, "disk-full"), (apsw.IOError, "writes-failing")]


def known_by(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_HOME", str(service.home))
    monkeypatch.setenv("HIVELORE_URL", service.url)


@pytest.mark.parametrize(("error", "cause"), WRITE_FAULTS)
def test_doctor_and_status_fail_while_nothing_can_be_written(
    alone: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[apsw.Error],
    cause: str,
) -> None:
    with failing.on_disk(tmp_path / "failing") as (service, disk):
        known_by(service, monkeypatch)
        assert (alone("doctor").code, alone("status").code) == (0, 0)
        with disk.failing(Deed.WRITE, Kind.LOG, error):
            wait_for(service, cause)
            result = alone("doctor", "--json")
            assert result.code == exits.UNEXPECTED
            (finding,) = [one for one in result.json["findings"] if one["name"] == "readiness"]
            assert (finding["level"], cause in finding["what"]) == ("error", True)
            result = alone("status", "--json")
            assert (result.code, result.json["running"], result.json["ready"]) == (exits.UNEXPECTED, True, False)
            assert "is not ready" in alone("status").out
        wait_for(service)
        assert (alone("doctor").code, alone("status").code) == (0, 0)


def test_doctor_finds_failing_writes_before_the_first_write(
    alone: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with failing.on_disk(tmp_path / "failing") as (service, disk):
        known_by(service, monkeypatch)
        monkeypatch.setattr("hivelore.health.monitor.WRITE_EVERY", 3_600.0)
        with disk.failing(Deed.SYNC, Kind.LOG, apsw.IOError):
            result = alone("doctor", "--json")
        assert result.code == exits.UNEXPECTED
        assert "failed to read or write" in result.out
        assert "restore" not in result.out.lower()


def test_a_running_service_without_its_database_is_not_reported_as_stopped(
    alone: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing.hurry(monkeypatch)
    with failing.on_cable(tmp_path / "failing") as (service, cable):
        known_by(service, monkeypatch)
        cable.cut()
        wait_for(service, "database-server")
        result = alone("status")
        assert result.code == exits.UNEXPECTED
        assert "The database server does not answer" in result.out
        assert "hivelore start" not in result.out
        result = alone("doctor")
        assert result.code == exits.UNEXPECTED
        assert "The database server does not answer" in result.out
        assert "hivelore start" not in result.out
        cable.join()


def test_doctor_continues_after_a_check_that_meets_damage(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Client.call

    def damaged(self: Client, method: str, path: str, **given: Any) -> Any:
        if path == "/api/memory/stats":
            raise Broken("What was read is damaged.")
        return call(self, method, path, **given)

    monkeypatch.setattr(Client, "call", damaged)
    result = cli("doctor", "--json")
    assert result.code == exits.UNEXPECTED
    levels = {one["name"]: one["level"] for one in result.json["findings"]}
    assert (levels["service"], levels["database"]) == ("error", "ok")
    assert "clock" in levels


def test_a_transient_error_does_not_suggest_restoring_a_backup() -> None:
    def passing() -> list[str]:
        raise Unavailable("The disk failed to read or write.")

    def damaged() -> list[str]:
        raise Broken("The database is damaged.")

    assert checks.run_check("database", "sound", passing, "Restore a backup.").remedy != "Restore a backup."
    assert checks.run_check("database", "sound", damaged, "Restore a backup.").remedy == "Restore a backup."


@pytest.fixture
def lost(elsewhere: Path) -> Path:
    """A home folder with keys whose database is missing."""
    endpoint.make_home(elsewhere)
    with private_files.replacing(elsewhere / endpoint.AGENT_KEY) as out:
        out.write(b"hl_1_0123456789_" + b"a" * 64 + b"\n")
    return elsewhere


def test_a_missing_database_is_not_replaced_without_confirmation(
    alone: CommandLine, lost: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = alone("start")
    assert result.code != 0
    assert "HIVELORE_NEW_DATABASE=1" in result.err
    assert not (lost / endpoint.DATABASE).exists()
    result = alone("doctor")
    assert result.code == exits.UNEXPECTED
    assert "HIVELORE_NEW_DATABASE=1" in result.out
    monkeypatch.setenv("HIVELORE_NEW_DATABASE", "1")
    try:
        assert alone("start").code == 0
    finally:
        alone("stop")
    monkeypatch.delenv("HIVELORE_NEW_DATABASE")
    assert alone("doctor").code == 0


@pytest.mark.parametrize("kind", postgres.DATABASES)
def test_a_first_start_succeeds_and_a_missing_database_is_refused_on_each_engine(tmp_path: Path, kind: str) -> None:
    given = postgres.service_on(kind)
    with Service(tmp_path / "home", **given):
        pass
    with Service(tmp_path / "home", **given):
        pass
    other = postgres.service_on(kind) or {"database": str(tmp_path / "other.db")}
    with pytest.raises(Broken, match="HIVELORE_NEW_DATABASE=1"):
        open_application(load(home=tmp_path / "home", **other), kind=EMBEDDED)
    with Service(tmp_path / "home", new_database=True, **other):
        pass
    with Service(tmp_path / "home", **other):
        pass
