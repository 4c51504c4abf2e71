"""The verb workspace, with all parts of a workspace: profile, clones, configuration and start-up file."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from hivelore.cli import exits
from hivelore.hooks.profile_files import sync
from support import postgres
from support.command_line import CommandLine, Result
from support.git_repos import Remote
from support.service import Service

OWN = "My own notes: caf\xe9.\r\nNo newline at the end".encode("latin-1")
OWN_START_UP = "#!/bin/bash\necho mine\n"


@pytest.fixture(scope="module", params=postgres.DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    more = postgres.service_on(request.param)
    with Service(tmp_path_factory.mktemp("hivelore") / "home", repo_local_paths=True, **more) as running:
        yield running


class Host:
    """A machine whose user has a CLAUDE.md, a SOUL.md and a start-up file."""

    def __init__(self, cli: CommandLine, service: Service, folder: Path) -> None:
        self.cli = cli
        self.service = service
        self.workspace = folder / "workspace"
        self.notes = folder / "user" / ".claude" / "CLAUDE.md"
        self.soul = self.workspace / "SOUL.md"
        self.start_up = self.workspace / "start-up.sh"
        self.remote = Remote(folder / "remote")
        self.notes.parent.mkdir()
        self.notes.write_bytes(OWN)
        self.workspace.mkdir()
        self.soul.write_bytes(OWN)
        self.start_up.write_text(OWN_START_UP)
        self.remote.commit({"CLAUDE.md": "Use tabs."})
        cli("repo", "add", self.remote.url, "--name", "shop")
        cli("config", "set", "API_URL", "https://api.example.com")
        cli("setup-script", "set", "-", stdin=b"echo all\n")

    def prepare(self, *words: str) -> Result:
        return self.cli("workspace", "prepare", "--json", *words)

    def outcomes(self, *words: str) -> dict[str, str]:
        return {one["step"]: one["outcome"] for one in self.prepare(*words).json["steps"]}

    def event(self, name: str) -> None:
        sync(name, "s1", "claude-code", url=self.service.url, pid=str(os.getpid()))

    def files(self) -> dict[str, bytes]:
        """Returns everything but bookkeeping."""
        found = [*self.workspace.rglob("*"), self.notes]
        kept = [one for one in found if one.is_file() and ".git" not in one.parts and ".hivelore-" not in str(one)]
        return {str(one): one.read_bytes() for one in kept}


@pytest.fixture
def host(cli: CommandLine, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Host]:
    monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("HIVELORE_REPO_LOCAL_PATHS", "1")
    monkeypatch.setenv("HIVELORE_PROFILE_FILES", "on")
    yield Host(cli, service, tmp_path)
    for repo in cli.json("repo", "list")["repos"]:
        cli("repo", "remove", repo["name"])
    cli("setup-script", "set", "-", stdin=b"")


def test_every_part_is_prepared_and_preparing_again_changes_nothing(host: Host) -> None:
    first = host.prepare()
    assert first.code == 0, first.err
    assert {one["step"]: one["outcome"] for one in first.json["steps"]} == {
        "folders": "done",
        "profile": "done",
        "repositories": "done",
        "configuration": "done",
        "start-up file": "done",
        "setup": "off",
    }
    assert (host.workspace / "repos" / "shop" / "CLAUDE.md").read_text() == "Use tabs."
    assert (host.workspace / "personal" / "memory").is_dir()
    assert "Embody this persona" in host.soul.read_text()
    assert "### Learnings" in host.notes.read_text()
    assert "echo all" in host.start_up.read_text()
    before = host.files()
    again = host.prepare()
    assert (again.code, again.json) == (0, first.json)
    assert host.files() == before
    shown = host.cli("workspace", "prepare").out
    assert "repositories" in shown
    assert "1 repository" in shown


def test_a_session_takes_the_prepared_files_over_and_gives_them_back(host: Host) -> None:
    host.prepare()
    host.event("SessionStart")
    host.soul.write_text("I evolved.")
    host.prepare()
    assert host.soul.read_text() == "I evolved."
    host.event("SessionEnd")
    assert host.notes.read_bytes() == host.soul.read_bytes() == OWN
    assert host.cli.json("agent", "show", "local")["soul"] == "I evolved."
    assert not host.notes.with_name(".hivelore-CLAUDE.md").exists()
    assert host.start_up.read_text().endswith("echo mine\n")


def test_prepared_files_come_back_without_a_session(host: Host) -> None:
    host.prepare()
    host.cli("setup", "claude-code", "--no-profile")
    assert host.notes.read_bytes() == host.soul.read_bytes() == OWN


def test_prepared_files_come_back_when_no_session_came(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.prepare()
    monkeypatch.setattr("hivelore.hooks.profile_files.USER_SECONDS", 0)
    sync("SessionStart", "s1", "claude-code", url=host.service.url, pid="", is_on=False)
    assert host.notes.read_bytes() == host.soul.read_bytes() == OWN


def test_the_notes_are_in_the_file_of_the_program(host: Host) -> None:
    agents = host.notes.parents[1] / ".codex" / "AGENTS.md"
    agents.parent.mkdir()
    assert host.prepare("--program", "codex").code == 0
    assert "### Learnings" in agents.read_text()
    assert host.notes.read_bytes() == OWN
    host.cli("setup", "codex", "--no-profile")
    assert not agents.exists()


def test_the_other_parts_are_prepared_when_git_does_not_answer(host: Host) -> None:
    host.remote.bare.rename(host.remote.bare.with_name("gone"))
    result = host.prepare()
    assert result.code == exits.LEFT_OUT
    steps = {one["step"]: one for one in result.json["steps"]}
    assert (steps["repositories"]["outcome"], steps["repositories"]["detail"]) == ("incomplete", "shop: unreachable")
    assert "shop: unreachable." in result.err
    assert [name for name, one in steps.items() if one["outcome"] == "done"] == [
        "folders",
        "profile",
        "configuration",
        "start-up file",
    ]
    assert "echo all" in host.start_up.read_text()
    assert host.outcomes("--no-repos")["repositories"] == "off"


def test_a_file_that_cannot_be_kept_is_named(host: Host) -> None:
    host.soul.unlink()
    host.soul.mkdir()
    result = host.prepare()
    assert result.code == exits.LEFT_OUT
    assert f"{host.soul} is not kept in step with the profile" in result.err
    outcomes = {one["step"]: one["outcome"] for one in result.json["steps"]}
    assert (outcomes["profile"], outcomes["repositories"], outcomes["start-up file"]) == ("incomplete", "done", "done")
    assert "### Learnings" in host.notes.read_text()


def test_the_files_belong_to_the_agent_of_the_hooks(host: Host) -> None:
    host.cli("agent", "add", "walt")
    result = host.prepare("--agent", "walt")
    assert result.code == exits.LEFT_OUT
    assert "knows the hooks of this machine as agent" in result.err
    assert host.soul.read_bytes() == OWN
    assert host.outcomes("--agent", "walt", "--own-folder")["profile"] == "off"


def test_files_are_left_alone_unless_that_is_switched_on(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIVELORE_PROFILE_FILES")
    assert host.outcomes()["profile"] == "off"
    assert host.notes.read_bytes() == host.soul.read_bytes() == OWN


def test_the_start_up_file_gets_named_entries_of_the_configuration(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.cli("config", "set", "DEPLOY_WORD", "-", "--secret", stdin=b"quokka-moss-47-harbour")
    host.cli("setup-script", "set", "-", stdin=b'echo "url=$API_URL word=$DEPLOY_WORD" | tee out.txt\n')
    monkeypatch.setenv("HIVELORE_RUN_SETUP_SCRIPTS", "1")
    assert host.prepare().code == 0
    assert (host.workspace / "out.txt").read_text() == "url= word=\n"
    monkeypatch.setenv("HIVELORE_SETUP_SCRIPT_VARIABLES", "API_URL,DEPLOY_WORD,MISSING")
    result = host.prepare()
    assert (result.code, result.json["steps"][-1]["detail"]) == (0, "exit code 0")
    assert (host.workspace / "out.txt").read_text() == "url=https://api.example.com word=quokka-moss-47-harbour\n"
    assert "quokka" not in result.err + result.out + (host.workspace / "personal" / "start-up.log").read_text()


def test_missing_lines_of_env_files_are_named(host: Host) -> None:
    host.cli("config", "set", "API_URL", "https://api.example.com", "--env-path", ".env")
    made = host.service.home / "workspace" / ".env"
    result = host.prepare()
    assert result.code == exits.LEFT_OUT
    assert ".env has no line for API_URL." in result.err
    assert {one["step"]: one["outcome"] for one in result.json["steps"]}["configuration"] == "incomplete"
    (host.workspace / ".env").write_bytes(made.read_bytes())
    assert host.prepare().code == 0
    host.cli("config", "set", "API_URL", "https://api.example.com", "--env-path", "")
