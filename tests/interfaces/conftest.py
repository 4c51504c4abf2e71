"""One service for the tests of a module, on each database."""

import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from support.postgres import DATABASES, service_on
from support.service import Service


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Restores SIGINT. A process inherits ignored signals from its parent, such as Ctrl-C in a background job."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", params=DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    with Service(home, **service_on(request.param)) as running:
        yield running
