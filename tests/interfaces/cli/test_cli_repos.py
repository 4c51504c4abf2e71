"""The verb ``repo``, with a service and real repositories on this machine."""

import re
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from hivelore.cli import exits
from hivelore.errors import Forbidden
from hivelore.repos.clones import Clones, CloneTarget, SyncResult
from support import postgres
from support.command_line import CommandLine
from support.git_repos import Remote, git
from support.service import Service

WORKSPACE = "workspace"


@pytest.fixture(scope="module", params=postgres.DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    more = postgres.service_on(request.param)
    with Service(tmp_path_factory.mktemp("hivelore") / "home", repo_local_paths=True, **more) as running:
        yield running


@pytest.fixture
def cli(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line of a machine whose workspace is ``workspace`` in the temporary folder."""
    monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path / WORKSPACE))
    monkeypatch.setenv("HIVELORE_REPO_LOCAL_PATHS", "1")
    for repo in cli.json("repo", "list", "--limit", "100")["repos"]:
        cli("repo", "remove", repo["name"])
    return cli


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    made = Remote(tmp_path / "remote")
    made.commit({"CLAUDE.md": "Use tabs."})
    return made


def test_a_repository_is_added_shown_changed_and_removed(cli: CommandLine) -> None:
    added = cli("repo", "add", "https://example.com/acme/shop.git", "--guidelines", "-", stdin=b"Run make.\n")
    assert added.out == "Added: shop with the project example.com/acme/shop\n"
    shown = cli("repo", "show", "Shop").out
    assert "main (detected)" in shown
    assert "Run make." in shown
    changed = cli("repo", "update", "shop", "--branch", "next", "--no-auto", "--name", "store")
    assert changed.out == "Updated: store\n"
    (listed,) = cli.json("repo", "list")["repos"]
    assert (listed["name"], listed["defaultBranch"], listed["autoClone"]) == ("store", "next", False)
    assert "guidelines" not in listed
    assert "store" in cli("repo", "list").out
    assert cli.json("repo", "list", "--auto")["repos"] == []
    assert cli("repo", "remove", "store").out == "Removed: store\n"
    assert "No repositories" in cli("repo", "list").err
    batch = cli.json("batches", "-n", "1")["batches"][0]
    assert batch["kind"] == "registered"
    assert "store" in cli("batches", batch["id"]).out
    assert cli("undo", batch["id"]).out.startswith("Restored: ")
    assert cli.json("repo", "show", "store")["guidelines"] == "Run make."


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("add", "ext::sh"), "The URL is not allowed"),
        (("add", "https://ada:hunter2secret@example.com/x"), "credential helper"),
        (("add", "https://example.com/x", "--name", "../x"), "A repository's name"),
        (("update", "nothing"), "Say what to change"),
        (("update", "nothing", "--branch", "x"), "No repository 'nothing'"),
        (("show", "nothing"), "No repository 'nothing'"),
        (("sync", "nothing"), "No repository 'nothing'"),
        (("sync", "--timeout", "0"), "--timeout has 1 to 86,400 seconds"),
    ],
)
def test_errors_say_what_to_do(cli: CommandLine, words: tuple[str, ...], error: str) -> None:
    result = cli("repo", *words)
    assert result.code != 0
    assert error in result.err
    assert "hunter2secret" not in result.err + result.out


def test_d31_a_sync_clones_into_the_workspace_and_updates_what_is_there(
    cli: CommandLine, tmp_path: Path, remote: Remote
) -> None:
    cli("repo", "add", remote.url, "--name", "shop")
    (result,) = cli.json("repo", "sync")["repos"]
    shop = tmp_path / WORKSPACE / "repos" / "shop"
    assert (result["outcome"], result["path"], result["isInOrder"]) == ("cloned", str(shop), True)
    assert (shop / "CLAUDE.md").read_text() == "Use tabs."
    shown = cli.json("repo", "show", "shop")
    assert (shown["claudeMdContent"], shown["clonePath"], shown["claudeMdStale"]) == ("Use tabs.", str(shop), None)
    assert shown["lastSynced"] is not None
    tip = remote.commit({"CLAUDE.md": "Use spaces."})
    assert "updated" in cli("repo", "sync", "shop").out
    assert git(shop, "rev-parse", "HEAD") == tip
    section = cli("repo", "show", "shop", "--section").out
    fenced = r"<hivelore-repo-[0-9a-f]{16}>\nUse spaces\.\n</hivelore-repo"
    assert re.search(fenced, section)
    assert re.search(fenced, cli("prompt", "--agent", "local", "--repo", "shop").out)
    assert "hivelore:repo" not in cli("prompt", "--agent", "local").out
    unknown = cli("prompt", "--agent", "local", "--repo", "nothing")
    assert (unknown.code, "No repository 'nothing'. 'hivelore repo list'" in unknown.err) == (3, True)


def test_a_clone_that_needs_somebody_makes_the_exit_code_7(cli: CommandLine, tmp_path: Path, remote: Remote) -> None:
    other = Remote(tmp_path / "other")
    other.commit()
    cli("repo", "add", remote.url, "--name", "shop")
    cli("repo", "add", other.url, "--name", "other")
    cli("repo", "add", str(tmp_path / "nowhere"), "--name", "gone")
    cli("repo", "add", str(tmp_path / "nowhere"), "--name", "unwanted", "--no-auto")
    cli("repo", "sync")
    (tmp_path / WORKSPACE / "repos" / "shop" / "CLAUDE.md").write_text("Mine.")
    remote.commit({"CLAUDE.md": "Theirs."})
    result = cli("repo", "sync", "--json")
    assert result.code == exits.LEFT_OUT
    assert [(one["name"], one["outcome"]) for one in result.json["repos"]] == [
        ("gone", "unreachable"),
        ("other", "current"),
        ("shop", "dirty"),
    ]
    assert (tmp_path / WORKSPACE / "repos" / "shop" / "CLAUDE.md").read_text() == "Mine."
    shown = cli.json("repo", "show", "shop")
    assert (shown["claudeMdContent"], shown["claudeMdStale"]) == ("Theirs.", "moved")


def test_local_paths_need_the_setting_on_this_machine(
    cli: CommandLine, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("repo", "add", remote.url, "--name", "shop")
    monkeypatch.delenv("HIVELORE_REPO_LOCAL_PATHS")
    result = cli("repo", "sync")
    assert result.code == exits.LEFT_OUT
    assert "HIVELORE_REPO_LOCAL_PATHS=1" in result.out


def test_a_sync_of_a_former_url_is_not_reported(
    cli: CommandLine, tmp_path: Path, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Remote(tmp_path / "other")
    other.commit()
    cli("repo", "add", remote.url, "--name", "shop")
    sync = Clones.sync

    def sync_slowly(clones: Clones, target: CloneTarget, seconds: float, is_stopped: Callable[[], bool]) -> SyncResult:
        cli("repo", "update", "shop", "--url", other.url)
        return sync(clones, target, seconds, is_stopped)

    monkeypatch.setattr(Clones, "sync", sync_slowly)
    result = cli("repo", "sync", "--json")
    assert result.code == exits.LEFT_OUT
    assert "another URL or branch" in result.json["repos"][0]["detail"]
    assert cli.json("repo", "show", "shop")["claudeMdContent"] is None


def test_a_rewritten_history_is_reported(cli: CommandLine, remote: Remote) -> None:
    cli("repo", "add", remote.url, "--name", "shop")
    remote.commit({"CLAUDE.md": "Too much."})
    cli("repo", "sync")
    git(remote.work, "reset", "-q", "--hard", "HEAD~1")
    remote.push()
    assert cli("repo", "sync").code == 0  # The clone is ahead of the remote branch.
    assert cli.json("repo", "show", "shop")["claudeMdContent"] == "Use tabs."


def test_the_sync_of_a_worker_changes_what_the_worker_sees(
    cli: CommandLine, me: str, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("repo", "add", remote.url, "--name", "shop")
    key = cli("agent", "add", me).out.strip()
    monkeypatch.setenv("HIVELORE_KEY", key)
    assert cli("repo", "sync").code == 0
    assert cli.json("repo", "show", "shop")["claudeMdContent"] == "Use tabs."
    assert cli("repo", "update", "shop", "--branch", "x").code == exits.CODES[Forbidden]
    monkeypatch.delenv("HIVELORE_KEY")
    assert cli.json("repo", "show", "shop")["claudeMdContent"] is None


def test_n16_notes_of_a_repository_are_found_in_each_of_its_clones_and_nowhere_else(
    cli: CommandLine, tmp_path: Path, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Remote(tmp_path / "other")
    other.commit()
    cli("repo", "add", remote.url, "--name", "shop")
    cli("repo", "add", other.url, "--name", "other")
    cli("repo", "sync")
    clones = tmp_path / WORKSPACE / "repos"
    monkeypatch.chdir(clones / "shop")
    noted = cli.json("remember", "The quokka branch is deployed on Fridays.")["memory"]
    project = cli.json("repo", "show", "shop")["project"]
    assert noted["project"] == project
    monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path / "second"))
    cli("repo", "sync")
    for folder, found in (
        (clones / "shop", True),
        (tmp_path / "second" / "repos" / "shop", True),
        (clones / "other", False),
    ):
        monkeypatch.chdir(folder)
        ids = [hit["memory"]["id"] for hit in cli.json("recall", "quokka branch")["results"]]
        assert (noted["id"] in ids) is found
    monkeypatch.chdir(tmp_path)
    ids = [hit["memory"]["id"] for hit in cli.json("recall", "quokka branch", "--project", project)["results"]]
    assert noted["id"] in ids


@pytest.mark.parametrize("verb", ["list", "show", "add", "update", "remove", "sync"])
def test_the_example_in_the_help_runs(cli: CommandLine, remote: Remote, verb: str) -> None:
    (example,) = re.findall(r"^Example: hivelore (.+)$", cli("repo", verb, "--help").out, re.MULTILINE)
    cli("repo", "add", remote.url, "--name", "shop")
    result = cli(*example.split())
    assert result.code == 0, result.out + result.err
