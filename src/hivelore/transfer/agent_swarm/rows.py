"""Turns rows of Agent Swarm into what Hivelore has in their place, or refuses them with a reason."""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from hivelore.configuration.model import ConfigScope
from hivelore.core.redaction import find
from hivelore.errors import Invalid
from hivelore.identity.service import clean_name
from hivelore.repos import rules
from hivelore.transfer.agent_swarm.model import (
    Row,
    SourceAgent,
    SourceEntry,
    SourceRepo,
    SourceScript,
    Unreadable,
    agent_id,
)

WORKSPACE = PurePosixPath("/workspace")
"""The workspace of an agent in a container of Agent Swarm."""
ID_BYTES = 200
TEXT_COLUMNS: Mapping[str, str] = {
    "role": "role",
    "description": "description",
    "soul": "soulMd",
    "identity": "identityMd",
    "notes": "claudeMd",
}
"""Columns by field of a profile."""


def parse_agent(row: Row) -> SourceAgent:
    """Raises Invalid."""
    texts = {field: _text(row, column) for field, column in TEXT_COLUMNS.items()}
    return SourceAgent(
        source_id=_id(row, "id"),
        name=clean_name(_required(row, "name")),
        texts={field: text for field, text in texts.items() if text is not None},
        capabilities=_capabilities(_text(row, "capabilities")),
    )


def has_script(row: Row) -> bool:
    value = row.get("setupScript")
    return value is not None and (isinstance(value, Unreadable) or bool(str(value).strip()))


def parse_script(row: Row) -> SourceScript:
    """Returns the setup script of an agent that has one. Raises Invalid."""
    text = _required(row, "setupScript")
    return SourceScript(agent=agent_id(_id(row, "id")), text=text)


def parse_repo(row: Row) -> SourceRepo:
    """Raises Invalid. The name is that of the row, else the end of the URL."""
    url = rules.check_url(_required(row, "url"), allows_local=True)  # The service knows whether it allows local paths.
    branch = _text(row, "defaultBranch")
    name = _text(row, "name")
    return SourceRepo(
        source_id=_id(row, "id"),
        name=rules.name_of_url(url) if name is None else rules.check_name(name),
        url=url,
        default_branch=None if branch is None else rules.check_branch(branch),
        auto_clone=_flag(row, "autoClone", missing=True),
    )


def parse_entry(row: Row) -> SourceEntry:
    """Raises Invalid. A value that looks like a secret is one, too."""
    name = _required(row, "scope")
    if name not in frozenset(ConfigScope):
        raise Invalid("Its scope is not global, agent or repo.")
    scope = ConfigScope(name)
    key = _required(row, "key").strip()
    value = _cell_text(row, "value")
    if value is None:
        raise Invalid("It has no value.")
    return SourceEntry(
        scope=scope,
        source_scope_id="" if scope is ConfigScope.GLOBAL else _id(row, "scopeId"),
        key=key,
        value=value,
        is_secret=_flag(row, "isSecret", missing=False) or bool(find(f"{key}={value}")),
        env_path=_env_path(_text(row, "envPath")),
        description=_text(row, "description"),
    )


def label_of(row: Row, column: str) -> str:
    """Returns a value as text for a report; empty if it has none. It may contain a secret."""
    value = row.get(column)
    return "" if value is None or isinstance(value, Unreadable) else str(value)


def _capabilities(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise Invalid("capabilities is not a JSON list of texts.")
    names: list[str] = []
    for one in found:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(one, str):
            raise Invalid("capabilities is not a JSON list of texts.")
        if one.strip():
            names.append(one.strip())
    return tuple(dict.fromkeys(names))


def _env_path(text: str | None) -> str | None:
    """Returns a path in the form of ``EnvFiles.normalize``, relative to the workspace if it was in that."""
    if text is None:
        return None
    path = PurePosixPath(text.strip())
    return str(path.relative_to(WORKSPACE) if path.is_relative_to(WORKSPACE) else path)


def _id(row: Row, column: str) -> str:
    text = _required(row, column).strip()
    if len(text.encode()) > ID_BYTES:
        raise Invalid(f"{column} has more than {ID_BYTES} bytes.")
    return text


def _required(row: Row, column: str) -> str:
    text = _text(row, column)
    if text is None:
        raise Invalid(f"It has no {column}.")
    return text


def _text(row: Row, column: str) -> str | None:
    """Returns a text; None if it is missing or blank."""
    text = _cell_text(row, column)
    return None if text is None or not text.strip() else text


def _cell_text(row: Row, column: str) -> str | None:
    value = row.get(column)
    if isinstance(value, Unreadable):
        raise Invalid(f"{column} {value.reason}.")
    return None if value is None else str(value)


def _flag(row: Row, column: str, *, missing: bool) -> bool:
    """Returns False for 0 and texts that mean it, True for every other value."""
    value = row.get(column)
    if value is None:
        return missing
    return str(value).strip().lower() not in ("0", "false", "")
