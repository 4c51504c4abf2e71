"""One service for the tests of a module, on each database."""

from collections.abc import Generator
from pathlib import Path

import pytest

from support.postgres import DATABASES, service_on
from support.service import Service


@pytest.fixture(scope="module", params=DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    with Service(home, **service_on(request.param)) as running:
        yield running
