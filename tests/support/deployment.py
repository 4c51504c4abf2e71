"""The files of ``deploy`` as values, for tests that check what they say and run it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ENTRYPOINT = DEPLOY / "entrypoint.sh"
UNITS = tuple(sorted((DEPLOY / "systemd").glob("*.service")))
SERVICE_UNIT = DEPLOY / "systemd" / "hivelore.service"
RUNNER_UNIT = DEPLOY / "systemd" / "hivelore-run@.service"
SECRETS = tuple(re.findall(r"^for name in (.*); do$", ENTRYPOINT.read_text(), re.MULTILINE)[0].split())
"""Variables that the entrypoint reads from files."""


@dataclass
class Stage:
    """A stage of the Dockerfile with what it has from the stage below it."""

    base: str
    user: str = "0"
    environment: dict[str, str] = field(default_factory=dict[str, str])
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    volumes: Sequence[str] = ()
    has_health_check: bool = False
    sources: Sequence[str] = ()
    """Files of the repository that it copies."""


def stages() -> Mapping[str, Stage]:
    text = re.sub(r"^\s*#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found: dict[str, Stage] = {}
    stage = Stage("")
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        match word:
            case "FROM":
                base, _, name = rest.split()
                below = found.get(base, Stage(base))
                stage = found[name] = Stage(
                    base,
                    below.user,
                    dict(below.environment),
                    below.entrypoint,
                    below.command,
                    below.volumes,
                    below.has_health_check,
                )
            case "USER":
                stage.user = rest
            case "ENV":
                stage.environment |= dict(one.split("=", 1) for one in shlex.split(rest))
            case "ENTRYPOINT":
                stage.entrypoint = yaml.safe_load(rest)
            case "CMD":
                stage.command = yaml.safe_load(rest)
            case "VOLUME":
                stage.volumes = rest.split()
            case "HEALTHCHECK":
                stage.has_health_check = rest != "NONE"
            case "COPY":
                words = [one for one in rest.split() if not one.startswith("--chmod")]
                if not words[0].startswith("--from"):
                    stage.sources = (*stage.sources, *words[:-1])
            case _:
                pass
    return found


def compose(**variables: str) -> dict[str, Any]:
    """Returns the compose file. ``variables`` replace those in it, which have defaults."""
    text = (DEPLOY / "compose.yaml").read_text()
    return yaml.safe_load(re.sub(r"\$\{(\w+):-([^}]*)}", lambda one: variables.get(one[1], one[2]), text))


def unit(file: Path, **specifiers: str) -> Mapping[str, Sequence[str]]:
    """Returns the settings of a unit, all sections together. ``specifiers``: values in the place of %i, %S and %d."""
    found: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            for letter, text in specifiers.items():
                value = value.replace(f"%{letter}", text)
            found.setdefault(name, []).append(value)
    return found


def unit_environment(settings: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return dict(one.split("=", 1) for value in settings["Environment"] for one in shlex.split(value))


def unit_command(settings: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the words of the command of a unit, with its own variables replaced."""
    environment = unit_environment(settings)
    (command,) = settings["ExecStart"]
    return [
        word for each in command.split() for word in (environment[each[1:]].split() if each.startswith("$") else [each])
    ]
