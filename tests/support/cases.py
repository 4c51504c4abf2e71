"""Many cases in one test, which names each case that failed: thousands of tests would take much longer."""

from collections.abc import Generator
from contextlib import contextmanager


class Cases:
    def __init__(self) -> None:
        self._failures: list[str] = []

    @contextmanager
    def case(self, name: object) -> Generator[None]:
        """Continues after an error, and keeps it for the report."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the report fails the test
            self._failures.append(f"{name}: {type(error).__name__}: {error}")

    def report(self) -> None:
        """Fails if a case failed."""
        assert not self._failures, "\n\n".join([f"{len(self._failures)} cases failed.", *self._failures])
