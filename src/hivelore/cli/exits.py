"""Exit codes, and the table from errors to exit codes."""

from hivelore import errors
from hivelore.errors import HiveloreError
from hivelore.python.client import BY_CODE

UNEXPECTED = 1
USAGE = 2
UNAVAILABLE = 6
LEFT_OUT = 7
"""Done, but something was left out: lines, files, what a running service still writes, or a result that waits for the
service."""
TASK_NOT_DONE = 8
"""The one task of ``run --once`` was not completed."""
RUNNER_FAULT = 9
"""The runner ended because it cannot work on this machine, or without a service."""
NO_PROGRAM = 10
"""The agent program, or git, is missing or does not work."""
NOT_SIGNED_IN = 11
"""The agent program is not signed in."""
NOT_WRITABLE = 12
"""The workspace or the home folder cannot be written to."""
INTERRUPTED = 130
CLOSED_PIPE = 141

CODES: dict[type[HiveloreError], int] = {
    errors.Invalid: USAGE,
    errors.NotFound: 3,
    errors.Unauthenticated: 4,
    errors.Forbidden: 4,
    errors.Conflict: 5,
    errors.Unavailable: UNAVAILABLE,
    HiveloreError: UNEXPECTED,
}
"""The most specific class of an error decides."""
_NAMES = {kind: name for name, kind in BY_CODE.items()}


def code_of(error: HiveloreError) -> int:
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def name_of(error: HiveloreError) -> str:
    """Return the name of this kind of error in JSON; the service uses the same names."""
    return _NAMES.get(type(error), "error")
