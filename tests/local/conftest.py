"""Signals as a terminal sends them."""

import signal
from collections.abc import Generator

import pytest


@pytest.fixture(autouse=True)
def hangs_up() -> Generator[None]:
    """Restores SIGHUP, which processes below ``nohup`` inherit as an ignored signal."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
