"""How long `hivelore mcp` takes to start, beside the bare interpreter in the same run.

    python -m bench.bridge_start [--rounds 100]

The commands take turns, so that whatever else the machine does falls on all of them. `whole run` is from the start
of the process to its end, with nothing to read. `first answer` is from the start to the answer to `initialize`, by a
service that runs already (keywords only), connection and service included. `processor` is what the kernel counted
for the process and, unlike the wall, hardly depends on what else runs. Compiled modules are used, as installed.
"""

import argparse
import json
import os
import platform
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import hivelore
from hivelore import launch

PYTHON = sys.executable
SCRIPT = str(Path(sysconfig.get_path("scripts")) / "hivelore")
BRIDGE = str(Path(hivelore.__file__).parent / "bridge" / "__main__.py")
BARE = "python -I -S -c pass"
COMMANDS: dict[str, list[str]] = {
    BARE: [PYTHON, "-I", "-S", "-c", "pass"],
    "python -I -S -c 'import socket, json'": [PYTHON, "-I", "-S", "-c", "import socket, json"],
    "python -I -S .../bridge/__main__.py": [PYTHON, "-I", "-S", BRIDGE],
    "hivelore mcp": [SCRIPT, "mcp"],
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def whole_run(command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Milliseconds on the wall and on the processor."""
    start = perf_counter()
    nothing = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    process = os.posix_spawn(command[0], command, environment, file_actions=nothing)
    _, _, used = os.wait4(process, 0)
    return (perf_counter() - start) * 1e3, (used.ru_utime + used.ru_stime) * 1e3


def first_answer(command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Milliseconds on the wall until the answer, and on the processor until the end."""
    asked, ask = os.pipe()
    answer, answered = os.pipe()
    # The message lies ready, as it does where a client writes at once.
    os.write(ask, json.dumps(HELLO).encode() + b"\n")
    for descriptor in (ask, answer):
        os.set_inheritable(descriptor, False)
    start = perf_counter()
    streams = [(os.POSIX_SPAWN_DUP2, asked, 0), (os.POSIX_SPAWN_DUP2, answered, 1)]
    process = os.posix_spawn(command[0], command, environment, file_actions=streams)
    os.close(answered)
    said = os.read(answer, 65_536)
    took = (perf_counter() - start) * 1e3
    assert b'"result"' in said, said
    os.close(ask)
    _, _, used = os.wait4(process, 0)
    os.close(asked)
    os.close(answer)
    return took, (used.ru_utime + used.ru_stime) * 1e3


def row(name: str, taken: Sequence[tuple[float, float]], bare: Sequence[tuple[float, float]]) -> str:
    wall, processor = (sorted(column) for column in zip(*taken, strict=True))
    bare_wall, bare_processor = (sorted(column) for column in zip(*bare, strict=True))
    points = [at(wall, share) for share in (0.5, 0.95, 0.99)]
    ratios = at(wall, 0.5) / at(bare_wall, 0.5), at(processor, 0.5) / at(bare_processor, 0.5)
    figures = "".join(f"{point:9.1f}" for point in points) + f"{at(processor, 0.5):11.1f}"
    return f"{name:40}{figures}{ratios[0]:8.2f} / {ratios[1]:.2f}"


def at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def head(title: str) -> str:
    return f"\n{title:40}{'p50':>9}{'p95':>9}{'p99':>9}{'processor':>11}   p50 x bare: wall / processor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    rounds: int = parser.parse_args().rounds
    print(f"{os.cpu_count()} x {platform.machine()}, {platform.system()}, Python {platform.python_version()}; ms")
    with TemporaryDirectory() as home:
        given = {"HIVELORE_HOME": home, "HIVELORE_URL": "http://127.0.0.1:0", "HIVELORE_EMBEDDER": "none"}
        os.environ.update(given)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        # As the port is any free one, the bridge is to ask the folder for it.
        del environment["HIVELORE_URL"]
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
        answers: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS if "import" not in name}
        del answers[BARE]
        launch.ensure(Path(home))
        try:
            for number in range(rounds + 1):
                for name, command in COMMANDS.items():
                    taken = whole_run(command, environment)
                    if number:  # The first one compiles.
                        runs[name].append(taken)
                for name in answers:
                    taken = first_answer(COMMANDS[name], environment)
                    if number:
                        answers[name].append(taken)
        finally:
            launch.stop(Path(home))
    print(head("whole run"))
    for name, taken in runs.items():
        print(row(name, taken, runs[BARE]))
    print(head("first answer"))
    for name, taken in answers.items():
        print(row(name, taken, runs[BARE]))


if __name__ == "__main__":
    main()
