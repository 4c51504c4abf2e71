"""Builds the model that reads two notes together, from the weights that scripts/train_judge.py has made; what it writes
goes into git (docs/decisions/0015-same-or-conflicting.md).

Run as ``python -m scripts.build_judge build/judge.safetensors`` in the environment of scripts/build_model.py.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from safetensors.numpy import load_file

from scripts.build_model import (
    TARGET,
    Encoder,
    Floats,
    Graph,
    Linear,
    Weights,
    digest,
    exact_linear,
    exact_words,
    first_of,
    int8_linear,
    int8_words,
    published,
)

NAME = "hivelore-judge-int8"
FOLDER = TARGET.parent / "judge"
SAMPLES = (
    ("Takes 60s to start", "Takes about a minute to start"),
    ("Must be started after WireGuard", "Can be started independently of WireGuard"),
    ("Crashes on first start", "The disk is slow"),
    ("Old images are pruned at night unless they are pinned", "Old images are pruned at night even if they are pinned"),
)


def assembled(weights: Weights, words: Callable[[Graph, Floats], str], linear: Linear) -> onnx.ModelProto:
    """A graph from ``ids``, two texts one after the other, and ``second``, 1 for what is of the second one, to the
    ``odds`` of each class: same, conflict, different."""
    graph = Graph()
    encoder = Encoder(graph, weights, words, linear)
    places = first_of(graph, weights["embeddings.position_embeddings.weight"])
    which = graph.add("Gather", graph.constant(weights["embeddings.token_type_embeddings.weight"]), "second")
    x = encoder.attended(encoder.embedded(graph.add("Sum", which, places)))
    mean = graph.add("ReduceMean", x, graph.constant(np.array([1])), keepdims=0)
    head = graph.add("MatMul", mean, graph.constant(weights["head.weight"].T))
    graph.add("Add", head, graph.constant(weights["head.bias"]), outputs=["odds"])
    return graph.model(NAME, ["ids", "second"], {"odds": ["batch", 3]})


def odds(model: onnx.ModelProto, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = [{"ids": np.array([ids]), "second": np.array([second])} for ids, second in pairs]
    return np.concatenate([session.run(["odds"], one)[0] for one in inputs])


def main(file: Path) -> None:
    weights: Mapping[str, Floats] = load_file(file)
    _, tokenizer = published()
    encoded = [tokenizer.encode(*sample) for sample in SAMPLES]
    pairs = [(one.ids, one.type_ids) for one in encoded]
    model = assembled(weights, int8_words, int8_linear)
    exact, quantised = odds(assembled(weights, exact_words, exact_linear), pairs), odds(model, pairs)
    print(f"largest difference of 8 bits to float32: {np.abs(exact - quantised).max():.2f} (log odds)")
    content = model.SerializeToString(deterministic=True)
    description = {
        "name": NAME,
        "sha256": {"model.onnx": digest(content)},
        "classes": ["same", "conflict", "different"],
        "built_with": {name: version(name) for name in ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")},
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "model.onnx").write_bytes(content)
    (FOLDER / "model.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    print(f"{len(content):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
