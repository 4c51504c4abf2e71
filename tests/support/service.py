"""A real service on a free port of this machine, in a thread of the tests."""

import os
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import uvicorn

from hivelore.core.agents import Role
from hivelore.http.app import create_asgi
from hivelore.http.middleware import Protocol
from hivelore.local.lock import SERVICE
from hivelore.python.client import Client
from hivelore.runtime.app import Application, open_application
from hivelore.runtime.settings import load


class Service:
    """Runs from construction to ``close``. ``settings`` are those of ``runtime.settings.Settings``, by field."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home = home
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        given = {"embedder": "none", "workspace": home / "workspace", **settings}
        self.app: Application = open_application(load(home=home, **given), kind=SERVICE, url=self.url)
        config = uvicorn.Config(create_asgi(self.app), http=Protocol, log_level="error", access_log=False)
        self._server = uvicorn.Server(config)
        self._started = threading.Event()
        self._clients: list[Client] = []
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the service did not start"
            self._started.wait(0.005)

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])

    @property
    def operator_key(self) -> str:
        return (self.home / "operator.key").read_text().strip()

    @property
    def agent_key(self) -> str:
        return (self.home / "agent.key").read_text().strip()

    def client(self, key: str | None, agent: str | None = None, **more: Any) -> Client:
        client = Client(self.url, key, agent=agent, **more)
        self._clients.append(client)
        return client

    def add(self, name: str, role: Role = Role.WORKER) -> str:
        """Adds an agent and returns its key."""
        return self.app.agents.add(name, role).text

    def remember_expired(self, agent: str, text: str, **more: Any) -> str:
        """Stores an expired memory, which the command line refuses, and returns its id."""
        draft = {"content": text, "expiresAt": "2020-01-01T00:00:00Z", **more}
        body = {"memories": [draft]}
        return self.client(self.operator_key, agent).call("POST", "/api/memory/batch", body=body)["results"][0][
            "memory"
        ]["id"]

    def raw(self, request: bytes) -> tuple[int, bytes]:
        """Sends raw bytes. Returns the status and the whole answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=150) as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(65_536):
                answer += part
        return int(answer.split(b" ", 2)[1]), answer

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()
        self.app.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def environment(home: Path, **more: str) -> Mapping[str, str]:
    """Returns the environment of a separate process: of the user's variables only the path."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "HIVELORE_HOME": str(home),
        "HIVELORE_WORKSPACE": str(home / "workspace"),
        "HIVELORE_EMBEDDER": "none",
    } | more
