"""A connection outside of every transaction, for what cannot be done inside one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from hivelore.storage.sql.where import Params


class Autocommit(Protocol):
    @property
    def namespace(self) -> int: ...

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        """As ``SqlView.rows``."""
        ...

    def run(self, sql: str, stopping: Callable[[], bool]) -> bool:
        """Run a statement that may take hours. False where ``stopping`` came first: then the server goes on by
        itself, and this connection is of no more use."""
        ...


@runtime_checkable
class HasAutocommit(Protocol):
    """A store that can lend such a connection."""

    def autocommit(self) -> AbstractContextManager[Autocommit]: ...
