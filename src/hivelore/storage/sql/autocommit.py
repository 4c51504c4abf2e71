"""Connections in autocommit mode, for statements that cannot run inside a transaction."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from hivelore.storage.sql.statements import Params


class Autocommit(Protocol):
    @property
    def namespace(self) -> int: ...

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        """Like ``SqlView.rows``."""
        ...

    def run(self, sql: str, stopping: Callable[[], bool]) -> bool:
        """Runs a statement that may take hours. Returns False if ``stopping`` came first: then the server continues
        alone, and this connection can no longer be used."""
        ...


@runtime_checkable
class HasAutocommit(Protocol):
    """A store that lends connections in autocommit mode."""

    def autocommit(self) -> AbstractContextManager[Autocommit]: ...
