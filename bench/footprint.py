"""Resources of the service: memory, start time and disk space."""

import json
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from bench.material import ROOT, Bench
from bench.report import Section, Table, judged
from bench.running import Service, environment, memory

MOST_MEMORY, FIRST_START, NEXT_START, MOST_WHEELS = 250.0, 30.0, 5.0, 150.0
LARGE = 100_000
STARTS = 5
QUESTIONS = 100
LARGEST_WHEELS = 6
TEXT = """
*Memory* is in MB of 10**6 bytes, as the kernel counts it. *resident* is all memory of a process. *private* excludes
memory shared with other processes, such as libraries and the model file. The steps belong to one process that loads
the parts of the service in sequence, on {large:,} memories of 200 to 500 characters. The service is another, idle
process.

*Start* is the time from the command to the first answer of `/health`. A new installation has an empty home folder
and no compiled modules. The first start therefore compiles modules and creates the database and the keys.

*Wheels* are the core install on this platform. Sizes come from the lock file, and for Hivelore from a wheel built
from this checkout.
"""


def run(bench: Bench) -> Section:
    large = bench.count(LARGE, 50)
    tables = [*_memory(bench, large), _starts(bench), _wheels(bench)]
    return Section("Footprint", TEXT.format(large=large), tables)


def _memory(bench: Bench, large: int) -> Iterator[Table]:
    home = bench.filled(large).home
    steps = subprocess.run(
        [sys.executable, "-m", "bench.stages", str(home)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment(home),
    )
    rows: list[list[str]] = []
    before = 0.0
    for line in steps.stdout.splitlines():
        name, figures = json.loads(line)
        rows.append([name, f"{figures['Rss'] - before:+.1f}", *_figures(figures)])
        before = figures["Rss"]
    yield Table("**Memory, step by step**", ["", "added", "resident", "private"], rows)
    places = {"no memories": bench.place(), f"{large:,} memories": home}
    services = [row for what, place in places.items() for row in _idle(bench, place, what)]
    yield Table("**Memory of the service**", ["", "resident", "private", "target"], services)


def _idle(bench: Bench, home: Path, what: str) -> Iterator[list[str]]:
    with Service(home) as service:
        service.until_ready()
        idle = memory(service.pid)
        verdict = judged(idle["Rss"] < MOST_MEMORY, f"< {MOST_MEMORY:g} MB")
        yield [f"with {what}, just started", *_figures(idle), verdict]
        client = service.client()
        for text in bench.questions[: bench.count(QUESTIONS, 5)]:
            client.call("POST", "/api/memory/search", body={"query": text})
        asked = memory(service.pid)
        yield [f"with {what}, after {bench.count(QUESTIONS, 5)} queries", *_figures(asked), ""]


def _figures(figures: Mapping[str, float]) -> tuple[str, str]:
    return f"{figures['Rss']:.0f}", f"{figures['Private_Clean'] + figures['Private_Dirty']:.0f}"


def _starts(bench: Bench) -> Table:
    took: dict[str, list[float]] = {"first": [], "second": []}
    for _ in range(bench.count(STARTS)):
        home, compiled = bench.place(), bench.place()
        for times in took.values():
            with Service(home, {"PYTHONPYCACHEPREFIX": str(compiled)}) as service:
                times.append(service.started)
    rows = [
        [name, f"{min(times):.2f}", f"{max(times):.2f}", judged(max(times) < most, f"< {most:g} s")]
        for (name, times), most in zip(took.items(), (FIRST_START, NEXT_START), strict=True)
    ]
    return Table(f"**Start**, in s, {bench.count(STARTS)} new installations", ["", "best", "worst", "target"], rows)


def _wheels(bench: Bench) -> Table:
    folder = bench.place()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        cwd=ROOT,
    )
    wheel = next(folder.glob("*.whl"))
    sizes = {name: size / 1e6 for name, size in locked_wheels(ROOT / "uv.lock")} | {
        "hivelore": wheel.stat().st_size / 1e6
    }
    largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST_WHEELS]
    total = sum(sizes.values())
    others = total - sum(sizes[name] for name in largest)
    rows = [[name, f"{sizes[name]:.1f}", ""] for name in largest]
    rows.append([f"{len(sizes) - len(largest)} others", f"{others:.1f}", ""])
    rows.append([f"all {len(sizes)}", f"{total:.1f}", judged(total < MOST_WHEELS, f"< {MOST_WHEELS:g} MB")])
    with zipfile.ZipFile(wheel) as archive:
        unpacked = sum(one.file_size for one in archive.infolist()) / 1e6
    return Table(f"**Wheels**, in MB. Hivelore's wheel unpacks to {unpacked:.0f} MB", ["", "MB", "target"], rows)


def locked_wheels(lock: Path) -> Iterator[tuple[str, int]]:
    """Yields name and size of each wheel that an installation without extras and groups downloads here."""
    packages: dict[str, Any] = {one["name"]: one for one in tomllib.loads(lock.read_text("utf-8"))["package"]}
    order = {tag: place for place, tag in enumerate(sys_tags())}
    waiting: list[tuple[str, tuple[str, ...]]] = [("hivelore", ())]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    sized: set[str] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        package = packages[name]
        needed = [*package.get("dependencies", ())]
        for extra in extras:
            needed += package.get("optional-dependencies", {}).get(extra, ())
        waiting += [
            (one["name"], tuple(one.get("extra", ())))
            for one in needed
            if "marker" not in one or Marker(one["marker"]).evaluate()
        ]
        if name != "hivelore" and name not in sized:
            sized.add(name)
            yield name, _best_wheel(package, order)


def _best_wheel(package: Mapping[str, Any], order: Mapping[Any, int]) -> int:
    """Returns the size of the wheel that an installer would use here, or of the source distribution without one."""
    ranked: list[tuple[int, int]] = []
    for wheel in package.get("wheels", ()):
        tags = parse_wheel_filename(wheel["url"].rpartition("/")[2])[3]
        places = [order[tag] for tag in tags if tag in order]
        if places:
            ranked.append((min(places), wheel["size"]))
    return min(ranked)[1] if ranked else int(package["sdist"]["size"])
