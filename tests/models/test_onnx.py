"""The embedding model that ships with Hivelore, the real one: what its vectors say, and what it refuses."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from hivelore.core.text import Clean
from hivelore.core.vectors import cosine
from hivelore.errors import Broken, Invalid, Unavailable
from hivelore.indexing.model import Vector
from hivelore.models.onnx import provider
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.models.ports import EmbeddingProvider
from hivelore.search.ranking import TOKEN_BYTES, maxsim
from support.embedders import clean
from support.laws import examples

SHIPPED = Path(provider.__file__).parent / "model"
TEXTS = clean(
    "ok",
    "The upload worker tries a failed transfer again up to five times.",
    "naïve café, Größe: 5 µm",
    "git reset --soft HEAD~1 takes back the latest commit but keeps the changes",
    "def close(self) -> None: self._pool.shutdown(wait=True)",
    " ".join(f"Step {number}: check disk {number} of the backup host." for number in range(12)),
)


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped model, to be damaged."""
    return shutil.copytree(SHIPPED, tmp_path / "model")


Altered = Callable[[bytes], bytes]


def alter(folder: Path, name: str, altered: Altered) -> None:
    """Change a file, and what model.json says about it, so that it passes for intact."""
    content = altered((folder / name).read_bytes())
    (folder / name).write_bytes(content)
    description = described(folder)
    description["sha256"][name] = hashlib.sha256(content).hexdigest()
    (folder / "model.json").write_text(json.dumps(description))


def described(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "model.json").read_text())


def similarity(embedder: EmbeddingProvider, query: str, document: str) -> float:
    return cosine(embedder.embed_query(Clean(query)), embedder.embed_documents(clean(document))[0])


@pytest.mark.parametrize(
    ("query", "answer", "other"),
    [
        (
            "how do I undo the last commit",
            "git reset --soft HEAD~1 takes back the latest change but keeps the files",
            "The last person to leave the office commits to closing the windows.",
        ),
        (
            "where are uploads retried",
            "The transfer worker sends a failed file again up to five times.",
            "The office kitchen is cleaned on Fridays.",
        ),
        (
            "tests hang forever",
            "pytest never finishes because the event loop waits for a closed socket",
            "Colours of the dashboard come from CSS variables.",
        ),
    ],
)
def test_an_answer_in_other_words_is_nearer_than_something_else(
    embedder: OnnxEmbedder, query: str, answer: str, other: str
) -> None:
    assert similarity(embedder, query, answer) > similarity(embedder, query, other) + 0.1


def test_cosines_lie_about_where_those_of_the_published_model_do(embedder: OnnxEmbedder) -> None:
    """Thresholds on cosines (duplicates, updates, silence) count on it. Published are 0.67, 0.10 and 0.14."""
    lovely, sunny, stadium = embedder.embed_documents(
        clean("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
    )
    cosines = [cosine(lovely, sunny), cosine(lovely, stadium), cosine(sunny, stadium)]
    assert cosines == pytest.approx([0.68, 0.17, 0.22], abs=0.03)


def test_vectors_are_float32_of_the_dimension_and_of_length_one(embedder: OnnxEmbedder) -> None:
    vectors = [embedder.embed_query(TEXTS[0]), *embedder.embed_documents(TEXTS)]
    assert {(vector.shape, vector.dtype.name) for vector in vectors} == {((384,), "float32")}
    assert embedder.dimension == 384
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_the_same_text_has_the_same_vector_in_any_company_and_order(embedder: OnnxEmbedder) -> None:
    alone = [embedder.embed_documents([text])[0] for text in TEXTS]
    assert_array_equal(embedder.embed_documents(TEXTS), alone)
    assert_array_equal(embedder.embed_documents(TEXTS[::-1]), alone[::-1])
    assert_array_equal([embedder.embed_query(text) for text in TEXTS], alone)


def test_a_model_loaded_again_gives_the_same_vectors(embedder: OnnxEmbedder) -> None:
    assert_array_equal(OnnxEmbedder().embed_documents(TEXTS), embedder.embed_documents(TEXTS))


def test_many_threads_get_what_one_gets(embedder: OnnxEmbedder) -> None:
    expected = embedder.embed_documents(TEXTS)
    embedder = OnnxEmbedder(threads=3)
    together = Barrier(4)

    def ask(_: int) -> tuple[Sequence[Vector], Sequence[Vector]]:
        together.wait()
        return embedder.embed_documents(TEXTS), [embedder.embed_query(text) for text in TEXTS]

    with ThreadPoolExecutor(4) as pool:
        for documents, queries in pool.map(ask, range(4)):
            assert_array_equal(documents, expected)
            assert_array_equal(queries, expected)


def test_nothing_to_embed_is_fine(embedder: OnnxEmbedder) -> None:
    assert embedder.embed_documents([]) == []


def test_a_query_that_is_asked_again_is_not_computed_again(embedder: OnnxEmbedder) -> None:
    first = embedder.embed_query(Clean("Where is the retry limit set?"))
    assert embedder.embed_query(Clean("where  is the retry limit set?")) is first


def test_callers_cannot_change_the_cached_vector(embedder: OnnxEmbedder) -> None:
    with pytest.raises(ValueError, match="read-only"):
        embedder.embed_query(TEXTS[0])[0] = 1.0


def test_of_a_long_text_the_beginning_counts(embedder: OnnxEmbedder) -> None:
    words = [f"word{number}" for number in range(600)]
    whole, begun, other = embedder.embed_documents(clean(" ".join(words), " ".join(words[:300]), " ".join(words[300:])))
    assert_array_equal(whole, begun)
    assert not np.array_equal(whole, other)
    assert_array_equal(embedder.embed_query(Clean(" ".join(words * 1_000))), whole)


def test_texts_in_other_scripts_have_vectors(embedder: OnnxEmbedder) -> None:
    leak, same_leak, weather = embedder.embed_documents(
        clean("内存泄漏在上传线程里", "上传线程有内存泄漏问题", "今天天气很好 🎉")
    )
    assert cosine(leak, same_leak) > cosine(leak, weather)


def test_an_emoji_next_to_words_does_no_harm(embedder: OnnxEmbedder) -> None:
    assert similarity(embedder, "the release is out 🎉", "the release is out") > 0.7


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b\u200d", "🎉", "🚀 🚀"])
def test_a_text_without_known_tokens_is_refused(embedder: OnnxEmbedder, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        embedder.embed_query(Clean(text))
    assert refused.value.field == "text"
    with pytest.raises(Invalid) as refused:
        embedder.embed_documents(clean("a text", "another one", text, "a third"))
    assert refused.value.field == "2"


@settings(max_examples=examples(50))
@given(text=st.text(max_size=80))
def test_any_text_has_a_vector_or_is_refused_and_plain_ascii_never_is(embedder: OnnxEmbedder, text: str) -> None:
    try:
        vector = embedder.embed_query(Clean(text))
    except Invalid:
        assert not (text.isascii() and any("!" <= character <= "~" for character in text))
    else:
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_the_shipped_files_are_those_that_were_built() -> None:
    description = described(SHIPPED)
    hashes = {name: hashlib.sha256((SHIPPED / name).read_bytes()).hexdigest() for name in description["sha256"]}
    assert hashes == description["sha256"]
    assert {file.name for file in SHIPPED.iterdir()} == {*hashes, "model.json", "LICENSE", "NOTICE"}


def test_the_fingerprint_names_the_model_its_dimension_and_its_files(embedder: OnnxEmbedder) -> None:
    hashes = "".join(described(SHIPPED)["sha256"].values())
    built = hashlib.sha256(hashes.encode()).hexdigest()[:8]
    assert embedder.fingerprint == f"onnx:all-MiniLM-L6-v2-tuned-int8:384:{built}"


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "model.json"])
def test_a_missing_file_raises_with_advice(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(Broken, match=rf"{name}.*pip install --force-reinstall --no-deps hivelore"):
        OnnxEmbedder(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_single_wrong_byte_is_found(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(Broken, match=rf"{name} is not the file that was built"):
        OnnxEmbedder(folder)


@pytest.mark.parametrize("description", ["", "[]", "{}", '{"fingerprint": "x", "dimension": 384, "sha256": {}}'])
def test_a_description_that_makes_no_sense_is_damage(folder: Path, description: str) -> None:
    (folder / "model.json").write_text(description)
    with pytest.raises(Broken, match="damaged"):
        OnnxEmbedder(folder)


def test_a_graph_that_the_runtime_does_not_understand_is_damage(folder: Path) -> None:
    alter(folder, "model.onnx", lambda graph: graph[: len(graph) // 2])
    with pytest.raises(Broken, match=r"ONNX Runtime .* cannot load"):
        OnnxEmbedder(folder)


def test_a_fault_inside_the_runtime_is_raised_as_ours(folder: Path) -> None:
    # The tokenizer gets a word that the model's table has no row for.
    alter(folder, "tokenizer.json", lambda tokenizer: tokenizer.replace(b'"hello":7592', b'"hello":40000'))
    embedder = OnnxEmbedder(folder)
    with pytest.raises(Unavailable, match="embedding model"):
        embedder.embed_documents(clean("hello"))
    assert embedder.embed_query(Clean("goodbye")).shape == (384,)


def test_an_embedder_without_threads_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        OnnxEmbedder(threads=0)
    assert refused.value.field == "threads"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's account of memory is read in /proc")
def test_many_long_texts_take_no_more_memory_than_one_by_one(embedder: OnnxEmbedder) -> None:
    texts = clean(*(" ".join(["memory"] * length) for length in range(20, 260, 6)))
    embedder.embed_documents(texts[-1:])
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory("VmRSS")
    embedder.embed_documents(texts)
    assert memory("VmHWM") - before < 30_000_000


def memory(field: str) -> int:
    """A number of bytes out of this process's status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def test_tokens_come_with_the_same_vectors(embedder: OnnxEmbedder) -> None:
    detailed = embedder.embed_in_detail(TEXTS)
    assert_array_equal([one.vector for one in detailed], embedder.embed_documents(TEXTS))
    assert [embedder.query_tokens(text).codes for text in TEXTS] == [one.tokens for one in detailed]


def test_stop_words_marks_and_repetitions_have_no_tokens(embedder: OnnxEmbedder) -> None:
    said, padded = embedder.embed_in_detail(clean("retry limit uploads", "The retry, the limit: of uploads! Retry?"))
    assert len(said.tokens) == len(padded.tokens)
    (grammar,) = embedder.embed_in_detail(clean("what is it?"))
    assert len(grammar.tokens) == 4 * TOKEN_BYTES  # Better than nothing at all.


def test_each_token_of_a_question_is_of_a_word(embedder: OnnxEmbedder) -> None:
    asked = embedder.query_tokens(Clean("Why does the uploader retry E0502?"))
    assert len(asked.codes) == TOKEN_BYTES * len(asked.words)
    assert list(dict.fromkeys(asked.words)) == ["uploader", "retry", "e0502"]


def test_tokens_of_a_query_match_passages_about_the_same_subject(embedder: OnnxEmbedder) -> None:
    about, other = embedder.embed_in_detail(
        clean("The upload worker gives up after five attempts.", "Blue whales eat four tons of krill a day.")
    )
    question = embedder.query_tokens(Clean("retry limit of the uploader"))
    near, far = maxsim(question.codes, [1.0] * len(question.words), [about.tokens, other.tokens])
    assert near > far + 0.05


def test_the_runtime_sends_no_telemetry(tmp_path: Path) -> None:
    """It would keep a number for this device, and what it wants to report, in the user's folders."""
    code = "from hivelore.models.onnx.provider import OnnxEmbedder; OnnxEmbedder()"
    home = {"HOME": str(tmp_path), "PATH": os.defpath}
    subprocess.run([sys.executable, "-c", code], env=home, check=True)
    assert list(tmp_path.rglob("*")) == []
