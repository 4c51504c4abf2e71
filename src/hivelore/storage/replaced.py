"""The refusal of a database that is not the one that was opened."""

from hivelore.errors import Unavailable
from hivelore.health.model import EXPLANATIONS, Cause


def replaced() -> Unavailable:
    said = EXPLANATIONS[Cause.REPLACED]
    return Unavailable(f"{said.what} {said.remedy}", cause=Cause.REPLACED)
