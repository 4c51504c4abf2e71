"""The system clock; no other module of a service reads it."""

import time
from datetime import UTC, datetime
from functools import partial


class SystemClock:
    """Implements ``core.clock.Clock``."""

    # They are called often, so no Python function wraps them.
    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)
