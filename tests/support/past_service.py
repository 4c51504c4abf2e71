"""A service whose clock is behind: ``python -m support.past_service DAYS`` does what ``hivelore serve`` does."""

import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from hivelore.cli.main import main
from hivelore.local import launcher
from hivelore.runtime.clock import SystemClock
from support.waiting import until

TESTS = Path(__file__).parents[1]


@contextmanager
def past_service(environ: Mapping[str, str], days: int) -> Generator[None]:
    """Runs one in a separate process, for the home folder of this environment."""
    command = [sys.executable, "-m", "support.past_service", str(days)]
    with subprocess.Popen(command, cwd=TESTS, env=environ) as process:
        try:
            until(lambda: process.poll() is not None or launcher.is_alive(environ["HIVELORE_URL"]))
            assert process.returncode is None
            yield
        finally:
            process.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    behind = timedelta(days=int(sys.argv.pop(1)))
    sys.argv.append("serve")
    with patch.object(SystemClock, "now", staticmethod(lambda: datetime.now(UTC) - behind)):
        main()
