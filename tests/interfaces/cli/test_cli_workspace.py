"""The verb workspace, with all parts of a workspace: profile, clones, configuration and start-up file."""

import os
import pwd
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from hivelore.cli import exits
from hivelore.hooks.profile_files import ProfileFile, sync
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

    def event(self, name: str, session: str = "s1", url: str | None = "") -> None:
        """``url`` None: no service runs."""
        where = self.service.url if url == "" else url
        sync(name, session, "claude-code", url=where, pid=str(os.getpid()))

    def step(self, result: Result, name: str) -> tuple[str, str]:
        (found,) = [one for one in result.json["steps"] if one["step"] == name]
        return found["outcome"], found["detail"]

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
        "repositories": "done",
        "configuration": "done",
        "start-up file": "done",
        "setup": "off",
        "profile": "done",
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
    result = host.prepare("--require-all")
    assert (result.code, host.prepare().code) == (exits.LEFT_OUT, 0)
    steps = {one["step"]: one for one in result.json["steps"]}
    assert (steps["repositories"]["outcome"], steps["repositories"]["detail"]) == ("incomplete", "shop: unreachable")
    assert "shop: unreachable." in result.err
    assert [name for name, one in steps.items() if one["outcome"] == "done"] == [
        "folders",
        "configuration",
        "start-up file",
        "profile",
    ]
    assert "echo all" in host.start_up.read_text()
    assert host.outcomes("--no-repos")["repositories"] == "off"


def test_a_file_that_cannot_be_kept_is_named(host: Host) -> None:
    host.soul.unlink()
    host.soul.mkdir()
    result = host.prepare("--require-all")
    assert result.code == exits.LEFT_OUT
    assert f"{host.soul} is not kept in step with the profile" in result.err
    outcomes = {one["step"]: one["outcome"] for one in result.json["steps"]}
    assert (outcomes["profile"], outcomes["repositories"], outcomes["start-up file"]) == ("incomplete", "done", "done")
    assert "### Learnings" in host.notes.read_text()


def test_the_files_belong_to_the_agent_of_the_hooks(host: Host) -> None:
    host.cli("agent", "add", "walt")
    result = host.prepare("--agent", "walt", "--require-all")
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
    assert (result.code, host.step(result, "setup")) == (0, ("done", "exit code 0"))
    assert (host.workspace / "out.txt").read_text() == "url=https://api.example.com word=quokka-moss-47-harbour\n"
    assert "quokka" not in result.err + result.out + (host.workspace / "personal" / "start-up.log").read_text()


def test_missing_lines_of_env_files_are_named(host: Host) -> None:
    host.cli("config", "set", "API_URL", "https://api.example.com", "--env-path", ".env")
    made = host.service.home / "workspace" / ".env"
    result = host.prepare("--require-all")
    assert result.code == exits.LEFT_OUT
    assert ".env has no line for API_URL." in result.err
    assert {one["step"]: one["outcome"] for one in result.json["steps"]}["configuration"] == "incomplete"
    (host.workspace / ".env").write_bytes(made.read_bytes())
    assert host.prepare("--require-all").code == 0
    host.cli("config", "set", "API_URL", "https://api.example.com", "--env-path", "")


# several agents on one machine


@pytest.fixture
def agents(host: Host, monkeypatch: pytest.MonkeyPatch) -> Generator["Agents"]:
    found = Agents(host, monkeypatch)
    yield found
    found.use("operator")
    host.cli("agent", "revoke", "ada")
    host.cli("agent", "revoke", "bo")


class Agents:
    """Two agents of one user, each with notes."""

    def __init__(self, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._service = host.service
        self._keys = {"operator": host.service.operator_key}
        for name in ("ada", "bo"):
            self._keys[name] = host.service.add(name)
            client = host.service.client(self._keys[name])
            client.call("PUT", "/api/agents/me/profile", body={"notes": f"Private notes of {name}."})

    def use(self, name: str) -> None:
        self._monkeypatch.setenv("HIVELORE_KEY", self._keys[name])

    def notes(self, name: str) -> str:
        return self._service.client(self._keys[name]).call("GET", "/api/agents/me/profile")["notes"]


@pytest.mark.parametrize("is_up", [True, False])
def test_files_that_were_prepared_for_another_agent_are_given_back_first(
    host: Host, agents: Agents, is_up: bool
) -> None:
    agents.use("ada")
    assert host.outcomes()["profile"] == "done"
    assert host.notes.read_text() == "Private notes of ada."
    agents.use("bo")
    host.event("SessionStart", url="" if is_up else None)
    assert host.notes.read_bytes() == (b"Private notes of bo." if is_up else OWN)
    with host.notes.open("a") as notes:
        notes.write("\nWritten by bo.")
    after = host.notes.read_bytes()
    host.event("SessionEnd")
    assert host.notes.read_bytes() == (OWN if is_up else after)
    agents.use("ada")
    host.event("SessionStart", "s2")
    host.event("SessionEnd", "s2")
    assert agents.notes("ada") == "Private notes of ada."
    assert agents.notes("bo") == "Private notes of bo." + ("\nWritten by bo." if is_up else "")


def test_preparing_for_another_agent_gives_the_files_back_first(host: Host, agents: Agents) -> None:
    agents.use("ada")
    host.prepare()
    host.notes.write_text("An edit after the preparation.")
    agents.use("bo")
    result = host.prepare()
    assert host.step(result, "profile")[0] == "incomplete"
    assert "1 edit of" in result.err
    assert host.notes.read_text() == "Private notes of bo."
    assert agents.notes("bo") == "Private notes of bo."
    agents.use("ada")
    host.prepare()
    assert agents.notes("ada") == "An edit after the preparation."


def test_files_of_a_running_session_of_another_agent_are_not_named(host: Host, agents: Agents) -> None:
    agents.use("ada")
    host.event("SessionStart")
    agents.use("bo")
    result = host.prepare()
    assert host.step(result, "profile") == ("incomplete", "")
    assert "belongs to a session of another agent" in result.err
    assert host.notes.read_text() == "Private notes of ada."
    agents.use("ada")
    host.event("SessionEnd")
    assert host.notes.read_bytes() == OWN


def test_a_session_that_is_continued_by_another_agent_sends_nothing(host: Host, agents: Agents) -> None:
    agents.use("ada")
    sync("SessionStart", "s1", "claude-code", url=host.service.url, pid=str(dead_process()))
    agents.use("bo")
    host.event("SessionStart")
    assert host.notes.read_text() == "Private notes of bo."
    host.event("SessionEnd")
    assert (agents.notes("ada"), agents.notes("bo")) == ("Private notes of ada.", "Private notes of bo.")
    assert host.notes.read_bytes() == OWN


def test_edits_that_were_not_sent_are_reported(host: Host, agents: Agents) -> None:
    agents.use("ada")
    host.event("SessionStart")
    host.notes.write_text("Learned while the service was down.")
    host.event("SessionEnd", url=None)
    ada = host.service.client(os.environ["HIVELORE_KEY"]).call("GET", "/api/me")["agentId"]
    agents.use("operator")
    (found,) = [one for one in host.cli("doctor", "--json").json["findings"] if one["name"] == "profile files"]
    assert (found["level"], f"1 edit of {host.notes} by agent {ada}" in found["what"]) == ("warning", True)
    agents.use("bo")
    host.event("SessionStart")
    host.event("SessionEnd")
    events = host.service.client(host.service.operator_key).call("GET", "/api/events")["events"]
    assert any(f"by agent {ada} did not reach" in one["text"] for one in events)
    agents.use("ada")
    host.event("SessionStart")
    host.event("SessionEnd")
    assert agents.notes("ada") == "Learned while the service was down."
    assert not host.notes.with_name(".hivelore-CLAUDE.md").exists()


# a session without a service


def test_a_session_takes_prepared_files_over_while_the_service_is_down(host: Host) -> None:
    host.prepare()
    host.event("SessionStart", url=None)
    host.event("SessionEnd", url=None)
    assert host.notes.read_bytes() == host.soul.read_bytes() == OWN


# exit codes, and what a failure leaves


def test_work_in_a_clone_is_no_failure(host: Host) -> None:
    host.prepare()
    (host.workspace / "repos" / "shop" / "CLAUDE.md").write_text("Edited by the agent.")
    host.remote.commit({"CLAUDE.md": "Edited elsewhere."})
    result = host.prepare("--require-all")
    assert result.code == 0, result.err
    assert host.step(result, "repositories") == ("done", "shop: dirty")


def test_what_a_start_up_file_writes_is_not_the_agents(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_RUN_SETUP_SCRIPTS", "1")
    before = host.cli.json("agent", "show", "local")["notes"]
    host.cli("setup-script", "set", "-", stdin=f"echo tools >> '{host.notes}'\n".encode())
    for _ in range(2):
        assert host.prepare().code == 0
        assert "### Learnings" in host.notes.read_text()
    host.event("SessionStart")
    host.event("SessionEnd")
    assert host.notes.read_bytes() == OWN + b"tools\ntools\n"
    assert host.cli.json("agent", "show", "local")["notes"] == before


@pytest.mark.parametrize("script", [b"exit 7\n", None])
def test_a_preparation_that_fails_gives_the_files_back_and_shows_its_steps(
    host: Host, monkeypatch: pytest.MonkeyPatch, script: bytes | None
) -> None:
    monkeypatch.setenv("HIVELORE_RUN_SETUP_SCRIPTS", "1")
    host.prepare()
    assert host.notes.read_bytes() != OWN
    if script is not None:
        host.cli("setup-script", "set", "-", stdin=script)
    else:
        host.start_up.unlink()
        host.start_up.symlink_to("/etc/passwd")
    result = host.prepare()
    assert result.code == (5 if script is None else 7)
    failed = "start-up file" if script is None else "setup"
    assert host.step(result, failed)[0] == "failed"
    assert [one["step"] for one in result.json["steps"]][-1] == failed
    assert host.notes.read_bytes() == host.soul.read_bytes() == OWN


def test_doctor_names_files_that_wait_for_a_session(host: Host) -> None:
    host.prepare()
    (found,) = [one for one in host.cli("doctor", "--json").json["findings"] if one["name"] == "profile files"]
    assert (found["level"], str(host.notes) in found["what"]) == ("ok", True)
    assert "for its next session" in found["what"]


def test_a_fresh_container_gets_the_notes(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "fresh"))
    result = host.prepare()
    notes = tmp_path / "fresh" / ".claude" / "CLAUDE.md"
    assert (host.step(result, "profile")[0], str(notes) in host.step(result, "profile")[1]) == ("done", True)
    assert "### Learnings" in notes.read_text()


def test_without_home_the_user_database_says_where_the_notes_are(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = pwd.getpwuid(os.geteuid())
    monkeypatch.delenv("HOME")
    moved = pwd.struct_passwd((*user[:5], str(tmp_path / "his"), user[6]))

    def found(_: int) -> pwd.struct_passwd:
        return moved

    monkeypatch.setattr(pwd, "getpwuid", found)
    monkeypatch.setenv("HIVELORE_RUN_SETUP_SCRIPTS", "1")
    host.cli("setup-script", "set", "-", stdin=b"echo $HOME > where\n")
    assert host.outcomes()["profile"] == "done"
    assert "### Learnings" in (tmp_path / "his" / ".claude" / "CLAUDE.md").read_text()
    assert (host.workspace / "where").read_text() == f"{tmp_path / 'his'}\n"

    def unknown(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    result = host.prepare()
    assert result.code == 0, result.err
    assert host.step(result, "profile")[0] == "incomplete"
    assert "The notes have no file" in result.err


# files that cannot be restored


DAMAGED = {"empty": "", "list": "[]", "object": "{}", "deep": "[" * 100_000, "field": '{"users": 1}', "bytes": "\xff"}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_state_is_reported_and_nothing_is_lost(host: Host, content: str) -> None:
    host.cli("setup", "claude-code", "--profile")
    host.prepare()
    kept = host.notes.with_name(".hivelore-CLAUDE.md")
    (kept / "state.json").write_text(content, encoding="latin-1")
    (backup,) = kept.glob("backup-*")
    findings = host.cli("doctor", "--json").json["findings"]
    (found,) = [one for one in findings if (one["name"], one["level"]) == ("profile files", "warning")]
    assert str(backup) in found["remedy"]
    result = host.prepare()
    assert host.step(result, "profile")[0] == "incomplete"
    assert "is damaged" in result.err
    for words in (("setup", "claude-code", "--no-profile"), ("unsetup",)):
        result = host.cli(*words)
        assert result.code == exits.LEFT_OUT
        assert str(backup) in result.err
        assert "claude-code" in host.cli.json("unsetup", "--dry-run")["plans"][0]["program"]
    assert host.cli.json("unsetup", "--dry-run")["plans"]
    assert backup.read_bytes() == OWN
    backup.rename(host.notes)
    (kept / "state.json").unlink()
    host.event("SessionStart")
    host.event("SessionEnd")
    assert host.notes.read_bytes() == OWN
    assert host.cli("unsetup").code == 0
    assert not kept.exists()


def test_a_file_that_cannot_be_restored_keeps_the_hooks(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.cli("setup", "claude-code", "--profile")
    host.prepare()

    def refuse(self: ProfileFile, *given: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied", self.name)

    with monkeypatch.context() as broken:
        broken.setattr(ProfileFile, "_restore", refuse)
        for words in (("setup", "claude-code", "--no-profile"), ("unsetup",)):
            result = host.cli(*words, "--json")
            assert result.code == exits.LEFT_OUT
            (text,) = [one for one in result.json["notRestored"] if one.startswith(str(host.notes))]
            assert "backup-" in text
            assert text.endswith("Correct this, then run the command again.")
        assert result.json["undone"] == []
    host.event("SessionStart")
    host.event("SessionEnd")
    assert host.notes.read_bytes() == OWN
    assert host.cli.json("unsetup")["notRestored"] == []


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid
