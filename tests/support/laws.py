"""Examples of laws: the same ones in every `make test`, and many more, always new ones, in `make soak`."""

import os

from hypothesis import HealthCheck, settings

IS_SOAKING = os.environ.get("HIVELORE_TEST_SOAK") == "1"
TIMES = 10 if IS_SOAKING else 1


def examples(number: int) -> int:
    """Returns the number of examples; this one in `make test`."""
    return number * TIMES


def load_profile() -> None:
    """Loads the profile of examples, without deadlines: laws are about values, not about speed."""
    settings.register_profile(
        "hivelore",
        deadline=None,
        derandomize=not IS_SOAKING,
        max_examples=examples(100),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("hivelore")
