"""Secrets that no rule names, found by what stands around them: logistic regression over the traits of candidates.

``scripts.train_secrets`` makes the weights.
"""

from array import array
from collections.abc import Iterator
from functools import cache
from typing import Final

from hivelore.core.redaction.candidates import LONGEST, REST, regions
from hivelore.core.redaction.matching import Span, compiled
from hivelore.core.redaction.readings import Reading
from hivelore.core.redaction.traits import Surroundings

STEPS: Final = 24
"""Steps of a weight in one unit of the logarithm of the odds."""
_LEAST: Final = -0.2 * STEPS
"""The score above which a candidate is taken for a secret: the odds of training are not those of ordinary text."""


def suspected_secrets(reading: Reading) -> Iterator[Span]:
    for region in regions(reading):
        weights = _weights()
        around = Surroundings(reading.view, region)
        for group in region.groups:
            score, candidate = max((sum(map(weights.__getitem__, around.traits(one))), one) for one in group)
            if score > _LEAST:
                start, stop = candidate.start, candidate.stop
                rest = compiled(REST).match(reading.view, stop) if stop - start == LONGEST else None
                yield around.kind(candidate), start, rest.end() if rest else stop


@cache
def _weights() -> "array[int]":
    with open(f"{__file__.rpartition('/')[0]}/weights.bin", "rb") as file:  # noqa: PTH123 - pathlib is slow to load
        return array("b", file.read())
