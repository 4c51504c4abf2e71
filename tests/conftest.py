"""Prints at the end what tests have to show, wherever they ran: output of the processes of xdist goes nowhere."""

from collections.abc import Callable

import pytest

from support.shown import Show

_SHOWN = "shown"


@pytest.fixture
def show(record_property: Callable[[str, object], None]) -> Show:
    return lambda heading, lines: record_property(_SHOWN, (heading, tuple(lines)))


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
