"""Prints the longest files and functions below a folder. It reports and never fails.

Usage: python scripts/shape.py [FOLDER]
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yields every function under a node with its dotted name."""
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{child.name}" if isinstance(child, Function | ast.ClassDef) else prefix
        if isinstance(child, Function):
            yield name, child
        yield from functions(child, f"{name}." if isinstance(child, Function | ast.ClassDef) else prefix)


def report(source: Path, count: int = 10) -> list[str]:
    """Returns the ``count`` longest files and functions, longest first, one line each with its number of lines."""
    files: list[tuple[int, str]] = []
    found: list[tuple[int, str]] = []
    for path in sorted(source.rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(source).as_posix()
        files.append((len(text.splitlines()), name))
        for function_name, function in functions(ast.parse(text)):
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            found.append((length, f"{name}::{function_name}"))
    lines: list[str] = []
    for title, rows in (("Longest files:", files), ("Longest functions:", found)):
        lines.append(title)
        lines += [f"{length:6}  {name}" for length, name in sorted(rows, reverse=True)[:count]]
    return lines


if __name__ == "__main__":
    print(*report(Path(sys.argv[1] if len(sys.argv) > 1 else "src")), sep="\n")
