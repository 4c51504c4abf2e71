"""The real agent programs, and a service for their tools."""

from collections.abc import Generator
from pathlib import Path

import pytest
from install_agents import is_installed

from hivelore.local import launcher
from support.agent_programs import OPENCODE, ClaudeCode, Codex, Copilot, Gemini, OpenCode, Program
from support.anthropic_server import anthropic_server
from support.gemini_server import gemini_server
from support.missing import missing
from support.ports import free_url
from support.responses_server import responses_server
from support.service import Service


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    """Without the programs nothing here can be tested."""
    if not is_installed():
        missing("The agent programs are not installed: `make test-agents` does that, with npm.")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore")) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder, with a name that is hard to quote."""
    folder = tmp_path / "home b'\"\n☃"
    folder.mkdir()
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty folder to work in, in no repository."""
    folder = tmp_path / "work b'\"\n☃"
    folder.mkdir()
    return folder


@pytest.fixture
def claude_code(home: Path, work: Path) -> Generator[ClaudeCode]:
    with anthropic_server() as model:
        yield ClaudeCode(home, work, model)


@pytest.fixture
def codex(home: Path, work: Path) -> Generator[Codex]:
    with responses_server() as model:
        yield Codex(home, work, model)


@pytest.fixture
def gemini(home: Path, work: Path) -> Generator[Gemini]:
    with gemini_server() as model:
        yield Gemini(home, work, model)


@pytest.fixture
def copilot(home: Path, work: Path) -> Generator[Copilot]:
    with anthropic_server() as model:
        yield Copilot(home, work, model)


@pytest.fixture
def opencode(home: Path, work: Path) -> Generator[OpenCode]:
    if not OPENCODE.exists():
        pytest.skip("OpenCode comes for Linux on x86-64 alone.")
    with anthropic_server() as model:
        yield OpenCode(home, work, model)


@pytest.fixture(params=["claude-code", "codex"])
def kind(request: pytest.FixtureRequest) -> str:
    """Name of the program for ``hivelore setup``."""
    return request.param


@pytest.fixture
def program(kind: str, request: pytest.FixtureRequest) -> Program:
    return request.getfixturevalue(kind.replace("-", "_"))


@pytest.fixture
def env(tmp_path: Path, home: Path) -> Generator[dict[str, str]]:
    """Environment of a user with default settings, except for the port and the workspace (not /workspace of this
    machine)."""
    url = free_url()
    data = tmp_path / 'hivelore\'s "data" ☃'
    yield {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "HIVELORE_HOME": str(data),
        "HIVELORE_WORKSPACE": str(data / "workspace"),
        "HIVELORE_URL": url,
    }
    launcher.stop(data)
