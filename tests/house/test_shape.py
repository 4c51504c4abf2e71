"""Excepts that catch everything have a reason, and the shape report prints the longest files and functions."""

import ast
from pathlib import Path

import pytest
import shape

SOURCE = Path(__file__).parents[2] / "src"
BROAD = {"Exception", "BaseException"}

# Each with its reason, by path::name of the function or method.
BROAD_EXCEPTS = {
    "hivelore/storage/sqlite/store.py::Checkpoints._run": "it logs the error, and continues: else the log grows",
    "hivelore/storage/sqlite/store.py::Writer._commit": "the caller that waits for the group gets it",
    "hivelore/storage/sqlite/store.py::Writer._run_unit": "whatever a write raises belongs to the caller who waits",
    "hivelore/health/monitor.py::Monitor._search": "a search that raises anything does not work, which is reported",
    "hivelore/core/supervisor.py::Supervisor.attempt": "a worker is restarted after whatever it raises",
    "hivelore/sessions/spool.py::SpoolDelivery._deliver_event": "one event must not block all later ones; it is logged",
    "hivelore/transfer/backfill.py::read_draft": "programs change their formats; the file is named, others are read",
    "hivelore/maintenance/jobs.py::MaintenanceJobs._run": "a job has failed, whatever the work raised",
    "hivelore/http/middleware.py::Incidents.logged": "what nobody foresaw is logged, and answered without a word of it",
}


def broad_excepts(source: Path) -> set[str]:
    """Returns the functions (or files) with an except that is bare or names Exception or BaseException, and does not
    raise the error again."""
    found: set[str] = set()
    for path in source.rglob("*.py"):
        tree, file = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(source).as_posix()
        names = {id(inner): name for name, function in shape.functions(tree) for inner in ast.walk(function)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and catches_everything(node) and not raises_again(node):
                found.add(f"{file}::{names[id(node)]}" if id(node) in names else file)
    return found


def catches_everything(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in BROAD for kind in caught)


def raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_no_except_catches_everything_without_a_reason() -> None:
    assert broad_excepts(SOURCE) == set(BROAD_EXCEPTS)


def test_the_report_names_the_longest_files_and_functions(tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text("x = 1")
    body = "; ".join(["x = 1"] * 9).replace("; ", "\n        ")
    (tmp_path / "long.py").write_text(f"class Thing:\n    def long(self):\n        {body}")
    function = "    10  long.py::Thing.long"
    assert shape.report(tmp_path, 1) == ["Longest files:", "    11  long.py", "Longest functions:", function]


@pytest.mark.parametrize("caught", ["", " Exception", " (OSError, BaseException)", " Exception as error"])
def test_an_except_that_catches_everything_is_reported(tmp_path: Path, caught: str) -> None:
    (tmp_path / "module.py").write_text(f"def f():\n    try:\n        g()\n    except{caught}:\n        pass\n")
    assert broad_excepts(tmp_path) == {"module.py::f"}


@pytest.mark.parametrize(
    "handler", ["except (OSError, ValueError):\n    pass", "except BaseException:\n    h()\n    raise"]
)
def test_an_except_that_names_its_errors_or_raises_them_again_is_accepted(tmp_path: Path, handler: str) -> None:
    (tmp_path / "module.py").write_text(f"try:\n    g()\n{handler}\n")
    assert broad_excepts(tmp_path) == set()
