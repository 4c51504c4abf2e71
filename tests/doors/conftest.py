"""One service for the tests of a module."""

from collections.abc import Generator
from pathlib import Path

import pytest

from support.service import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    with Service(home) as running:
        yield running
