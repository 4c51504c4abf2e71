"""Files and functions that fit into a head, and excepts that know what they catch."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 50
BROAD = {"Exception", "BaseException"}

# Each with the reason why it is better so: a path below src, or path::name of a function or method.
LONG_FILES = {"hivelore/storage/ports.py": "what we ask of the world stands on one page"}
LONG_FUNCTIONS: dict[str, str] = {}
BROAD_EXCEPTS = {
    "hivelore/storage/sqlite/checkpoints.py::Checkpoints._run": "it goes on and tells the log: else that would grow",
    "hivelore/storage/sqlite/writer.py::Writer._commit": "it belongs to whoever waits for the group",
    "hivelore/storage/sqlite/writer.py::Writer._perform": "whatever a write raises belongs to the caller who waits",
    "hivelore/health/monitor.py::Monitor._search": "a search that raises anything does not work, which is reported",
    "hivelore/core/supervisor.py::Supervisor.attempt": "a worker is restarted after whatever it raises",
    "hivelore/maintenance/jobs.py::MaintenanceJobs._run": "a job has failed, whatever the work raised",
    "hivelore/http/incidents.py::Mishaps.noted": "what nobody foresaw is logged, and answered without a word of it",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function under a node with its dotted name."""
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{child.name}" if isinstance(child, Function | ast.ClassDef) else prefix
        if isinstance(child, Function):
            yield name, child
        yield from functions(child, f"{name}." if isinstance(child, Function | ast.ClassDef) else prefix)


def long_files(source: Path) -> set[str]:
    return {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > LINES_OF_A_FILE
    }


def long_functions(source: Path) -> set[str]:
    return {
        f"{path.relative_to(source).as_posix()}::{name}"
        for path in source.rglob("*.py")
        for name, function in functions(ast.parse(path.read_text(encoding="utf-8")))
        if (function.end_lineno or function.lineno) - function.lineno + 1 > LINES_OF_A_FUNCTION
    }


def broad_excepts(source: Path) -> set[str]:
    """The functions (or files) with an except that is bare or names Exception or BaseException, and keeps what it
    caught: one that tidies up and raises it again hides nothing."""
    found: set[str] = set()
    for path in source.rglob("*.py"):
        tree, file = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(source).as_posix()
        names = {id(inner): name for name, function in functions(tree) for inner in ast.walk(function)}
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


def test_no_file_is_longer_than_its_reason() -> None:
    assert long_files(SOURCE) == set(LONG_FILES)


def test_no_function_is_longer_than_its_reason() -> None:
    assert long_functions(SOURCE) == set(LONG_FUNCTIONS)


def test_no_except_catches_everything_without_a_reason() -> None:
    assert broad_excepts(SOURCE) == set(BROAD_EXCEPTS)


def test_a_file_over_the_limit_is_found(tmp_path: Path) -> None:
    (tmp_path / "fits.py").write_text("x = 1\n" * LINES_OF_A_FILE)
    (tmp_path / "long.py").write_text("x = 1\n" * (LINES_OF_A_FILE + 1))
    assert long_files(tmp_path) == {"long.py"}


def test_a_function_over_the_limit_is_found(tmp_path: Path) -> None:
    body = "        x = 1\n"
    fits = "    def fits(self):\n" + body * (LINES_OF_A_FUNCTION - 1)
    long = "    async def long(self):\n" + body * LINES_OF_A_FUNCTION
    (tmp_path / "module.py").write_text("class Thing:\n" + fits + long)
    assert long_functions(tmp_path) == {"module.py::Thing.long"}


@pytest.mark.parametrize("caught", ["", " Exception", " (OSError, BaseException)", " Exception as error"])
def test_an_except_that_catches_everything_is_found(tmp_path: Path, caught: str) -> None:
    (tmp_path / "module.py").write_text(f"def f():\n    try:\n        g()\n    except{caught}:\n        pass\n")
    assert broad_excepts(tmp_path) == {"module.py::f"}


@pytest.mark.parametrize(
    "handler", ["except (OSError, ValueError):\n    pass", "except BaseException:\n    h()\n    raise"]
)
def test_an_except_that_knows_what_it_catches_or_raises_it_again_is_fine(tmp_path: Path, handler: str) -> None:
    (tmp_path / "module.py").write_text(f"try:\n    g()\n{handler}\n")
    assert broad_excepts(tmp_path) == set()
