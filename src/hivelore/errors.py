"""The family of errors.

    HiveloreError
    ├── Invalid            the request cannot be done: change it
    │   └── TooLarge       a limit is exceeded
    ├── Unauthenticated    the key is missing, wrong, expired or revoked
    ├── Forbidden          the caller is known and may not do this
    │   └── Proposed       it was proposed for review instead; carries the id of the proposal
    ├── NotFound           it does not exist, or the caller may not see it (the same answer)
    ├── Conflict           the current state of the store does not allow it
    │   ├── Stale          it changed since it was read; carries the current version
    │   └── Busy           another process owns the data directory; carries its pid
    ├── Unavailable        a dependency did not answer: try again later
    │   ├── Overloaded     too many concurrent calls; carries when to try again
    │   └── Expired        the deadline of the call passed
    └── Broken             the installation or the data is damaged or newer than this version

Each message says what the caller can do next. Each interface has one table from these errors to its own: HTTP statuses,
tool errors, exit codes.
"""


class HiveloreError(Exception):
    """Base of all errors. ``str(error)`` is a message for people and models."""


class Invalid(HiveloreError):
    """The request cannot be done. ``field``: the invalid argument, if there is one."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class TooLarge(Invalid):
    """A limit is exceeded. The message states it."""


class Unauthenticated(HiveloreError):
    """The key is missing, wrong, expired or revoked."""


class Forbidden(HiveloreError):
    """The caller is known and may not do this."""


class Proposed(Forbidden):
    """The change was not made, but proposed for review. ``proposal``: the id of the proposal. ``current``: the version
    after the part of the request that took effect; None: nothing changed."""

    def __init__(self, message: str, *, proposal: str, current: int | None = None) -> None:
        super().__init__(message)
        self.proposal = proposal
        self.current = current


class NotFound(HiveloreError):
    """It does not exist, or the caller may not see it; the message is the same."""


class Conflict(HiveloreError):
    """The current state of the store does not allow it."""


class Stale(Conflict):
    """It changed since it was read. ``current``: the current version."""

    def __init__(self, message: str, *, current: int) -> None:
        super().__init__(message)
        self.current = current


class Busy(Conflict):
    """Another process owns the data directory. ``pid``: its process id, 0 if unknown."""

    def __init__(self, message: str, *, pid: int = 0) -> None:
        super().__init__(message)
        self.pid = pid


class Unavailable(HiveloreError):
    """A dependency did not answer. ``retry_after``: seconds, None if unknown. ``cause``: a ``health.model.Cause`` if
    the database failed, else None."""

    def __init__(self, message: str, *, retry_after: float | None = None, cause: str | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.cause = cause


class Overloaded(Unavailable):
    """There were too many concurrent calls. Nothing was done."""


class Expired(Unavailable):
    """The deadline of the call passed."""


class Broken(HiveloreError):
    """The installation or the data is damaged, foreign or newer than this version. Nothing was changed. ``cause``: see
    ``Unavailable``."""

    def __init__(self, message: str, *, cause: str | None = None) -> None:
        super().__init__(message)
        self.cause = cause
