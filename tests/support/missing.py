"""What a test needs and does not find: said aloud where somebody works without it, and in CI a failure, so that nothing
is green there that was not tried. What a platform cannot have is skipped everywhere; so is what needs the benchmark's
data."""

import os
from typing import NoReturn

import pytest


def missing(why: str) -> NoReturn:
    """Skips the test; in CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)
