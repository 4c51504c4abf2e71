"""Memory folders of a running service: agents find files written by others."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import pytest

from hivelore.folders import sync
from hivelore.local import launcher
from hivelore.python.client import Client
from hivelore.runtime.settings import load
from support.command_line import HIVELORE, environment
from support.postgres import DATABASES, service_on
from support.service import Service
from support.waiting import until


@pytest.fixture(scope="module", autouse=True)
def frequent_scans() -> Generator[None]:
    """Shortens the pause between scans in services of this process."""
    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(sync, "SCAN_INTERVAL", 0.05)
        yield


def by_shell(command: str) -> Callable[[Path, str], object]:
    return lambda file, text: subprocess.run(["sh", "-c", command, "sh", text, file], check=True)


WRITES: dict[str, Callable[[Path, str], object]] = {
    "written": lambda file, text: file.write_text(text),
    "edited": lambda file, text: (file.write_text("Half a"), file.write_text(text)),
    "echoed": by_shell('echo "$1" > "$2"'),
    "appended": by_shell('echo "A line." > "$2" && echo "$1" >> "$2"'),
    "moved there": by_shell('echo "$1" > "$2.tmp" && mv "$2.tmp" "$2"'),
    "moved from outside": by_shell('f=$(mktemp) && echo "$1" > "$f" && mv "$f" "$2"'),
}


def found(client: Client, query: str) -> list[str]:
    """Returns the names of the hits."""
    return [
        hit["memory"]["name"] for hit in client.call("POST", "/api/memory/search", body={"query": query})["results"]
    ]


@pytest.mark.parametrize("way", WRITES)
def test_a_file_is_found_by_another_agent_after_any_kind_of_write(service: Service, way: str) -> None:
    bob = service.client(service.add(f"bob, {way}"))
    text = f"The kettle that was {way} whistles at noon."
    folder = service.home / "workspace/shared/memory"
    until(folder.is_dir)  # The service creates it right after its start.
    WRITES[way](folder / f"{way}.md", text)
    until(lambda: way in found(bob, text))


def test_a_private_file_is_found_by_its_agent_only_until_it_is_deleted(service: Service) -> None:
    local, bob = service.client(service.agent_key), service.client(service.add("bob"))
    file = service.home / "workspace/personal/memory/diary.md"
    file.write_text("The combination of the locker is on the fridge.")
    until(lambda: "diary" in found(local, "combination of the locker"))
    assert "diary" not in found(bob, "combination of the locker")
    renamed = file.rename(file.with_name("journal.md"))
    until(lambda: "journal" in found(local, "combination of the locker"))
    private = local.call("GET", "/api/memory", query={"scope": "agent"})["memories"]
    (memory,) = [one for one in private if one["name"] == "journal"]
    assert memory["sourcePath"] == str(renamed)
    assert memory["source"] == "file_index"
    renamed.unlink()
    until(lambda: "journal" not in found(local, "combination of the locker"))
    assert local.call("GET", f"/api/memory/{memory['id']}")["content"].startswith("The combination")


def test_status_reports_the_folders_without_file_names(service: Service) -> None:
    client = service.client(service.operator_key)
    assert client.call("GET", "/api/status")["workspace"] == str((service.home / "workspace").resolve())
    folder = service.home / "workspace/shared/memory"
    (folder / "status.md").write_text("Words.")
    (folder / "picture-of-eve.png").write_bytes(b"\x89PNG\0")
    until(lambda: client.call("GET", "/api/status")["filesPassedOver"] == 1)
    until(lambda: client.call("GET", "/api/status")["filesKnown"] > 0)
    status = client.call("GET", "/api/status")
    assert status["foldersTrouble"] is None
    assert status["foldersLookedAt"] is not None
    assert "picture" not in repr(status)


@contextmanager
def killed(home: Path, workspace: Path, **settings: str) -> Generator[Client]:
    """Runs a service in its own process and kills it at the end. Yields a client of its operator."""
    env = environment(home, HIVELORE_WORKSPACE=str(workspace), **settings)
    with subprocess.Popen([HIVELORE, "serve"], env=env, stdout=subprocess.DEVNULL) as process:
        try:
            while (url := launcher.running(home)) is None or not launcher.is_alive(url):
                assert process.poll() is None
                Event().wait(0.05)
            with closing(Client(url, (home / "operator.key").read_text().strip())) as client:
                yield client
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("database", DATABASES)
def test_changes_while_the_service_was_killed_are_found_at_the_next_start(tmp_path: Path, database: str) -> None:
    home, workspace = tmp_path / "home", tmp_path / "ws – ü ' \n"
    settings = {f"HIVELORE_{name.upper()}": str(value) for name, value in service_on(database).items()}
    shared = workspace / "shared/memory"
    with killed(home, workspace, **settings) as client:
        for name in ("kept", "edited", "deleted", "renamed"):
            (shared / f"{name}.md").write_text(f"The {name} file.")
        until(lambda: len(names(client)) == 4)
        ids = by_name(client)
    (shared / "edited.md").write_text("The edited file says more.")
    (shared / "deleted.md").unlink()
    (shared / "renamed.md").rename(shared / "called otherwise.md")
    (shared / "new.md").write_text("The new file.")
    with killed(home, workspace, **settings) as client:
        until(lambda: names(client) == ["called otherwise", "edited", "kept", "new"])
        assert by_name(client)["called otherwise"] == ids["renamed"]
        until(lambda: "says more" in repr(client.call("GET", f"/api/memory/{ids['edited']}")))


def by_name(client: Client) -> dict[str, str]:
    page = client.call("GET", "/api/memory", query={"status": "live"})["memories"]
    return {one["name"]: one["id"] for one in page}


def names(client: Client) -> Sequence[str]:
    return sorted(by_name(client))


def test_an_embedded_hive_scans_no_folders(tmp_path: Path) -> None:
    code = "import hivelore, sys; hivelore.open(sys.argv[1]).close()"
    env = environment(tmp_path / "home", PYTHONPATH=os.pathsep.join(sys.path))
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "home")], env=env, check=True)
    assert not (tmp_path / "home" / "workspace").exists()


def test_the_workspace_setting_overrides_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HIVELORE_WORKSPACE", "HIVELORE_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    (home / "workspace").mkdir(parents=True)
    assert load(home=home).workspace_folder == home / "workspace"
    monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path / "elsewhere"))
    assert load(home=home).workspace_folder == tmp_path / "elsewhere"
