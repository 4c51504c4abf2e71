"""Stores the memories of many files, for ``index`` and ``import``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hivelore.cli import output
from hivelore.core.text import counted
from hivelore.memories.drafts import Draft, WriteResult
from hivelore.transfer.batched_writes import BatchedWriter
from hivelore.transfer.files import Skipped

if TYPE_CHECKING:
    from hivelore.python.hive import Hive

F = TypeVar("F")


def store_files(
    hive: "Hive", label: str, files: Sequence[F], read: Callable[[F], tuple[Path, Draft] | Skipped | None]
) -> tuple[Mapping[str, int], list[Skipped]]:
    """Store the memories that ``read`` finds in files. Return their number by outcome, and the files left out."""
    counts = {"created": 0, "changed": 0, "unchanged": 0}
    skipped: list[Skipped] = []

    def count(_: Path, done: WriteResult) -> None:
        counts["created" if done.created else "changed" if done.changed else "unchanged"] += 1

    with output.progress(label, len(files)) as advance:
        writer = BatchedWriter[Path](hive, stored=count, refused=lambda file, why: skipped.append(Skipped(file, why)))
        try:
            for number, file in enumerate(files, start=1):
                found = read(file)
                if isinstance(found, Skipped):
                    skipped.append(found)
                elif found is not None:
                    writer.add(*found, len(found[1].content))
                advance(number)
            writer.flush()
        except KeyboardInterrupt:
            stored = counted(sum(counts.values()), "file")
            output.note(f"Stopped after {stored}. Run it again to continue: what is stored stays.")
            raise
    return counts, skipped


def report_skipped(skipped: Iterable[Skipped]) -> list[Skipped]:
    """Print the files that were left out, and return them."""
    left_out = list(skipped)
    for one in left_out:
        output.note(f"Skipped {one.path}: {one.reason}")
    return left_out
