"""Preparing a workspace: folders, start-up file, edits of agents, and running it."""

import os
import stat
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hivelore.errors import Conflict, HiveloreError, Invalid, NotFound, Unavailable
from hivelore.integrations import start_up_files
from hivelore.integrations.workspace_preparation import (
    LOG,
    Preparation,
    RunSettings,
    prepare,
    readable_output,
    usual_environment,
)
from hivelore.local import private_files
from hivelore.setup_scripts.script_text import Language
from hivelore.setup_scripts.start_up_file import Kind, extract
from support.fake_secrets import SHAPES
from support.postgres import DATABASES, service_on
from support.service import Service
from support.waiting import until

GITHUB = SHAPES["github-token"][0]
OFF = RunSettings(is_on=False, is_strict=True, seconds=20)
ON = RunSettings(is_on=True, is_strict=True, seconds=20)


class Host:
    """A workspace of the agent ada, and the service that she uses."""

    def __init__(self, service: Service, workspace: Path) -> None:
        self.workspace = workspace
        self.operator = service.client(service.operator_key)
        self.key = service.add("ada")
        self.ada = service.client(self.key)
        self.id: str = self.ada.call("GET", "/api/me")["agentId"]
        self.notes: list[str] = []
        self.environment = {"PATH": os.environ["PATH"], "HIVELORE_KEY": "hl_key"}

    def prepare(self, runs: RunSettings = OFF, **more: Any) -> int:
        self.notes.clear()
        given: dict[str, Any] = {"client": self.ada, "workspace": self.workspace, "agent": self.id, "runs": runs}
        self.last = Preparation(note=self.notes.append, environment=self.environment, **(given | more))
        return prepare(self.last)

    def set(self, text: str, agent: str | None = "ada") -> None:
        place = "/api/setup-script" if agent is None else f"/api/agents/{agent}/setup-script"
        self.operator.call("PUT", place, body={"setupScript": text})

    @property
    def file(self) -> Path:
        return self.workspace / "start-up.sh"

    def proposals(self) -> list[dict[str, Any]]:
        return self.operator.call("GET", "/api/review")["proposals"]

    def edit(self, old: str, new: str) -> None:
        self.file.write_text(self.file.read_text().replace(old, new))


@pytest.fixture(scope="module", params=DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("home"), **service_on(request.param)) as service:
        yield service


@pytest.fixture
def host(service: Service, tmp_path: Path) -> Generator[Host]:
    found = Host(service, tmp_path / "workspace")
    yield found
    found.set("")
    found.set("", None)
    for proposal in found.proposals():
        found.operator.call("POST", f"/api/review/{proposal['id']}/reject")
    found.operator.call("DELETE", "/api/agents/ada")


def test_the_folders_are_made(host: Host) -> None:
    assert host.prepare() == 0
    made = {str(path.relative_to(host.workspace)) for path in host.workspace.rglob("*")}
    assert made == {"personal", "personal/memory", "shared", "shared/memory", "repos"}
    assert host.prepare() == 0


def test_agents_in_one_workspace_have_folders_of_their_own(host: Host) -> None:
    host.set("echo one")
    assert host.prepare(personal=f"agents/{host.id}") == 0
    assert (host.workspace / "agents" / host.id / "memory").is_dir()
    assert (host.workspace / "agents" / host.id / "start-up.sh").exists()
    assert not host.file.exists()


def test_a_link_in_place_of_a_folder_is_refused(host: Host, tmp_path: Path) -> None:
    host.workspace.mkdir()
    (host.workspace / "shared").symlink_to(tmp_path)
    with pytest.raises(Unavailable, match="Links are not followed"):
        host.prepare()


@pytest.mark.parametrize("kind", Kind)
def test_d41_scripts_are_put_before_an_existing_file(host: Host, kind: Kind) -> None:
    host.workspace.mkdir()
    file = host.workspace / kind.file_name
    program, is_shell = ("sh", True) if kind.language is Language.SHELL else ("bun", False)
    file.write_text(f"#!/bin/{program}\nlast\n")
    file.chmod(0o640)
    begin = "" if is_shell else "#!/usr/bin/env bun\n"
    host.set(f"{begin}first", None)
    host.set(f"{begin}then")
    host.prepare()
    lines = [line for line in file.read_text().split("\n") if "hivelore" not in line and line != f"//{begin.strip()}"]
    assert lines == [f"#!/bin/{program}", "first", "then", "last", ""]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    before = file.stat().st_ino
    host.prepare()
    assert file.stat().st_ino == before
    host.set("")
    host.set("", None)
    host.prepare()
    assert file.read_text() == f"#!/bin/{program}\nlast\n"


def test_a_new_file_is_made_and_removed(host: Host) -> None:
    host.set("echo one")
    host.prepare()
    assert stat.S_IMODE(host.file.stat().st_mode) == 0o700
    host.set("")
    host.prepare()
    assert not host.file.exists()


def test_the_first_of_several_files_is_used(host: Host) -> None:
    host.workspace.mkdir()
    for name in ("start-up.ts", "start-up.bash"):
        (host.workspace / name).write_text("last\n")
    host.set("first")
    host.prepare()
    assert "first" in (host.workspace / "start-up.bash").read_text()
    assert any("not start-up.ts" in note for note in host.notes)


@pytest.mark.parametrize(
    ("name", "after"), [("start-up.sh", "fetch"), ("start-up.bash", "fetch"), ("start-up.sh", "check")]
)
def test_a_file_that_appears_meanwhile_stays(
    host: Host, monkeypatch: pytest.MonkeyPatch, name: str, after: str
) -> None:
    host.set("echo ada")
    mine = host.workspace / name
    place, function = (start_up_files, "prepend") if after == "fetch" else (private_files, "create")
    original = getattr(place, function)

    def slow(*given: Any) -> Any:
        result = original(*given)
        mine.write_text("mine\n")
        return result

    monkeypatch.setattr(place, function, slow)
    with pytest.raises(Conflict, match=f"{name} was created at the same time"):
        host.prepare()
    assert mine.read_text() == "mine\n"
    assert sorted(path.name for path in host.workspace.iterdir()) == sorted(["personal", "shared", "repos", name])


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "large", "unreadable text"])
def test_a_file_that_cannot_be_used_is_refused_and_stays(host: Host, tmp_path: Path, kind: str) -> None:
    host.workspace.mkdir()
    host.set("echo one")
    match kind:
        case "link":
            (tmp_path / "target").write_text("target\n")
            host.file.symlink_to(tmp_path / "target")
        case "folder":
            host.file.mkdir()
        case "pipe":
            os.mkfifo(host.file)
        case "large":
            host.file.write_bytes(b"#" * (start_up_files.MOST_BYTES + 1))
        case _:
            host.file.write_bytes(b"# >>> hivelore setup script: global, version 1, 0123456789abcdef >>>\n\xff\n")
    with pytest.raises((Conflict, Invalid)):
        host.prepare()
    if kind == "link":
        assert (tmp_path / "target").read_text() == "target\n"


def test_a_single_mounted_file_is_overwritten(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.workspace.mkdir()
    host.file.write_text("last\n")
    before = host.file.stat().st_ino
    host.set("first")

    def busy(source: str, target: str) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    host.prepare()
    assert host.file.read_text().endswith("<<<\nlast\n")
    assert host.file.stat().st_ino == before


def test_two_processes_that_prepare_at_once_write_one_section(host: Host) -> None:
    host.workspace.mkdir()
    host.file.write_text("last\n")
    host.set("first")
    failed: list[HiveloreError] = []

    def work() -> None:
        try:
            start_up_files.update(host.workspace, host.id, host.ada, lambda _: None)
        except HiveloreError as error:
            failed.append(error)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert host.file.read_text().count("first") == 1


# edits of agents


def test_an_edited_script_is_proposed_and_replaced_by_the_present_one(host: Host) -> None:
    host.set("echo all", None)
    host.set("echo ada")
    host.prepare()
    host.edit("echo ada", "echo edited")
    host.edit("echo all", "echo everything")
    host.prepare()
    assert "edited" not in host.file.read_text()
    agents = [proposal["script"]["agent"] for proposal in host.proposals()]
    assert sorted(agents, key=str) == sorted([host.id, None], key=str)
    (mine,) = [proposal for proposal in host.proposals() if proposal["script"]["agent"]]
    host.operator.call("POST", f"/api/review/{mine['id']}/accept")
    host.prepare()
    assert "echo edited\n" in host.file.read_text()


def test_an_edit_is_proposed_once_and_stays_until_the_workspace_is_prepared(host: Host) -> None:
    host.set("echo ada")
    host.prepare()
    host.edit("echo ada", "echo edited")
    for _ in range(2):
        assert start_up_files.sync(host.workspace, host.ada, host.notes.append) == 1
    assert "echo edited" in host.file.read_text()
    assert len(host.proposals()) == 1


def test_an_edit_of_an_operator_is_a_proposal_too(host: Host) -> None:
    host.set("echo ada")
    host.prepare()
    host.edit("echo ada", "echo edited")
    host.prepare(client=host.operator)
    assert len(host.proposals()) == 1


def test_an_edit_of_an_earlier_version_is_kept_and_not_proposed(host: Host) -> None:
    host.set("echo ada")
    host.prepare()
    host.edit("echo ada", "echo edited")
    host.set("echo operator")
    assert start_up_files.sync(host.workspace, host.ada, host.notes.append) == 1
    host.prepare()
    assert host.proposals() == []
    assert any("it is at version" in note for note in host.notes)
    assert "echo operator\n" in host.file.read_text()
    (kept,) = host.workspace.glob("start-up-edit-*.txt")
    assert kept.read_text() == "echo edited\n"


def test_an_edit_that_became_the_next_version_is_no_conflict(host: Host) -> None:
    host.set("echo ada")
    host.prepare()
    host.edit("echo ada", "echo edited")
    host.set("echo edited")
    host.prepare()
    assert not list(host.workspace.glob("start-up-edit-*"))
    assert "echo edited\n" in host.file.read_text()


@pytest.mark.parametrize("edit", [f"export TOKEN={GITHUB}", "x" * 70_000], ids=["secret", "large"])
def test_an_edit_that_cannot_be_proposed_is_kept(host: Host, edit: str) -> None:
    host.set("echo ada")
    host.prepare()
    host.edit("echo ada", edit)
    for _ in range(2):
        host.prepare()
        host.edit("echo ada", edit)
    host.prepare()
    assert edit not in host.file.read_text()
    (kept,) = host.workspace.glob("start-up-edit-*.txt")
    assert kept.read_text() == f"{edit}\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not any(GITHUB in note for note in host.notes)
    assert host.proposals() == []


def test_a_damaged_section_is_reported_and_stays(host: Host) -> None:
    host.set("echo ada")
    host.prepare()
    damaged = host.file.read_text().partition("# <<<")[0]
    host.file.write_text(damaged)
    with pytest.raises(Invalid, match="without its end"):
        host.prepare()
    assert host.file.read_text() == damaged


def test_a_displaced_section_is_reported_and_stays(host: Host) -> None:
    host.set("echo ada")
    host.prepare()
    displaced = host.file.read_text().replace("#!/bin/sh\n", "#!/bin/sh\nset -e\n")
    host.file.write_text(displaced)
    host.set("")
    for call in (host.prepare, lambda: start_up_files.sync(host.workspace, host.ada, host.notes.append)):
        with pytest.raises(Conflict, match="in line 3"):
            call()
    assert host.file.read_text() == displaced


def test_nothing_is_written_when_the_service_does_not_answer(host: Host, tmp_path: Path) -> None:
    host.set("echo ada")
    host.prepare()
    host.edit("echo ada", "echo edited")
    before = host.file.read_bytes()
    with Service(tmp_path / "other") as other:
        away = other.client(other.operator_key)
    with pytest.raises(HiveloreError):
        host.prepare(client=away)
    assert host.file.read_bytes() == before


# running


def test_the_file_runs_only_where_that_is_turned_on(host: Host) -> None:
    host.set("touch ran")
    assert host.prepare() == 0
    assert not (host.workspace / "ran").exists()
    assert any("HIVELORE_RUN_SETUP_SCRIPTS is off" in note for note in host.notes)
    assert host.prepare(ON) == 0
    assert (host.workspace / "ran").exists()


@pytest.mark.parametrize(("is_strict", "code"), [(True, 3), (False, 0)])
def test_d43_a_failure_stops_where_it_is_strict(host: Host, is_strict: bool, code: int) -> None:
    host.set("exit 3")
    assert host.prepare(RunSettings(is_on=True, is_strict=is_strict, seconds=20)) == code
    assert host.last.finished is not None
    assert host.last.finished.code == 3


def test_a_hanging_script_is_ended(host: Host) -> None:
    host.set("sleep 1000")
    assert host.prepare(RunSettings(is_on=True, is_strict=True, seconds=0.3)) == 124
    assert any("more than 0.3 seconds" in note for note in host.notes)


def test_the_output_is_kept_without_secrets(host: Host) -> None:
    host.environment["MINE"] = "a plain passphrase"
    host.set('printf "gh%s\\n" "' + GITHUB[2:] + '"; echo "$MINE"; echo fine; env')
    runs = RunSettings(is_on=True, is_strict=True, seconds=20, variables=("MINE",))
    assert host.prepare(runs) == 0
    log = host.workspace / "personal" / LOG
    printed = log.read_text() + "\n".join(host.notes)
    assert "fine" in printed
    assert not any(secret in printed for secret in (GITHUB, "a plain passphrase", "hl_key"))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_secret_of_several_lines_before_the_kept_part_is_masked(host: Host) -> None:
    lines = [f"{number:04}{'A0b1' * 15}" for number in range(40)]
    key = "\n".join(("-----BEGIN PRIVATE " + "KEY-----", *lines, "-----END PRIVATE " + "KEY-----"))
    (host.workspace / "data").mkdir(parents=True)
    (host.workspace / "data" / "key").write_text(key + "\n")
    for before in (0, 100_000, 1_000_000):
        for after in (0, 63_000, 64_500, 65_500):
            host.set(f"fill() {{ yes 'some words' | head -c $1; echo; }}\nfill {before}\ncat data/key\nfill {after}")
            assert host.prepare(ON) == 0
            log = (host.workspace / "personal" / LOG).read_text()
            assert not any(line in log for line in lines)
            assert len(log) <= 65_536
            assert after == 0 or "some words" in log


@pytest.mark.parametrize("size", [100_000, 1_000_000])
@pytest.mark.parametrize("end", ["", "; echo"])
def test_output_without_line_ends_is_kept(host: Host, size: int, end: str) -> None:
    host.set(f"yes | tr -d '\\n' | head -c {size}{end}")
    assert host.prepare(ON) == 0
    log = (host.workspace / "personal" / LOG).read_text()
    assert len(log) > 60_000
    assert set(log.strip()) == {"y"}


def test_each_line_of_a_variable_is_masked(host: Host) -> None:
    host.environment["MINE"] = "first passphrase\r\n  second passphrase\nab\n"
    host.set('printf "%s\\n" "$MINE" | tail -n 2 | sed "s/^/> /"; echo "$MINE" | head -n 1; echo able')
    runs = RunSettings(is_on=True, is_strict=True, seconds=20, variables=("MINE",))
    assert host.prepare(runs) == 0
    log = (host.workspace / "personal" / LOG).read_text()
    assert "passphrase" not in log
    assert "able" in log


def test_a_character_is_not_cut() -> None:
    for more in range(4):
        assert set(readable_output(("ü" * 40_000 + "x" * more).encode(), [])) <= {"ü", "x"}


@pytest.mark.parametrize("is_strict", [True, False])
def test_a_signal_ends_the_preparation_and_the_script(
    service: Service, host: Host, tmp_path: Path, is_strict: bool
) -> None:
    host.set(f"trap 'touch {tmp_path}/cleaned; exit' TERM; echo $$ > {tmp_path}/id; sleep 1000 & wait")
    given = {
        "HIVELORE_HOME": str(tmp_path / "home"),
        "HIVELORE_URL": service.url,
        "HIVELORE_KEY": host.key,
        "HIVELORE_WORKSPACE": str(host.workspace),
        "HIVELORE_RUN_SETUP_SCRIPTS": "1",
        "STARTUP_SCRIPT_STRICT": str(int(is_strict)),
    }
    command = [Path(sys.executable).parent / "hivelore", "workspace", "prepare"]
    process = subprocess.Popen(command, env=os.environ | given, stderr=subprocess.PIPE)
    try:
        until((tmp_path / "id").exists)
        process.terminate()
        _, printed = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 143
    assert b"SIGTERM ended it" in printed
    assert (tmp_path / "cleaned").exists()


def test_a_program_that_is_missing_is_named(host: Host) -> None:
    host.workspace.mkdir()
    (host.workspace / "start-up.bun").write_text("console.log(1)\n")
    host.environment["PATH"] = str(host.workspace)
    with pytest.raises(NotFound, match="needs bun"):
        host.prepare(ON)


@pytest.mark.parametrize("head", ["#!/bin/bash -e", "#!/usr/bin/env -S bash -e"])
def test_the_program_and_its_options_are_those_of_the_first_line(host: Host, head: str) -> None:
    host.set(f"{head}\n[[ -n $BASH_VERSION ]] && touch ran\nfalse\ntouch more")
    assert host.prepare(ON) == 1
    assert (host.workspace / "ran").exists()
    assert not (host.workspace / "more").exists()


def test_a_file_in_another_language_runs_without_sections(host: Host) -> None:
    host.workspace.mkdir()
    content = f"#!{sys.executable}\nopen('ran', 'w')\n"
    host.file.write_text(content)
    assert host.prepare(ON) == 0
    assert (host.workspace / "ran").exists()
    host.set("echo one")
    with pytest.raises(Invalid, match=Path(sys.executable).name):
        host.prepare(ON)
    assert host.file.read_text() == content


def test_a_missing_program_of_the_first_line_is_named(host: Host) -> None:
    host.workspace.mkdir()
    host.file.write_text("#!/nowhere/sh\n")
    with pytest.raises(Conflict, match="/nowhere/sh, which runs"):
        host.prepare(ON)


def test_a_script_in_another_language_is_left_out_with_a_note(host: Host) -> None:
    host.workspace.mkdir()
    (host.workspace / "start-up.ts").write_text("last\n")
    host.set("apt-get install -y jq", None)
    host.set("#!/usr/bin/env bun\nfirst()")
    assert host.prepare() == 0
    text = (host.workspace / "start-up.ts").read_text()
    assert "//#!/usr/bin/env bun\nfirst()\n" in text
    assert "jq" not in text
    assert any("(global) is not in start-up.ts" in note for note in host.notes)


def test_a_first_line_without_effect_is_reported(host: Host) -> None:
    host.set("#!/bin/sh\necho all", None)
    host.set("#!/bin/bash\necho ada")
    host.prepare()
    assert any("'#!/bin/bash'" in note and "has no effect" in note for note in host.notes)


def test_only_usual_and_named_variables_are_passed_on() -> None:
    given = {"PATH": "p", "LC_ALL": "C", "HIVELORE_KEY": "k", "ANTHROPIC_API_KEY": "k", "MINE": "m", "LD_PRELOAD": "x"}
    passed = {"HOME": "/h", "PATH": "p", "LC_ALL": "C", "MINE": "m"}
    assert usual_environment({"HOME": "/h"} | given, ["MINE"]) == passed


def test_output_that_is_no_text_is_readable() -> None:
    assert readable_output(b"\xff\0ok", []) == "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}ok"


def test_a_found_section_names_its_owner(host: Host) -> None:
    host.set("echo ada")
    host.prepare()
    (found,) = extract(host.file.read_bytes(), Kind.SH).sections
    assert found.owner == host.id
