"""Imports of the light programs: verbs, hooks, bridge and HTTP client load no framework and no numeric library."""

import subprocess
import sys

import pytest

from support.command_line import environment
from support.service import Service

HEAVY = (
    "anyio, apsw, fastapi, httpx2, mcp, numpy, onnxruntime, orjson, pathspec, pydantic, pydantic_settings, "
    "rich, stamina, starlette, tokenizers, uvicorn"
)
REPORT = f"import sys; print(*sorted(set({HEAVY!r}.split(', ')) & set(sys.modules)), file=sys.stderr)"
VERBS = (
    "--help",
    "--version",
    "agent list",
    "batches",
    "context",
    "cooldowns list",
    "events list",
    "ingest-stream",
    "list",
    "observations",
    "recall bees",
    "recalls",
    "remember honey",
    "review list",
    "setup codex --dry-run",
    "start",
    "stats",
    "status",
    "teach",
    "unsetup codex --dry-run",
)
MODULES = (
    "hivelore.hooks.client, hivelore.hooks.fallback, hivelore.hooks.install, hivelore.mcp.bridge.relay, "
    "hivelore.mcp.bridge.service, hivelore.python.client, hivelore.local.launcher"
)


def imported_heavy_modules(code: str, *words: str, env: dict[str, str]) -> list[str]:
    """Returns the heavy libraries that a program imports, from the last line of stderr."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{REPORT}", *words],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
        check=True,
    )
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_imports_no_heavy_library(service: Service, verb: str) -> None:
    code = "import sys; from hivelore.cli.dispatch import run; run(sys.argv[1:])"
    env = environment(service.home, HIVELORE_URL=service.url)
    assert imported_heavy_modules(code, *verb.split(), env=env) == []


def test_hooks_and_bridge_import_no_heavy_library(service: Service) -> None:
    assert imported_heavy_modules(f"import {MODULES}", env=environment(service.home)) == []
