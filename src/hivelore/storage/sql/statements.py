"""Named SQL statements, loaded from ``.sql`` files in which each stands under a line ``-- name: what_it_does``."""

import re
from collections.abc import Mapping
from importlib.resources import files

_NAME = re.compile(r"^--\s*name:\s*(\w+)\s*$", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """Returns the statements of one file by name. Raises ValueError for a duplicate name."""
    pieces = _NAME.split(text)
    statements: dict[str, str] = {}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in statements:
            raise ValueError(f"the statement {name!r} is defined twice")
        statements[name] = body.strip().rstrip(";")
    return statements


def load(*sources: tuple[str, str]) -> Mapping[str, str]:
    """Returns the statements of several files, given as (package, file name). A later statement replaces an earlier one
    of the same name: a dialect overrides a shared statement."""
    statements: dict[str, str] = {}
    for package, file in sources:
        statements |= parse(files(package).joinpath(file).read_text(encoding="utf-8"))
    return statements
