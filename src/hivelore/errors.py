"""What can go wrong, as one family.

    HiveloreError
    ├── Invalid            what was asked cannot be done as asked: change the request
    │   └── TooLarge       ... because it is over a limit
    ├── Unauthenticated    no key, a wrong, expired or revoked one
    ├── Forbidden          known who asks, and they may not
    │   └── Proposed       ... by themselves: it was proposed to those who decide; carries the proposal
    ├── NotFound           no such thing, or not for the eyes of who asks (the same answer)
    ├── Conflict           the state of the store does not allow it now
    │   ├── Stale          it was changed since it was read; carries the current version
    │   └── Busy           somebody else holds the data directory; carries their pid
    ├── Unavailable        something we depend on did not answer; trying again may help
    │   ├── Overloaded     too many calls at once; carries when to try again
    │   └── Expired        the deadline of the call passed
    └── Broken             the installation or the data is damaged, or of a newer version

Each message says what the caller can do next. Each door has one table from these to its own words:
a status, a tool error, an exit code.
"""


class HiveloreError(Exception):
    """The root of the family. ``str(error)`` is meant for people and models alike."""


class Invalid(HiveloreError):
    """The request cannot be done as asked. ``field`` names the argument at fault where there is one."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class TooLarge(Invalid):
    """Over a limit that the message states."""


class Unauthenticated(HiveloreError):
    """No key, or one that is wrong, expired or revoked."""


class Forbidden(HiveloreError):
    """The caller is known and may not do this."""


class Proposed(Forbidden):
    """Nothing was done but to propose it: somebody else decides. ``proposal`` is the id to ask for."""

    def __init__(self, message: str, *, proposal: str) -> None:
        super().__init__(message)
        self.proposal = proposal


class NotFound(HiveloreError):
    """No such thing, or none that the caller may see: both read the same."""


class Conflict(HiveloreError):
    """The present state of the store does not allow it."""


class Stale(Conflict):
    """Changed since it was read. ``current`` is the version that stands now."""

    def __init__(self, message: str, *, current: int) -> None:
        super().__init__(message)
        self.current = current


class Busy(Conflict):
    """Another process owns the data directory. ``pid`` is its process id, 0 where unknown."""

    def __init__(self, message: str, *, pid: int = 0) -> None:
        super().__init__(message)
        self.pid = pid


class Unavailable(HiveloreError):
    """Something we depend on did not answer. ``retry_after`` is in seconds, None where unknown. ``cause``: a
    ``health.model.Cause`` where the database itself failed, else None."""

    def __init__(self, message: str, *, retry_after: float | None = None, cause: str | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.cause = cause


class Overloaded(Unavailable):
    """Too many calls at once; nothing was done."""


class Expired(Unavailable):
    """The deadline of the call passed before it was done."""


class Broken(HiveloreError):
    """The installation or the data is damaged, not ours, or of a newer version; nothing was touched. ``cause`` is as
    that of ``Unavailable``."""

    def __init__(self, message: str, *, cause: str | None = None) -> None:
        super().__init__(message)
        self.cause = cause
