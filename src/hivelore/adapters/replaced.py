"""The refusal of a database that is not the one that was opened."""

from hivelore.domain.health import EXPLANATIONS, Cause
from hivelore.errors import Unavailable


def replaced() -> Unavailable:
    said = EXPLANATIONS[Cause.REPLACED]
    return Unavailable(f"{said.what} {said.remedy}", cause=Cause.REPLACED)
