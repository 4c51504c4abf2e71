"""Where the settings of agent programs are on this machine, and the commands that are put there."""

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from hivelore.errors import Invalid
from hivelore.hooks import install
from hivelore.mcp import bridge


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whom a program is set up for: its user, everywhere, or whoever works in one folder."""

    user: Path
    """The user's home folder."""
    hivelore: Path
    """That of the service."""
    project: Path | None = None
    workspace: Path | None = None
    """Where agents keep memories as files; None where the service cannot see them."""
    tools: Collection[str] = ()
    """Names of those that the service has."""
    environment: Mapping[str, str]
    """Of this process; it may move the settings of a program."""

    def settings(self, variable: str, folder: str) -> Path:
        """The folder with a program's settings for this user."""
        return Path(self.environment.get(variable) or self.user / folder)

    def within(self, variable: str) -> Path:
        """The folder in which a program's folder of settings lies: the project, what the variable says, or that of the
        user."""
        return self.project or Path(self.environment.get(variable) or self.user)

    def outside(self) -> dict[str, str]:
        """The environment of a program that nobody has told anything about us."""
        ours = ("HIVELORE_HOME", "HIVELORE_HOOK_DISABLED")
        return {name: value for name, value in self.environment.items() if name not in ours}


def place(
    hivelore: Path,
    project: Path | None = None,
    workspace: Path | None = None,
    tools: Collection[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> Place:
    """That of this process. Raises Invalid where a folder has a name that no settings file can hold."""
    found = Place(
        user=Path(environment.get("HOME") or Path.home()),
        hivelore=hivelore,
        project=project,
        workspace=workspace,
        tools=tools,
        environment=environment,
    )
    for folder in filter(None, (found.user, found.hivelore, found.project, found.workspace)):
        try:
            str(folder).encode()
        except UnicodeEncodeError:
            raise Invalid(
                f"The name of the folder {str(folder)!r} is not UTF-8: no settings file can hold it."
            ) from None
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What programs run: hooks, and MCP on stdin and stdout."""

    hook: tuple[str, ...]
    """The name of the program follows."""
    tools: tuple[str, ...]
    environment: Mapping[str, str]
    """What the tools find there besides; hooks know their home folder by where they lie in it."""


def commands(hivelore: Path, python: str = sys.executable) -> Commands:
    """With whole paths: programs are started with all kinds of search paths, or none."""
    direct = (python, "-I", "-S")
    return Commands(
        hook=(*direct, str(install.file_in(hivelore)), "--agent"),
        tools=(*direct, str(Path(bridge.__file__).with_name("__main__.py"))),
        environment={"HIVELORE_HOME": str(hivelore)},
    )
