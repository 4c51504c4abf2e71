"""Many cases in one test, which names each case that failed: thousands of tests would take much longer."""

from collections.abc import Generator
from contextlib import contextmanager


class Cases:
    def __init__(self) -> None:
        self._failures: list[Exception] = []

    @contextmanager
    def case(self, name: object) -> Generator[None]:
        """Continues after an error, and keeps it for the report."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the report fails the test
            error.add_note(f"Case: {name}")
            self._failures.append(error)

    def report(self) -> None:
        """Raises the errors of all cases that failed, each with its traceback and the name of the case."""
        if self._failures:
            raise ExceptionGroup("Cases failed", self._failures)
