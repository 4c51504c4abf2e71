"""Notifications between the services that share a database (LISTEN and NOTIFY), on a separate connection.

They are never sent inside a transaction of the store, because PostgreSQL serializes the commits of transactions that
notify.
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
"""Seconds before a lost connection is replaced: after the first loss, the second, ..."""


class PostgresNotifier:
    """Implements ``storage.ports.Notifier``. Notifications published while the server is away are sent when it is
    back."""

    def __init__(self, url: str, namespace: int) -> None:
        self._url = url
        self._channel = f"hivelore_{namespace}"
        self._listeners: list[tuple[Notification, Callable[[], object]]] = []
        self._lock = Lock()
        self._unsent: set[Notification] = set()
        self._wakes, self._woken = socket.socketpair()
        self._wakes.setblocking(False)
        self._stop = Event()
        self._running = Lock()

    def subscribe(self, notice: Notification, listener: Callable[[], object]) -> None:
        self._listeners.append((notice, listener))

    def publish(self, notice: Notification) -> None:
        with self._lock:
            self._unsent.add(notice)
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
        with suppress(BlockingIOError, OSError):  # A full socket wakes the thread anyway; a closed one has ended it.
            self._wakes.send(b"!")

    def run(self) -> None:
        failures = 0
        with self._running:
            while not self._stop.is_set():
                with suppress(psycopg.Error), closing(connect(self._url, "hivelore notices")) as connection:
                    connection.execute(f"LISTEN {self._channel}".encode())
                    failures = 0
                    self._call_listeners(set(Notification))  # Some may have been missed while disconnected.
                    self._serve(connection)
                self._stop.wait(PAUSES[min(failures, len(PAUSES) - 1)])
                failures += 1

    def _serve(self, connection: Connection) -> None:
        """Sends and receives until closed. Raises errors of psycopg if the connection is lost."""
        while not self._stop.is_set():
            self._send(connection)
            mine = connection.info.backend_pid
            received = {note.payload for note in connection.notifies(timeout=0) if note.pid != mine}
            self._call_listeners({notice for notice in Notification if notice in received})
            readable, _, _ = select([connection, self._woken], [], [])
            if self._woken in readable:
                self._woken.recv(4_096)

    def _send(self, connection: Connection) -> None:
        with self._lock:
            unsent = set(self._unsent)
        for notice in sorted(unsent):
            connection.execute("SELECT pg_notify(%s, %s)", (self._channel, str(notice)))
        with self._lock:
            self._unsent -= unsent

    def _call_listeners(self, received: set[Notification]) -> None:
        for notice, listener in self._listeners:
            if notice in received:
                listener()
