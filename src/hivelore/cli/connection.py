"""Connections to the service of this machine, which is started when it does not run."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hivelore.errors import Invalid, NotFound
from hivelore.local import endpoint, launcher
from hivelore.python.client import Client

if TYPE_CHECKING:
    from hivelore.python.hive import Hive

LOCAL_AGENT = "local"
"""The agent that verbs act for when no other one is named."""
LONGEST_NAME = 500


@contextmanager
def client(agent: str | None = None, project: str | None = None) -> Generator[Client]:
    """Connect as ``agent``; without one, as the owner of HIVELORE_KEY, or as the local agent when that is unset."""
    if agent is not None and not (agent.strip() and len(agent) <= LONGEST_NAME):
        raise Invalid(f"An agent's name has 1 to {LONGEST_NAME} characters.", field="agent")
    if agent is None and endpoint.given_key() is None:
        agent = LOCAL_AGENT
    with _connect(agent, project) as client:
        yield client


def call(
    method: str, path: str, *, agent: str | None = None, operator: bool = False, project: str | None = None, **more: Any
) -> Any:
    """Call the service once and return its answer. ``operator``: without ``agent``, call as the operator."""
    with _connect(None, project) if operator and agent is None else client(agent, project) as connected:
        return connected.call(method, path, **more)


@contextmanager
def hive(agent: str | None = None) -> "Generator[Hive]":
    """Connect as ``agent`` with the Python API, for verbs that store or read many memories."""
    from hivelore.python.remote import RemoteHive

    with client(agent) as connected:
        yield RemoteHive(connected)


@contextmanager
def own() -> Generator[tuple[Client, str]]:
    """Connect with an agent's own key, and return it, too: HIVELORE_KEY, else that of the local agent."""
    home = endpoint.home()
    url = launcher.ensure(home)
    key = endpoint.key(endpoint.AGENT_KEY, home)
    client = Client(url, key, interface="cli")
    try:
        yield client, key
    finally:
        client.close()


@contextmanager
def operator() -> Generator[Client]:
    """Connect as the operator, without acting for an agent."""
    with _connect(None, None) as client:
        yield client


@contextmanager
def _connect(agent: str | None, project: str | None) -> Generator[Client]:
    home = endpoint.home()
    url = launcher.ensure(home)
    key = endpoint.key(endpoint.OPERATOR_KEY, home)
    client = Client(url, key, agent=agent, project=project, interface="cli")
    try:
        yield client
    finally:
        client.close()


def path(collection: str, *segments: str) -> str:
    """Return the path of an entry of a collection. Raises NotFound for an empty id."""
    if not all(segment.strip() for segment in segments):
        raise NotFound("The id is empty. List the entries to find it.")
    return "/".join((collection, *(quote(segment.strip(), safe="") for segment in segments)))
