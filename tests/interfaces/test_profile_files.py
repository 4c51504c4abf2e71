"""Files of the profile on the machine of an agent, through real hooks: D02 and D03."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hivelore.hooks.install import copy_to, keeps_profile_files
from hivelore.hooks.profile_files import ProfileFile
from hivelore.hooks.profile_files import Service as FileService
from hivelore.integrations.location import Place, commands
from hivelore.integrations.targets import plugin
from hivelore.local import endpoint
from support.events import ALL_EVENTS
from support.hooks import Hook
from support.postgres import DATABASES, service_on
from support.service import Service, environment

OWN = "My own notes.\n\xe9\r\nno newline at the end".encode()
ON = {"HIVELORE_PROFILE_FILES": "on"}
FILES = ("--agent", "claude-code", "--files")


@dataclass
class Host:
    """A machine with a user who has a CLAUDE.md."""

    service: Service
    hook: Hook
    home: Path
    pid: str

    @property
    def notes(self) -> Path:
        return self.home / ".claude" / "CLAUDE.md"

    @property
    def soul(self) -> Path:
        return self.home / "workspace" / "SOUL.md"

    def event(self, name: str, session: str = "s1", *, environ: dict[str, str] | None = None, **payload: Any) -> None:
        shown = {**ON, "CLAUDE_PID": self.pid, **(environ or {})}
        assert self.hook(name, environ=shown, session_id=session, **payload).code == 0
        self.hook.finish()

    def edited(self, session: str = "s1") -> None:
        payload = {"hook_event_name": "PostToolUse", "session_id": session, "tool_name": "Edit"}
        shown = {**ON, "CLAUDE_PID": self.pid}
        assert self.hook.given(json.dumps(payload).encode(), *FILES, environ=shown).out == b""

    def profile(self) -> Any:
        return self.service.client(self.service.agent_key).call("GET", "/api/agents/me/profile")

    def update(self, **fields: Any) -> Any:
        return self.service.client(self.service.agent_key).call("PUT", "/api/agents/me/profile", body=fields)

    def history(self) -> list[Any]:
        path = "/api/agents/me/profile/history"
        return self.service.client(self.service.agent_key).call("GET", path, query={"limit": 50})["versions"]


def host_of(service: Service) -> Host:
    home = service.home
    (home / ".claude").mkdir()
    (home / "workspace").mkdir(exist_ok=True)
    (home / ".claude" / "CLAUDE.md").write_bytes(OWN)
    return Host(service, Hook(copy_to(home), home, home), home, str(os.getpid()))


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Host]:
    with Service(tmp_path / "home", **service_on(getattr(request, "param", "sqlite"))) as service:
        yield host_of(service)


def a_dead_process() -> str:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return str(process.pid)


@pytest.mark.parametrize("host", DATABASES, indirect=True)
def test_d03_the_profile_is_there_during_a_session_and_the_users_file_afterwards(host: Host) -> None:
    host.notes.chmod(0o640)
    host.update(soul="I am the keeper.")
    host.event("SessionStart", source="startup")
    assert host.soul.read_text() == "I am the keeper."
    assert "### Learnings" in host.notes.read_text()
    assert "# Identity: local" in host.soul.with_name("IDENTITY.md").read_text()
    host.event("Stop")
    host.event("SessionEnd", reason="other")
    assert host.notes.read_bytes() == OWN
    assert host.notes.stat().st_mode & 0o777 == 0o640
    assert not host.soul.exists()
    assert not host.notes.with_name(".hivelore-CLAUDE.md").exists()
    assert len(host.history()) == 2


@pytest.mark.parametrize("host", DATABASES, indirect=True)
def test_d02_an_edit_is_a_version_at_once(host: Host) -> None:
    host.event("SessionStart")
    host.soul.write_text("I evolved.")
    host.edited()
    assert host.profile()["soul"] == "I evolved."
    with host.notes.open("a") as notes:
        notes.write("- Tabs, not spaces.\n")
    host.edited()
    host.edited()
    newest, older, _ = host.history()
    assert (newest["changed"], newest["interface"]) == (["notes"], "rest")
    assert older["changed"] == ["soul"]
    assert "- Tabs, not spaces." in host.profile()["notes"]


def test_an_edit_by_a_shell_is_sent_when_the_turn_or_the_session_ends(host: Host) -> None:
    host.event("SessionStart")
    host.notes.write_text("turn")
    host.event("Stop")
    assert host.profile()["notes"] == "turn"
    host.notes.write_text("end")
    host.event("SessionEnd")
    assert host.profile()["notes"] == "end"
    assert host.notes.read_bytes() == OWN


def test_nothing_is_touched_unless_it_is_switched_on(host: Host) -> None:
    host.event("SessionStart", environ={"HIVELORE_PROFILE_FILES": "off"})
    assert host.notes.read_bytes() == OWN
    assert not host.soul.exists()
    assert not host.notes.with_name(".hivelore-CLAUDE.md").exists()
    assert host.profile()["version"] == 0


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_a_file_comes_back_after_it_was_switched_off(host: Host, event: str) -> None:
    host.event("SessionStart", environ={} if event == "SessionEnd" else {"CLAUDE_PID": a_dead_process()})
    host.notes.write_text("an edit")
    host.event(event, environ={"HIVELORE_PROFILE_FILES": "off"})
    assert host.notes.read_bytes() == OWN
    assert not host.soul.exists()
    assert host.profile()["notes"] == "an edit"


def test_a_service_that_never_answers_keeps_no_file(host: Host) -> None:
    host.event("SessionStart")
    host.notes.write_text("an edit")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        host.event("SessionEnd", environ={"HIVELORE_URL": url, "HIVELORE_HOOK_WAIT": "0.1"})
    assert host.notes.read_bytes() == OWN
    assert not host.soul.exists()
    host.event("SessionStart", "next")
    assert host.profile()["notes"] == host.notes.read_text() == "an edit"


def test_a_program_that_sends_its_event_late_gets_the_file_back(host: Host) -> None:
    host.event("SessionStart")
    command = [*host.hook.command, "--agent", "claude-code"]
    shown = {**environment(host.home), **ON, "CLAUDE_PID": host.pid, "HIVELORE_HOOK_WAIT": "0.05"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=shown, cwd=host.home) as late:
        assert late.stdin is not None
        late.wait()  # What goes on is detached.
        late.stdin.write(json.dumps({"hook_event_name": "SessionEnd", "session_id": "s1"}).encode())
    host.hook.finish()
    assert host.notes.read_bytes() == OWN


def test_two_sessions_share_the_files_and_the_last_one_restores(host: Host) -> None:
    host.event("SessionStart", "one")
    host.update(notes="newer")
    host.event("SessionStart", "two")
    assert host.notes.read_text() == "newer"
    host.notes.write_text("edited by one")
    host.event("SessionEnd", "one")
    assert host.notes.read_text() == "edited by one"
    assert host.profile()["notes"] == "edited by one"
    host.event("SessionEnd", "two")
    assert host.notes.read_bytes() == OWN


def test_a_crashed_session_loses_neither_its_edit_nor_the_users_file(host: Host) -> None:
    host.event("SessionStart", "crashed", environ={"CLAUDE_PID": a_dead_process()})
    host.notes.write_text("edited before the crash")
    host.event("SessionStart", "next")
    assert host.profile()["notes"] == "edited before the crash"
    assert host.notes.read_text() == "edited before the crash"
    host.event("SessionEnd", "next")
    assert host.notes.read_bytes() == OWN


def test_something_in_the_way_is_put_aside(host: Host) -> None:
    host.event("SessionStart")
    host.notes.unlink()
    host.notes.mkdir()
    (host.notes / "x").write_text("x")
    host.event("SessionEnd")
    assert host.notes.read_bytes() == OWN


def test_a_file_and_a_service_that_both_changed_keep_both_versions(host: Host) -> None:
    host.event("SessionStart")
    host.update(notes="changed elsewhere")
    host.notes.write_text("changed here")
    host.edited()
    host.edited()
    assert host.notes.read_text() == "changed here"
    assert host.profile()["notes"] == "changed elsewhere"
    conflicts = [one for one in host.history() if one["isConflict"]]
    assert len(conflicts) == 1
    with host.service.app.store.read() as view:
        assert [one for one in view.events(ALL_EVENTS, None, 10) if "Two writers" in one.text]


def test_an_edit_waits_while_the_service_is_down(host: Host) -> None:
    host.event("SessionStart")
    host.notes.write_text("while it was down")
    down = {"HIVELORE_URL": "http://127.0.0.1:9"}
    host.event("SessionEnd", environ=down)
    assert host.notes.read_bytes() == OWN
    assert "while it was down" not in host.profile()["notes"]
    host.event("SessionStart", "next")
    host.event("SessionEnd", "next")
    assert "while it was down" in [
        host.service.client(host.service.agent_key).call("GET", "/api/agents/me/profile")["notes"]
    ]
    assert not host.notes.with_name(".hivelore-CLAUDE.md").exists()


def test_a_service_that_is_down_leaves_the_files_alone(host: Host) -> None:
    host.event("SessionStart", environ={"HIVELORE_URL": "http://127.0.0.1:9", "HIVELORE_HOOK_WAIT": "0.5"})
    assert host.notes.read_bytes() == OWN
    assert not host.soul.exists()


def test_links_are_followed_to_the_users_own_files_only(host: Host, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.md"
    dotfiles.write_bytes(OWN)
    host.notes.unlink()
    host.notes.symlink_to(dotfiles)
    stranger = tmp_path / "stranger"
    stranger.write_text("somebody else's")
    host.soul.symlink_to(stranger)
    host.event("SessionStart")
    assert "### Learnings" in dotfiles.read_text()
    assert stranger.read_text() == "somebody else's"
    host.event("SessionEnd")
    assert host.notes.is_symlink()
    assert dotfiles.read_bytes() == OWN
    assert host.soul.is_symlink()


def test_a_file_that_is_too_long_is_kept_and_reported(host: Host) -> None:
    host.event("SessionStart")
    host.soul.write_text("x" * 65_537)
    host.event("SessionEnd")
    assert len(host.profile()["soul"]) < 65_537
    assert not host.soul.exists()
    (kept,) = host.soul.with_name(".hivelore-SOUL.md").glob("refused-*")
    assert kept.read_text() == "x" * 65_537
    with host.service.app.store.read() as view:
        assert [one for one in view.events(ALL_EVENTS, None, 10) if kept.name in one.text]


def test_codex_has_its_notes_in_agents_md(host: Host) -> None:
    agents = host.home / ".codex" / "AGENTS.md"
    agents.parent.mkdir()
    for name, there in (("SessionStart", True), ("SessionEnd", False)):
        host.hook(name, agent="codex", environ=ON)
        host.hook.finish()
        assert agents.exists() is there
    assert host.notes.read_bytes() == OWN


def test_a_crash_of_codex_is_noticed_by_its_process(host: Host) -> None:
    agents = host.home / ".codex" / "AGENTS.md"
    agents.parent.mkdir()
    payload = json.dumps({"hook_event_name": "SessionStart", "session_id": "crashed", "cwd": str(host.home)})
    code = "import subprocess, sys; subprocess.run(sys.argv[2:], input=sys.argv[1].encode(), check=True)"
    shown = {**environment(host.home), **ON, "HIVELORE_HOOK_WAIT": host.hook.wait}
    command = [sys.executable, "-c", code, payload, *host.hook.command, "--agent", "codex"]
    subprocess.run(command, env=shown, cwd=host.home, check=True)
    agents.write_text("edited before the crash")
    for name in ("SessionStart", "SessionEnd"):
        host.hook(name, agent="codex", environ=ON, session_id="next")
        host.hook.finish()
        assert host.profile()["notes"] == "edited before the crash"
    assert not agents.exists()


def test_setup_switches_the_files_on_and_claude_code_reports_edits(tmp_path: Path) -> None:
    copy_to(tmp_path, profile_files=True)
    assert keeps_profile_files(tmp_path)
    copy_to(tmp_path)
    assert keeps_profile_files(tmp_path)
    copy_to(tmp_path, profile_files=False)
    assert not keeps_profile_files(tmp_path)


@pytest.mark.parametrize("is_on", [True, False])
def test_only_a_hook_that_keeps_files_runs_after_edits(tmp_path: Path, is_on: bool) -> None:
    place = Place(user=tmp_path, environment={}, hivelore=tmp_path, project=None, workspace=None, tools=())
    shipped = dict(plugin(place, commands(tmp_path, profile_files=is_on)))
    hooks = json.loads(shipped[Path("hooks/hooks.json")])["hooks"]
    assert ("PostToolUse" in hooks) is is_on
    if is_on:
        assert hooks["PostToolUse"][0]["hooks"][0]["args"][-2:] == ["claude-code", "--files"]


def test_two_hosts_that_edit_one_profile_200_times_lose_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each host has its own workspace and service, on one PostgreSQL."""
    monkeypatch.setattr("hivelore.hooks.profile_files.READ_SECONDS", 60.0)
    shared = service_on("postgres")
    with Service(tmp_path / "one", **shared) as one, Service(tmp_path / "two", **shared) as two:
        monkeypatch.setenv("HIVELORE_KEY", key := one.add("ada"))

        def edit(service: Service) -> list[str]:
            client = FileService(service.url, str(service.home))
            own = service.home / "SOUL.md"
            own.write_bytes(OWN)
            file = ProfileFile(own, "soul", follows_link=False)
            user = {"id": "s", "key": "", "pid": os.getpid(), "started": own_start(), "at": 0}
            profile = client.profile()
            assert profile is not None
            file.start(user, profile)
            written = [f"{service.home.name} {number}" for number in range(200)]
            for text in written:
                own.write_text(text)
                file.send(profile["agentId"], client)
                assert own.read_text() == text
            file.end(user)
            assert own.read_bytes() == OWN
            return written

        with ThreadPoolExecutor(2) as pool:
            written = [text for texts in pool.map(edit, (one, two)) for text in texts]
        agent = one.app.agents.resolve(one.client(key).call("GET", "/api/me")["agentId"])
        with one.app.store.read() as view:
            stored = [version.content.soul for version in view.profile_versions(agent, 10_000, 10_000)]
        assert sorted(stored[:-1]) == sorted(written)


def own_start() -> str:
    return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


def test_the_setting_is_read_by_the_hook() -> None:
    assert endpoint.keeps_profile_files({"HIVELORE_PROFILE_FILES": "on"})
    assert not endpoint.keeps_profile_files({"HIVELORE_PROFILE_FILES": "true"})
    assert not endpoint.keeps_profile_files({})
