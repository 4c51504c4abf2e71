"""Git commands that run unattended."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from hivelore.errors import Unavailable
from hivelore.local.git_command import Git


def made(folder: Path, seconds: float = 20, **more: str) -> Git:
    return Git(seconds, folder, environment={**os.environ, **more})


def test_the_answer_has_code_output_and_errors(tmp_path: Path) -> None:
    git = made(tmp_path)
    assert git.run(tmp_path, ["version"]).text.startswith("git version")
    failed = git.run(tmp_path, ["rev-parse", "HEAD"])
    assert failed.code == 128
    assert "not a git repository" in failed.errors


def test_the_output_is_cut(tmp_path: Path) -> None:
    answer = made(tmp_path).run(tmp_path, ["-c", "alias.x=!yes", "x"], most=1_000)
    assert answer.is_done
    assert len(answer.output) == 1_000


@pytest.mark.parametrize("words", ["sleep 60", "yes >&2", "sleep 60 & sleep 60", "trap '' TERM INT HUP; sleep 60"])
def test_a_command_ends_with_all_that_it_started_when_the_time_is_up(tmp_path: Path, words: str) -> None:
    mark = f"{time.monotonic_ns()}"
    begun = time.monotonic()
    answer = made(tmp_path, 0.5).run(tmp_path, ["-c", f"alias.x=!: {mark}; {words}", "x"])
    assert answer.code is None
    assert time.monotonic() - begun < 15
    assert len(answer.errors) <= 4_096
    assert mark not in _all_commands()


def test_a_command_has_time_to_remove_its_lock_files(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    words = f"trap 'touch {mark}; exit 1' TERM; touch {tmp_path}/begun; sleep 60 & wait"
    assert made(tmp_path, 1).run(tmp_path, ["-c", f"alias.x=!{words}", "x"]).code is None
    assert mark.exists()


def test_settings_and_variables_are_added(tmp_path: Path) -> None:
    git = made(tmp_path)
    assert git.run(tmp_path, ["config", "core.eol"], settings=["core.eol=lf"]).text == "lf"
    assert git.run(tmp_path, ["-c", "alias.x=!echo $HUE", "x"], variables={"HUE": "blue"}).text == "blue"


def test_nothing_runs_after_the_deadline(tmp_path: Path) -> None:
    made(tmp_path, -1).run(tmp_path, ["init", "."])
    assert not (tmp_path / ".git").exists()


def test_a_program_in_the_background_does_not_keep_the_command_waiting(tmp_path: Path) -> None:
    begun = time.monotonic()
    answer = made(tmp_path, 40).run(tmp_path, ["-c", "alias.x=!(sleep 30 &) ; echo done", "x"])
    assert (answer.code, answer.text) == (0, "done")
    assert time.monotonic() - begun < 20


def test_variables_of_git_that_name_repositories_or_print_secrets_are_removed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    git = made(tmp_path, GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other), GIT_TRACE="1", GIT_SSH_COMMAND="ssh -v")
    answer = git.run(tmp_path, ["rev-parse", "--git-dir"])
    assert answer.code == 128
    assert "trace" not in answer.errors
    shown = git.run(tmp_path, ["-c", "alias.x=!env", "x"]).text
    assert "GIT_SSH_COMMAND=ssh -v" in shown
    assert "GIT_TERMINAL_PROMPT=0" in shown


def test_repositories_above_the_ceiling_are_not_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    inner = tmp_path / "repos" / "shop"
    inner.mkdir(parents=True)
    assert made(tmp_path / "repos").run(inner, ["rev-parse", "--git-dir"]).code == 128


def test_only_https_and_ssh_are_spoken(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for url in (
        f"ext::touch {mark}",
        "git://127.0.0.1:9/x",
        "http://127.0.0.1:9/x",
        str(tmp_path),
        f"file://{tmp_path}",
    ):
        answer = made(tmp_path).run(tmp_path, ["ls-remote", "--", url])
        assert "not allowed" in answer.errors
    assert not mark.exists()


def test_a_missing_git_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="Install git"):
        Git(9, tmp_path, environment={"PATH": str(tmp_path)}).run(tmp_path, ["version"])


def _all_commands() -> str:
    return subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True).stdout
