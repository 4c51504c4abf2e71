"""The wheel in an empty environment, without a network, from another folder and with an empty HOME."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.ports import free_url

ROOT = Path(__file__).parents[2]
PYTHON_API = """
import hivelore
with hivelore.open() as hive:
    hive.remember("The API requires a Bearer prefix on all auth headers. Without it you get a misleading 403.")
    hive.remember("Use pnpm instead of npm in this repository.")
    hive.remember("The nightly job writes its report to the reports bucket at 03:00 UTC.")
    assert hive.wait_until_indexed(200)
    hits = hive.recall("why is my login token rejected")
    assert "Bearer" in hits[0].memory.content, hits
    assert hits.path == "hybrid", hits.path
"""


def _run(*command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=cwd, env=env)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the commands of an environment with only the wheel and its dependencies."""
    place = tmp_path_factory.mktemp("wheel")
    uv = Path(sys.executable).with_name("uv")
    _run(uv, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", place, cwd=ROOT)
    (wheel,) = place.glob("*.whl")
    environment = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(place / "env"), "UV_PYTHON_DOWNLOADS": "never"}
    sync = [uv, "sync", "--frozen", "--no-dev", "--no-install-project", "--python", sys.executable]
    offline = subprocess.run(
        [*map(str, sync), "--offline"], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    if offline.returncode:
        # The cache lacks locked packages: fetch them. The wheel itself is installed offline.
        _run(*sync, cwd=ROOT, env=environment)
    commands = place / "env" / "bin"
    _run(uv, "pip", "install", "--offline", "--no-deps", "--python", commands / "python", wheel)
    return commands


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """Returns environment variables with an empty HOME and unreachable proxies."""
    nowhere = "http://127.0.0.1:9"
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "PATH": os.defpath, "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "LANG": "C"}


def test_the_wheel_stores_and_recalls_a_memory_in_other_words(
    installed: Path, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    _run(installed / "python", "-I", "-c", PYTHON_API, cwd=tmp_path, env=elsewhere)


def test_the_wheel_serves_an_mcp_client(installed: Path, elsewhere: dict[str, str], tmp_path: Path) -> None:
    elsewhere["HIVELORE_URL"] = "http://127.0.0.1:0"
    client = {"name": "test", "version": "1"}
    calls = [
        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        ("tools/call", {"name": "memory-store", "arguments": {"content": "The kettle is in the attic."}}),
    ]
    command = [str(installed / "hivelore"), "mcp"]
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=elsewhere
        ) as bridge:
            assert bridge.stdin is not None
            assert bridge.stdout is not None
            for number, (method, params) in enumerate(calls):
                message = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                bridge.stdin.write(f"{message}\n")
                bridge.stdin.flush()
                answer = json.loads(bridge.stdout.readline())
                assert answer["id"] == number
                assert not answer["result"].get("isError", False)
            bridge.stdin.close()
        assert bridge.returncode == 0
    finally:
        _run(installed / "hivelore", "stop", cwd=tmp_path, env=elsewhere)


def test_the_wheel_contains_its_model_and_licences(installed: Path) -> None:
    code = (
        "import importlib.metadata as m; files = [str(f) for f in m.files('hivelore')];"
        "assert any(f.endswith('model.onnx') for f in files); assert sum('LICENSE' in f for f in files) >= 2"
    )
    _run(installed / "python", "-I", "-c", code)


def test_the_wheel_contains_the_files_of_setup(installed: Path, elsewhere: dict[str, str]) -> None:
    elsewhere["HIVELORE_URL"] = free_url()
    home = Path(elsewhere["HOME"])
    try:
        _run(installed / "hivelore", "setup", "claude-code", cwd=home, env=elsewhere)
        plugin = home / ".claude" / "skills" / "hivelore"
        parts = [
            ".claude-plugin/plugin.json",
            ".mcp.json",
            "hooks/hooks.json",
            "skills/memory/SKILL.md",
            "README.md",
            "icon.png",
        ]
        assert all((plugin / part).is_file() for part in parts)
        _run(installed / "hivelore", "unsetup", cwd=home, env=elsewhere)
        assert not (home / ".claude").exists()
    finally:
        _run(installed / "hivelore", "stop", cwd=home, env=elsewhere)
