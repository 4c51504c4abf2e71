"""The recorded side of ``bench.walks``: runs Hivelore in a process that records every function call of the package.

    python -m bench.walk_recorder service PORT COMMANDS REPORTS    the service, until SIGTERM
    python -m bench.walk_recorder search HOME                      the Python API, in this process

``COMMANDS`` and ``REPORTS`` are file descriptors. The line ``start`` begins a recording, the line ``stop`` ends it.
A recording is one line of JSON: for each thread the list of its calls in their order, each as path, function, line.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from types import CodeType, FrameType

NOTES = (
    "Port 8443 is taken by the proxy of the build farm.",
    "The staging database is restored every Monday at 4.",
    "Bob has the key to the server room.",
    "Run the migrations before the workers start.",
    "The linter runs with --fix in CI.",
    "We deploy with blue-green switches since May.",
    "Screenshots are stored in the bucket media-raw.",
    "Alice prefers tabs in Makefiles only.",
    "The cache is cleared by restarting redis twice.",
    "pytest -n 4 hangs on the ARM runners.",
    "Release notes are written before the tag is pushed.",
    "The login page fails without the header X-Tenant.",
)
QUERIES = (
    "when is staging restored",
    "who can open the server room",
    "how do we deploy",
    "where do screenshots go",
    "what clears the cache",
    "which port does the proxy take",
    "why does the login page fail",
    "what hangs on ARM",
)
"""The first ones warm up, the others are recorded."""
WARM_UP = 3
HITS = 3
"""The limit of the search."""
PATIENCE = 60.0

Call = tuple[str, str, int]
"""Path within the package, qualified name, first line."""


class Recorder:
    """Records the calls of functions of the package in all threads that start after it is installed, and in this
    one."""

    def __init__(self) -> None:
        found = find_spec("hivelore")
        assert found is not None
        assert found.origin is not None
        self._root = str(Path(found.origin).parent) + os.sep
        self._niceness = _niceness(None)
        self._is_on = False
        self._calls: list[tuple[int, CodeType]] = []
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def start(self) -> None:
        self._calls = []
        self._is_on = True

    def stop(self) -> list[list[Call]]:
        """Returns the calls of each thread since the start. Threads of lower priority are left out: they are background
        workers, which nothing that is answered waits for."""
        self._is_on = False
        background = {one.ident for one in threading.enumerate() if _niceness(one.native_id) > self._niceness}
        walks: dict[int, list[Call]] = {}
        for thread, code in self._calls:
            if thread not in background:
                path = code.co_filename.removeprefix(self._root)
                walks.setdefault(thread, []).append((path, code.co_qualname, code.co_firstlineno))
        return list(walks.values())

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if self._is_on and event == "call" and frame.f_code.co_filename.startswith(self._root):
            self._calls.append((threading.get_ident(), frame.f_code))


def _niceness(thread: int | None) -> int:
    try:
        return os.getpriority(os.PRIO_PROCESS, thread or 0)
    except OSError:
        return 0


def serve(recorder: Recorder, port: str, commands: int, reports: int) -> None:
    """Runs ``hivelore serve`` and executes the commands in a thread."""

    def obey() -> None:
        with os.fdopen(commands) as lines, os.fdopen(reports, "w") as answers:
            for line in lines:
                if line.strip() == "start":
                    recorder.start()
                    answer = ""
                else:
                    answer = json.dumps(recorder.stop())
                print(answer, file=answers, flush=True)

    threading.Thread(target=obey, daemon=True).start()
    (command,) = entry_points(group="console_scripts", name="hivelore")
    sys.argv = ["hivelore", "serve", "--port", port]
    sys.exit(command.load()())


def search(recorder: Recorder, home: str) -> None:
    """Prints the recordings of some searches, a line each."""
    import hivelore

    with hivelore.open(Path(home)) as hive:
        for note in NOTES:
            hive.remember(note)
        until = monotonic() + PATIENCE
        while hive.stats().pending_embeddings and monotonic() < until:
            sleep(0.05)
        for number, query in enumerate(QUERIES):
            sleep(0.1)
            recorder.start()
            hive.recall(query, limit=HITS)
            walks = recorder.stop()
            if number >= WARM_UP:
                print(json.dumps(walks), flush=True)


def main(arguments: Sequence[str]) -> None:
    recorder = Recorder()
    match arguments:
        case ["service", port, commands, reports]:
            serve(recorder, port, int(commands), int(reports))
        case ["search", home]:
            search(recorder, home)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
