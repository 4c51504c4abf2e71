"""All measurements at one number of memories."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter

from bench.filling import Filled
from bench.material import Bench
from bench.speed import on_postgres, ours, peers, rest
from bench.speed.peers import Peer
from bench.speed.turns import Row, take_turns
from hivelore.core.text import Clean
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.search.tokenizer import text_to_embed

RECALL, AGAIN, PRIVATE = "**recall**, Python API", "the same query again", "private tenth only"
REST, REST_AGAIN, REST_MANY = (
    "recall over REST, 1 client",
    "the same query again over REST",
    "recall over REST, 8 clients",
)
ON_POSTGRES, KEYWORDS_ON_POSTGRES = "recall, Python API, on PostgreSQL", "recall's keywords only, on PostgreSQL"
EMBEDDING = "embedding the query"
VECTORS, STREAM, KEYWORDS = "recall's vectors only", "reading all int8 codes once", "recall's keywords only"
QUESTIONS, PRIVATE_QUESTIONS, WARM_UP = 400, 115, 40
COMPARED = 200
"""Questions whose answers on both engines are compared."""
SECONDS = 40.0
"""Maximum seconds for all queries of a row; the query that is running then still completes."""
PASSAGES = 200
"""That the model embeds, to say how many it does in a second."""


@dataclass(frozen=True, slots=True)
class Measured:
    filled: Filled
    megabytes: float
    """On disk."""
    served: rest.Served
    milliseconds: Mapping[str, Sequence[float]]
    """Of each question, by row."""
    peers: Mapping[str, Peer]
    compared: int
    """Number of queries on both engines,"""
    same: float
    """and to this part of them PostgreSQL gave the same answers in the same order."""
    moving: float
    """Seconds that `hivelore move` took from SQLite to PostgreSQL."""
    model: float
    """Memories a second that the model embeds on one core."""


def measured(bench: Bench, size: int) -> Measured:
    filled = bench.filled(size)
    warm = bench.count(WARM_UP, 2)
    few = bench.count(PRIVATE_QUESTIONS, 5)
    questions = bench.questions[: warm + bench.count(QUESTIONS, 10)]
    others = bench.questions[len(questions) : len(questions) + warm + few]
    seconds = SECONDS * min(1.0, bench.scale)
    served = rest.measured(bench, filled.home, questions, warm, seconds)
    with ExitStack() as stack:
        # Before the home is opened: a move is done when nobody else has it open.
        place, database, moving = stack.enter_context(on_postgres.moved(filled.home, bench.place()))
        hive = stack.enter_context(ours.opened(filled.home))
        rows, peers_opened = _rows(bench, stack, hive, size, questions, others)
        elsewhere = stack.enter_context(ours.opened(place, database))
        rows[ON_POSTGRES] = Row(elsewhere.recall, questions)
        rows[KEYWORDS_ON_POSTGRES] = Row(elsewhere.keywords, questions)
        take_turns(rows, warm, seconds)
        compared = questions[: bench.count(COMPARED, 10)]
        same = sum(hive.ids(text) == elsewhere.ids(text) for text in compared) / len(compared)
        took = {name: row.milliseconds for name, row in rows.items()}
    over_rest = {REST: served.one, REST_AGAIN: served.again, REST_MANY: served.many}
    megabytes = sum(file.stat().st_size for file in filled.home.glob("hivelore.db*")) / 1e6
    return Measured(
        filled, megabytes, served, took | over_rest, peers_opened, len(compared), same, moving, _model(bench)
    )


def _rows(
    bench: Bench, stack: ExitStack, hive: ours.Embedded, size: int, questions: Sequence[str], others: Sequence[str]
) -> tuple[dict[str, Row], dict[str, Peer]]:
    vectors, alone = hive.vectors(), OnnxEmbedder()
    embedded = {text: bench.embedder.embed_query(Clean(text_to_embed(text))) for text in questions}
    peers_opened = peers.opened(stack, bench.place(), bench.memories(size), vectors, embedded)
    rows = {
        RECALL: Row(hive.recall, questions),
        AGAIN: Row(hive.recall, questions),
        PRIVATE: Row(hive.recall_private, others),
        EMBEDDING: Row(lambda text: alone.embed_query(Clean(text_to_embed(text))), questions),
        VECTORS: Row(lambda text: hive.nearest(embedded[text]), questions),
        STREAM: Row(ours.stream(vectors), questions),
        KEYWORDS: Row(hive.keywords, questions),
    }
    for name, peer in peers_opened.items():
        if peer.ask is not None:
            rows[name] = Row(peer.ask, questions)
    return rows, peers_opened


def _model(bench: Bench) -> float:
    texts = [Clean(text) for text in bench.memories(bench.count(PASSAGES, 5))]
    began = perf_counter()
    OnnxEmbedder().embed_in_detail(texts)
    return len(texts) / (perf_counter() - began)
