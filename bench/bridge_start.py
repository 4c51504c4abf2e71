"""Start time of `hivelore mcp`, compared with the bare interpreter in the same run."""

import json
import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

import hivelore
from bench.material import Bench
from bench.report import Section, Table, median, spread
from bench.running import Service, environment, memory

ROUNDS = 100
TEXT = """
An agent that uses MCP over stdio starts `hivelore mcp` and waits for it. The commands alternate, so other load
affects all of them.

- *Whole run*: from process start to exit, with empty input.
- *First answer*: from process start to the answer to `initialize`. The service is already running (keywords only).
  The time includes the connection and the service.
- *processor*: the processor time counted by the kernel. Unlike the elapsed time, it hardly depends on other load.
- *memory*: resident memory after the answer. Compiled modules are used, as installed.
"""
PYTHON = sys.executable
SCRIPT = str(Path(sysconfig.get_path("scripts")) / "hivelore")
BRIDGE = str(Path(hivelore.__file__).parent / "mcp" / "bridge" / "__main__.py")
BARE = "python -I -S -c pass"
COMMANDS: dict[str, list[str]] = {
    BARE: [PYTHON, "-I", "-S", "-c", "pass"],
    "python -I -S -c 'import socket, json'": [PYTHON, "-I", "-S", "-c", "import socket, json"],
    "python -I -S .../mcp/bridge/__main__.py": [PYTHON, "-I", "-S", BRIDGE],
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


Taken = tuple[float, float, float | None]
"""Milliseconds until the end or the answer, milliseconds of processor, resident MB of 10**6 bytes after the answer."""


def whole_run(command: list[str], environment: Mapping[str, str]) -> Taken:
    start = perf_counter()
    nothing = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    process = os.posix_spawn(command[0], command, environment, file_actions=nothing)
    _, _, used = os.wait4(process, 0)
    return (perf_counter() - start) * 1e3, (used.ru_utime + used.ru_stime) * 1e3, None


def first_answer(command: list[str], environment: Mapping[str, str]) -> Taken:
    """Returns the time until the answer, and the rest of the time until the end."""
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
    resident = memory(process)["Rss"]
    os.close(ask)
    _, _, used = os.wait4(process, 0)
    os.close(asked)
    os.close(answer)
    return took, (used.ru_utime + used.ru_stime) * 1e3, resident


def run(bench: Bench) -> Section:
    rounds = bench.count(ROUNDS, 2)
    runs: dict[str, list[Taken]] = {name: [] for name in COMMANDS}
    answers: dict[str, list[Taken]] = {name: [] for name in COMMANDS if name != BARE and "import" not in name}
    home = bench.place()
    with Service(home, {"HIVELORE_EMBEDDER": "none"}):
        # The port is not configured: the bridge reads it from the folder.
        given = environment(home)
        for number in range(rounds + 1):
            for name, command in COMMANDS.items():
                taken = whole_run(command, given)
                if number:  # The first one compiles.
                    runs[name].append(taken)
            for name, taken in answers.items():
                one = first_answer(COMMANDS[name], given)
                if number:
                    taken.append(one)
    tables = [_table("**Whole run**", runs, runs[BARE]), _table("**First answer**", answers, runs[BARE])]
    return Section("Bridge start", TEXT, tables)


def _table(title: str, taken: Mapping[str, Sequence[Taken]], bare: Sequence[Taken]) -> Table:
    head = ["ms", "p50", "p95", "p99", "processor", "p50 x bare", "processor x bare", "memory, MB"]
    return Table(title, head, [_row(name, each, bare) for name, each in taken.items()])


def _row(name: str, taken: Sequence[Taken], bare: Sequence[Taken]) -> list[str]:
    processor, bare_processor = (median([one[1] for one in each]) for each in (taken, bare))
    ratio = median([one[0] for one in taken]) / median([one[0] for one in bare])
    resident = [one[2] for one in taken if one[2] is not None]
    return [
        f"`{name}`",
        *spread([one[0] for one in taken]),
        f"{processor:.1f}",
        f"{ratio:.2f}",
        f"{processor / bare_processor:.2f}",
        f"{median(resident):.1f}" if resident else "",
    ]
