"""The service of the bridge: its address, key and open connections."""

from _thread import allocate_lock

from hivelore.errors import HiveloreError, Unavailable
from hivelore.local import endpoint, launcher
from hivelore.local.git_project import project_of
from hivelore.local.transport import Connection, ServiceUrl

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:@")


class Address:
    """Address of one running service, with a valid key."""

    def __init__(self, url: str, key: str, project: str | None) -> None:
        self.url = url
        self.key = key
        self.project = project
        self.headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if project:
            self.headers["X-Hivelore-Project"] = _quote_header(project)
        self._url = ServiceUrl(url)
        self._idle: list[Connection] = []

    def connection(self, fresh: bool) -> Connection:
        """Return an idle connection, or a new one. Raises Unsent if no service answers.

        ``fresh``: always return a new one. The service may be closing an idle one at this moment, and then it is
        unknown whether a request on it was executed.
        """
        while self._idle and not fresh:
            try:
                known = self._idle.pop()
            except IndexError:  # Another thread was faster.
                break
            if known.is_idle():
                return known
            known.close()
        return Connection(self._url)

    def keep(self, connection: Connection) -> None:
        self._idle.append(connection)


class _NotFound:
    """The reason why no service was found."""

    def __init__(self, error: HiveloreError) -> None:
        self.reason = str(error)


class Service:
    """Finds the service, starts it if necessary, and finds it again after a restart."""

    def __init__(self, project: str | None) -> None:
        """``project``: project of the memories; None: that of the working directory, if it has one."""
        self._project = project
        self._lock = allocate_lock()
        self._found: Address | _NotFound | None = None

    def address(self, failed: Address | None = None) -> Address:
        """Return the address of the service. If it is ``failed``, find the service again, and start it if necessary.

        Concurrent calls share one search. Raises HiveloreError.
        """
        known = self._found
        if isinstance(known, Address) and known is not failed:
            return known
        with self._lock:
            if self._found is known:
                self._found = self._find()
            found = self._found
        if isinstance(found, Address):
            return found
        raise Unavailable(found.reason if found is not None else "No service was searched for.")

    def renewed(self, refused: Address) -> Address | None:
        """Return the same service with the current key; None if that key was refused."""
        key = endpoint.key(endpoint.AGENT_KEY, endpoint.home_folder())
        if key == refused.key:
            return None
        renewed = Address(refused.url, key, refused.project)
        self._found = renewed
        return renewed

    def _find(self) -> Address | _NotFound:
        try:
            home = endpoint.home_folder()
            url = launcher.running(home) if self._found is None and endpoint.given_url() is None else None
            # During its first start a service has not created its keys yet.
            if url is None or not endpoint.has_key(endpoint.AGENT_KEY, home):
                url = launcher.ensure(home)
            project = project_of(".") if self._project is None else self._project
            return Address(url, endpoint.key(endpoint.AGENT_KEY, home), project)
        except HiveloreError as error:
            return _NotFound(error)


def _quote_header(text: str) -> str:
    """Percent-encode text for a header."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode(errors="replace"))
