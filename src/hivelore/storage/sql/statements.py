"""Named SQL statements, loaded from ``.sql`` files in which each stands under a line ``-- name: what_it_does``.

In the statements of a store, ``{columns:agent}`` lists the columns of a table as its declaration reads them (with an
alias: ``{columns:agent a}``), ``{insert:agent}`` inserts a row, ``{import:agent}`` inserts one with its key, and
``{update:agent}`` replaces the row that has the same key. Other placeholders are filled by the dialect, or by the code
that runs the statement.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

Param = None | int | float | str | bytes | list[int | str]
Params = Mapping[str, Param]

SHARED = "hivelore.storage.sql"
_NAME = re.compile(r"^--\s*name:\s*(\w+)\s*$", re.MULTILINE)
_PLACE = re.compile(r"\{(columns|insert|import|update|same|any):([\w.]+)(?: (\w+))?\}")


class TableColumns(Protocol):
    """The SQL that a table contributes to statements."""

    def listed(self, alias: str = "") -> str: ...
    def insert(self, *, given: str | None = None) -> str: ...
    def update(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The parts of shared statements that differ between engines."""

    package: str
    """Its own ``queries.sql`` overrides shared statements."""
    any: str
    """Compares with the members of a set, ``{name}``."""
    same: str
    """Compares the text ``{column}``, which may be too long for an index, with ``{name}``."""
    given: str
    """Allows an insert with a key that is otherwise assigned."""
    join: str
    """Joins the confidence or the usefulness counts of a memory: ``{table}`` and ``{name}``."""
    places: Mapping[str, str]
    """Other placeholders."""


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


def load_dialect(dialect: Dialect, tables: Mapping[str, TableColumns], places: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the statements of a store in a dialect. ``places`` are placeholders that all dialects share."""
    shared = sorted(file.name for file in files(SHARED).iterdir() if file.name.endswith(".sql"))
    statements = load(*((SHARED, file) for file in shared), (dialect.package, "queries.sql"))
    filled_in = {
        **places,
        **dialect.places,
        "operational": dialect.join.format(table="operational", name="o"),
        "usefulness": dialect.join.format(table="usefulness", name="u"),
        "decided_with": statements["decided_with"],
    }

    def fill(place: re.Match[str]) -> str:
        kind, name, argument = place[1], place[2], place[3] or ""
        match kind:
            case "any":
                return dialect.any.format(name=name)
            case "same":
                return dialect.same.format(column=name, name=argument)
            case "columns":
                return tables[name].listed(argument)
            case "update":
                return tables[name].update()
            case _:
                return tables[name].insert(given=dialect.given if kind == "import" else None)

    def filled(statement: str) -> str:
        for place, sql in filled_in.items():
            statement = statement.replace(f"{{{place}}}", sql)
        return _PLACE.sub(fill, statement)

    return {name: filled(statement) for name, statement in statements.items()}
