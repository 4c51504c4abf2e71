"""Health of a service with failing disks, databases and workers; the same on every interface."""

import logging
import shutil
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import apsw
import psycopg
import pytest

from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.health.model import Cause
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.local import endpoint, launcher
from hivelore.local.lock import EMBEDDED
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load
from support import failing, postgres
from support.failing import causes, wait_for
from support.service import Service
from support.vfs import Deed, Disk, Kind
from support.waiting import until

PAGE = 4_096


@pytest.fixture
def on_disk(tmp_path: Path) -> Generator[tuple[Service, Disk]]:
    with failing.on_disk(tmp_path / "home") as (service, disk):
        yield service, disk


@pytest.fixture
def on_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Service]:
    failing.hurry(monkeypatch)
    with Service(tmp_path / "home", database=postgres.schema()) as service:
        yield service


def remember(service: Service, text: str = "The build needs node 20.") -> None:
    body = {"name": text[:20], "content": text, "scope": "swarm", "source": "manual"}
    service.client(service.agent_key).call("POST", "/api/memory/index", body=body)


def recall(service: Service) -> int:
    body = {"query": "build"}
    return len(service.client(service.agent_key).call("POST", "/api/memory/search", body=body)["results"])


def get(service: Service, path: str) -> tuple[int, str]:
    status, answer = service.raw(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    return status, answer.partition(b"\r\n\r\n")[2].decode()


def figures(service: Service) -> dict[str, float]:
    key = service.operator_key
    _, answer = service.raw(f"GET /metrics HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    lines = answer.partition(b"\r\n\r\n")[2].decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def status(service: Service) -> Any:
    return service.client(service.operator_key).call("GET", "/api/status")


@pytest.mark.parametrize("path", ["/health", "/health/ready", "/health/live"])
def test_a_healthy_service_answers_without_a_key(service: Service, path: str) -> None:
    assert service.client(None).call("GET", path) == {"status": "ok"}


def test_status_and_metrics_show_the_same_state(service: Service) -> None:
    shown = status(service)
    assert (shown["ready"], shown["problems"]) == (True, [])
    expected = {
        "health-monitor",
        "schedule",
        "write-buffer",
        "keyword-index",
        "env-files",
        "housekeeping",
        "spool-delivery",
        "session-summaries",
    }
    until(lambda: expected <= {one["name"] for one in status(service)["workers"] if one["lastSuccess"]})
    shown = figures(service)
    assert (shown["hivelore_ready"], shown['hivelore_problem{cause="disk-full"}']) == (1.0, 0.0)
    assert shown['hivelore_worker_failures_in_a_row{worker="housekeeping"}'] == 0.0
    assert shown['hivelore_worker_last_success_timestamp_seconds{worker="housekeeping"}'] > 0


FAULTS = [
    (Deed.WRITE, Kind.LOG, apsw.FullError, "disk-full"),
    (Deed.SYNC, Kind.LOG, apsw.IOError, "writes-failing"),
]


@pytest.mark.parametrize(("deed", "kind", "error", "cause"), FAULTS)
def test_failing_writes_are_noticed_without_writers_and_end_on_their_own(
    on_disk: tuple[Service, Disk], deed: Deed, kind: Kind, error: type[apsw.Error], cause: str
) -> None:
    service, disk = on_disk
    remember(service)
    with disk.failing(deed, kind, error):
        wait_for(service, cause)
        for path in ("/health", "/health/ready"):
            code, body = get(service, path)
            assert code == 503
            assert '"unready"' in body
            assert str(service.home) not in body
        assert get(service, "/health/live")[0] == 200
        assert launcher.is_alive(service.url)
        shown = status(service)
        assert (shown["ready"], [one["cause"] for one in shown["problems"]]) == (False, [cause])
        assert figures(service)[f'hivelore_problem{{cause="{cause}"}}'] == 1.0
        assert recall(service) == 1
    wait_for(service)
    remember(service, "It goes on.")
    assert figures(service)[f'hivelore_failures_total{{cause="{cause}"}}'] > 0


def test_a_temporary_disk_error_is_counted_and_is_no_problem(on_disk: tuple[Service, Disk]) -> None:
    service, disk = on_disk
    with disk.failing(Deed.WRITE, Kind.LOG, apsw.IOError), pytest.raises(Unavailable):
        remember(service)
    assert causes(service) == []
    until(lambda: not service.app.health.has_failure(Cause.WRITES))
    assert service.app.health.counts[Cause.WRITES] >= 1


def test_all_workers_continue_after_reads_failed_for_a_while(on_disk: tuple[Service, Disk]) -> None:
    service, disk = on_disk
    remember(service)
    service.app.store.purge_log()
    with disk.failing(Deed.READ, Kind.DATABASE, apsw.IOError) as fault:
        until(lambda: fault.met > 20)
    until(lambda: causes(service) == [])
    before = {one.name: one.last_success for one in service.app.health.health().workers}
    until(lambda: all(one.failures_in_a_row == 0 and one.last_success for one in service.app.health.health().workers))
    until(lambda: all(one.last_success != before[one.name] for one in service.app.health.health().workers))
    remember(service, "It goes on.")
    assert recall(service) == 1


def test_failing_reads_are_a_problem_of_another_cause(on_disk: tuple[Service, Disk]) -> None:
    service, disk = on_disk
    service.app.store.purge_log()
    with disk.failing(Deed.READ, Kind.DATABASE, apsw.IOError):
        until(lambda: "reads-failing" in causes(service))
    until(lambda: causes(service) == [])


def test_a_worker_that_always_fails_is_a_problem_and_the_others_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def die(*_: object) -> None:
        raise TypeError("object of type 'NoneType' has no len()")

    def shortly(_: int) -> float:
        return 0.01

    failing.hurry(monkeypatch)
    monkeypatch.setattr("hivelore.core.supervisor.restart_pause", shortly)
    monkeypatch.setattr(Housekeeper, "run_step", die)
    with caplog.at_level(logging.WARNING, "hivelore"), Service(tmp_path / "home") as service:
        wait_for(service, "background-worker")
        shown = {one["name"]: one for one in status(service)["workers"]}
        assert shown["housekeeping"]["error"] == "TypeError"
        assert shown["write-buffer"]["failures"] == 0
        assert figures(service)['hivelore_worker_failures_total{worker="housekeeping"}'] >= 3
        monkeypatch.undo()
        wait_for(service)
    assert "has no len()" in caplog.text


def test_a_failing_keyword_search_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
    def gone(*_: object) -> None:
        raise Broken("The database answered with an unexpected error (no such table: segment).")

    failing.hurry(monkeypatch)
    with Service(tmp_path / "home") as another:
        with monkeypatch.context() as patch:
            patch.setattr(Postings, "search", gone)
            wait_for(another, "keyword-search")
        wait_for(another)


def damage(file: Path) -> None:
    """Damages the link of an overflow page, which holds only part of a text."""
    data = bytearray(file.read_bytes())
    pages = range(0, len(data), PAGE)
    page = next(start for start in pages if data[start + 4 : start + PAGE] == bytearray(b"x" * (PAGE - 4)))
    data[page : page + 4] = b"\x07" * 4
    file.write_bytes(data)


def test_damaged_pages_are_a_lasting_problem_after_the_whole_database_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing.hurry(monkeypatch)
    with Service(tmp_path / "home") as service:
        remember(service, "x" * 20_000)
    damage(tmp_path / "home" / endpoint.DATABASE)
    with Service(tmp_path / "home") as service:
        client = service.client(service.operator_key)
        with suppress(HiveloreError):
            client.call("GET", "/api/memory", query={"limit": 100})
        assert client.call("GET", "/api/check")["problems"]
        (reason,) = service.client(None).reasons()
        assert (reason["cause"], reason["lasting"]) == ("database-damaged", True)


def test_a_temporary_damage_ends_after_a_check(on_disk: tuple[Service, Disk]) -> None:
    service, disk = on_disk
    service.app.store.purge_log()
    with disk.failing(Deed.READ, Kind.DATABASE, apsw.CorruptError):
        until(lambda: service.app.health.counts.get(Cause.DAMAGED, 0) > 0)
    wait_for(service)
    assert service.client(service.operator_key).call("GET", "/api/check")["problems"] == []


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_database_removed_under_the_service_is_noticed_and_nothing_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    failing.hurry(monkeypatch)
    with Service(tmp_path / "other") as other:
        pass
    with Service(tmp_path / "home") as service:
        remember(service)
        for file in service.home.glob(f"{endpoint.DATABASE}*"):
            file.unlink()
        if how == "replaced":
            shutil.copy(other.home / endpoint.DATABASE, service.home)
        with pytest.raises(Unavailable, match="removed, replaced or restored"):
            remember(service, "lost")
        wait_for(service, "database-replaced")
        said = b'{"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "Done."}'
        event = b'{"id": "e1", "payload": ' + said + b"}"
        head = f"POST /api/hooks/claude-code HTTP/1.0\r\nHost: localhost\r\nContent-Length: {len(event)}\r\n"
        head += f"Content-Type: application/json\r\nAuthorization: Bearer {service.agent_key}\r\n\r\n"
        code, answer = service.raw(head.encode() + event)
        assert (code, b"taken" in answer.partition(b"\r\n\r\n")[0]) == (503, False), "hooks would not put it aside"
        assert launcher.is_alive(service.url)


def test_another_postgres_database_under_the_same_url_is_refused(on_postgres: Service) -> None:
    remember(on_postgres)
    with psycopg.connect(on_postgres.app.settings.postgres_url or "", autocommit=True) as connection:
        connection.execute("UPDATE meta SET value = 'another' WHERE name = 'incarnation'")
    with pytest.raises(Unavailable, match="removed, replaced or restored"):
        remember(on_postgres, "lost")
    wait_for(on_postgres, "database-replaced")


def test_a_missing_postgres_schema_is_noticed(on_postgres: Service) -> None:
    with psycopg.connect(on_postgres.app.settings.postgres_url or "", autocommit=True) as connection:
        connection.execute("DROP TABLE meta CASCADE")
    until(lambda: "database-replaced" in causes(on_postgres))
    with pytest.raises(HiveloreError):
        remember(on_postgres, "lost")


def test_a_stopped_postgres_server_and_its_return_are_noticed(tmp_path: Path) -> None:
    with failing.on_cable(tmp_path / "home") as (service, cable):
        for _ in range(10):  # After it reconnects, checked keys are checked again.
            assert (figures(service)["hivelore_ready"], status(service)["ready"]) == (1.0, True)
            Event().wait(0.05)
        cable.cut()
        wait_for(service, "database-server")
        shown = figures(service)
        assert (shown["hivelore_ready"], shown['hivelore_problem{cause="database-server"}']) == (0.0, 1.0)
        assert (status(service)["ready"], status(service)["databaseId"]) == (False, None)
        cable.join()
        wait_for(service)
        remember(service)


@pytest.mark.parametrize("error", [Unavailable("The disk is full."), RuntimeError("unforeseen")])
def test_closing_releases_the_home_however_the_last_write_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def flush() -> None:
        raise error

    settings = load(home=tmp_path / "home", embedder="none")
    app = open_application(settings, kind=EMBEDDED)
    monkeypatch.setattr(app.write_buffer, "flush", flush)
    with suppress(RuntimeError):
        app.close()
    open_application(settings, kind=EMBEDDED).close()
    with pytest.raises(Unavailable, match="closed"):
        app.store.write(lambda tx: None)
