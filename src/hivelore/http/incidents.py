"""What nobody foresaw: whoever asks is told that, and a number; the log has the rest under the same number."""

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivelore.core import tracebacks
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.errors import HiveloreError
from hivelore.http.problems import problem

CODE = "unexpected"
_LOG = logging.getLogger("hivelore")


class Incident(Exception):
    """An error that is none of ours. ``str(mishap)`` is for whoever asked, and says nothing of what happened inside."""

    def __init__(self, number: str) -> None:
        super().__init__(
            "The service failed at this, and the fault is its own. Its log (service.log in the home folder, or what "
            f"'hivelore serve' prints) says more under {number}. Look for what you wrote before you try again."
        )
        self.id = number


class Incidents:
    """Writes them into the log."""

    def __init__(self, redactor: Redactor, clock: Clock) -> None:
        self._redactor = redactor
        self._clock = clock
        self._lock = threading.Lock()
        self._count = 0

    @contextmanager
    def noted(self, place: Callable[[], str]) -> Generator[None]:
        """Whatever is raised meanwhile and is none of our errors is logged, and raised as a Mishap.

        ``place``: where it happened, like a route or a tool, in words of ours."""
        try:
            yield
        except HiveloreError:
            raise
        except Exception as error:
            raise self._logged(error, place()) from error

    def _logged(self, error: Exception, place: str) -> Incident:
        with self._lock:
            self._count += 1
            mishap = Incident(f"{self._clock.now():%Y%m%dT%H%M%S}-{self._count}")
        _LOG.error(
            "Unexpected error %s at %s\n%s", mishap.id, place, tracebacks.masked_traceback(error, self._redactor)
        )
        return mishap


class Shield:
    """Pure ASGI: an error that nobody below has caught becomes a problem document."""

    def __init__(self, app: ASGIApp, mishaps: Incidents) -> None:
        self._app = app
        self._mishaps = mishaps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        def route() -> str:
            # The path of the route, not that of the request, which may hold what somebody typed.
            return f"{scope['method']} {getattr(scope.get('route'), 'path', 'no route')}"

        try:
            with self._mishaps.noted(route):
                await self._app(scope, receive, watched)
        except Incident as mishap:
            if begun:  # Too late for another answer: the connection ends, which says that this one is not whole.
                raise
            await problem(500, str(mishap), CODE, id=mishap.id)(scope, receive, send)
