"""``import`` of a database of Agent Swarm: agents, setup scripts, repositories and configuration."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hivelore.cli import exits
from hivelore.errors import Unavailable
from hivelore.python.remote import RemoteHive
from hivelore.repos.operations import ADD_REPO
from support.agent_swarm import entry, make
from support.command_line import CommandLine, environment, hivelore
from support.fake_secrets import scramble
from support.on_disk import written
from support.service import Service

SECRET = "correct-horse-7-battery"
Build = Callable[..., Path]


class Swarm:
    """A database with names that no other test uses."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mark = uuid4().hex[:8]
        self.ada, self.bob = str(uuid4()), f"bob-{self.mark}"
        self.repo = f"shop-{self.mark}"
        self.url = f"https://example.com/{self.mark}/shop"

    def key(self, name: str) -> str:
        return f"{name}_{self.mark.upper()}"

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        return {
            "agents": [
                {
                    "id": self.ada,
                    "name": f"ada {self.mark}",
                    "role": "reviewer",
                    "description": "Reads diffs.",
                    "capabilities": '["python", "sql"]',
                    "maxTasks": 3,
                    "soulMd": "You are Ada.",
                    "identityMd": "Works slowly.",
                    "claudeMd": "### Learnings\nUse make.",
                    "setupScript": "apt-get install -y jq",
                },
                {"id": self.bob, "name": f"bob {self.mark}", "capabilities": None, "setupScript": " "},
            ],
            "swarm_repos": [{"id": f"r-{self.mark}", "url": self.url, "name": self.repo, "autoClone": 0}],
            "swarm_config": [
                entry(self.key("URL"), "https://api.example.com", description="The API."),
                entry(self.key("TOKEN"), SECRET, "agent", self.ada, isSecret=1),
                entry(self.key("LEVEL"), "2", "agent", self.bob),
                entry(self.key("DB"), "x", "repo", f"r-{self.mark}"),
            ],
        }

    def make(self, rows: Mapping[str, Any] | None = None, **more: Any) -> str:
        self.path.unlink(missing_ok=True)
        return str(make(self.path, self.rows() if rows is None else rows, **more))


@pytest.fixture
def swarm(tmp_path: Path) -> Swarm:
    return Swarm(tmp_path / "agent-swarm-db.sqlite")


def results(report: Any) -> dict[str, str]:
    return {f"{one['kind']} {one['name']}": one["result"] for one in report["items"]}


def reasons(report: Any) -> list[str]:
    return [one["reason"] for one in report["items"] if one["reason"]]


def left_out(cli: CommandLine, *words: str) -> Any:
    """Returns the report of an import that left something out."""
    done = cli("import", *words, "--json")
    assert done.code == exits.LEFT_OUT, done.err
    return done.json


def state(cli: CommandLine) -> str:
    """Returns what an import may change."""
    agents = cli.json("agent", "list")["agents"]
    repos = cli.json("repo", "list")["repos"]
    config = cli.json("config", "list")["entries"]
    batches = cli.json("batches")["batches"]
    return json.dumps([agents, repos, config, batches])


def test_everything_arrives_once(cli: CommandLine, service: Service, swarm: Swarm) -> None:
    path = swarm.make()
    before = state(cli)
    preview = cli.json("import", path, "--dry-run")
    assert (preview["created"], preview["dryRun"], state(cli)) == (8, True, before)

    report = cli.json("import", path)
    assert results(report) == results(preview)
    assert (report["created"], report["unchanged"], report["conflict"], report["refused"]) == (8, 0, 0, 0)

    profile = cli.json("agent", "show", f"ada {swarm.mark}")
    assert profile["agentId"] == swarm.ada
    assert {name: profile[name] for name in ("role", "description", "capabilities", "soul", "identity", "notes")} == {
        "role": "reviewer",
        "description": "Reads diffs.",
        "capabilities": ["python", "sql"],
        "soul": "You are Ada.",
        "identity": "Works slowly.",
        "notes": "### Learnings\nUse make.",
    }
    bob = cli.json("agent", "show", f"bob {swarm.mark}")
    assert f"You are bob {swarm.mark}." in bob["soul"]
    script = cli.json("setup-script", "show", "--agent", swarm.ada)
    assert script["setupScript"] == "apt-get install -y jq\n"
    repo = cli.json("repo", "show", swarm.repo)
    assert (repo["url"], repo["defaultBranch"], repo["autoClone"]) == (swarm.url, "main", False)
    (token,) = cli.json("config", "list", "--scope", "agent", "--scope-id", swarm.ada)["entries"]
    assert (token["isSecret"], token["value"]) == (True, "********")
    assert cli("config", "reveal", token["id"]).out == f"{SECRET}\n"
    (entry_of_repo,) = cli.json("config", "list", "--scope", "repo", "--scope-id", swarm.repo)["entries"]
    assert entry_of_repo["value"] == "x"

    after = state(cli)
    again = cli.json("import", path)
    assert (again["created"], again["unchanged"], state(cli)) == (0, 8, after)
    assert SECRET.encode() not in written(service.home)


def test_the_report_for_people(cli: CommandLine, swarm: Swarm) -> None:
    path = swarm.make()
    preview = cli("import", path, "--dry-run")
    assert preview.out.splitlines()[-1] == (
        "8 items: 8 created, 0 unchanged, 0 conflict, 0 refused. Nothing was stored."
    )
    assert f"global {swarm.key('URL')}" in preview.out
    done = cli("import", path)
    assert done.out == "8 items: 8 created, 0 unchanged, 0 conflict, 0 refused.\n"
    assert "hivelore agent add NAME" in done.err
    key = cli.json("agent", "add", f"ada {swarm.mark}", "--role", "lead")
    assert key["agent"]["id"] == swarm.ada


def test_nothing_that_exists_is_changed(cli: CommandLine, swarm: Swarm) -> None:
    cli("import", swarm.make())
    rows = swarm.rows()
    rows["agents"][0] |= {"soulMd": "You are another.", "setupScript": "true"}
    rows["swarm_repos"][0] |= {"defaultBranch": "trunk"}
    rows["swarm_config"][0] |= {"value": "https://other.example.com"}
    rows["swarm_config"][1] |= {"value": "another-secret-9"}
    before = state(cli)
    report = left_out(cli, swarm.make(rows))
    assert (report["conflict"], report["refused"], report["unchanged"], report["created"]) == (3, 3, 2, 0)
    assert "Its repository was not imported." in reasons(report)
    assert reasons(report).count("Its agent was not imported.") == 2  # its script and its secret
    assert "The agent has another text here: soul." in reasons(report)
    assert state(cli) == before
    assert cli.json("agent", "show", swarm.ada)["soul"] == "You are Ada."
    assert "another-secret-9" not in json.dumps(report)
    rows["agents"][0] |= {"soulMd": "You are Ada."}
    report = left_out(cli, swarm.make(rows))
    assert (report["conflict"], report["refused"], report["unchanged"], report["created"]) == (4, 1, 3, 0)
    assert state(cli) == before


def test_an_agent_that_a_runner_added_gets_its_profile_and_its_name(cli: CommandLine, swarm: Swarm) -> None:
    cli("list", "--agent", swarm.ada)
    assert cli.json("import", swarm.make())["created"] == 8
    assert cli.json("agent", "show", f"ada {swarm.mark}")["agentId"] == swarm.ada


def test_an_agent_of_the_same_name_is_another_agent(cli: CommandLine, swarm: Swarm) -> None:
    cli("agent", "add", f"ada {swarm.mark}")
    report = left_out(cli, swarm.make())
    assert results(report)[f"agent ada {swarm.mark}"] == "conflict"
    assert reasons(report).count("Its agent was not imported.") == 2  # its script and its secret
    assert cli.json("config", "list", "--scope", "agent", "--scope-id", f"ada {swarm.mark}")["entries"] == []


def test_an_import_can_be_undone_and_repeated(cli: CommandLine, swarm: Swarm) -> None:
    cli("import", swarm.make())
    for batch in cli.json("batches", "-n", "7")["batches"]:
        assert cli("undo", batch["id"]).code == 0
    assert swarm.repo not in cli("repo", "list").out
    assert swarm.key("URL") not in cli("config", "list").out
    assert cli.json("setup-script", "show", "--agent", swarm.ada)["setupScript"] is None
    profile = cli.json("agent", "show", swarm.ada)
    assert (profile["name"], profile["role"]) == (f"ada {swarm.mark}", "reviewer")
    assert f"You are ada {swarm.mark}, reviewer." in profile["soul"]
    again = cli.json("import", swarm.path.as_posix())
    assert (again["created"], again["unchanged"]) == (7, 1)  # Bob, whose texts are the default ones, is still here.
    assert cli.json("agent", "show", swarm.ada)["soul"] == "You are Ada."


def test_what_hivelore_does_not_allow_is_refused_with_a_reason(cli: CommandLine, swarm: Swarm) -> None:
    token = f"ghp_{scramble(36)}"
    rows = {
        "agents": [
            {"id": str(uuid4()), "name": f"long {swarm.mark}", "soulMd": "x" * 65_537},
            {"id": str(uuid4()), "name": f"odd {swarm.mark}", "capabilities": "{}"},
            {"id": str(uuid4()), "name": f"half {swarm.mark}", "capabilities": '["\\ud800"]'},
            {"id": str(uuid4()), "name": "me"},
            {"id": f"script {swarm.mark}", "name": f"script {swarm.mark}", "setupScript": f"export T={token}"},
            {"id": str(uuid4()), "name": f"script {swarm.mark}"},
        ],
        "swarm_repos": [
            {"id": "1", "url": "ext::sh -c id", "name": f"ext-{swarm.mark}"},
            {"id": "2", "url": f"https://u:{token}@example.com/x", "name": f"pw-{swarm.mark}"},
            {"id": "3", "url": "https://example.com/x", "name": "../up"},
        ],
        "swarm_config": [
            entry("LD_PRELOAD", "/tmp/x.so"),
            entry(token, "x"),
            entry(swarm.key("LARGE"), "x" * 40_000),
            entry(swarm.key("NUL"), "a\0b"),
            entry(swarm.key("BLOB"), b"\xff"),
            entry(swarm.key("FILE"), "x", envPath="/etc/passwd"),
            entry(swarm.key("NOBODY"), "x", "agent", "nobody"),
            entry(swarm.key("TWICE"), "1"),
            entry(swarm.key("TWICE"), "2") | {"id": "again"},
        ],
    }
    path = swarm.make(rows)
    report = left_out(cli, path)
    assert (report["created"], report["conflict"], report["refused"]) == (2, 1, 16)
    text = json.dumps(report)
    assert token not in text
    for reason in (
        "soul has 65,537 bytes",
        "capabilities is not a JSON list",
        "capabilities has half of a surrogate pair",
        "stands for the calling agent",
        "seems to have a secret",
        "Another agent has this name",
        "The URL is not allowed",
        "LD_PRELOAD is reserved",
        "The key looks like a secret",
        "value has 40,000 bytes",
        "value has a NUL character",
        "value is not a text",
        "outside of the workspace",
        "Its agent was not imported",
        "The file has it twice",
    ):
        assert reason in text
    for words in ((path, "--dry-run"), (path,)):
        done = cli("import", *words)
        assert (done.code, token in done.out + done.err) == (exits.LEFT_OUT, False)


def test_secrets_are_encrypted_even_if_the_database_does_not_say_so(cli: CommandLine, swarm: Swarm) -> None:
    token = f"ghp_{scramble(36)}"
    rows = {
        "agents": [{"id": swarm.ada, "name": swarm.mark, "claudeMd": f"The token is {token}."}],
        "swarm_config": [entry(swarm.key("TOKEN"), token), entry(swarm.key("PIN"), "1", isSecret="yes")],
    }
    path = swarm.make(rows)
    done = cli("import", path)
    assert (done.code, token in done.out + done.err) == (0, False)
    entries = [one for one in cli.json("config", "list")["entries"] if one["key"].endswith(swarm.mark.upper())]
    assert [one["value"] for one in entries] == ["********", "********"]
    assert token not in cli.json("agent", "show", swarm.mark)["notes"]
    assert cli.json("import", path)["unchanged"] == 3  # Masked texts are compared with masked ones.


def test_lines_of_env_files_are_kept_in_the_workspace(cli: CommandLine, service: Service, swarm: Swarm) -> None:
    folder = service.home / "workspace" / swarm.mark
    folder.mkdir(parents=True)
    rows = {"swarm_config": [entry(swarm.key("K"), "v", envPath=f"/workspace/{swarm.mark}/.env")]}
    path = swarm.make(rows)
    assert cli.json("import", path)["created"] == 1
    assert (folder / ".env").read_text() == f"{swarm.key('K')}=v\n"
    assert cli.json("import", path)["unchanged"] == 1


@pytest.mark.parametrize("added", [(), ("claudeMd",), ("claudeMd", "soulMd", "identityMd")])
def test_databases_of_early_versions_are_imported(cli: CommandLine, swarm: Swarm, added: tuple[str, ...]) -> None:
    rows = swarm.rows()
    kept = {"id", "name", "role", "description", "capabilities", *added}
    agents = [{name: value for name, value in row.items() if name in kept} for row in rows["agents"]]
    assert cli.json("import", swarm.make({"agents": agents}, added=added))["created"] == 2
    profile = cli.json("agent", "show", swarm.ada)
    assert profile["role"] == "reviewer"
    assert ("Use make." in profile["notes"]) is ("claudeMd" in added)


def test_a_view_in_place_of_a_table_is_reported(cli: CommandLine, swarm: Swarm) -> None:
    swarm.make({"swarm_config": [entry(swarm.key("K"), "v")]})
    with closing(sqlite3.connect(swarm.path)) as db, db:
        db.execute("DROP TABLE agents")
        db.execute("CREATE VIEW agents AS SELECT '1' AS id, 'x' AS name")
    report = left_out(cli, str(swarm.path))
    assert (report["created"], report["refused"]) == (1, 1)
    assert "agents is a view" in reasons(report)[0]


def test_only_operators_import_a_database(cli: CommandLine, service: Service, swarm: Swarm) -> None:
    path = swarm.make()
    for role in ("worker", "lead"):
        key = cli.json("agent", "add", f"{role} {swarm.mark}", "--role", role)["key"]
        env = environment(service.home, HIVELORE_URL=service.url, HIVELORE_KEY=key)
        for words in ((path,), (path, "--dry-run")):
            done = hivelore("import", *words, env=env)
            assert done.code == 4
            assert "Only an operator" in done.err


def test_options_and_files_that_do_not_fit_are_refused(cli: CommandLine, swarm: Swarm, tmp_path: Path) -> None:
    for option in ("--project", "--agent", "--since"):
        assert cli("import", swarm.make(), option, "30d").code == exits.USAGE
    other = make(tmp_path / "other.sqlite", {}, schema=["CREATE TABLE memories (id)"])
    done = cli("import", str(other))
    assert (done.code, "not one of Agent Swarm" in done.err) == (exits.USAGE, True)


STOPS: tuple[tuple[BaseException, int], ...] = (
    (KeyboardInterrupt(), exits.INTERRUPTED),
    (Unavailable("The service does not answer."), exits.code_of(Unavailable(""))),
)


@pytest.mark.parametrize(("stop", "code"), STOPS)
def test_a_stopped_import_reports_what_it_did(
    cli: CommandLine, swarm: Swarm, monkeypatch: pytest.MonkeyPatch, stop: BaseException, code: int
) -> None:
    call = RemoteHive._run

    def run(self: RemoteHive, operation: Any, request: Any) -> Any:
        if operation is ADD_REPO:
            raise stop
        return call(self, operation, request)

    rows = swarm.rows()
    rows["agents"].append({"id": "nameless", "name": ""})
    path = swarm.make(rows)
    with monkeypatch.context() as changed:
        changed.setattr(RemoteHive, "_run", run)
        done = cli("import", path, "--json")
        assert done.code == code
        assert (done.json["incomplete"], done.json["created"], done.json["refused"]) == (True, 3, 1)
        again = cli("import", path)
        assert again.code == code
        assert "4 items: 0 created, 3 unchanged, 0 conflict, 1 refused. The import is incomplete.\n" in again.out
        assert "agent nameless: refused. It has no name." in again.err
    assert left_out(cli, path)["incomplete"] is False
