"""``hivelore.open``: finding or making the hive that somebody means."""

import os
from pathlib import Path

from hivelore.core.agents import Interface
from hivelore.errors import Invalid
from hivelore.identity.service import LOCAL_AGENT
from hivelore.local import endpoint
from hivelore.local.lock import EMBEDDED, SERVICE, held_by, read_owner
from hivelore.python.argument_checks import ID, PATH, WORD, check
from hivelore.python.client import Client
from hivelore.python.hive import EmbeddedHive, Hive
from hivelore.python.remote import RemoteHive
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load


def open_hive(
    path_or_url: str | os.PathLike[str] | None = None, *, agent: str | None = None, key: str | None = None
) -> Hive:
    """Open a data directory, or talk to a service.

    ``path_or_url``: a folder, or ``http://...``; None: HIVELORE_URL where it is set, else HIVELORE_HOME.
    A folder that nobody holds is opened here; one that a service holds is reached through that service;
    one that another process has open raises ``errors.Busy`` with its pid.
    ``agent``: as whom (an id or a name), for operators; left out, the agent that this machine starts with.
    ``key``: come in with this key instead of the ones in the folder.
    """
    check(PATH.or_none(), path_or_url=path_or_url)
    check(ID.or_none(), agent=agent)
    check(WORD.or_none(), key=key)
    if isinstance(path_or_url, str) and path_or_url.startswith(("http://", "https://")):
        return _remote(path_or_url, endpoint.home(), agent, key)
    if path_or_url is None and endpoint.given_url() is not None:
        return _remote(endpoint.url(), endpoint.home(), agent, key)
    home = endpoint.home() if path_or_url is None else _folder(path_or_url)
    owner = read_owner(home)
    if owner is None:
        return _embedded(home, agent, key)
    if owner.kind == SERVICE and owner.url is not None:
        return _remote(owner.url, home, agent, key)
    raise held_by(owner)


def _folder(path: str | os.PathLike[str]) -> Path:
    try:
        if "\0" not in os.fsdecode(path):
            os.fsencode(path)
            return Path(path).expanduser().absolute()
    except (UnicodeEncodeError, RuntimeError):  # No name of a file, or nobody has that home.
        pass
    raise Invalid(f"{os.fsdecode(path)!r} is no path of a folder.", field="path_or_url")


def _remote(url: str, home: Path, agent: str | None, key: str | None) -> RemoteHive:
    """Only an operator's key may speak for another agent, so naming one asks for that key."""
    file = endpoint.AGENT_KEY if agent is None else endpoint.OPERATOR_KEY
    return RemoteHive(Client(url, endpoint.key(file, home) if key is None else key, agent=agent))


def _embedded(home: Path, agent: str | None, key: str | None) -> EmbeddedHive:
    app = open_application(load(home=home), kind=EMBEDDED)
    try:
        if key is not None:
            viewer = app.agents.viewer(key, Interface.PYTHON, agent)
        else:
            # Who can open the files is the operator.
            operator = (home / endpoint.OPERATOR_KEY).read_text(encoding="ascii").strip()
            viewer = app.agents.viewer(operator, Interface.PYTHON, agent or LOCAL_AGENT)
    except BaseException:
        app.close()
        raise
    return EmbeddedHive(app, viewer)
