"""``make bench``: runs the named sections, or all but the longest, and rewrites bench/README.md."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bench import (
    bridge_start,
    claims,
    footprint,
    growth,
    hooks,
    importing,
    recency,
    silence,
    updates,
    usefulness,
    vectors,
    walks,
    writes,
)
from bench.injection import section as injection
from bench.injection import sessions as lessons
from bench.material import Bench
from bench.quality import rest, section
from bench.report import Section, keep, render
from bench.running import Others
from bench.speed import section as speed
from bench.truth import chains, cost, pairs

SECTIONS: Mapping[str, Callable[[Bench], Section | None]] = {
    "quality": section.run,
    "quality-rest": rest.run,
    "recency": recency.run,
    "updates": updates.run,
    "silence": silence.run,
    "usefulness": usefulness.run,
    "injection": injection.run,
    "lessons": lessons.run,
    "truth-pairs": pairs.run,
    "truth-chains": chains.run,
    "truth-cost": cost.run,
    "speed": speed.run,
    "speed-1m": speed.run_million,
    "writes": writes.run,
    "claims": claims.run,
    "growth": growth.run,
    "import": importing.run,
    "footprint": footprint.run,
    "bridge": bridge_start.run,
    "hooks": hooks.run,
    "vectors": vectors.run,
    "walks": walks.run,
}
"""In the order of the page. None: a section that needs data that is not there."""
LONG = ("speed-1m",)
"""Only run where they are named."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; none: all but {LONG[0]}"
    )
    parser.add_argument("--scale", type=float, default=float(os.environ.get("BENCH_SCALE", "1")), help="of the work")
    parser.add_argument("--into", type=Path, help="the folder for README.md and results/")
    given = parser.parse_args()
    if unknown := [name for name in given.sections if name not in SECTIONS]:
        parser.error(f"there is no section {', '.join(unknown)}; choose from {', '.join(SECTIONS)}")
    # Tried out on a part of the work, a result is shown but not kept.
    into: Path | None = given.into or (Path(__file__).parent if given.scale == 1 else None)
    data = os.environ.get("HIVELORE_BENCH_DATA")
    # What was set for this user's own Hivelore is nothing to measure with.
    for name in [name for name in os.environ if name.startswith(("HIVELORE_", "MEMORY_"))]:
        del os.environ[name]
    with TemporaryDirectory() as folder:
        bench = Bench(given.scale, Path(data) if data else None, Path(folder), _say)
        for name in given.sections or [name for name in SECTIONS if name not in LONG]:
            _say(name)
            began, others = perf_counter(), Others()
            section = SECTIONS[name](bench)
            if section is None:
                _say(f"{name}: left out, its data is not there (HIVELORE_BENCH_DATA)")
                continue
            print(section.markdown(), flush=True)
            if into is not None:
                keep(into, name, section, given.scale, perf_counter() - began, others.share())
                (into / "README.md").write_text(render(into, list(SECTIONS)), encoding="utf-8")


def _say(words: str) -> None:
    print(f"[{words}]", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
