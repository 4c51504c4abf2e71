"""Migrations killed at any transaction while the source changes: nothing is lost or duplicated."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from random import Random

import pytest

from hivelore.runtime.clock import SystemClock
from hivelore.storage.sqlite.store import SqliteStore
from support import postgres
from support.crashing_mover import Place, opened
from support.migrations import do, everything, some_deeds

TESTS = Path(__file__).parents[1]
ROUNDS = 200
Mover = Callable[[Path, str, Place, int], int]
"""Runs a migration and returns its exit code, negative if it was killed."""


@pytest.fixture(scope="module")
def mover() -> Generator[Mover]:
    command, pipe = [sys.executable, "-m", "support.crashing_mover"], subprocess.PIPE
    with subprocess.Popen(command, cwd=TESTS, stdin=pipe, stdout=pipe, text=True) as process:

        def move(source: Path, target: str, place: Place, nth: int) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            print(json.dumps([str(source), target, place, nth]), file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield move


@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize("kind", postgres.DATABASES)
def test_a_killed_migration_resumes(mover: Mover, kind: str, place: Place, tmp_path: Path) -> None:
    source = tmp_path / "source.db"
    target = postgres.schema() if kind == "postgres" else str(tmp_path / "target.db")
    happening, chance, killed = cycle(some_deeds(40)), Random(7), 0
    with closing(SqliteStore(source, clock=SystemClock(), durable=False)) as store:
        for _ in range(400):
            do(store, next(happening))
        code = -signal.SIGKILL
        while code == -signal.SIGKILL:
            # Towards the end it is let go further, since every process looks at all again.
            code = mover(source, target, place, chance.randint(3, 6) + max(killed - 30, 0))
            killed += code == -signal.SIGKILL
            assert killed < ROUNDS
            if killed % 3 == 0 and killed < 30:
                do(store, next(happening))
        assert code == 0
        assert killed > 10
        with closing(opened(target)) as arrived:
            assert everything(arrived) == everything(store)
            assert list(arrived.check()) == []
