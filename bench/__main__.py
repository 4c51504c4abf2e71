"""``make bench``: quality on public data, and how fast the vector engines are; results to bench/README.md."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from bench import quality

HERE = Path(__file__).parent
PARAPHRASES = HERE / "data" / "paraphrases.jsonl"


def main() -> None:
    data = os.environ.get("HIVELORE_BENCH_DATA", "")
    if not data:
        print("HIVELORE_BENCH_DATA is not set: the benchmark of quality is skipped.", file=sys.stderr)
        return
    table = quality.run(Path(data) / "quality", PARAPHRASES)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    machine = f"{os.cpu_count()} x {platform.machine()}, Python {platform.python_version()}"
    made = f"Made by `make bench` on {datetime.now(UTC):%Y-%m-%d} at commit {commit.stdout.strip()}, {machine}."
    head = f"# Benchmarks\n\n{made}\n\n"
    (HERE / "README.md").write_text(f"{head}## Retrieval quality\n\n{quality.__doc__}\n{table}", encoding="utf-8")


if __name__ == "__main__":
    main()
