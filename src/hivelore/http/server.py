"""Running the service: the socket, the lock on the data directory, and an orderly end."""

import errno
import gc
import logging
import socket
import sys
from collections.abc import Callable
from types import FrameType
from urllib.parse import urlsplit

import uvicorn

from hivelore.errors import Busy, Invalid
from hivelore.http.app import create_asgi
from hivelore.http.middleware import Protocol
from hivelore.local.lock import SERVICE
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import Settings

_GRACE = 10
"""Seconds that open requests get when the service ends."""
_SWITCH_INTERVAL = 0.000_5
"""Seconds that a thread computes before another one may run. A read yields with every row: with the default, ten times
as long, a read of one millisecond took five while others wrote."""


def serve(settings: Settings, *, host: str | None, port: int | None, ready: Callable[[str], None]) -> None:
    """Runs until SIGINT or SIGTERM. ``ready`` is called with the URL when requests are answered.

    ``host`` and ``port`` default to those of HIVELORE_URL; port 0 takes any free one. Raises Busy when the
    port or the data directory is taken.
    """
    parts = urlsplit(settings.url)
    wanted = parts.port if port is None else port
    listener = _bound(host or parts.hostname or "127.0.0.1", 80 if wanted is None else wanted)
    sys.setswitchinterval(_SWITCH_INTERVAL)
    with listener:
        url = _url(listener)
        app = open_application(settings, kind=SERVICE, url=url)
        # What the service has to say about itself goes to stderr, which is service.log where it runs in the background.
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        try:
            config = uvicorn.Config(
                create_asgi(app, loaded=_freeze),
                http=Protocol,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
            _freeze()
            _Server(config, lambda: ready(url), app.task_signal.close).run(sockets=[listener])
        finally:
            app.close()


def _freeze() -> None:
    """Excludes all current objects from garbage collection, which would delay an answer every few seconds."""
    gc.collect()
    gc.freeze()


class _Server(uvicorn.Server):
    """Reports its start, and leaves the end of the process to its caller."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None], ending: Callable[[], None]) -> None:
        """``ending`` is called when the service begins to end, so that no request waits for something to happen."""
        super().__init__(config)
        self._say = started
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._ending()
        # Uvicorn would raise the signal again before the caller could close the store.
        self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._say()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise Busy(
                f"Port {port} is in use, perhaps by another Hivelore service ('hivelore status' shows it). "
                "Choose another port with --port or HIVELORE_URL."
            ) from None
        raise Invalid(f"Cannot listen on {host}:{port} ({error.strerror}).", field="host") from None
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    # A service on all addresses is reached on this machine by the loopback address.
    host = "127.0.0.1" if host == "0.0.0.0" else "::1" if host == "::" else host
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
