"""Sessions of Claude Code that the service stores: sent while a task runs, and restored before they are resumed (N09,
X16)."""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from hivelore.errors import HiveloreError, NotFound
from hivelore.local import endpoint
from hivelore.local.claude_code_files import SUFFIX, is_session_id
from hivelore.local.transcript_capture import Refused, Sender, capture_pending, capture_session
from hivelore.python.client import Client
from hivelore.python.session_files import restore_session, sessions_folder
from hivelore.runner.model import Usage
from hivelore.runner.ports import TranscriptSource

SEND_EVERY = 15.0
"""Seconds between two looks at what a session has written."""
LAST_SEND = 10.0
"""Seconds in which the rest is sent after the program ended."""
_MOST_DOUBLINGS = 7
"""Of the pause after a session could not be sent: half an hour."""


class StoredSessions:
    """Implements ``TranscriptSource``. What cannot be restored is resumed as it is on this host."""

    def __init__(
        self,
        local: TranscriptSource,
        client: Client,
        key: str,
        home: Path,
        environment: Mapping[str, str],
        note: Callable[[str], object],
        monotonic: Callable[[], float],
        send_every: float = SEND_EVERY,
    ) -> None:
        """``key``: that of the agent, which the client has; ``environment``: that of the agent program; ``note`` is
        told of what could not be sent or restored."""
        self._local = local
        self._client = client
        self._key = key
        self._home = home
        self._environment = environment
        self._note = note
        self._monotonic = monotonic
        self._send_every = send_every
        self._is_storing = endpoint.stores_transcripts(environment)

    def has(self, session: str, folder: Path, stopping: Callable[[], bool]) -> bool:
        if is_session_id(session):  # The beginning of an id would restore another session.
            if self._is_storing and self._local.has(session, folder, stopping):
                # With entries that are not stored, the file could not take those of other hosts.
                with closing(self._sender()) as sender:
                    self._send(sender, session, folder, stopping)
            self._restore(session, folder, stopping)
        return self._local.has(session, folder, stopping)

    def usage_before(self, session: str) -> Usage:
        return self._local.usage_before(session)

    @contextmanager
    def storing(self, session: Callable[[], str | None], folder: Path) -> Generator[None]:
        if not self._is_storing:
            yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._send_until, args=(ended, session, folder), name="transcript")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _send_until(self, ended: threading.Event, session: Callable[[], str | None], folder: Path) -> None:
        """Sends what the session has written, and other sessions that wait. Hooks do so, too, but only after a turn."""
        failures, due = 0, self._monotonic()
        with closing(self._sender()) as sender:
            while not ended.wait(self._send_every):
                if self._monotonic() < due:
                    continue
                failures = 0 if self._send(sender, session(), folder, ended.is_set) else failures + 1
                self._try(lambda: capture_pending(sender, self._home, ended.is_set))
                # What was refused once, such as a transcript above the limits, is mostly refused again.
                due = self._monotonic() + self._send_every * (2 ** min(failures, _MOST_DOUBLINGS) - 1)
            until = self._monotonic() + LAST_SEND
            self._send(sender, session(), folder, lambda: self._monotonic() > until)

    def _send(self, sender: Sender, session: str | None, folder: Path, expired: Callable[[], bool]) -> bool:
        """Returns False if the session could not be sent."""
        if session is None:
            return True
        return self._try(lambda: capture_session(self._file(session, folder), sender, self._home, expired))

    def _try(self, send: Callable[[], object]) -> bool:
        try:
            send()
        except FileNotFoundError:  # The program has written nothing yet.
            return True
        except (Refused, HiveloreError, OSError, ValueError, RecursionError) as error:
            self._note(f"The transcript is not sent. {error}")
            return False
        return True

    def _restore(self, session: str, folder: Path, stopping: Callable[[], bool]) -> None:
        try:
            restore_session(
                self._client,
                self._key,
                session,
                folder,
                self._home,
                newest=False,
                environment=self._environment,
                stopping=stopping,
            )
        except NotFound:  # It is not stored.
            return
        except (HiveloreError, OSError) as error:
            self._note(f"Session {session} is not restored. {error}")

    def _file(self, session: str, folder: Path) -> Path:
        return sessions_folder(folder, self._environment) / f"{session}{SUFFIX}"

    def _sender(self) -> Sender:
        return Sender(self._client.url, self._key)
