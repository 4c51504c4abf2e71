"""Coming in: the service of this machine, started where it has to be, and the key to it."""

from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import quote

from hivelore.errors import Invalid
from hivelore.local import endpoint, launcher
from hivelore.memories.model import NAME_LENGTH
from hivelore.python.client import Client
from hivelore.python.remote import RemoteHive

LOCAL_AGENT = "local"
"""Whom the operator of a machine speaks for when nobody is named."""


@contextmanager
def client(agent: str | None = None, project: str | None = None) -> Generator[Client]:
    """A client that speaks for an agent: ``agent``, else whose key HIVELORE_KEY is, else the local one; in a project,
    if any."""
    home = endpoint.home()
    url = launcher.ensure(home)
    if agent is not None and not (agent.strip() and len(agent) <= NAME_LENGTH):
        raise Invalid(f"An agent's name has 1 to {NAME_LENGTH} characters.", field="agent")
    if agent is None and endpoint.given_key() is None:
        agent = LOCAL_AGENT
    key = endpoint.key(endpoint.OPERATOR_KEY, home)
    yield from _closing(Client(url, key, agent=agent, project=project, interface="cli"))


@contextmanager
def hive(agent: str | None = None) -> Generator[RemoteHive]:
    """The same as a hive."""
    with client(agent) as link:
        yield RemoteHive(link)


@contextmanager
def operator() -> Generator[Client]:
    """A client that speaks for nobody, for what only an operator may."""
    home = endpoint.home()
    url = launcher.ensure(home)
    yield from _closing(Client(url, endpoint.key(endpoint.OPERATOR_KEY, home), interface="cli"))


def segment(given: str) -> str:
    """An id as a part of a path."""
    if not given.strip():
        raise Invalid("An id is not empty. List what there is for its id.", field="id")
    return quote(given.strip(), safe="")


def _closing(client: Client) -> Generator[Client]:
    try:
        yield client
    finally:
        client.close()
