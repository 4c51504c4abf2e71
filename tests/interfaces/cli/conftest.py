"""One service for all tests of the command line, and a separate agent for each test."""

import os
from collections.abc import Generator
from pathlib import Path
from uuid import uuid4

import pytest

from support.command_line import CommandLine, settings
from support.service import Service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore") / "home") as running:
        yield running


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a service, for this process, and a clean environment."""
    for name in [name for name in os.environ if name.startswith(("HIVELORE_", "MEMORY_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    for name, value in settings(home).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return home


@pytest.fixture
def cli(
    service: Service, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    """The command line of the service that runs, in an empty folder that belongs to no project."""
    monkeypatch.setenv("HIVELORE_HOME", str(service.home))
    monkeypatch.setenv("HIVELORE_URL", service.url)
    monkeypatch.delenv("HIVELORE_WORKSPACE")
    return CommandLine(monkeypatch, capsys)


@pytest.fixture
def alone(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in a home folder that has no service."""
    return CommandLine(monkeypatch, capsys)


@pytest.fixture
def me() -> str:
    """Returns the name of a new agent, whose private memories belong to one test."""
    return str(uuid4())
