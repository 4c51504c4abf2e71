"""Folders of agent programs on this machine, and the commands that their settings contain."""

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from hivelore.errors import Invalid
from hivelore.hooks import install
from hivelore.local import endpoint
from hivelore.mcp import bridge


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An installation to set up: for a user in all folders, or for everyone in one folder."""

    user: Path
    """Home folder of the user."""
    hivelore: Path
    """Home folder of the service."""
    project: Path | None = None
    workspace: Path | None = None
    """Folder for memories as files; None if the service runs on another machine."""
    tools: Collection[str] = ()
    """Names of the tools that the service offers."""
    environment: Mapping[str, str]
    """Environment of this process; it may move the settings of a program."""

    def settings(self, variable: str, folder: str) -> Path:
        """Return the folder of a program's settings for this user."""
        return Path(self.environment.get(variable) or self.user / folder)

    def within(self, variable: str) -> Path:
        """Return the parent of a program's settings folder: the project, the variable, or the user's home."""
        return self.project or Path(self.environment.get(variable) or self.user)

    def outside(self) -> dict[str, str]:
        """Return the environment without the variables that setup writes into settings."""
        ours = ("HIVELORE_HOME", "HIVELORE_URL", "HIVELORE_HOOK_DISABLED")
        return {name: value for name, value in self.environment.items() if name not in ours}


def place(
    hivelore: Path,
    project: Path | None = None,
    workspace: Path | None = None,
    tools: Collection[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> Place:
    """Describe an installation for this process. Raises Invalid for a folder name that no settings file can contain."""
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
                f"The name of the folder {str(folder)!r} is not UTF-8: no settings file can contain it."
            ) from None
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Commands in the settings of programs: the hook, and MCP on stdin and stdout."""

    hook: tuple[str, ...]
    """The name of the program follows."""
    tools: tuple[str, ...]
    environment: Mapping[str, str]
    """Variables for ``tools``. The copied hook contains them itself."""
    profile_files: bool = False
    """True if the hook keeps the files of the profile, so that it has to know of edits at once."""


def commands(hivelore: Path, python: str = sys.executable, *, profile_files: bool | None = None) -> Commands:
    """Return the commands with absolute paths: programs are started with various search paths, or none.

    ``profile_files`` None: as the hook in the folder does.
    """
    direct = (python, "-I", "-S")
    url = endpoint.lasting_url()
    return Commands(
        hook=(*direct, str(install.file_in(hivelore)), "--agent"),
        tools=(*direct, str(Path(bridge.__file__).with_name("__main__.py"))),
        environment={"HIVELORE_HOME": str(hivelore)} | ({} if url is None else {"HIVELORE_URL": url}),
        profile_files=install.keeps_profile_files(hivelore) if profile_files is None else profile_files,
    )
