"""The reference implementation of the store port, in memory."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

from hivelore.core.clock import Clock
from hivelore.errors import Expired, Unavailable
from hivelore.search.model import Visibility
from hivelore.storage.ports import Transaction, View
from support.reference.state import EMPTY
from support.reference.transaction import ReferenceTransaction
from support.reference.view import ReferenceView

T = TypeVar("T")


class ReferenceStore:
    """A snapshot is a reference to an immutable state; one writer at a time replaces the current state."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._state = EMPTY
        self._writing = Lock()
        self._closed = False

    @property
    def name(self) -> str:
        return "reference"

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def row_level_security(self) -> bool | None:
        return None

    @contextmanager
    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> Generator[View]:
        del sees  # there is nobody who could refuse but the filters
        self._refuse_closed()
        self._refuse_late(deadline)
        yield ReferenceView(self._state)

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        with self._turn(deadline):
            self._refuse_closed()
            transaction = ReferenceTransaction(self._state)
            answer = work(transaction)
            self._state = transaction.state
            return answer

    def verify(self) -> None:
        self._refuse_closed()

    def check(self) -> Sequence[str]:
        return ()

    def purge_log(self) -> bool:
        return True

    def analyze(self) -> None:
        self._refuse_closed()

    def vacuum(self) -> None:
        self._refuse_closed()

    def close(self) -> None:
        with self._writing:
            self._closed = True
            self._state = EMPTY

    @contextmanager
    def _turn(self, deadline: float | None) -> Generator[None]:
        self._refuse_late(deadline)
        patience = -1 if deadline is None else deadline - self._clock.monotonic()
        if not self._writing.acquire(timeout=patience):
            raise _too_late()
        try:
            self._refuse_late(deadline)
            yield
        finally:
            self._writing.release()

    def _refuse_late(self, deadline: float | None) -> None:
        if deadline is not None and self._clock.monotonic() > deadline:
            raise _too_late()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise Unavailable("The store is closed. Open it again.")


def _too_late() -> Expired:
    return Expired("The deadline of the call passed. Try again with more time.")
