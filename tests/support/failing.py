"""Services whose database can be made to fail."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from hivelore.health import monitor
from hivelore.runtime import engines, workers
from hivelore.storage.sqlite.store import SqliteStore
from support import postgres
from support.postgres_line import Line, line
from support.service import Service
from support.vfs import Disk
from support.waiting import until


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Checks the health of a service many times a second."""
    patch.setattr(workers, "MONITOR_EVERY", 0.05)
    patch.setattr(workers, "TEND_EVERY", 0.05)
    patch.setattr(monitor, "WRITE_EVERY", 0.2)
    patch.setattr(monitor, "WORDS_EVERY", 0.2)


@contextmanager
def on_disk(home: Path, **settings: Any) -> Generator[tuple[Service, Disk]]:
    """A service with SQLite on a disk that fails on demand."""
    disk = Disk()
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        patch.setattr(engines, "SqliteStore", partial(SqliteStore, vfs=disk.name))
        with Service(home, **settings) as service:
            yield service, disk
    disk.unregister()


@contextmanager
def on_cable(home: Path) -> Generator[tuple[Service, Line]]:
    """A service with a PostgreSQL database that can be cut off."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        with line(postgres.schema()) as cable:
            url = f"postgresql:///?{urlencode(conninfo_to_dict(cable.url), quote_via=quote)}"
            with Service(home, database=url) as service:
                yield service, cable


def causes(service: Service) -> list[str]:
    return [reason["cause"] for reason in service.client(None).reasons()]


def wait_for(service: Service, *expected: str) -> None:
    """Waits until exactly these problems are reported."""
    until(lambda: causes(service) == list(expected))
