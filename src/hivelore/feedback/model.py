"""Usefulness of a memory: counts of evidence, and the factor for its score (N17)."""

from dataclasses import dataclass

from msgspec.structs import astuple

from hivelore.core.values import Value, json_names


class UsageCounts(Value, frozen=True, omit_defaults=True):
    """Counts of evidence by sign. JSON omits those that are zero."""

    unused: int = 0
    repeated: int = 0
    opened: int = 0
    cited: int = 0
    applied: int = 0
    useless: int = 0
    useful: int = 0
    failed: int = 0
    succeeded: int = 0


NO_USAGE = UsageCounts()


class Usefulness(Value, frozen=True, rename=json_names(use="seen")):
    """The recorded use of a memory, and the factor by which it multiplies scores; 1 without evidence."""

    factor: float = 1.0
    use: UsageCounts = NO_USAGE


PRIOR = 20
"""Evidence assumed beforehand on each side, in tenths: two pieces for a memory, two against it."""
FOR = UsageCounts(repeated=5, opened=5, cited=10, applied=10, useful=20, succeeded=5)
"""Weight of evidence for a memory, in tenths. Integers make sums exact in any order."""
AGAINST = UsageCounts(unused=1, useless=20, failed=5)
"""Weight of evidence against it. Most recalled memories are not needed, so not using one means little."""


LEAST, MOST = 0.7, 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class UsefulnessBounds:
    """Limits of the factor: 0 < ``least`` <= 1 <= ``most``."""

    least: float = LEAST
    most: float = MOST


def usefulness_factor(use: UsageCounts, worth: UsefulnessBounds) -> float:
    """Returns a factor between ``least`` and ``most``; 1.0 without evidence and if both sides weigh the same. Evidence
    for a memory never lowers the factor, evidence against it never raises it."""
    good, bad = _weight(use, FOR), _weight(use, AGAINST)
    lean = 2 * ((PRIOR + good) / (2 * PRIOR + good + bad)) - 1
    if lean >= 0:
        return min(1.0 + lean * (worth.most - 1.0), worth.most)
    return max(1.0 + lean * (1.0 - worth.least), worth.least)


def _weight(use: UsageCounts, weights: UsageCounts) -> int:
    return sum(count * weight for count, weight in zip(astuple(use), astuple(weights), strict=True))
