"""Import rules: the sources keep all rules of pyproject.toml, and each rule reports a violation."""

import logging
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
Judge = Callable[[tuple[str, ...]], tuple[bool, str]]
"""Returns True if the rules with these ids (none: all) were kept, and the output of import-linter."""

FORBIDDEN = [
    ("layers", "hivelore.errors", "hivelore.core.text"),
    ("layers", "hivelore.local.endpoint", "hivelore.core.text"),
    ("layers", "hivelore.search.service", "hivelore.runtime.app"),
    ("layers", "hivelore.storage.ports", "hivelore.http.operations"),
    ("layers", "hivelore.runtime.settings", "hivelore.python.client"),
    ("layers", "hivelore.python.client", "hivelore.integrations"),
    ("layers", "hivelore.http", "hivelore.cli"),
    ("layers", "hivelore.mcp.bridge", "hivelore.integrations"),
    ("decisions", "hivelore.search.ranking", "hivelore.storage.ports"),
    ("decisions", "hivelore.memories.model", "hivelore.memories.service"),
    ("decisions", "hivelore.core.access", "hivelore.models.ports"),
    ("technology", "hivelore.http.operations", "hivelore.models.onnx"),
    ("technology", "hivelore.cli", "hivelore.storage.sqlite.store"),
    ("settings", "hivelore.http.operations", "hivelore.runtime.settings"),
    ("sql", "hivelore.indexes.vectors", "hivelore.storage.sql.rows"),
    ("sql", "hivelore.storage.leader_lease", "hivelore.storage.sql.statements"),
    ("light", "hivelore.python.client", "numpy"),
    ("light", "hivelore.mcp.bridge", "hivelore.indexing.model"),
    ("light", "hivelore.hooks", "hivelore.search.ranking"),
    ("local", "hivelore.local.endpoint", "platformdirs"),
    ("local", "hivelore.errors", "rich"),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Returns the folder of a copy of the sources and the import rules."""

    def everything_but_python(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(folder, name).is_file() and not name.endswith(".py")}

    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=everything_but_python)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path / "src"


@pytest.fixture
def judge(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Judge:
    """Runs import-linter on the copy instead of the installed sources."""
    for logger in logging.Logger.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):  # import-linter disables other loggers; restore them.
            monkeypatch.setattr(logger, "disabled", logger.disabled)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(sys, "path", [str(copy), str(ROOT), *sys.path])
    monkeypatch.delitem(sys.modules, "hivelore", raising=False)

    def judge(rules: tuple[str, ...]) -> tuple[bool, str]:
        configuration = str(copy.parent / "pyproject.toml")
        kept = lint_imports(configuration, limit_to_contracts=rules, no_cache=True, no_logo=True) == 0
        return kept, capsys.readouterr().out

    return judge


def plant(source: Path, importer: str, imported: str) -> str:
    """Adds an import to a module of the copy, and returns the name of the importing module."""
    for module in (importer, imported):
        place = source / module.replace(".", "/")
        if module.startswith("hivelore.") and not place.is_dir() and not place.with_suffix(".py").exists():
            place.with_suffix(".py").touch()
    place = source / importer.replace(".", "/")
    if place.is_dir():
        importer, place = f"{importer}.planted", place / "planted"
    with place.with_suffix(".py").open("a") as file:
        file.write(f"\nimport {imported}\n")
    return importer


def test_the_sources_keep_every_import_rule(judge: Judge) -> None:
    kept, output = judge(())
    assert kept, output


@pytest.mark.parametrize(("rule", "importer", "imported"), FORBIDDEN)
def test_a_forbidden_import_is_reported(copy: Path, judge: Judge, rule: str, importer: str, imported: str) -> None:
    importer = plant(copy, importer, imported)
    kept, output = judge((rule,))
    assert not kept
    assert f"{importer} -> {imported} (l." in output


def test_an_import_cycle_is_reported(copy: Path, judge: Judge) -> None:
    plant(copy, "hivelore.memories.model", "hivelore.memories.service")
    kept, output = judge(("cycles",))
    assert not kept
    assert "hivelore.memories.model -> hivelore.memories.service (l." in output


def test_a_module_outside_the_layers_is_reported(copy: Path, judge: Judge) -> None:
    (copy / "hivelore" / "elsewhere.py").touch()
    kept, output = judge(("layers",))
    assert not kept
    assert "hivelore.elsewhere" in output
