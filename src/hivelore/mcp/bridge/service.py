"""The service as the bridge sees it: where it is now, the key to come in with, connections that are kept."""

from _thread import allocate_lock

from hivelore.errors import HiveloreError, Unavailable
from hivelore.local import endpoint, launcher
from hivelore.local.git_project import project_of
from hivelore.mcp.bridge.http import Connection, Place

_HARMLESS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:@")


class Address:
    """One service, from its start to its end, and the key that was good for it."""

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
            self.headers["X-Hivelore-Project"] = _quoted(project)
        self._place = Place(url)
        self._idle: list[Connection] = []

    def connection(self, fresh: bool) -> Connection:
        """One that is free and still stands, else a new one. Raises Unsent where nobody answers.

        ``fresh``: a new one at any rate. The service may be closing a free one at this very moment, and what is
        sent over that has been carried out or not.
        """
        while self._idle and not fresh:
            try:
                known = self._idle.pop()
            except IndexError:  # Another thread was quicker.
                break
            if known.is_silent():
                return known
            known.close()
        return Connection(self._place)

    def keep(self, connection: Connection) -> None:
        self._idle.append(connection)


class _Nowhere:
    """That no service was found, and why."""

    def __init__(self, why: HiveloreError) -> None:
        self.why = str(why)


class Service:
    """Finds the service, starts it where there is none, and finds it again after it has ended."""

    def __init__(self, project: str | None) -> None:
        """``project``: where its memories belong; None: the one of the working directory, if that is in one."""
        self._project = project
        self._lock = allocate_lock()
        self._found: Address | _Nowhere | None = None

    def address(self, failed: Address | None = None) -> Address:
        """Where the service is; looked up anew, and started if need be, where ``failed`` is what we know.

        Many may ask at once: one looks, the others get what it found. Raises the family of HiveloreError.
        """
        known = self._found
        if isinstance(known, Address) and known is not failed:
            return known
        with self._lock:
            if self._found is known:
                self._found = self._look(known)
            found = self._found
        if isinstance(found, Address):
            return found
        raise Unavailable(found.why if found is not None else "No service was looked for.")

    def renewed(self, refused: Address) -> Address | None:
        """The same service with the key of now; None where that is the one that was refused."""
        key = endpoint.key(endpoint.AGENT_KEY, endpoint.home_folder())
        if key == refused.key:
            return None
        renewed = Address(refused.url, key, refused.project)
        self._found = renewed
        return renewed

    def _look(self, known: Address | _Nowhere | None) -> Address | _Nowhere:
        try:
            home = endpoint.home_folder()
            url = launcher.running(home) if known is None and endpoint.given_url() is None else None
            # Before its first start is over a service has not made its keys yet.
            if url is None or not endpoint.has_key(endpoint.AGENT_KEY, home):
                url = launcher.ensure(home)
            project = project_of(".") if self._project is None else self._project
            return Address(url, endpoint.key(endpoint.AGENT_KEY, home), project)
        except HiveloreError as error:
            return _Nowhere(error)


def _quoted(text: str) -> str:
    """As headers carry what may be more than ASCII."""
    return "".join(chr(byte) if byte in _HARMLESS else f"%{byte:02X}" for byte in text.encode(errors="replace"))
