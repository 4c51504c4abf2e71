"""Builds the model that reads two notes together, from the weights that scripts/train_judge.py has made; what it writes
goes into git (docs/decisions/0015-contradiction-judge.md).

Run as ``python -m scripts.build_judge build/judge.safetensors`` in the environment of scripts/build_model.py. Several
files, such as those of two runs, are averaged (M. Wortsman et al., "Model soups", ICML 2022).
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper
from safetensors.numpy import load_file

from hivelore.models.onnx.rough_english import WORD_LISTS
from scripts.build_model import (
    CONTRIBUTED,
    TARGET,
    Floats,
    Graph,
    Weights,
    digest,
    exact_linear,
    exact_words,
    first_of,
    published,
)

NAME = "hivelore-judge-5-int4"
CLASSES = ("same", "conflict", "update", "different")
FOLDER = TARGET.parent / "judge"
HEADS = 12
EPSILON = 1e-5
MOST_TOKENS = 256
NEAREST, BUCKETS, FURTHEST = 8, 32, 128
"""Half of the buckets are for words before a word; of those half are for the nearest, one each, the others wider."""
BLOCK, WORD_BLOCK = 128, 64
"""Number of weights that share a scale."""
RANK = 48
"""Dimensions of what training changed in a product."""
ITERATIONS = 3
"""Of the search for these dimensions."""
PRODUCTS = ("qkv", "out", "inner", "outer")
"""Products of a layer, in order."""
SAMPLES = (
    ("Takes 60s to start", "Takes about a minute to start"),
    ("Must be started after WireGuard", "Can be started independently of WireGuard"),
    ("Crashes on first start", "The disk is slow"),
    ("Old images are pruned at night unless they are pinned", "Old images are pruned at night even if they are pinned"),
)


def base_weights() -> dict[str, tuple[NDArray[np.uint8], Floats]]:
    """Returns the products of the file that ships, by name: weights in four bits, (columns, blocks, bytes), and the
    scales of the blocks."""
    graph = onnx.load(FOLDER / "model.onnx").graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    products = [node for node in graph.node if node.op_type == "MatMulNBits"]
    names = [f"layers.{layer}.{part}" for layer in range(len(products) // len(PRODUCTS)) for part in PRODUCTS]
    return {
        name: (constants[node.input[1]], constants[node.input[2]]) for name, node in zip(names, products, strict=True)
    }


def shipped() -> dict[str, Floats]:
    """Returns the weights of the file that ships, by the names of scripts/train_judge.py."""
    graph = onnx.load(FOLDER / "model.onnx").graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    made = {output: node for node in graph.node for output in node.output}
    nodes = defaultdict[str, list[onnx.NodeProto]](list)
    for node in graph.node:
        nodes[node.op_type].append(node)
    found = dict[str, Floats]()
    base = base_weights()
    for name, product in zip(base, nodes["MatMulNBits"], strict=True):
        (total,) = (node for node in nodes["Sum"] if node.input[0] == product.output[0])
        last = made[total.input[1]]
        first = made[last.input[0]]
        rows, columns = (constants[made[node.input[1]].input[0]].astype(np.float32) for node in (first, last))
        found[f"{name}.weight"] = unpacked(*base[name]) + (rows @ columns).T
        found[f"{name}.bias"] = constants[total.input[2]]
    layers = len(base) // len(PRODUCTS)
    names = ["embedded", *(f"layers.{layer}.{name}" for layer in range(layers) for name in ("first", "last"))]
    for name, node in zip(names, nodes["LayerNormalization"], strict=True):
        found[f"{name}.weight"], found[f"{name}.bias"] = constants[node.input[1]], constants[node.input[2]]
    (which,) = (constants[node.input[0]] for node in nodes["Gather"] if node.input[1] == "second")
    packed, scales = (constants[node.input[0]] for node in nodes["Gather"] if node.input[1] == "ids")
    values = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - 7.5
    parts = values.reshape(len(values), -1, WORD_BLOCK) * scales.astype(np.float32)
    (places,) = (one for one in constants.values() if one.shape[-2:] == (MOST_TOKENS, values.shape[1]))
    (table,) = (one for one in constants.values() if one.shape == (HEADS, 2 * MOST_TOKENS - 1))
    bias = np.zeros((BUCKETS, HEADS), np.float32)
    bias[buckets(np.arange(1 - MOST_TOKENS, MOST_TOKENS))] = table.T
    (odds_node,) = (node for node in nodes["Add"] if node.output[0] == "odds")
    head = made[odds_node.input[0]]
    found |= {"which.weight": which, "words.weight": parts.reshape(values.shape), "bias.weight": bias}
    found |= {"places.weight": places.reshape(MOST_TOKENS, -1), "head.bias": constants[odds_node.input[1]]}
    return found | {"head.weight": constants[head.input[1]].T}


def unpacked(packed: NDArray[np.uint8], scales: Floats) -> Floats:
    """Returns weights in four bits as numbers, (columns, rows)."""
    columns, parts, _ = packed.shape
    values = np.empty((columns, parts, BLOCK), np.float32)
    values[..., 0::2], values[..., 1::2] = packed & 15, packed >> 4
    return ((values - 8) * scales.reshape(columns, parts, 1)).reshape(columns, -1)


def factors(difference: Floats) -> tuple[Floats, Floats]:
    """Returns the two factors of an approximation of rank ``RANK`` of a matrix (columns, rows): (rows, RANK) and
    (RANK, columns).

    N. Halko, P. G. Martinsson and J. A. Tropp, "Finding Structure with Randomness" (SIAM Review 2011), algorithm 4.4.
    """
    range_ = np.random.default_rng(0).standard_normal((difference.shape[1], RANK + 16), np.float32)
    for _ in range(ITERATIONS):
        range_ = np.linalg.qr(difference.T @ np.linalg.qr(difference @ range_)[0])[0]
    left, sizes, right = np.linalg.svd(difference @ range_, full_matrices=False)
    root = np.sqrt(sizes[:RANK])
    rows = range_ @ right[:RANK].T * root
    return rows.astype(np.float16), (left[:, :RANK] * root).T.astype(np.float16)


class Products:
    """Adds products with weights: those of the base in four bits, and what training changed, in few dimensions.

    The changes are much smaller than the steps of four bits, so rounding them would undo them.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights, self._base = weights, base_weights()

    def __call__(self, graph: Graph, x: str, name: str) -> str:
        packed, scales = self._base[name]
        weight = self._weights[f"{name}.weight"]
        shape = {"K": weight.shape[1], "N": weight.shape[0], "bits": 4, "block_size": BLOCK, "accuracy_level": 4}
        constants = graph.constant(packed), graph.constant(scales)
        base = graph.add("MatMulNBits", x, *constants, domain=CONTRIBUTED, **shape)
        for factor in factors(weight - unpacked(packed, scales)):
            x = graph.add("MatMul", x, graph.add("Cast", graph.constant(factor), to=TensorProto.FLOAT))
        return graph.add("Sum", base, x, graph.constant(self._weights[f"{name}.bias"]))


class ExactProducts:
    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def __call__(self, graph: Graph, x: str, name: str) -> str:
        return exact_linear(graph, x, self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"])


def int4_words(graph: Graph, table: Floats) -> str:
    """Returns the rows of the word table in four bits, with one scale for each block of a row; a byte has one number
    of the first half of a row and one of the second."""
    count, width = table.shape
    parts = table.reshape(count, width // WORD_BLOCK, WORD_BLOCK)
    scales = (np.abs(parts).max(axis=-1, keepdims=True) / 7.5).astype(np.float16)
    quantised = np.clip(np.rint(parts / scales.astype(np.float32) + 7.5), 0, 15).astype(np.uint8).reshape(count, width)
    packed = quantised[:, : width // 2] | (quantised[:, width // 2 :] << 4)
    read = graph.add("Gather", graph.constant(packed), "ids")
    first = graph.add("BitwiseAnd", read, graph.constant(np.array([15], np.uint8)))
    second = graph.add("BitShift", read, graph.constant(np.array([4], np.uint8)), direction="RIGHT")
    values = graph.add("Cast", graph.add("Concat", first, second, axis=-1), to=TensorProto.FLOAT)
    values = graph.add("Sub", values, graph.constant(np.array([7.5], np.float32)))
    values = graph.add("Reshape", values, graph.constant(np.array([0, 0, width // WORD_BLOCK, WORD_BLOCK])))
    of_blocks = graph.add("Cast", graph.add("Gather", graph.constant(scales), "ids"), to=TensorProto.FLOAT)
    return graph.add("Reshape", graph.add("Mul", values, of_blocks), graph.constant(np.array([0, 0, width])))


Product = Callable[[Graph, str, str], str]
"""Adds the product of the input with the named weights, and their bias."""


class Reader:
    """Adds MPNet's layers to a graph."""

    def __init__(self, graph: Graph, weights: Weights, words: Callable[[Graph, Floats], str], product: Product) -> None:
        self._graph, self._weights, self._words, self._product = graph, weights, words, product

    def embedded(self) -> str:
        graph, weights = self._graph, self._weights
        which = graph.add("Gather", graph.constant(weights["which.weight"]), "second")
        places = graph.add("Sum", which, first_of(graph, weights["places.weight"]))
        return self._normalised(self._words(graph, weights["words.weight"]), places, "embedded")

    def distances(self) -> str:
        """Returns the bias of each head for the distance of two words."""
        graph = self._graph
        zero, one = graph.constant(np.array([0])), graph.constant(np.array([1]))
        length = graph.add("Gather", graph.add("Shape", "ids"), one)
        at = graph.add("Range", *(graph.add("Squeeze", number) for number in (zero, length, one)))
        behind = graph.add("Sub", graph.add("Unsqueeze", at, zero), graph.add("Unsqueeze", at, one))
        row = graph.add("Add", behind, graph.constant(np.array([MOST_TOKENS - 1])))
        table = self._weights["bias.weight"][buckets(np.arange(1 - MOST_TOKENS, MOST_TOKENS))].T
        return graph.add("Unsqueeze", graph.add("Gather", graph.constant(table), row, axis=1), zero)

    def layer(self, x: str, distances: str, number: int) -> str:
        graph, name = self._graph, f"layers.{number}"
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        graph.add("Split", self._dense(x, f"{name}.qkv"), outputs=parts, axis=-1, num_outputs=3)
        attended = graph.add("MultiHeadAttention", *parts, "", "", distances, domain=CONTRIBUTED, num_heads=HEADS)
        x = self._normalised(self._dense(attended, f"{name}.out"), x, f"{name}.first")
        inner = graph.add("Gelu", self._dense(x, f"{name}.inner"), domain=CONTRIBUTED)
        return self._normalised(self._dense(inner, f"{name}.outer"), x, f"{name}.last")

    def _normalised(self, a: str, b: str, name: str) -> str:
        # Sum, as in scripts/build_model.py.
        graph, weights = self._graph, self._weights
        scale, shift = graph.constant(weights[f"{name}.weight"]), graph.constant(weights[f"{name}.bias"])
        return graph.add("LayerNormalization", graph.add("Sum", a, b), scale, shift, axis=-1, epsilon=EPSILON)

    def _dense(self, x: str, name: str) -> str:
        return self._product(self._graph, x, name)


def buckets(distance: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the bucket of a distance between two words (of MPNet, as in T5)."""
    half = BUCKETS // 2
    away = np.abs(distance)
    wide = np.log(np.maximum(away, 1) / NEAREST) / np.log(FURTHEST / NEAREST) * (half - NEAREST)
    far = np.minimum(NEAREST + wide.astype(np.int64), half - 1)
    return half * (distance > 0) + np.where(away < NEAREST, away, far)


def assembled(weights: Weights, words: Callable[[Graph, Floats], str], product: Product) -> onnx.ModelProto:
    """Returns a graph from ``ids`` of two consecutive texts, and ``second``, 1 for tokens of the second one, to the
    ``odds`` of each class: ``CLASSES``."""
    graph = Graph()
    reader = Reader(graph, weights, words, product)
    x, distances = reader.embedded(), reader.distances()
    for number in range(1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))):
        x = reader.layer(x, distances, number)
    mean = graph.add("ReduceMean", x, graph.constant(np.array([1])), keepdims=0)
    head = graph.add("MatMul", mean, graph.constant(weights["head.weight"].T))
    graph.add("Add", head, graph.constant(weights["head.bias"]), outputs=["odds"])
    return graph.model(NAME, ["ids", "second"], {"odds": ["batch", len(CLASSES)]})


def odds(model: onnx.ModelProto, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = [{"ids": np.array([ids]), "second": np.array([second])} for ids, second in pairs]
    return np.concatenate([session.run(["odds"], one)[0] for one in inputs])


def main(files: Sequence[Path]) -> None:
    runs = [load_file(file) for file in files]
    weights: Weights = {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]}
    _, tokenizer = published()
    encoded = [tokenizer.encode(*sample) for sample in SAMPLES]
    pairs = [(one.ids, one.type_ids) for one in encoded]
    model = assembled(weights, int4_words, Products(weights))
    exact = odds(assembled(weights, exact_words, ExactProducts(weights)), pairs)
    print(f"largest difference to float32: {np.abs(exact - odds(model, pairs)).max():.2f} (log odds)")
    content = model.SerializeToString(deterministic=True)
    description = {
        "name": NAME,
        "sha256": {
            "model.onnx": digest(content),
            **{name: digest((FOLDER / name).read_bytes()) for name in WORD_LISTS},
        },
        "classes": CLASSES,
        "built_with": {name: version(name) for name in ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")},
    }
    (FOLDER / "model.onnx").write_bytes(content)
    (FOLDER / "model.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    print(f"{len(content):,} bytes")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
