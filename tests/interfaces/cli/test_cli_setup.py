"""setup and unsetup: the files they write, and their complete removal."""

import json
import os
from pathlib import Path

import pytest

from hivelore.cli.exits import CODES
from hivelore.errors import Conflict
from hivelore.hooks import install
from hivelore.integrations.targets import TARGETS
from hivelore.local.lock import read_owner
from support.command_line import CommandLine, environment, hivelore
from support.hooks import Hook
from support.powerless import without_override
from support.service import Service
from support.trees import everything

CONFLICT = CODES[Conflict]
PROGRAMS = tuple(TARGETS)
CLAUDE = b'{"model": "opus",  "mcpServers": {}}'
GEMINI = b'// mine\n{\n  "theme": "dark", // why\n  "mcpServers": {},\n}\n'
CODEX = b'model = "gpt-5" # mine\r\n\r\n[mcp_servers.other]\r\nurl = "http://127.0.0.1:1/mcp"\r\n'


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user with existing settings, with a name that is hard to quote."""
    folder = tmp_path / "a b'\"\n☃"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_bytes(CLAUDE)
    (folder / ".codex").mkdir()
    (folder / ".codex" / "config.toml").write_bytes(CODEX)
    (folder / ".gemini").mkdir()
    (folder / ".gemini" / "settings.json").write_bytes(GEMINI)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_setup_works_and_unsetup_leaves_nothing_behind(
    cli: CommandLine, service: Service, user: Path, program: str, scope: str
) -> None:
    place = user if scope == "user" else Path.cwd()
    before = everything(place)
    said = cli("setup", program, "--scope", scope)
    assert said.code == 0, said.err
    assert "a memory was written, found, injected and forgotten" in said.out
    after = everything(place)
    assert after != before
    assert "Nothing had to be changed." in cli("setup", program, "--scope", scope).out
    assert everything(place) == after
    undone = cli("unsetup", program)
    assert undone.code == 0, undone.err
    assert everything(place) == before
    assert [*service.home.glob("integrations"), *service.home.glob("bin")] == []


def test_disabled_hooks_are_not_reported_as_broken(
    alone: CommandLine, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_PROMPT_TOKENS", "0")
    try:
        said = alone("setup", "codex")
    finally:
        alone("stop")
    assert said.code == 0, said.err
    assert "HIVELORE_PROMPT_TOKENS of the service is 0" in said.out


def test_the_nudge_is_switched_on_and_off_for_the_installation(cli: CommandLine, service: Service, user: Path) -> None:
    asks = "An agent that learned something and stored nothing is asked for lessons, once in a session."
    assert asks not in cli("setup", "codex").out
    assert not install.nudges(service.home)
    assert asks in cli("setup", "codex", "--nudge").out
    assert install.nudges(service.home)
    assert asks in cli("setup", "claude-code").out
    assert cli.json("setup", "codex")["nudge"] is True
    assert asks not in cli("setup", "gemini").out  # It cannot be asked.
    cli("setup", "codex", "--no-nudge", "--dry-run")
    assert install.nudges(service.home)
    assert asks not in cli("setup", "codex", "--no-nudge").out
    assert not install.nudges(service.home)
    cli("setup", "codex", "--nudge")
    assert cli("unsetup").code == 0
    assert not install.nudges(service.home)


@pytest.mark.parametrize("words", [("setup", "claude-code", "--no-profile"), ("unsetup", "claude-code")])
def test_a_file_that_the_profile_replaced_comes_back_at_once(
    cli: CommandLine, service: Service, user: Path, words: tuple[str, ...]
) -> None:
    own = user / ".claude" / "CLAUDE.md"
    own.write_text("my own")
    cli("setup", "claude-code", "--profile")
    hook = Hook(install.file_in(service.home), service.home, user)
    hook("SessionStart", environ={"HOME": str(user), "HIVELORE_PROFILE_FILES": "on"})
    hook.finish()
    assert own.read_text() != "my own"
    own.write_text("an edit")
    said = cli(*words)
    assert f"{own} is as it was before" in said.out, said.err
    assert own.read_text() == "my own"
    assert cli.json("agent", "show", "local")["notes"] == "an edit"
    cli("unsetup")


def test_a_dry_run_shows_the_changes_and_makes_none(alone: CommandLine, elsewhere: Path, user: Path) -> None:
    before = everything(user)
    shown = alone("setup", "codex", "--dry-run")
    assert "+[mcp_servers.hivelore]" in shown.out.splitlines()
    result = alone.json("setup", "codex", "--dry-run")["plans"][0]
    assert result["program"] == "codex"
    assert {Path(each["path"]).name: each["change"] for each in result["changed"]} == {
        "hooks.json": "added",
        "config.toml": "changed",
        "SKILL.md": "added",
    }
    assert everything(user) == before
    assert not elsewhere.exists()


def test_unsetup_previews_its_changes_and_shows_edits_since(cli: CommandLine, user: Path) -> None:
    cli("setup", "codex")
    config = user / ".codex" / "config.toml"
    config.write_text(f'{config.read_text()}\n[mine]\nsince = "now"\n')
    after = everything(user)
    assert "-[mcp_servers.hivelore]" in cli("unsetup", "--dry-run").out.splitlines()
    assert everything(user) == after
    said = cli("unsetup").out
    assert f"{config} was changed since it was set up." in said
    assert "-[mcp_servers.hivelore]" in said.splitlines()
    assert "hivelore" not in config.read_text()
    assert '[mine]\nsince = "now"' in config.read_text()


def test_only_the_named_program_is_removed(cli: CommandLine, user: Path) -> None:
    for program in PROGRAMS:
        cli("setup", program)
    cli("setup", "codex", "--scope", "project")
    undone = cli.json("unsetup", "codex", "--scope", "user")["undone"]
    assert [(one["program"], one["project"]) for one in undone] == [("codex", None)]
    undone = cli.json("unsetup")["undone"]
    left = {(program, None) for program in PROGRAMS} - {("codex", None)} | {("codex", str(Path.cwd()))}
    assert {(one["program"], one["project"]) for one in undone} == left
    assert cli("unsetup").code == 3


@pytest.mark.parametrize("content", [b"model = ", b'mcp_servers = "none"\n', b"\xff"])
def test_broken_settings_are_named_and_nothing_is_changed(
    alone: CommandLine, elsewhere: Path, user: Path, content: bytes
) -> None:
    config = user / ".codex" / "config.toml"
    config.write_bytes(content)
    before = everything(user)
    refused = alone("setup", "codex")
    assert refused.code == 5
    assert str(config) in refused.err
    assert "Nothing was changed" in refused.err
    assert everything(user) == before
    assert read_owner(elsewhere) is None


def test_comments_in_settings_survive_later_edits(cli: CommandLine, user: Path) -> None:
    settings = user / ".gemini" / "settings.json"
    assert cli("setup", "gemini").code == 0
    assert set(GEMINI.splitlines()) - {b'  "mcpServers": {},'} <= set(settings.read_bytes().splitlines())
    settings.write_bytes(settings.read_bytes().replace(b'"dark", // why', b'"light", // since today'))
    said = cli("unsetup").out
    assert f"{settings} was changed since it was set up." in said
    assert settings.read_bytes() == b'// mine\n{\n  "theme": "light", // since today\n}\n'


def test_an_unwritable_home_is_named_and_nothing_is_changed(elsewhere: Path, user: Path) -> None:
    env = environment(elsewhere, HOME=str(user), HIVELORE_HOME=str(elsewhere))
    before = everything(user)
    for folder in (user / ".claude", user):
        folder.chmod(0o500)
    refused = hivelore("setup", "claude-code", env=env, before=without_override())
    user.chmod(0o700)
    assert refused.code == 1
    assert f"{user / '.claude'} cannot be written" in refused.err
    assert everything(user) == before
    assert read_owner(elsewhere) is None


def test_settings_of_programs_contain_no_key(cli: CommandLine, service: Service, user: Path) -> None:
    for program in PROGRAMS:
        cli("setup", program)
    written = [content for content in everything(user).values() if isinstance(content, bytes)]
    assert not any(service.agent_key.encode() in content for content in written)
    receipts = list((service.home / "integrations").iterdir())
    assert all(receipt.stat().st_mode & 0o077 == 0 for receipt in receipts)
    cli("unsetup")


def test_moved_settings_are_found(
    cli: CommandLine, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    changed = cli.json("setup", "claude-code")["changed"]
    assert {os.path.commonpath([each["path"], tmp_path / "claude"]) for each in changed} == {str(tmp_path / "claude")}
    server = json.loads((tmp_path / "claude" / "skills" / "hivelore" / ".mcp.json").read_text())
    assert Path(server["mcpServers"]["hivelore"]["command"]).is_absolute()
    cli("unsetup")
    assert not (tmp_path / "claude").exists()


def test_the_skill_says_where_files_are_memories(cli: CommandLine, service: Service, user: Path) -> None:
    said = cli("setup", "codex").out
    skill = (user / ".codex" / "skills" / "hivelore" / "SKILL.md").read_text()
    assert f"`{service.home}/workspace`" in skill
    assert f"Files in {service.home}/workspace/personal/memory" in " ".join(said.split())


def test_a_chosen_workspace_is_stored(cli: CommandLine, service: Service, user: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "files"
    before = service.home / "workspace"
    (before / "shared/memory/note.md").write_text("Words.")
    refused = cli("setup", "codex", "--workspace", str(chosen))
    assert (refused.code, "Move them to" in " ".join(refused.err.split())) == (CONFLICT, True)
    assert not chosen.exists()
    (before / "shared/memory/note.md").unlink()
    result = cli("setup", "codex", "--workspace", str(chosen))
    assert result.code == 0, result.err
    assert "'hivelore stop' and 'hivelore start'" in result.out
    assert (chosen / "personal/memory").is_dir()
    assert before.readlink() == chosen
    skill = user / ".codex" / "skills" / "hivelore" / "SKILL.md"
    assert f"`{chosen}`" in skill.read_text()
    assert "Nothing had to be changed." in cli("setup", "codex").out
    before.unlink()
    cli("unsetup")
    before.mkdir()


def test_a_workspace_that_contradicts_the_environment_is_refused(
    alone: CommandLine, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path / "a"))
    refused = alone("setup", "codex", "--workspace", str(tmp_path / "b"))
    assert (refused.code, "unset it" in " ".join(refused.err.split())) == (CONFLICT, True)


def test_instructions_for_a_remote_service_name_no_folders(
    alone: CommandLine, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_URL", "http://203.0.113.1:4483")
    shown = alone("setup", "codex", "--dry-run").out
    assert "memory-store" in shown
    assert "personal/memory" not in shown


def test_instructions_name_the_memory_folders(cli: CommandLine, service: Service) -> None:
    short, whole = cli("teach", "--short"), cli("teach")
    assert (short.code, whole.code) == (0, 0)
    assert len(short.out.splitlines()) == 3
    for said in (short.out, whole.out):
        assert "memory-search" in said
        assert str(service.home.resolve() / "workspace") in said
