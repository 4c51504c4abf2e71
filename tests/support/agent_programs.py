"""The real agent programs in a separate home folder, with a stand-in in place of their model's API."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from install_agents import NODE, PLACE

from support.model_server import ModelServer

CLAUDE_CODE = PLACE / "node_modules" / ".bin" / "claude"
CODEX = PLACE / "node_modules" / ".bin" / "codex"
COPILOT = PLACE / "node_modules" / ".bin" / "copilot"
GEMINI = PLACE / "node_modules" / "@google" / "gemini-cli" / "bundle" / "gemini.js"
OPENCODE = PLACE / "node_modules" / "opencode-linux-x64-baseline" / "bin" / "opencode"
NOWHERE = "http://127.0.0.1:9"
PATIENCE = 180.0
"""Seconds after which a run is given up; it takes two to four, on a machine with nothing else to do."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an agent program, ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON objects it printed."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


class Program(Protocol):
    """An agent program; ``tools`` are MCP servers in its own format, in addition to those of its settings."""

    @property
    def model(self) -> ModelServer: ...

    def run(self, prompt: str, *more: str, tools: "Tools | None" = None) -> Run: ...


class Resumable(Program, Protocol):
    """An agent program that continues earlier sessions."""

    def resume(self, run: Run) -> Sequence[str]:
        """Returns the words with which ``run`` continues the session of an earlier run."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """An MCP server called ``hivelore``: over HTTP with a key, or a command and its environment."""

    url: str = ""
    key: str = ""
    command: Sequence[str] = ()
    environment: Mapping[str, str] | None = None


class ClaudeCode:
    """Runs ``claude -p`` in the folder ``work``; ``model`` is the URL of its model."""

    def __init__(self, home: Path, work: Path, model: ModelServer, **more: str) -> None:
        self.model = model
        self._work = work
        self.environment = {
            **_nothing_but(home),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-of-nobody",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            **more,
        }

    def run(self, prompt: str, *more: str, tools: Tools | None = None) -> Run:
        """Passes the prompt on stdin, so that no option consumes it. Every tool is allowed."""
        command = [*self.command, *more]
        if tools is not None:
            command += ["--mcp-config", json.dumps({"mcpServers": {"hivelore": self._server(tools)}})]
        return _run(command, prompt, self._work, self.environment)

    @property
    def command(self) -> Sequence[str]:
        """The command without a prompt, which it reads from stdin."""
        options = ("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
        return str(CLAUDE_CODE), *options

    def resume(self, run: Run) -> Sequence[str]:
        return "--resume", run.events[0]["session_id"]

    def _server(self, tools: Tools) -> dict[str, Any]:
        if tools.command:
            command, *arguments = tools.command
            return {"command": command, "args": arguments, "env": {**(tools.environment or {})}, "alwaysLoad": True}
        headers = {"Authorization": f"Bearer {tools.key}"}
        return {"type": "http", "url": tools.url, "headers": headers, "alwaysLoad": True}


class Codex:
    """Runs ``codex exec`` in the folder ``work``; ``model`` is the URL of its model."""

    def __init__(self, home: Path, work: Path, model: ModelServer, **more: str) -> None:
        self.model = model
        self._work = work
        self.environment = {**_nothing_but(home), "STANDIN_KEY": "sk-of-nobody", **more}

    def run(self, prompt: str, *more: str, tools: Tools | None = None) -> Run:
        provider = f'{{name="stand-in", base_url="{self.model.url}/v1", wire_api="responses", env_key="STANDIN_KEY"}}'
        settings = ['model="gpt-5"', 'model_provider="standin"', f"model_providers.standin={provider}"]
        environment = self.environment
        if tools is not None:
            settings.append(f"mcp_servers.hivelore={self._server(tools)}")
            environment = {**environment, "HIVELORE_KEY": tools.key}
        command = [str(CODEX), "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        command.append("--dangerously-bypass-hook-trust")  # Its user is asked to look at hooks first, who is not there.
        command += [word for setting in settings for word in ("-c", setting)]
        return _run([*command, *more, "-"], prompt, self._work, environment)

    def resume(self, run: Run) -> Sequence[str]:
        return "resume", run.events[0]["thread_id"]

    def _server(self, tools: Tools) -> str:
        """Returns a server as an inline table of TOML, whose strings are those of JSON."""
        if not tools.command:
            return f'{{url={json.dumps(tools.url)}, bearer_token_env_var="HIVELORE_KEY"}}'
        command, *arguments = tools.command
        names = ", ".join(f"{name}={json.dumps(value)}" for name, value in (tools.environment or {}).items())
        return f"{{command={json.dumps(command)}, args={json.dumps(arguments)}, env={{{names}}}}}"


class Gemini:
    """Runs ``gemini`` in the folder ``work``; ``model`` is the URL of its model."""

    def __init__(self, home: Path, work: Path, model: ModelServer, **more: str) -> None:
        self.model = model
        self._work = work
        settings = home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(f"// Of somebody who uses it already.\n{json.dumps(_GEMINI_SETTINGS)}\n")
        self.environment = {
            **_nothing_but(home),
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_API_KEY": "of-nobody",
            **more,
        }

    def run(self, prompt: str, *more: str, tools: Tools | None = None) -> Run:
        assert tools is None
        command = [str(NODE / "node"), str(GEMINI), "--model", "gemini-2.5-flash", "--yolo", *more]
        return _run(command, prompt, self._work, self.environment)


class Copilot:
    """Runs ``copilot -p`` in the folder ``work``; ``model`` is the URL of its model, with Anthropic's API."""

    def __init__(self, home: Path, work: Path, model: ModelServer, **more: str) -> None:
        self.model = model
        self._work = work
        self.environment = {
            **_nothing_but(home),
            "COPILOT_PROVIDER_BASE_URL": model.url,
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_API_KEY": "of-nobody",
            "COPILOT_MODEL": "claude-sonnet-4.6",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            **more,
        }

    def run(self, prompt: str, *more: str, tools: Tools | None = None) -> Run:
        assert tools is None
        command = [str(COPILOT), "-p", prompt, "--allow-all-tools", *more]
        return _run(command, "", self._work, self.environment)


class OpenCode:
    """Runs ``opencode run`` in the folder ``work``; ``model`` is the URL of its model, with Anthropic's API."""

    def __init__(self, home: Path, work: Path, model: ModelServer, **more: str) -> None:
        self.model = model
        self._work = work
        provider = {
            "npm": "@ai-sdk/anthropic",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "of-nobody"},
            "models": {"stand-in": {"name": "stand-in", "limit": {"context": 200_000, "output": 8_000}}},
        }
        settings = {"provider": {"standin": provider}, "model": "standin/stand-in", "small_model": "standin/stand-in"}
        self.environment = {
            **_nothing_but(home),
            "OPENCODE_CONFIG_CONTENT": json.dumps({**settings, "autoupdate": False, "share": "disabled"}),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            # It would install what plugins may import; ours imports nothing.
            "npm_config_fetch_retries": "0",
            **more,
        }

    def run(self, prompt: str, *more: str, tools: Tools | None = None) -> Run:
        assert tools is None
        return _run([str(OPENCODE), "run", "--auto", *more], prompt, self._work, self.environment)


_GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}


def _nothing_but(home: Path) -> dict[str, str]:
    """Returns an environment without other network access."""
    return {
        "HOME": str(home),
        "PATH": f"{NODE}{os.pathsep}{os.defpath}",
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def _run(command: Sequence[str], prompt: str, work: Path, environment: Mapping[str, str]) -> Run:
    done = subprocess.run(
        command, input=prompt, cwd=work, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr)
