"""Sessions of Claude Code that are stored in the service: restored on this host before they are resumed (N09, X16)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from hivelore.errors import HiveloreError, NotFound
from hivelore.local.claude_code_files import is_session_id
from hivelore.python.client import Client
from hivelore.python.session_files import restore_session
from hivelore.runner.model import Usage
from hivelore.runner.ports import TranscriptSource


class RestoredSessions:
    """Implements ``TranscriptSource``. What cannot be restored is resumed as it is on this host."""

    def __init__(
        self,
        local: TranscriptSource,
        client: Client,
        key: str,
        home: Path,
        environment: Mapping[str, str],
        note: Callable[[str], object],
    ) -> None:
        """``key``: that of the agent, which the client has; ``environment``: that of the agent program; ``note`` is
        told of what could not be restored."""
        self._local = local
        self._client = client
        self._key = key
        self._home = home
        self._environment = environment
        self._note = note

    def has(self, session: str, folder: Path) -> bool:
        if is_session_id(session):  # The beginning of an id would restore another session.
            self._restore(session, folder)
        return self._local.has(session, folder)

    def usage_before(self, session: str) -> Usage:
        return self._local.usage_before(session)

    def _restore(self, session: str, folder: Path) -> None:
        try:
            restore_session(
                self._client, self._key, session, folder, self._home, newest=False, environment=self._environment
            )
        except NotFound:  # It is not stored.
            return
        except (HiveloreError, OSError) as error:
            self._note(f"Session {session} is not restored. {error}")
