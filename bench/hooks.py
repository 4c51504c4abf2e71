"""Delay of an agent by a hook, compared with `sh` with `curl` and the bare interpreter in the same run."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from itertools import count, cycle, islice
from pathlib import Path
from time import perf_counter

from bench.material import Bench
from bench.report import Section, Table, judged, median, spread
from bench.running import Service, environment
from hivelore.hooks.install import copy_to

ROUNDS = 200
MEMORIES = 1_000
MOST = 300.0
"""Milliseconds that a hook may take, whatever is wrong (p99)."""
TEXT = """
An agent program waits for this process at every prompt. It reads an event from stdin, calls the service and exits.
The commands alternate, so other load affects all of them. The service uses the shipped model and {memories:,}
memories. It performs a recall for each prompt, in a new session each time. *sh + curl* posts the same data to the
same route. *processor* is the processor time counted by the kernel. Unlike the elapsed time, it hardly depends on
other load.

The second table has faults. A hook waits at most 200 ms for the service. Another process then spools the event, and
nobody waits for that process.
"""
BARE, HOOK, CURL = "python -I -S -c pass", "hook", "sh + curl"
Taken = tuple[float, float]
"""Milliseconds until the end, and milliseconds of processor."""


class Prompts:
    """Events on disk, each of a separate session, as sent by agent programs and as accepted by the route."""

    def __init__(self, folder: Path, questions: Sequence[str]) -> None:
        self._folder = folder
        self._questions = cycle(questions)
        self._numbers = count()

    def next(self) -> tuple[Path, Path]:
        number = next(self._numbers)
        payload = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": f"bench-{number}",
            "cwd": "/",
            "prompt": next(self._questions),
        }
        files = self._folder / f"{number}.json", self._folder / f"{number}-body.json"
        for file, said in zip(files, (payload, {"id": f"curl-{number}", "payload": payload}), strict=True):
            file.write_text(json.dumps(said), encoding="utf-8")
        return files


def run(bench: Bench) -> Section:
    memories = bench.count(MEMORIES, 20)
    home = shutil.copytree(bench.filled(memories).home, bench.place(), dirs_exist_ok=True)
    hook = [sys.executable, "-I", "-S", str(copy_to(home)), "--agent", "claude-code"]
    prompts, rounds = Prompts(bench.place(), list(islice(bench.questions, 100))), bench.count(ROUNDS, 2)
    given = environment(home)
    with Service(home) as service:
        service.until_ready()
        well = _turns(
            prompts, rounds, {BARE: [sys.executable, "-I", "-S", "-c", "pass"], HOOK: hook, **_curl(service)}, given
        )
        ill = _turns(
            prompts, rounds, {"disabled (HIVELORE_HOOK_DISABLED)": hook}, {**given, "HIVELORE_HOOK_DISABLED": "1"}
        )
        os.kill(service.pid, signal.SIGSTOP)
        try:
            ill |= _turns(prompts, rounds, {"the service hangs (SIGSTOP)": hook}, given)
        finally:
            os.kill(service.pid, signal.SIGCONT)
    ill |= _turns(prompts, rounds, {"no service runs": hook}, given)
    tables = [_table("**Normal operation**", well, well[BARE]), _table("**With a fault**", ill, well[BARE])]
    return Section("Hooks", TEXT.format(memories=memories), tables)


def _curl(service: Service) -> Mapping[str, Sequence[str]]:
    """Returns the command with curl, if it is installed."""
    post = 'curl -s -H "Authorization: Bearer $1" -H "Content-Type: application/json" --data-binary @- "$2"'
    command = [shutil.which("sh") or "", "-c", post, "sh", service.key, f"{service.url}/api/hooks/claude-code"]
    return {CURL: command} if shutil.which("curl") else {}


def _turns(
    prompts: Prompts, rounds: int, commands: Mapping[str, Sequence[str]], given: Mapping[str, str]
) -> dict[str, list[Taken]]:
    taken: dict[str, list[Taken]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            payload, result = prompts.next()
            one = _one(command, result if name == CURL else payload, given)
            if number:  # The first one compiles.
                taken[name].append(one)
    return taken


def _one(command: Sequence[str], stdin: Path, given: Mapping[str, str]) -> Taken:
    files = [(os.POSIX_SPAWN_OPEN, 0, str(stdin), os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = perf_counter()
    process = os.posix_spawn(command[0], list(command), dict(given), file_actions=files)
    _, status, used = os.wait4(process, 0)
    took = (perf_counter() - start) * 1e3
    assert status == 0, (command, status)
    return took, (used.ru_utime + used.ru_stime) * 1e3


def _table(title: str, taken: Mapping[str, Sequence[Taken]], bare: Sequence[Taken]) -> Table:
    head = ["ms", "p50", "p95", "p99", "processor", "p50 x bare", "target"]
    return Table(title, head, [_row(name, each, bare) for name, each in taken.items()])


def _row(name: str, taken: Sequence[Taken], bare: Sequence[Taken]) -> list[str]:
    times = [one[0] for one in taken]
    p50, p95, p99 = spread(times)
    ratio = median(times) / median([one[0] for one in bare])
    target = "" if name in (BARE, CURL) else judged(float(p99) <= MOST, f"p99 at most {MOST:g}")
    return [
        f"`{name}`" if name == BARE else name,
        p50,
        p95,
        p99,
        f"{median([one[1] for one in taken]):.1f}",
        f"{ratio:.2f}",
        target,
    ]
