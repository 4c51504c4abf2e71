"""Results of benchmarks: tables with text, stored as JSON and rendered as Markdown."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import reduce
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bench.plots import Bars, Lines, draw

PACKAGES = ("onnxruntime", "numpy", "apsw", "simsimd", "sqlite-vec", "langgraph-checkpoint-sqlite")
HEAD = """\
# Benchmarks

Quality and speed of the answers. Each figure is next to a simple baseline measured in the same run. Times vary by a
factor of two with the load of the machine. The ratios within a run are stable.

    make bench                          # every section except the one with a million memories, about half an hour
    make bench-quality                  # the sections about answer quality only
    make bench-speed                    # speed from 1,000 memories to a million, about an hour
    make bench BENCH_ARGS="writes"      # one section; the others keep their results
    BENCH_SCALE=0.1 make bench          # a tenth of the work, as a trial: printed, not saved

The texts are commit messages of public projects, with queries about them. They are in the folder
`HIVELORE_BENCH_DATA`. Without this folder, the speed sections use the documentation of this checkout and say so, and
the quality sections are skipped. Every subfolder of `quality` with a `corpus.jsonl` and a `queries.jsonl` is a set.
These commands convert the published files of LoCoMo and LongMemEval:

    python -m bench.prepare locomo locomo10.json $HIVELORE_BENCH_DATA/quality/locomo
    python -m bench.prepare longmemeval longmemeval_s.json $HIVELORE_BENCH_DATA/quality/longmemeval

This page is generated from [the results](results/).
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of ready text below a head, as many cells in each. The first column names the row."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        rule = ["---", *("---:" for _ in self.head[1:])]
        lines = ["| " + " | ".join(cells) + " |" for cells in (self.head, rule, *self.rows)]
        return "\n".join([*([self.title, ""] if self.title else []), *lines, ""])


@dataclass(frozen=True, slots=True)
class Section:
    """``text`` describes the measurement in Markdown. ``figures`` are for programs: stored, not rendered."""

    title: str
    text: str
    tables: Sequence[Table]
    bars: Sequence[Bars] = ()
    figures: Sequence[Mapping[str, object]] = ()
    lines: Sequence[Lines] = ()
    """Pictures that other sections may add their points to, under the same ``file``."""

    def markdown(self) -> str:
        parts = [one.markdown() for one in (*self.bars, *self.lines, *self.tables)]
        return "\n".join([f"## {self.title}", "", self.text.strip(), "", *parts])


def keep(folder: Path, name: str, section: Section, scale: float, seconds: float, others: float) -> None:
    """Write a section's result into ``folder/results``, in place of an older one. ``others``: the share of the
    processors that everybody else used meanwhile."""
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    said = {part: value for part, value in asdict(section).items() if value and part != "figures"}
    kept = {**said, "scale": scale, "seconds": round(seconds), "others": round(others, 2), "made": _made()}
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    if section.figures:
        lines = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in section.figures)
        text = text.removesuffix("\n}") + f',\n "figures": [\n  {lines}\n ]\n}}'
    (results / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    for one in section.bars:
        draw(one, results)
    for one in section.lines:
        draw(_whole(results, one.file), results)


def _whole(results: Path, file: str) -> Lines:
    """Returns the picture with the points of every section that has a part of it."""
    parts = [
        Lines(**one)
        for kept in sorted(results.glob("*.json"))
        for one in json.loads(kept.read_text(encoding="utf-8")).get("lines", ())
        if one["file"] == file
    ]
    return reduce(Lines.joined, parts)


def render(folder: Path, names: Sequence[str]) -> str:
    """Returns the whole page: every section with a result, in this order."""
    parts, shown = [HEAD], set[str]()
    for name in names:
        file = folder / "results" / f"{name}.json"
        if file.exists():
            kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            tables = [Table(one["title"], one["head"], one["rows"]) for one in kept["tables"]]
            bars = [Bars(one["file"], one["title"], one["groups"], one["series"]) for one in kept.get("bars", ())]
            # A picture that several sections add to is shown with the first one.
            lines = [Lines(**one) for one in kept.get("lines", ()) if one["file"] not in shown]
            shown |= {one.file for one in lines}
            text = f"{kept['text'].strip()}\n\n{_stamp(name, kept)}"
            parts.append(Section(kept["title"], text, tables, bars, lines=lines).markdown())
    return "\n".join(parts)


def _stamp(name: str, kept: Mapping[str, Any]) -> str:
    made: Mapping[str, str] = kept["made"]
    scale = "" if kept["scale"] == 1 else f", at a scale of {kept['scale']:g}"
    others = f" Other programs used {kept['others']:.0%} of its processors." if "others" in kept else ""
    return (
        f"*Measured by `make bench BENCH_ARGS={name}` on {made['date']} at commit {made['commit']}, "
        f"in {kept['seconds']} s{scale}. Machine: {made['machine']}.{others} Software: {made['versions']}.*"
    )


def _made() -> dict[str, str]:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    installed = {one.name: one.version for one in distributions() if one.name in PACKAGES}
    packages = ", ".join(f"{name} {installed[name]}" for name in PACKAGES if name in installed)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": described.stdout.strip() or "unknown",
        "machine": f"{os.cpu_count()} x {_processor()}, {_memory()}{platform.system()}",
        "versions": f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, {packages}",
    }


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory() -> str:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal"):
            return f"{int(line.split()[1]) / 2**20:.0f} GiB of memory, "
    return ""


def _lines(file: str) -> list[str]:
    path = Path(file)
    return path.read_text(encoding="ascii", errors="replace").splitlines() if path.exists() else []


def spread(milliseconds: Sequence[float]) -> tuple[str, str, str]:
    """Returns p50, p95 and p99 as text."""
    p50, p95, p99 = np.percentile(milliseconds, [50, 95, 99])
    return f"{p50:.2f}", f"{p95:.2f}", f"{p99:.2f}"


def median(values: Sequence[float]) -> float:
    return float(np.median(values))


def judged(good: bool, target: str) -> str:
    """Returns a target with its verdict."""
    return f"{target}: {'met' if good else '**missed**'}"
