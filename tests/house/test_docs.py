"""The documents have no problems, and the check reports problems."""

import re
import tomllib
from pathlib import Path

import pytest
from check_docs import anchors, problems

ROOT = Path(__file__).parents[2]


def test_the_documents_have_no_problems() -> None:
    assert list(problems(ROOT)) == []


def test_exactly_the_dependencies_have_a_documented_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [re.split(r"[^\w.-]", requirement)[0] for requirement in project["dependencies"]]
    page = (ROOT / "docs" / "decisions" / "0002-dependencies.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([\w.-]+)` \| \S.+ \|$", page, re.MULTILINE)
    assert explained == needed


def test_valid_links_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# A page\n\nSee [above](../README.md#what-it-does).\n")
    (tmp_path / "README.md").write_text(
        "# Name\n\n## What it does\n\n[a](docs/page.md) [b](docs/) [c](#name) [d](https://example.org/x#y)\n"
        "![e](docs/page.md)\n\n`[f](nowhere.md)`\n\n```python\nawait remember()\n```\n"
    )
    assert list(problems(tmp_path)) == []


@pytest.mark.parametrize(
    "link", ["missing.md", "docs/missing.md#name", "../outside.md", "/README.md", "%6Dissing.md", "<missing page.md>"]
)
def test_a_dead_link_is_reported(tmp_path: Path, link: str) -> None:
    (tmp_path / "outside.md").touch()
    root = tmp_path / "root"
    root.mkdir()
    (root / "README.md").write_text(f"# Name\n\nOne line.\n\nSee [this]({link}).\n")
    (found,) = problems(root)
    assert found.startswith("README.md:5: the link ")
    assert found.endswith(" leads nowhere")


def test_dead_links_are_reported_in_every_folder_of_documents(tmp_path: Path) -> None:
    pages = ["CHANGELOG.md", "docs/decisions/0001-first.md", "bench/README.md"]
    for page in pages:
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text("| a |\n|---|\n| ![picture](missing.png) |\n")
    assert [found.rsplit(":", 2)[0] for found in problems(tmp_path)] == pages


def test_a_link_to_a_missing_heading_is_reported(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Name\n\n[here](#name) [there](NEWS.md#version-1)\n\n[gone](#nmae)\n")
    (tmp_path / "NEWS.md").write_text("# Version 2\n")
    assert list(problems(tmp_path)) == [
        "README.md:3: the link NEWS.md#version-1 names a heading that NEWS.md does not have",
        "README.md:5: the link #nmae names a heading that README.md does not have",
    ]


def test_a_python_example_that_does_not_compile_is_reported(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Name\n\n```python\nx = 1\nreturn x\n```\n\n```text\nx = = 1\n```\n")
    assert list(problems(tmp_path)) == ["README.md:5: this Python example does not compile: 'return' outside function"]


def test_headings_have_the_anchors_of_github(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# `make run`: what's *there*?\n\n## snake_case & more\n\n## Again\n\n## Again\n\n"
        'Underlined\n---\n\n```\n# no heading\n```\n\n<a id="by-hand"></a>\n'
    )
    expected = ["make-run-whats-there", "snake_case--more", "again", "again-1", "underlined", "by-hand"]
    assert anchors(page) == set(expected)
