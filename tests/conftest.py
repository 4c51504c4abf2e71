"""Prints at the end what tests have to show, wherever they ran: output of the processes of xdist goes nowhere."""

import gc
import os
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support import laws, places
from support.clocks import SteppingClock
from support.shown import Show
from support.stores import KEYWORDS, STORES
from support.world import World, hashing

_SHOWN = "shown"

laws.load_profile()

# Tests start Python hundreds of times: what is compiled is kept, so that not each of them compiles all of it again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
if (_folder := places.of_everything()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_folder))


# Collection creates objects that live until the end. The collector would traverse all of them again and again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def show(record_property: Callable[[str, object], None]) -> Show:
    return lambda heading, lines: record_property(_SHOWN, (heading, tuple(lines)))


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


# Gathering is the same on both databases, and slow where each statement travels to a server.
@pytest.fixture(params=[name for name in KEYWORDS if name != "postings on postgres, gathered at once"])
def world(request: pytest.FixtureRequest, clock: SteppingClock) -> Generator[World]:
    kind = KEYWORDS[request.param]
    with (
        TemporaryDirectory(dir=places.IN_MEMORY) as folder,
        closing(STORES[kind.store].open(Path(folder), clock)) as store,
    ):
        yield World(store, kind.index(), clock, embedder=hashing())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tables: dict[str, list[str]] = {}
    reports = (report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind))
    for report in reports:
        for name, shown in report.user_properties if report.when == "call" else ():
            if name == _SHOWN:
                heading, lines = shown
                tables.setdefault(heading, []).extend(lines)
    for heading, lines in tables.items():
        terminalreporter.write_line("")
        terminalreporter.write_line(heading, bold=True)
        for line in lines:
            terminalreporter.write_line(line)
