"""Telling the other services on a database what is new there (LISTEN and NOTIFY), on a connection of its own.

Never inside a unit of work: of the transactions that notify, PostgreSQL commits one after the other.
"""

import socket
from collections.abc import Callable
from contextlib import closing, suppress
from select import select
from threading import Event, Lock

import psycopg

from hivelore.storage.ports import Notification
from hivelore.storage.postgres.connection import Connection, connect

PAUSES = (0.1, 1.0, 5.0, 30.0)
"""Seconds before a connection that was lost is replaced: after the first time, the second, ..."""


class PostgresNotifier:
    """Implements ``storage.ports.Notifier``. What is told while the server is away is told when it is back."""

    def __init__(self, url: str, namespace: int) -> None:
        self._url = url
        self._channel = f"hivelore_{namespace}"
        self._listeners: list[tuple[Notification, Callable[[], object]]] = []
        self._lock = Lock()
        self._untold: set[Notification] = set()
        self._wakes, self._woken = socket.socketpair()
        self._wakes.setblocking(False)
        self._stop = Event()
        self._running = Lock()

    def subscribe(self, notice: Notification, listener: Callable[[], object]) -> None:
        self._listeners.append((notice, listener))

    def publish(self, notice: Notification) -> None:
        with self._lock:
            self._untold.add(notice)
        self._wake()

    def close(self) -> None:
        if self._stop.is_set():
            return
        self._stop.set()
        self._wake()
        with self._running:
            self._wakes.close()
            self._woken.close()

    def _wake(self) -> None:
        with suppress(BlockingIOError, OSError):  # It is full, and so wakes anyway; or all is over.
            self._wakes.send(b"!")

    def run(self) -> None:
        failures = 0
        with self._running:
            while not self._stop.is_set():
                with suppress(psycopg.Error), closing(connect(self._url, "hivelore notices")) as connection:
                    connection.execute(f"LISTEN {self._channel}".encode())
                    failures = 0
                    self._hear(set(Notification))  # There may have been something while nobody listened.
                    self._serve(connection)
                self._stop.wait(PAUSES[min(failures, len(PAUSES) - 1)])
                failures += 1

    def _serve(self, connection: Connection) -> None:
        """Tell and hear until told to stop. Raises what psycopg raises once the connection is lost."""
        while not self._stop.is_set():
            self._tell(connection)
            mine = connection.info.backend_pid
            heard = {note.payload for note in connection.notifies(timeout=0) if note.pid != mine}
            self._hear({notice for notice in Notification if notice in heard})
            readable, _, _ = select([connection, self._woken], [], [])
            if self._woken in readable:
                self._woken.recv(4_096)

    def _tell(self, connection: Connection) -> None:
        with self._lock:
            untold = set(self._untold)
        for notice in sorted(untold):
            connection.execute("SELECT pg_notify(%s, %s)", (self._channel, str(notice)))
        with self._lock:
            self._untold -= untold

    def _hear(self, notifier: set[Notification]) -> None:
        for notice, listener in self._listeners:
            if notice in notifier:
                listener()
