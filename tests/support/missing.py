"""Missing requirements of tests: they skip a test with a message on a developer's machine, and fail it in CI, where no
untested code may pass. Tests that a platform cannot run, or that need the benchmark's data, are skipped everywhere."""

import os
from typing import NoReturn

import pytest


def missing(why: str) -> NoReturn:
    """Skips the test; in CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)
