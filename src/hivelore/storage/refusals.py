"""Errors for a database that is missing or is not the one that was opened."""

from hivelore.errors import Broken, Unavailable
from hivelore.health.model import EXPLANATIONS, Cause


def database_replaced() -> Unavailable:
    said = EXPLANATIONS[Cause.REPLACED]
    return Unavailable(f"{said.what} {said.remedy}", cause=Cause.REPLACED)


def database_missing(finding: str) -> Broken:
    """``finding`` is a sentence without its full stop, such as "There is no database at this path"."""
    return Broken(
        f"{finding}, but the home folder has keys of an earlier one. The database may have been deleted, or "
        "HIVELORE_DATABASE may have changed. Put the database back or restore a backup. To start with an empty "
        "database instead, set HIVELORE_NEW_DATABASE=1 for this start."
    )
