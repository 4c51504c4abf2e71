"""Whether a memory was of use: how much there is that tells so, and what follows (N17)."""

from typing import NamedTuple


class Use(NamedTuple):
    """How much evidence there is of each sign."""

    unused: int = 0
    repeated: int = 0
    opened: int = 0
    cited: int = 0
    applied: int = 0
    useless: int = 0
    useful: int = 0
    failed: int = 0
    succeeded: int = 0


UNKNOWN = Use()
"""Nothing is known."""


class Usefulness(NamedTuple):
    """What is known of a memory, and the factor that its score is multiplied by for that."""

    factor: float
    use: Use
