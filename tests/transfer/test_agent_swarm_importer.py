"""Imports from Agent Swarm while others write, and after an interruption."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hivelore.configuration.model import ConfigScope
from hivelore.configuration.operations import SET_CONFIG
from hivelore.core.agents import AgentId
from hivelore.core.operation import Operation
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Unavailable
from hivelore.identity.operations import UPDATE_PROFILE
from hivelore.python.hive import R
from hivelore.python.remote import RemoteHive
from hivelore.repos.operations import ADD_REPO
from hivelore.setup_scripts.operations import SET_SETUP_SCRIPT
from hivelore.transfer.agent_swarm.importer import SwarmImporter
from hivelore.transfer.agent_swarm.model import Outcome, Result, Row, Table, TableName, Unreadable
from support.agent_swarm import entry
from support.fake_secrets import scramble
from support.postgres import DATABASES, service_on
from support.service import Service

Act = Callable[[RemoteHive, Any], object]


class DisturbedHive(RemoteHive):
    """A hive of an operator in which something else happens just before the first call of an operation."""

    def __init__(self, service: Service, operation: Operation[..., Any], act: Act) -> None:
        super().__init__(service.client(service.operator_key))
        self._operation = operation
        self._act: Act | None = act

    def _run(self, operation: Operation[..., R], request: Any) -> R:
        if operation is self._operation and self._act is not None:
            act, self._act = self._act, None
            act(self, request)
        return super()._run(operation, request)


@pytest.fixture(scope="module", params=DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore") / "home", **service_on(request.param)) as running:
        yield running


class Source:
    """The tables of one test."""

    def __init__(self) -> None:
        self.mark = uuid4().hex[:8]
        self.agent = str(uuid4())

    def tables(self) -> dict[TableName, Table]:
        agent: Row = {"id": self.agent, "name": self.mark, "soulMd": "You are Ada.", "setupScript": "true"}
        repo: Row = {"id": "r", "url": f"https://example.com/{self.mark}/shop", "name": self.mark, "autoClone": 1}
        config = [entry(f"{name}_{self.mark}", "one", isSecret=name == "TOKEN") for name in ("URL", "TOKEN")]
        return {
            TableName.AGENTS: Table((agent,)),
            TableName.REPOS: Table((repo,)),
            TableName.CONFIG: Table(tuple(config)),
        }

    def run(self, service: Service, hive: RemoteHive) -> list[str]:
        return [one.result for one in run_import(service, self.tables(), hive)]


def hive(service: Service) -> RemoteHive:
    return RemoteHive(service.client(service.operator_key))


def run_import(
    service: Service, tables: Mapping[TableName, Table], importing: RemoteHive | None = None
) -> Sequence[Outcome]:
    def acting_as(agent: AgentId) -> closing[RemoteHive]:
        return closing(RemoteHive(service.client(service.operator_key, agent)))

    return [*SwarmImporter(importing or hive(service), acting_as, dry_run=False).run(tables)]


def workspace(service: Service) -> Path:
    return service.home / "workspace"


CALLS: tuple[Operation[..., Any], ...] = (UPDATE_PROFILE, SET_SETUP_SCRIPT, ADD_REPO, SET_CONFIG)
"""The operations that an import calls, in their order."""
PLACES = range(len(CALLS))


@pytest.mark.parametrize("place", PLACES)
def test_what_another_import_did_meanwhile_is_no_conflict(service: Service, place: int) -> None:
    source, operation = Source(), CALLS[place]
    disturbed = DisturbedHive(service, operation, lambda other, request: other.call(operation, request))
    found = source.run(service, disturbed)
    assert not {Result.CONFLICT, Result.REFUSED} & {*found}
    assert source.run(service, hive(service)) == [Result.UNCHANGED] * 5


OTHERS: tuple[dict[str, str], ...] = (
    {"soul": "You are another."},
    {"setup_script": "false\n"},
    {"url": "https://example.com/x"},
    {"value": "two"},
)


@pytest.mark.parametrize("place", PLACES)
def test_what_another_writer_did_meanwhile_stays(service: Service, place: int) -> None:
    source, operation, change = Source(), CALLS[place], OTHERS[place]

    def write(other: RemoteHive, request: Any) -> None:
        any_version = {} if operation is ADD_REPO else {"version": None}
        other.call(operation, replace(request, **any_version, **change))

    found = source.run(service, DisturbedHive(service, operation, write))
    assert found[place] == Result.CONFLICT
    # The script of an agent in conflict is not stored.
    assert found.count(Result.CREATED) == (3 if operation is UPDATE_PROFILE else 4)
    reading = hive(service)
    kept = (
        reading.profile(source.agent).soul,
        reading.setup_script(source.agent).setup_script,
        reading.repo(source.mark).url,
        reading.config(scope=ConfigScope.GLOBAL).entries,
    )
    if operation is SET_CONFIG:
        assert [one.value for one in kept[3] if one.key == f"URL_{source.mark}"] == ["two"]
    else:
        assert kept[place] == next(iter(change.values()))


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupted_import_continues(service: Service, place: int) -> None:
    source = Source()

    def fail(_: RemoteHive, __: Any) -> None:
        raise Unavailable("The service does not answer.")

    with pytest.raises(Unavailable):
        source.run(service, DisturbedHive(service, CALLS[place], fail))
    again = source.run(service, hive(service))
    assert again == [*[Result.UNCHANGED] * place, *[Result.CREATED] * (5 - place)]


def test_agents_may_not_import(service: Service) -> None:
    with pytest.raises(Forbidden, match="Only an operator"):
        Source().run(service, RemoteHive(service.client(service.agent_key)))


def agents_table(*given: Row) -> dict[TableName, Table]:
    return {TableName.AGENTS: Table(given)}


def config_table(*given: Row) -> dict[TableName, Table]:
    return {TableName.CONFIG: Table(given)}


def test_an_agent_in_conflict_gets_no_scripts_and_entries_of_another(service: Service) -> None:
    mark = uuid4().hex[:8]
    run_import(service, agents_table({"id": f"w-{mark}", "name": mark, "soulMd": "You are Ada."}))
    entries = [entry("TOKEN", "one", "agent", f"w-{mark}", isSecret=1), entry("LEVEL", "2", "agent", f"w-{mark}")]
    for other in ({"name": f"other {mark}"}, {"name": mark, "soulMd": "You are Bob."}, {"name": mark, "role": b""}):
        row: Any = {"id": f"w-{mark}", "setupScript": "false"} | other
        if other.get("role") is not None:
            row["role"] = Unreadable("is not a text")
        found = run_import(service, agents_table(row) | config_table(*entries))
        assert [one.result for one in found][1:] == [Result.REFUSED] * 3
        assert {one.reason for one in found[1:]} == {"Its agent was not imported."}
    reading = hive(service)
    assert reading.setup_script(mark).setup_script is None
    assert reading.config(scope=ConfigScope.AGENT, scope_id=mark).entries == ()


def test_entries_for_agents_that_the_file_lacks_are_refused(service: Service) -> None:
    mark = uuid4().hex[:8]
    local = service.client(service.operator_key, "local").call("GET", "/api/me")["agentId"]
    run_import(service, agents_table({"id": f"w-{mark}", "name": mark}))
    for scope_id in (local, f"w-{mark}"):
        (found,) = run_import(service, config_table(entry("LEVEL", "2", "agent", scope_id)))
        assert (found.result, found.reason) == (Result.REFUSED, "Its agent was not imported.")


def test_the_second_row_of_an_agent_gives_no_script(service: Service) -> None:
    agent = str(uuid4())
    first: Row = {"id": agent, "name": agent[:8]}
    second: Row = {"id": agent.upper(), "name": agent[:8], "setupScript": "false"}
    found = run_import(service, agents_table(first, second))
    assert [one.result for one in found] == [Result.CREATED, Result.REFUSED, Result.REFUSED]
    assert hive(service).setup_script(agent).setup_script is None


def test_default_texts_are_those_of_the_imported_agent(service: Service) -> None:
    mark, agent = uuid4().hex[:8], str(uuid4())
    row: Row = {
        "id": agent,
        "name": f"ada {mark}",
        "role": "reviewer",
        "description": "Reads diffs.",
        "capabilities": '["sql"]',
        "identityMd": "Works slowly.",
    }
    assert [one.result for one in run_import(service, agents_table(row))] == [Result.CREATED]
    profile = hive(service).profile(agent)
    assert f"You are ada {mark}, reviewer." in profile.soul
    assert profile.identity == "Works slowly."
    for part in (f"# Agent: ada {mark}", "reviewer", "Reads diffs.", "- sql"):
        assert part in profile.notes
    assert agent not in profile.soul + profile.notes
    assert [one.result for one in run_import(service, agents_table(row))] == [Result.UNCHANGED]


def test_what_the_service_refuses_for_another_reason_is_no_conflict(service: Service) -> None:
    mark = uuid4().hex[:8]
    path = f"{mark}.env"
    run_import(service, config_table(entry(f"A_{mark}", "1", envPath=path)))
    agent: Row = {"id": f"w-{mark}", "name": mark}
    tables = agents_table(agent) | config_table(entry("LEVEL", "2", "agent", f"w-{mark}", envPath=path))
    found = run_import(service, tables)[-1]
    assert found.result is Result.REFUSED
    assert "Choose another envPath" in (found.reason or "")


def test_another_env_path_is_a_conflict(service: Service) -> None:
    mark = uuid4().hex[:8]
    (workspace(service) / "y").mkdir(parents=True, exist_ok=True)
    for is_secret in (0, 1):
        key = f"K{is_secret}_{mark}"
        assert run_import(service, config_table(entry(key, "1", isSecret=is_secret, envPath="x.env")))
        for path, result in (
            ("/workspace/x.env", Result.UNCHANGED),
            (f"{workspace(service)}/x.env", Result.UNCHANGED),
            ("y/x.env", Result.CONFLICT),
            (f"{workspace(service)}/y/x.env", Result.CONFLICT),
            ("/elsewhere/x.env", Result.REFUSED),
        ):
            (found,) = run_import(service, config_table(entry(key, "1", isSecret=is_secret, envPath=path)))
            assert (path, found.result) == (path, result)


def test_no_part_of_a_secret_is_in_the_report(service: Service) -> None:
    token = f"ghp_{scramble(36)}"
    mark = uuid4().hex[:8]
    tables = agents_table(
        {"id": f"s-{mark}", "name": " " * 780 + token}, {"id": f"t-{mark}", "name": "x " * 390 + token}
    ) | config_table(entry("A" * 970 + f"={token}", "v"))
    for one in run_import(service, tables):
        assert token[:12] not in f"{one.name} {one.reason}"


def test_duplicates_are_those_of_the_same_thing_here(service: Service) -> None:
    agent = str(uuid4())
    ids = (agent, agent.upper(), f"{{{agent}}}")
    tables = agents_table({"id": agent, "name": agent[:8]}) | config_table(
        *(entry("LEVEL", "2", "agent", one) for one in ids)
    )
    found = run_import(service, tables)
    assert [one.result for one in found] == [Result.CREATED, Result.CREATED, Result.REFUSED, Result.REFUSED]
    assert "twice" in (found[-1].reason or "")


def test_the_first_repository_of_an_id_counts(service: Service) -> None:
    mark = uuid4().hex[:8]
    repos: list[Row] = [
        {"id": "r1", "url": f"https://example.com/{mark}/{name}", "name": f"{name}-{mark}"} for name in ("one", "two")
    ]
    tables = {TableName.REPOS: Table(tuple(repos))} | config_table(entry("LEVEL", "2", "repo", "r1"))
    found = run_import(service, tables)
    assert [one.result for one in found] == [Result.CREATED, Result.REFUSED, Result.CREATED]
    assert hive(service).config(scope=ConfigScope.REPO, scope_id=f"one-{mark}").entries


def test_a_script_that_another_import_stored_meanwhile_is_unchanged(service: Service) -> None:
    source = Source()
    disturbed = DisturbedHive(service, SET_SETUP_SCRIPT, lambda other, request: other.call(SET_SETUP_SCRIPT, request))
    assert source.run(service, disturbed)[1] == Result.UNCHANGED
