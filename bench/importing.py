"""Duration of an import until all of it can be found by meaning, compared with the embedding model alone."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep

from bench.material import Bench
from bench.report import Section, Table, judged
from bench.running import Service
from hivelore.core.text import Clean
from hivelore.memories.chunking import chunk
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.python.hive import Hive
from hivelore.python.remote import RemoteHive
from hivelore.transfer.jsonl import ImportReport, import_lines

NOTES = 2_576
MOST = 1.3
PAUSE = 0.1
TOGETHER = 64
TEXT = """
`hivelore import` of {count:,} notes ({source}) into a running service, until every passage has a vector. *model
only* is the same passages through the same embedder with the same number of threads (one). Half of them run before
the import and half after it, in an otherwise idle process. A note is found by keywords when a search for its first
line returns it.
"""


def run(bench: Bench) -> Section:
    notes = bench.notes[: bench.count(NOTES, 10)]
    passages = [Clean(note[one.start : one.stop]) for note in notes for cut in chunk(note) for one in cut.passages]
    embedder = OnnxEmbedder()
    alone = _embedded(embedder, passages[::2])
    times = _imported(notes, bench.place())
    alone += _embedded(embedder, passages[1::2])
    ratio = times["all passages have vectors"] / alone
    rows = [[name, f"{seconds:.2f}", f"{seconds / alone:.3f}", ""] for name, seconds in times.items()]
    rows[-1][-1] = judged(ratio <= MOST, f"at most {MOST:g}")
    rows.append([f"model only, {len(passages):,} passages", f"{alone:.2f}", "1", ""])
    table = Table("", ["time since the start", "s", "x model only", "target"], rows)
    return Section("Import", TEXT.format(count=len(notes), source=bench.source), [table])


def _embedded(embedder: OnnxEmbedder, passages: Sequence[Clean]) -> float:
    began = perf_counter()
    for at in range(0, len(passages), TOGETHER):
        embedder.embed_documents(passages[at : at + TOGETHER])
    return perf_counter() - began


def _imported(notes: Sequence[str], home: Path) -> dict[str, float]:
    lines = "".join(json.dumps({"id": str(number), "text": note}) + "\n" for number, note in enumerate(notes))
    times: dict[str, float] = {}
    with Service(home) as service, RemoteHive(service.client()) as hive:
        began = perf_counter()

        def watch(report: ImportReport) -> None:
            if report.created and "first note found by keywords" not in times and _finds(hive, notes, 0):
                times["first note found by keywords"] = perf_counter() - began

        import_lines(hive, io.BytesIO(lines.encode()), refused=_refused, progress=watch)
        times["all notes acknowledged"] = perf_counter() - began
        if _finds(hive, notes, len(notes) - 1):
            times["last note found by keywords"] = perf_counter() - began
        while service.pending():
            sleep(PAUSE)
        times["all passages have vectors"] = perf_counter() - began
    return times


def _refused(number: int, reason: str) -> None:
    raise RuntimeError(f"note {number} was refused: {reason}")


def _finds(hive: Hive, notes: Sequence[str], number: int) -> bool:
    hits = hive.recall(notes[number].partition("\n")[0])
    return any(hit.memory.external_id == str(number) for hit in hits)
