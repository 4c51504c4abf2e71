"""A separate PostgreSQL store for each test."""

from collections.abc import Generator
from contextlib import closing

import pytest

from hivelore.runtime.clock import SystemClock
from hivelore.storage.postgres.store import PostgresStore
from support import postgres


@pytest.fixture
def url() -> str:
    """Returns the URL of an empty schema."""
    return postgres.schema()


@pytest.fixture
def store(url: str) -> Generator[PostgresStore]:
    """A store with few connections."""
    with closing(PostgresStore(url, clock=SystemClock(), connections=2)) as store:
        yield store
