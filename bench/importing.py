"""How long an import takes until everything in it can be found by meaning, beside the embedding model alone."""

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
from hivelore.transfer.jsonl import Report, import_lines

NOTES = 2_576
MOST = 1.3
PAUSE = 0.1
TOGETHER = 64
TEXT = """
`hivelore import` of {count:,} notes ({source}) into a running service, until no passage waits for its vector. *The
model alone* is the same passages through the same embedder with as many threads (one) and nothing else: half of them
before the import and half after it, in a process that does nothing else meanwhile. A note counts as found by its
words when a search for its first line answers with it.
"""


def run(bench: Bench) -> Section:
    notes = bench.notes[: bench.count(NOTES, 10)]
    passages = [Clean(note[one.start : one.stop]) for note in notes for cut in chunk(note) for one in cut.passages]
    embedder = OnnxEmbedder()
    alone = _embedded(embedder, passages[::2])
    times = _imported(notes, bench.place())
    alone += _embedded(embedder, passages[1::2])
    ratio = times["every passage has its vector"] / alone
    rows = [[name, f"{seconds:.2f}", f"{seconds / alone:.3f}", ""] for name, seconds in times.items()]
    rows[-1][-1] = judged(ratio <= MOST, f"at most {MOST:g}")
    rows.append([f"the model alone, {len(passages):,} passages", f"{alone:.2f}", "1", ""])
    table = Table("", ["since the start of the import", "s", "x the model alone", "target"], rows)
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

        def watch(report: Report) -> None:
            if report.created and "the first note is found by its words" not in times and _finds(hive, notes, 0):
                times["the first note is found by its words"] = perf_counter() - began

        import_lines(hive, io.BytesIO(lines.encode()), refused=_refused, progress=watch)
        times["every note is acknowledged"] = perf_counter() - began
        if _finds(hive, notes, len(notes) - 1):
            times["the last note is found by its words"] = perf_counter() - began
        while service.pending():
            sleep(PAUSE)
        times["every passage has its vector"] = perf_counter() - began
    return times


def _refused(number: int, reason: str) -> None:
    raise RuntimeError(f"note {number} was refused: {reason}")


def _finds(hive: Hive, notes: Sequence[str], number: int) -> bool:
    hits = hive.recall(notes[number].partition("\n")[0])
    return any(hit.memory.external_id == str(number) for hit in hits)
