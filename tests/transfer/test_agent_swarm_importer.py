"""Imports from Agent Swarm while others write, and after an interruption."""

from collections.abc import Callable, Generator
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
from hivelore.transfer.agent_swarm.model import Result, Row, Table, TableName
from support.agent_swarm import entry
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
        def add(agent: AgentId) -> None:
            client = service.client(service.operator_key, agent)
            client.call("GET", "/api/me")
            client.close()

        return [one.result for one in SwarmImporter(hive, add, dry_run=False).run(self.tables())]


def hive(service: Service) -> RemoteHive:
    return RemoteHive(service.client(service.operator_key))


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
    assert found.count(Result.CREATED) == 4
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
