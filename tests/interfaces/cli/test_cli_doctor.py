"""doctor: each finding is provoked and has a remedy."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hivelore import __version__
from hivelore.cli import checks, doctor
from hivelore.cli.checks import Finding, Level
from hivelore.errors import Broken
from hivelore.health.handlers import read_status
from hivelore.hooks.profile_files import ProfileFile
from hivelore.local import endpoint, private_files
from hivelore.local.lock import EMBEDDED, SERVICE, Lock, Owner
from hivelore.models.onnx import pairs
from hivelore.runtime.clock import SystemClock
from hivelore.setup_scripts.start_up_file import GLOBAL, Kind, Section, prepend
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.sqlite.store import SqliteStore
from support import postgres
from support.command_line import CommandLine
from support.service import Service
from support.waiting import until

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def made(alone: CommandLine, elsewhere: Path, service: Service) -> Path:
    """A home folder with keys and a database, and no service."""
    elsewhere.mkdir(mode=0o700)
    for name in (endpoint.OPERATOR_KEY, endpoint.AGENT_KEY):
        with private_files.replacing(elsewhere / name) as out:
            out.write(b"hl_1_0123456789_" + b"a" * 64 + b"\n")
    SqliteStore(elsewhere / endpoint.DATABASE, clock=SystemClock()).close()
    return elsewhere


def found(command: CommandLine, name: str, code: int) -> tuple[str, str, str]:
    """Returns level, sentence and remedy of one finding of a run that ends with ``code``."""
    result = command("doctor", "--json")
    assert (result.code, result.err) == (code, "")
    (finding,) = [one for one in result.json["findings"] if one["name"] == name]
    return finding["level"], finding["what"], finding["remedy"] or ""


def test_a_workspace_without_its_folders_is_found(alone: CommandLine, made: Path) -> None:
    (made / "workspace" / "personal").mkdir(parents=True)
    assert found(alone, "workspace", 0) == (
        "warning",
        f"{made / 'workspace'} has no shared/memory, personal/memory.",
        "Run 'hivelore workspace prepare', with --own-folder for a folder in 'agents'.",
    )


def test_folders_of_several_agents_in_one_workspace_are_checked(alone: CommandLine, made: Path) -> None:
    workspace = made / "workspace"
    for name in ("agents/a/memory", "agents/b/memory", "shared/memory"):
        (workspace / name).mkdir(parents=True)
    assert found(alone, "workspace", 0)[0] == "ok"
    (workspace / "agents/b/memory").rmdir()
    assert "has no agents/b/memory." in found(alone, "workspace", 0)[1]
    (workspace / "agents/b/start-up.sh").mkdir()
    result = alone("doctor", "--json")
    files = [one["level"] for one in result.json["findings"] if one["name"] == "start-up file"]
    assert files == ["ok", "ok", "error"]


def test_a_missing_folder_of_repositories_is_found_where_start_up_files_run(tmp_path: Path) -> None:
    for name in ("personal/memory", "shared/memory"):
        (tmp_path / name).mkdir(parents=True)
    assert checks.workspace_folder(tmp_path, runs=False).level is Level.OK
    assert "has no repos." in checks.workspace_folder(tmp_path, runs=True).what


def test_a_workspace_that_cannot_be_written_to_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("personal/memory", "shared/memory"):
        (tmp_path / name).mkdir(parents=True)
    assert checks.workspace_folder(tmp_path, runs=False).level is Level.OK

    def may_write(path: Path, mode: int) -> bool:
        return not str(path).endswith("shared/memory")

    monkeypatch.setattr(os, "access", may_write)
    finding = checks.workspace_folder(tmp_path, runs=False)
    assert (finding.level, finding.what) == (Level.ERROR, f"{tmp_path / 'shared/memory'} cannot be written to.")


def test_a_start_up_file_is_checked(tmp_path: Path) -> None:
    assert "none in" in checks.start_up_file(tmp_path, runs=False).what
    file = tmp_path / "start-up.sh"
    written = prepend(b"last\n", [Section(GLOBAL, 1, "echo one\n")], Kind.SH)
    assert written is not None
    file.write_bytes(written)
    assert "is off, so it is not run" in checks.start_up_file(tmp_path, runs=False).what
    assert "prepare' runs it" in checks.start_up_file(tmp_path, runs=True).what
    file.write_bytes(written.replace(b"one", b"two"))
    assert checks.start_up_file(tmp_path, runs=True).level is Level.WARNING
    file.write_bytes(written.partition(b"# <<<")[0])
    assert checks.start_up_file(tmp_path, runs=True).level is Level.ERROR
    file.write_bytes(b"# note\n" + written)
    assert "in line 2" in checks.start_up_file(tmp_path, runs=True).what
    file.write_bytes(written)
    (tmp_path / "start-up-edit-0123.txt").write_text("echo two\n")
    assert "1 edit in" in checks.start_up_file(tmp_path, runs=True).what
    file.unlink()
    file.symlink_to(tmp_path / "nowhere")
    assert checks.start_up_file(tmp_path, runs=True).level is Level.ERROR


def test_clones_are_checked(tmp_path: Path) -> None:
    repos = [{"name": "shop"}, {"name": "api"}]
    assert checks.clones(tmp_path, repos, None).level is Level.OK
    (tmp_path / "repos").mkdir()
    assert checks.clones(tmp_path, [], None).level is Level.OK
    assert "git is not on your PATH" in checks.clones(tmp_path, repos, None).what
    assert "2 repositories not cloned" in checks.clones(tmp_path, repos, "git").what
    for name in ("shop", "api"):
        (tmp_path / "repos" / name / ".git").mkdir(parents=True)
    assert checks.clones(tmp_path, repos, "git") == Finding("clones", Level.OK, f"2 clones in {tmp_path}")
    (tmp_path / "repos" / "api" / ".git").rmdir()
    assert "in the place of a clone" in checks.clones(tmp_path, repos, "git").what


def test_all_clones_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(tmp_path) as service:
        operator = service.client(service.operator_key)
        for number in range(101):
            operator.call("POST", "/api/repos", body={"url": f"https://example.com/acme/shop{number:03}"})
            (tmp_path / "workspace" / "repos" / f"shop{number:03}" / ".git").mkdir(parents=True)
        monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path / "workspace"))
        (finding,) = doctor._clones(operator)
    assert finding.what == f"101 clones in {tmp_path / 'workspace'}"


def test_files_of_the_profile_that_are_left_over_are_found(alone: CommandLine, made: Path) -> None:
    assert found(alone, "profile files", 0)[:2] == ("ok", "nothing is left over")
    (made / "workspace").mkdir()
    soul = made / "workspace" / "SOUL.md"
    file = ProfileFile(soul, "soul", follows_link=False)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    session = {"id": "s1", "key": "", "pid": process.pid, "started": "1", "at": 0}
    file.start(session, {"agentId": "a", "version": 1, "soul": "I am."})
    level, what, remedy = found(alone, "profile files", 0)
    assert (level, what.startswith(f"{soul} contain"), "--no-profile" in remedy) == ("warning", True, True)
    (soul.with_name(".hivelore-SOUL.md") / "refused-1").write_text("x")
    texts = [one for one in alone("doctor", "--json").json["findings"] if one["name"] == "profile files"]
    assert [one["level"] for one in texts] == ["warning", "warning"]
    (soul.with_name(".hivelore-SOUL.md") / "state.json").write_text("{")
    texts = [one for one in alone("doctor", "--json").json["findings"] if one["name"] == "profile files"]
    assert ("is damaged" in texts[0]["what"], str(soul) in texts[0]["remedy"]) == (True, True)


def test_a_healthy_service_has_no_errors(alone: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(tmp_path / "new") as service:
        monkeypatch.setenv("HIVELORE_HOME", str(service.home))
        monkeypatch.setenv("HIVELORE_URL", service.url)
        result = alone("doctor", "--json")
    levels = {one["name"]: one["level"] for one in result.json["findings"]}
    assert result.code == 0
    assert {name for name, level in levels.items() if level != "ok"} <= {"program", "disk"}
    assert levels.keys() >= {
        "home",
        "keys",
        "settings",
        "service",
        "port",
        "access",
        "version",
        "folders",
        "database",
        "indexes",
        "clock",
    }


def test_people_see_the_remedy_below_the_finding(alone: CommandLine, made: Path) -> None:
    made.chmod(0o755)
    lines = alone("doctor").out.splitlines()
    position = next(number for number, line in enumerate(lines) if line.startswith("warning home"))
    assert lines[position + 1].strip() == f"→ chmod 700 {made}"


def test_an_empty_machine_is_healthy_and_stays_empty(alone: CommandLine, elsewhere: Path) -> None:
    assert alone("doctor").code == 0
    assert not elsewhere.exists()


def test_a_home_open_to_others_is_found(alone: CommandLine, made: Path) -> None:
    made.chmod(0o750)
    assert found(alone, "home", 0)[0] == "warning"


def test_a_home_that_is_a_file_is_found(alone: CommandLine, elsewhere: Path) -> None:
    elsewhere.write_text("")
    assert found(alone, "home", 1)[:2] == ("error", f"{elsewhere} is not a folder.")


def test_a_key_that_others_can_read_is_found(alone: CommandLine, made: Path) -> None:
    (made / endpoint.AGENT_KEY).chmod(0o644)
    level, what, remedy = found(alone, "keys", 1)
    assert (level, what) == ("error", "agent.key can be read by other users.")
    assert remedy == f"chmod 600 {made / endpoint.AGENT_KEY}"


@pytest.mark.parametrize("text", ["", "nonsense", "hl_1_short_key", "Розы"])
def test_a_key_file_without_a_key_is_found(alone: CommandLine, made: Path, text: str) -> None:
    (made / endpoint.OPERATOR_KEY).write_text(text)
    assert found(alone, "keys", 1)[:2] == ("error", "operator.key contains no key.")


def test_a_large_write_ahead_log_is_found(alone: CommandLine, made: Path) -> None:
    with (made / "hivelore.db-wal").open("wb") as file:
        file.truncate(200_000_000)
    assert found(alone, "write-ahead log", 0)[0] == "warning"


def test_a_damaged_database_is_found(alone: CommandLine, made: Path) -> None:
    (made / endpoint.DATABASE).write_bytes(b"SQLite format 3\0" + b"nothing of the kind " * 500)
    level, _, remedy = found(alone, "database", 1)
    assert (level, "restore" in remedy) == ("error", True)


def test_a_database_server_that_does_not_answer_is_named_and_its_password_is_not(
    alone: CommandLine, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_DATABASE", "postgresql://ada:hunter2@127.0.0.1:1/hive")
    level, what, remedy = found(alone, "database", 1)
    assert (level, "hive on 127.0.0.1:1 does not answer" in what) == ("error", True)
    assert "hunter2" not in what + remedy


def test_a_healthy_database_server_is_reported(alone: CommandLine, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_DATABASE", url := postgres.schema())
    PostgresStore(url, clock=SystemClock()).close()
    assert found(alone, "database", 0)[0] == "ok"


def test_a_database_with_a_damaged_page_is_found(alone: CommandLine, made: Path, tmp_path: Path) -> None:
    with Service(tmp_path / "other") as other:
        body = {"memories": [{"content": f"{number} " + "x" * 5_000} for number in range(50)]}
        other.client(other.operator_key, "local").call("POST", "/api/memory/batch", body=body)
    shutil.copy(tmp_path / "other" / endpoint.DATABASE, made)
    assert found(alone, "database", 0)[0] == "ok"
    data = bytearray((made / endpoint.DATABASE).read_bytes())
    middle = len(data) // 2 // 4_096 * 4_096
    data[middle : middle + 20_480] = b"\x07" * 20_480
    (made / endpoint.DATABASE).write_bytes(data)
    assert found(alone, "database", 1)[0] == "error"


def test_a_damaged_relevance_model_is_found_with_and_without_a_service(
    alone: CommandLine, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "local")
    assert found(alone, "relevance model", 0)[0] == "ok"
    monkeypatch.setattr(pairs, "files", {"hivelore.models.onnx": tmp_path}.__getitem__)
    level, what, remedy = found(alone, "relevance model", 0)
    assert (level, "model.json" in what, "hivelore start" in remedy) == ("warning", True, True)
    with Service(tmp_path / "other", embedder="local") as other:
        until(lambda: read_status(other.app).relevance_outage is not None)
        monkeypatch.setenv("HIVELORE_HOME", str(other.home))
        monkeypatch.setenv("HIVELORE_URL", other.url)
        assert found(alone, "relevance model", 0) == (level, what, remedy)
        assert "The relevance model is damaged" in alone("status").out


def test_missing_keywords_are_found_with_and_without_a_service(alone: CommandLine, made: Path, tmp_path: Path) -> None:
    with Service(tmp_path / "other") as other:
        body = {"memories": [{"content": "The kettle boils."}]}
        other.client(other.operator_key, "local").call("POST", "/api/memory/batch", body=body)
        operator = other.client(other.operator_key)

        found_once = list[str]()

        def lacks_words() -> bool:
            # The service may repair them before the check.
            other.app.store.write(other.app.keywords.clear)
            found_once[:] = operator.call("GET", "/api/check")["repairs"]
            return bool(found_once)

        until(lacks_words)
        (said,) = found_once
        assert said.startswith("The keyword index lacks words of 1 of 1 memories.")
        until(lambda: operator.call("GET", "/api/check") == {"problems": [], "repairs": [], "failedEmbeddings": 0})
    shutil.copy(tmp_path / "other" / endpoint.DATABASE, made)
    with closing(SqliteStore(made / endpoint.DATABASE, clock=SystemClock())) as store:
        store.write(other.app.keywords.clear)
    level, what, _ = found(alone, "indexes", 0)
    assert (level, what) == ("warning", said)


def test_a_database_stays_sound_while_memories_come_and_go(tmp_path: Path) -> None:
    with Service(tmp_path / "own") as own:
        local, operator = own.client(own.operator_key, "local"), own.client(own.operator_key)
        kept: list[str] = []
        for number in range(40):
            body = {"memories": [{"content": f"Passing through: {number}"}]}
            kept.append(local.call("POST", "/api/memory/batch", body=body)["results"][0]["memory"]["id"])
            if number % 10 == 0:
                assert operator.call("GET", "/api/check") == {"problems": [], "repairs": [], "failedEmbeddings": 0}
        for memory in kept:
            local.call("DELETE", f"/api/memory/{memory}")
        assert operator.call("GET", "/api/check") == {"problems": [], "repairs": [], "failedEmbeddings": 0}


def test_a_failed_start_is_found(alone: CommandLine, made: Path) -> None:
    (made / endpoint.LOG).write_text("Hivelore opens ...\nhivelore: Port 4483 is taken.\n")
    assert found(alone, "last start", 1)[:2] == ("error", "The service did not start: Port 4483 is taken.")


def test_an_invalid_setting_is_found(alone: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "psychic")
    level, what, _ = found(alone, "settings", 1)
    assert (level, "HIVELORE_EMBEDDER" in what) == ("error", True)


def test_a_process_that_has_the_data_open_is_found(alone: CommandLine, made: Path) -> None:
    lock = Lock(made, Owner(pid=4242, kind=EMBEDDED, url=None, started_at=NOW.isoformat()))
    level, what, _ = found(alone, "service", 0)
    lock.release()
    assert (level, "Process 4242" in what) == ("warning", True)


def test_a_service_that_does_not_answer_is_found(alone: CommandLine, made: Path) -> None:
    lock = Lock(made, Owner(pid=4242, kind=SERVICE, url="http://127.0.0.1:1", started_at=NOW.isoformat()))
    level, what, remedy = found(alone, "service", 1)
    lock.release()
    assert (level, what) == ("error", "The service (pid 4242) does not answer at http://127.0.0.1:1.")
    assert "kill 4242" in remedy


def test_files_of_a_killed_service_do_not_count_as_a_service(alone: CommandLine, made: Path) -> None:
    (made / endpoint.LOCK).write_text('{"pid": 1, "kind": "service", "url": "http://127.0.0.1:1", "started_at": ""}')
    level, what, _ = found(alone, "service", 0)
    assert (level, what.startswith("not running")) == ("ok", True)


def test_a_port_in_use_by_another_program_is_found(alone: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("HIVELORE_URL", url)
        assert found(alone, "port", 1)[:2] == ("error", f"Another program listens at {url}.")


def test_the_port_of_a_running_service_is_shown_even_if_the_url_names_another() -> None:
    owner = Owner(pid=1, kind=SERVICE, url="http://127.0.0.1:4483", started_at="")
    finding = checks.port("http://127.0.0.1:1", owner, lambda _: False, lambda _: False)
    assert (finding.level, finding.what) == (Level.OK, "http://127.0.0.1:4483 is used by the service")


def test_a_hivelore_of_another_home_on_our_port_is_found(
    alone: CommandLine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_URL", service.url)
    assert found(alone, "port", 1)[1] == f"A Hivelore with another home folder answers at {service.url}."


def test_a_wrong_key_is_found(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_KEY", "hl_1_wrong")
    level, what, remedy = found(cli, "access", 1)
    assert (level, "not known here" in what, "HIVELORE_KEY" in remedy) == ("error", True, True)


def test_a_worker_can_run_doctor(cli: CommandLine, me: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_KEY", cli.json("agent", "add", me)["key"])
    assert found(cli, "access", 0)[0] == "ok"


@pytest.mark.parametrize("url", ["http://127.0.0.2:1", "nonsense"])
def test_a_url_where_nothing_answers_is_found(
    alone: CommandLine, made: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("HIVELORE_URL", url)
    assert found(alone, "access", 1)[0] == "error"


def test_a_memory_from_the_future_is_found(cli: CommandLine, me: str) -> None:
    later = (datetime.now(UTC) + timedelta(hours=20)).isoformat()
    line = f'{{"content": "Not yet.", "createdAt": "{later}"}}'
    cli("import", "-", "--agent", me, stdin=line.encode())
    level, what, _ = found(cli, "clock", 0)
    cli("forget", *(one["id"] for one in cli.json("list", "--scope", "agent", "--agent", me)["memories"]), "--yes")
    assert (level, "in the future" in what) == ("warning", True)


def test_a_program_missing_from_the_path_is_found(alone: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert found(alone, "program", 0)[0] == "warning"


WELL = {"wantedModel": "m", "model": "m", "vectors": "scan", "vectorsReady": True, "embeddingOutage": None}
IDLE = {"pendingEmbeddings": 0, "embeddingTrouble": None}


def damaged() -> list[str]:
    raise Broken("The embedding model that ships with Hivelore is damaged.")


MISSED = {"program": "codex", "late": 2, "down": 1, "refused": 0}
FOLDERS = {"workspace": "/w", "filesKnown": 3, "filesPassedOver": 0, "foldersTrouble": None}


@pytest.mark.parametrize(
    ("finding", "level"),
    [
        (checks.program("/usr/bin/hivelore", Path("/venv/bin"), "1"), Level.WARNING),
        (checks.program("/venv/bin/hivelore", Path("/venv/bin"), "1"), Level.OK),
        (checks.file_system("nfs4"), Level.ERROR),
        (checks.file_system("ext4"), Level.OK),
        (checks.disk(10_000_000), Level.ERROR),
        (checks.disk(100_000_000), Level.WARNING),
        (checks.disk(10_000_000_000), Level.OK),
        (checks.run_check("model", "undamaged", damaged, "Reinstall."), Level.ERROR),
        (checks.run_check("database", "sound", lambda: ["Page 4 is never used"], "Restore."), Level.ERROR),
        (checks.version("0.0.1", __version__), Level.WARNING),
        (checks.version(__version__, __version__), Level.OK),
        (checks.failed_embeddings(3), Level.WARNING),
        (checks.failed_embeddings(0), Level.OK),
        (checks.embedding_queue(WELL | {"pendingEmbeddings": 5, "embeddingTrouble": "401 from it"}), Level.ERROR),
        (checks.embedding_queue(WELL | IDLE | {"pendingEmbeddings": 5}), Level.OK),
        (checks.embedding_queue(WELL | IDLE | {"wantedModel": None}), Level.OK),
        (checks.vectors(WELL | {"vectorsReady": False}), Level.WARNING),
        (checks.vectors(WELL | {"model": None}), Level.WARNING),
        (checks.vectors(WELL | {"embeddingOutage": "It did not answer in time"}), Level.WARNING),
        (checks.vectors(WELL), Level.OK),
        (checks.relevance_model("It failed"), Level.WARNING),
        (checks.relevance_model(None), Level.OK),
        (checks.indexes(["The keyword index lacks words of 3 of 4 memories."]), Level.WARNING),
        (checks.indexes([]), Level.OK),
        (checks.folders(FOLDERS | {"foldersTrouble": "It is away."}), Level.WARNING),
        (checks.folders(FOLDERS | {"filesPassedOver": 2}), Level.WARNING),
        (checks.folders(FOLDERS), Level.OK),
        (next(checks.missed_answers({"missedAnswers": [MISSED]})), Level.WARNING),
        (next(checks.missed_answers({"missedAnswers": []})), Level.OK),
        (next(checks.missed_answers({"missedAnswers": None})), Level.OK),
        (checks.clock(NOW + timedelta(hours=2), NOW), Level.WARNING),
        (checks.clock(NOW + timedelta(minutes=5), NOW), Level.OK),
        (checks.clock(None, NOW), Level.OK),
    ],
)
def test_rare_findings_follow_from_figures(finding: Finding, level: Level) -> None:
    assert finding.level is level
    assert (finding.remedy is None) == (level is Level.OK)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/ann/.local", "ext4"), ("/mnt/team/hive", "nfs4"), ("/mnt/a b/c", "cifs"), ("/mnt/teams", "ext4")],
)
def test_the_nearest_mount_is_the_file_system_of_a_folder(path: str, kind: str) -> None:
    mounts = ["/dev/sda1 / ext4 rw 0 0", "x:/team /mnt/team nfs4 rw 0 0", "//y/s /mnt/a\\040b cifs rw 0 0"]
    assert checks.file_system_of(Path(path), "\n".join(mounts)) == kind


def test_only_problems_have_a_remedy() -> None:
    wrong: list[Callable[[], Finding]] = [
        lambda: Finding("x", Level.OK, "fine", "do something"),
        lambda: Finding("x", Level.ERROR, "broken"),
    ]
    for make in wrong:
        with pytest.raises(ValueError, match="remedy"):
            make()


@pytest.mark.parametrize(
    ("pending", "what"),
    [
        (1, "1 passage waits for a vector. The embedder fails: 401 from it"),
        (5, "5 passages wait for a vector. The embedder fails: 401 from it"),
        (None, "The embedder fails: 401 from it"),
    ],
)
def test_a_failing_embedder_is_reported_with_the_passages_that_wait(pending: int | None, what: str) -> None:
    status = WELL | {"pendingEmbeddings": pending, "embeddingTrouble": "401 from it"}
    assert checks.embedding_queue(status).what == what


def test_the_file_of_encryption_keys_is_checked(tmp_path: Path) -> None:
    file = tmp_path / endpoint.CONFIG_KEYS

    def level(*, is_given: bool = False) -> Level:
        return checks.encryption_keys(tmp_path, is_given=is_given).level

    assert level() is level(is_given=True) is Level.OK
    file.write_text("key")
    file.chmod(0o644)
    assert level() is Level.ERROR
    assert checks.encryption_keys(tmp_path, is_given=False).remedy == f"chmod 600 {file}"
    file.chmod(0o600)
    assert level() is Level.OK
    file.unlink()
    file.symlink_to("/etc/hostname")
    assert level() is Level.ERROR


def test_unreadable_secrets_and_env_files_are_found_with_and_without_a_service(
    alone: CommandLine, made: Path, tmp_path: Path
) -> None:
    home = tmp_path / "other"
    with Service(home) as other:
        (home / "workspace").mkdir(exist_ok=True)
        operator = other.client(other.operator_key)
        for key, more in (("TOKEN", {"isSecret": True}), ("URL", {"envPath": ".env"})):
            operator.call("PUT", "/api/config", body={"key": key, "value": "x", "scope": "global", **more})
        report = operator.call("GET", "/api/config/check")
        assert [one.level for one in checks.configuration(report)] == [Level.OK, Level.OK]
        operator.call("POST", "/api/repos", body={"url": "https://example.com/acme/shop"})
        body = {"key": "URL", "value": "x", "scope": "repo", "scopeId": "shop"}
        place = operator.call("PUT", "/api/config", body=body)["scopeId"]
        operator.call("DELETE", "/api/repos/shop")
        *_, repos = checks.configuration(operator.call("GET", "/api/config/check"))
        assert (repos.level, place in repos.what) == (Level.WARNING, True)
        (home / "workspace/.env").write_text("URL=y\n")
        (home / endpoint.CONFIG_KEYS).unlink()
        report = operator.call("GET", "/api/config/check")
    secrets, files, _ = checks.configuration(report)
    assert (secrets.level, files.level) == (Level.ERROR, Level.WARNING)
    assert "is missing" in secrets.what
    assert "URL in .env" in files.what
    assert files.remedy == "Set the entries of edited lines again: nothing else replaces these."
    due = [{**one, "since": "2026-01-01T00:00:00Z"} for one in report["problems"]]
    assert "tried again" in str([*checks.configuration({**report, "problems": due})][1].remedy)
    shutil.copy(home / endpoint.DATABASE, made)
    level, what, remedy = found(alone, "secrets", 1)
    assert (level, remedy) == ("error", "Restore the keys, then run 'hivelore doctor' again.")
    assert "is missing" in what
