"""Agent programs for tests are pinned in one place and come from the configured npm registry."""

import json
import re
from pathlib import Path

from install_agents import LOCK, WANTED, is_installed


def test_each_agent_program_has_one_exact_version_equal_to_the_lock() -> None:
    wanted = json.loads((WANTED / "package.json").read_text(encoding="utf-8"))["dependencies"]
    packages = json.loads((WANTED / LOCK).read_text(encoding="utf-8"))["packages"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_the_lock_names_no_registry() -> None:
    assert "resolved" not in (WANTED / LOCK).read_text(encoding="utf-8")


def test_programs_of_another_lock_do_not_count_as_installed(tmp_path: Path) -> None:
    assert not is_installed(tmp_path)
    (tmp_path / "ready").write_bytes((WANTED / LOCK).read_bytes())
    assert is_installed(tmp_path)
    (tmp_path / "ready").write_text("{}")
    assert not is_installed(tmp_path)
