"""The contract of every embedder."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext

import numpy as np
import pytest

from hivelore.core.text import Clean
from hivelore.core.vectors import cosine
from hivelore.errors import Invalid
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.models.openai.provider import OpenAIEmbedder
from hivelore.models.ports import EmbeddingProvider
from hivelore.runtime.clock import SystemClock
from support.embedders import FaultyEmbedder, clean
from support.embedding_server import EmbeddingServer
from support.hashing_embedder import HashingEmbedder

NOTES = clean(
    "The deploy of the billing service failed because the migration took a lock.",
    "Bananas are yellow.",
    "def retry(call, attempts=3): ...",
    "数据库连接池已用完，请增加上限。",
    "Naïve café \N{PILE OF POO} \N{RIGHT-TO-LEFT OVERRIDE}שלום",
    "line one\nline two\r\n\tline three",
    "x",
    "The connection pool was exhausted. " * 400,
)


@contextmanager
def openai_on_loopback() -> Generator[OpenAIEmbedder]:
    with EmbeddingServer() as server:
        embedder = OpenAIEmbedder(
            clock=SystemClock(),
            base_url=server.base_url,
            api_key=None,
            model="text-embedding-3-small",
            dimension=512,
            send_dimensions=True,
            query_timeout=30.0,
        )
        with closing(embedder):
            yield embedder


EMBEDDERS: dict[str, Callable[[], AbstractContextManager[EmbeddingProvider]]] = {
    "hashing": lambda: nullcontext(HashingEmbedder()),
    "faulty": lambda: nullcontext(FaultyEmbedder(HashingEmbedder(salt="faulty"))),
    "openai": openai_on_loopback,
    "onnx": lambda: nullcontext(OnnxEmbedder()),
}


@pytest.fixture(scope="module", params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Iterator[EmbeddingProvider]:
    with EMBEDDERS[request.param]() as embedder:
        yield embedder


def test_vectors_are_float32_of_the_dimension_and_have_length_one(embedder: EmbeddingProvider) -> None:
    for vector in [*embedder.embed_documents(NOTES), embedder.embed_query(NOTES[0])]:
        assert vector.dtype == np.float32
        assert vector.shape == (embedder.dimension,)
        assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(1.0, abs=1e-5)


def test_vectors_come_in_the_order_of_the_texts(embedder: EmbeddingProvider) -> None:
    together = embedder.embed_documents(NOTES)
    assert len(together) == len(NOTES)
    for position, note in enumerate(NOTES):
        (alone,) = embedder.embed_documents([note])
        cosines = [cosine(alone, vector) for vector in together]
        assert int(np.argmax(cosines)) == position
        assert cosines[position] > 0.99  # a quantised model may depend a little on the batch


def test_the_same_text_has_the_same_vector(embedder: EmbeddingProvider) -> None:
    first, second, again = embedder.embed_documents([NOTES[0], NOTES[0], NOTES[0]])
    np.testing.assert_allclose(first, second, atol=1e-6)
    np.testing.assert_allclose(first, again, atol=1e-6)
    np.testing.assert_allclose(embedder.embed_query(NOTES[0]), embedder.embed_query(NOTES[0]), atol=1e-6)


def test_a_question_is_nearer_to_its_answer_than_to_something_else(embedder: EmbeddingProvider) -> None:
    question = embedder.embed_query(Clean("why did the deploy of the billing service fail"))
    answer, other = embedder.embed_documents(NOTES[:2])
    assert cosine(question, answer) > cosine(question, other)


def test_no_texts_give_no_vectors(embedder: EmbeddingProvider) -> None:
    assert list(embedder.embed_documents([])) == []


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
def test_a_blank_text_is_refused_with_its_position(embedder: EmbeddingProvider, blank: str) -> None:
    with pytest.raises(Invalid) as caught:
        embedder.embed_documents(clean("one", blank, "two"))
    assert caught.value.field == "1"
    with pytest.raises(Invalid):
        embedder.embed_query(Clean(blank))


def test_threads_get_the_vectors_of_their_own_texts(embedder: EmbeddingProvider) -> None:
    expected = [embedder.embed_query(note) for note in NOTES]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(embedder.embed_query, NOTES * 5))
    for position, vector in enumerate(found):
        np.testing.assert_allclose(vector, expected[position % len(NOTES)], atol=1e-5)


@pytest.mark.parametrize("name", ["hashing", "onnx"])
def test_the_fingerprint_is_the_same_after_a_restart(name: str) -> None:
    with EMBEDDERS[name]() as before, EMBEDDERS[name]() as after:
        assert before.fingerprint == after.fingerprint
        assert before.embed_query(NOTES[0]).tobytes() == after.embed_query(NOTES[0]).tobytes()


def test_every_embedder_has_a_different_fingerprint() -> None:
    fingerprints: list[str] = []
    for make in EMBEDDERS.values():
        with make() as embedder:
            fingerprints.append(embedder.fingerprint)
    assert len(set(fingerprints)) == len(EMBEDDERS)
    assert all(fingerprints)
