"""A connection to a PostgreSQL server that tests can cut: a local port that forwards to the server."""

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from psycopg.conninfo import conninfo_to_dict, make_conninfo

END_OF_UNIT = b"COMMIT"
_SOME = 65_536


class Line:
    """Forwards a local port to the server. ``url`` is the URL through this port."""

    def __init__(self, url: str) -> None:
        self._server = conninfo_to_dict(url)
        self._port = 0
        self._listener: socket.socket | None = None
        self._ends: list[socket.socket] = []
        self.loses_next_answer = Event()
        """The next COMMIT reaches the server, and the line is cut before its answer is back."""
        self.join()
        self.url = make_conninfo(url, host="127.0.0.1", port=self._port)

    def join(self) -> None:
        """Restores the connection."""
        listener = self._listener = socket.create_server(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        Thread(target=self._listen, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Refuses new connections and closes the existing ones."""
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        while self._ends:
            _hang_up(self._ends.pop())

    def _listen(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = self._to_server()
                self._ends += [client, server]
                Thread(target=self._carry, args=(client, server), daemon=True).start()
                Thread(target=self._carry, args=(server, client), daemon=True).start()

    def _to_server(self) -> socket.socket:
        host, port = (str(self._server.get(name) or other) for name, other in (("host", "127.0.0.1"), ("port", "5432")))
        if not host.startswith("/"):
            return socket.create_connection((host, int(port)))
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(Path(host) / f".s.PGSQL.{port}"))
        return server

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while said := source.recv(_SOME):
                if END_OF_UNIT in said and self.loses_next_answer.is_set():
                    self.loses_next_answer.clear()
                    _hang_up(source)  # before the server could answer
                target.sendall(said)
        _hang_up(target)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def line(url: str) -> Generator[Line]:
    made = Line(url)
    try:
        yield made
    finally:
        made.cut()
