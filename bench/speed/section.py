"""The tables about speed: each row beside what it is to be compared with, and the targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.filling import UNIT
from bench.material import Bench
from bench.plots import Lines
from bench.report import Section, Table, judged, median, spread
from bench.speed import measure as of
from bench.speed.measure import Measured, measured
from bench.speed.on_postgres import BUFFERS
from bench.speed.peers import FTS5, LANGGRAPH, NUMPY, SQLITE_VEC
from bench.speed.rest import CLIENTS
from bench.speed.turns import TURN

SIZES = (1_000, 10_000, 100_000)
MILLION = 1_000_000
LARGE = 100_000
ORDER = (
    *(of.RECALL, of.AGAIN, of.PRIVATE, of.REST, of.REST_AGAIN, of.REST_MANY, of.ON_POSTGRES, of.EMBEDDING),
    *(LANGGRAPH, of.VECTORS, of.STREAM, SQLITE_VEC, NUMPY, of.KEYWORDS, of.KEYWORDS_ON_POSTGRES, FTS5),
)
PARTS = {of.STREAM: of.VECTORS, SQLITE_VEC: of.VECTORS, NUMPY: of.VECTORS, FTS5: of.KEYWORDS}
"""The part of a recall that does the same."""
DRAWN = {
    LANGGRAPH: "LangGraph SqliteStore",
    FTS5: "FTS5",
    SQLITE_VEC: "sqlite-vec",
    NUMPY: "numpy float32",
    of.KEYWORDS: "Hivelore's keywords",
    of.VECTORS: "Hivelore's vectors",
    of.ON_POSTGRES: "recall on PostgreSQL",
    of.RECALL: "Hivelore's recall",
}
MOST_STREAMS = 1.2
MOST_START, MOST_ANONYMOUS, LEAST_SAME = 2.0, 1_000.0, 0.95
TEXT = """
Questions after one another, ten answers to each, in milliseconds. A *recall* is the whole answer: the question is
embedded by the shipped model, looked for by words and by meaning among all that the asker sees, and the best are ranked
and read. No question comes twice where that is not said, so none is answered from a cache; *again*: its embedding and
its words are known from a moment before. Rows take turns, {turn} questions each, and a row that is so slow that it has
used {seconds:g} s is left with fewer; what goes over REST takes turns by itself, before the others.

- *{private}*: every tenth memory is private to the asker, and only those are asked for.
- *over REST, {clients} clients* are processes of their own with a kept connection each, on the same machine.
- *{postgres}*: the same memories in a PostgreSQL with pgvector on the same machine, as its package sets it up
  but for `shared_buffers = {buffers}`; `hivelore move` has brought them there. The vectors are searched in the memory
  of the asking process, as on SQLite.
- *{embedding}*: the shipped model alone, called directly; it is a part of every recall.
- *{vectors}*, *{keywords}*: what a recall asks of the two indexes, which is more than ten of each: what the asker
  may see, candidates by their codes, and exact cosines read from the database.
- *{stream}*: `numpy.max` of them on one core; the codes are one byte per dimension.
- *sqlite-vec*: its `vec0` table of float32, ten nearest. *numpy float32*: one product and the ten best, on one core.
- *plain FTS5*: SQLite's porter tokenizer, by `bm25`, any of the question's words but for the commonest, with the text.
- *LangGraph `SqliteStore`*: `search` with a query; the embedding function looks the question's vector up.

A memory has 200 to 500 characters in one passage. Texts are composed of runs of lines of {source}; {lines:,} lines have
their real vectors and tokens, and a passage the sum of the vectors of its lines with a little noise, and their tokens:
to embed all for real would take a day. The questions are real.
"""
WARM = """
What a recall among 100,000 takes where everything is warm (12 to 14 ms on machines like this one): the embedding, 2.3
to 3 ms, beside which the words are searched; the vectors 3 to 4; tokens, read and compared, 1.2; standings and scores
of about a hundred candidates 1.8; newer tellings and copies 1.9; what is shown 0.6. For the target of 8 ms all that
comes after embedding and vectors would have to take 2, and without tokens alone LoCoMo is below its floor (*Retrieval
quality*): out of reach here. On PostgreSQL four to five come on top for what is exchanged with the server, which works
on the same two processors ([what was tried](../docs/decisions/0011-postgresql.md)): its target of 15 ms is, too.
"""
"""What is said of the sizes with that target."""
FILLING = (
    "**Filling**, memories a second. *Words*: `remember_many`, {unit} to a durable commit, all but the embedding. "
    "*Vectors*: writing vector and tokens of each, without the model; *the model alone* is what it embeds on one core. "
    "*Moving*: `hivelore move` from SQLite to PostgreSQL, everything and its comparison included."
)
START = (
    "**Start and memory** of the service: seconds from the command on, the better of two starts, its files cached by "
    "the system; MB of 10**6 bytes after the questions of one client"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A percentile of a row in milliseconds, to stay below."""

    row: str
    percentile: int
    most: float

    def judged(self, milliseconds: Sequence[float]) -> str:
        good = float(np.percentile(milliseconds, self.percentile)) < self.most
        return judged(good, f"p{self.percentile} < {self.most:g} ms")


TARGETS: Mapping[int, Sequence[Target]] = {
    10_000: [Target(of.REST, 50, 10.0)],
    LARGE: [
        *(Target(of.RECALL, 50, 8.0), Target(of.RECALL, 99, 25.0)),
        *(Target(of.REST, 50, 40.0), Target(of.KEYWORDS, 50, 1.5), Target(of.ON_POSTGRES, 50, 15.0)),
    ],
    MILLION: [Target(of.RECALL, 50, 30.0), Target(of.KEYWORDS, 50, 5.0)],
}


def run(bench: Bench) -> Section:
    return _section(bench, "Speed", SIZES)


def run_million(bench: Bench) -> Section:
    return _section(bench, "Speed among a million", [MILLION])


def _section(bench: Bench, title: str, sizes: Sequence[int]) -> Section:
    found = {size: measured(bench, bench.count(size, 50)) for size in sizes}
    text = TEXT.format(
        turn=TURN,
        seconds=of.SECONDS,
        private=of.PRIVATE,
        clients=CLIENTS,
        embedding=of.EMBEDDING,
        postgres=of.ON_POSTGRES,
        buffers=BUFFERS,
        vectors=of.VECTORS,
        keywords=of.KEYWORDS,
        stream=of.STREAM,
        source=bench.source,
        lines=len(bench.lines),
    )
    text += WARM if LARGE in sizes else ""
    tables = [_asked(size, one) for size, one in found.items()]
    return Section(title, text, [*tables, _filling(found), _start(found)], lines=[_picture(found)])


def _asked(size: int, one: Measured) -> Table:
    return Table(
        f"**{one.filled.memories:,} memories**. Eight clients got {one.served.rate:.0f} answers a second; the service "
        f"spent {one.served.processor:.1f} ms of processor time on each. For {one.same:.1%} of {one.compared} "
        "questions PostgreSQL gave the same ten answers in the same order: "
        f"{judged(one.same >= LEAST_SAME, f'at least {LEAST_SAME:.0%}')}.",
        ["", "questions", "p50", "p95", "p99", "a recall takes x times as long", "that part of it", "target"],
        [_row(size, one, name) for name in ORDER],
    )


def _row(size: int, one: Measured, name: str) -> list[str]:
    took = one.milliseconds.get(name)
    if took is None:
        return [name, "0", "", "", "", "", "", one.peers[name].why_not]
    times = "" if name == of.STREAM else f"{median(one.milliseconds[of.RECALL]) / median(took):.2f}"
    part = PARTS.get(name)
    same = "" if part is None else f"{median(one.milliseconds[part]) / median(took):.2f}"
    said = [target.judged(took) for target in TARGETS.get(size, ()) if target.row == name]
    if size == LARGE and name == of.VECTORS:
        most = MOST_STREAMS * median(one.milliseconds[of.STREAM])
        said.append(judged(median(took) <= most, f"at most {MOST_STREAMS:g} times reading all codes"))
    return [name, str(len(took)), *spread(took), times, same, "; ".join(said)]


def _filling(found: Mapping[int, Measured]) -> Table:
    names = (FTS5, SQLITE_VEC, LANGGRAPH)
    rows: list[list[str]] = []
    for one in found.values():
        count = one.filled.memories
        seconds = [one.filled.words, one.filled.vectors, *(one.peers[name].filling for name in names)]
        words, vectors, *others = [f"{count / each:,.0f}" if each else "not installed" for each in seconds]
        moving = f"{count / one.moving:,.0f}"
        rows.append([f"{count:,}", words, vectors, f"{one.model:.0f}", moving, *others, f"{one.megabytes:,.0f}"])
    head = ["memories", "words", "vectors", "the model alone", "moving", *names, "Hivelore's MB on disk"]
    return Table(FILLING.format(unit=UNIT), head, rows)


def _start(found: Mapping[int, Measured]) -> Table:
    rows: list[list[str]] = []
    for size, one in found.items():
        start = min(one.served.starts, key=lambda start: start.answers)
        taken = [f"{one.served.resident:,.0f}", f"{one.served.anonymous:,.0f}"]
        said = [judged(start.answers < MOST_START, f"answers in < {MOST_START:g} s")] if size == LARGE else []
        if size == MILLION:
            said.append(judged(one.served.anonymous < MOST_ANONYMOUS, f"anonymous < {MOST_ANONYMOUS:,g} MB"))
        times = (start.answers, start.recalled, start.vectors)
        rows.append(
            [f"{one.filled.memories:,}", *(f"{each:.2f}" for each in times), start.path, *taken, "; ".join(said)]
        )
    return Table(
        START,
        [
            *("memories", "answers", "first recall, asked at once", "vectors are ready", "that recall's path"),
            *("resident", "anonymous", "target"),
        ],
        rows,
    )


def _picture(found: Mapping[int, Measured]) -> Lines:
    series = {
        said: [
            (float(one.filled.memories), median(one.milliseconds[name]))
            for one in found.values()
            if name in one.milliseconds
        ]
        for name, said in DRAWN.items()
    }
    return Lines(
        "speed",
        "Median time of an answer; only a recall embeds the question, and has words and meaning",
        "memories",
        {said: points for said, points in series.items() if points},
    )
