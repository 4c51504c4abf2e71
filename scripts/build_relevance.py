"""Builds the model that reads a prompt and a note together, from the weights that scripts/train_relevance.py has made;
what it writes goes into git (docs/decisions/0025-relevance-model.md).

Run as ``python -m scripts.build_relevance build/relevance.safetensors`` in the environment of scripts/build_model.py.
"""

import json
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import load_file

from scripts.build_judge import WORD_BLOCK, int4_words, odds
from scripts.build_model import (
    LAYER_NAMES,
    LAYERS,
    MOST_TOKENS,
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
    published,
)

NAME = "hivelore-relevance-int8"
FOLDER = TARGET.parent / "relevance"
SAMPLES = (
    ("why does the upload hang?", "Uploads hang when the proxy buffers: proxy_request_buffering off"),
    ("add a test for the parser", "Tests of the parser live in tests/parse, one file per grammar rule."),
    ("what time is it in Tokyo", "The nightly job runs at 02:30 UTC."),
    ("KeyError: 'tenant_id'", "tenant_id is set by the middleware; jobs have to set it themselves"),
)


def bert_names(trained: Mapping[str, Floats]) -> dict[str, Floats]:
    """Returns trained weights under the names that BERT has for them."""
    found = dict[str, Floats]()
    for name, value in trained.items():
        parts = name.split(".")
        match parts:
            case ["layers", number, part, kind]:
                found[f"encoder.layer.{number}.{LAYER_NAMES[part]}.{kind}"] = value
            case ["embedded", kind]:
                found[f"embeddings.LayerNorm.{kind}"] = value
            case ["which", "weight"]:
                found["embeddings.token_type_embeddings.weight"] = value
            case _:
                found[name] = value
    return found


def assembled(weights: Weights, words: Callable[[Graph, Floats], str], linear: Linear) -> onnx.ModelProto:
    """Returns a graph from ``ids`` of prompt and note, and ``second``, 1 for tokens of the note, to the ``odds`` that
    the note helps."""
    graph = Graph()
    encoder = Encoder(graph, weights, words, linear)
    which = graph.add("Gather", graph.constant(weights["embeddings.token_type_embeddings.weight"]), "second")
    places = first_of(graph, weights["embeddings.position_embeddings.weight"][:MOST_TOKENS])
    x = encoder.attended(encoder.embedded(graph.add("Sum", which, places)), LAYERS)
    mean = graph.add("ReduceMean", x, graph.constant(np.array([1])), keepdims=0)
    head = graph.add("MatMul", mean, graph.constant(weights["head.weight"].T))
    graph.add("Add", head, graph.constant(weights["head.bias"]), outputs=["odds"])
    return graph.model(NAME, ["ids", "second"], {"odds": ["batch", 1]})


def shipped() -> dict[str, Floats]:
    """Returns the trained weights of the file that ships, by the names of scripts/train_relevance.py, with the error of
    their seven bits."""
    graph = onnx.load(FOLDER / "model.onnx").graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    nodes = {
        kind: [node for node in graph.node if node.op_type == kind] for kind in {one.op_type for one in graph.node}
    }
    found = dict[str, Floats]()
    for place, node in enumerate(nodes["DynamicQuantizeMatMul"]):
        weight = (constants[node.input[1]].astype(np.float32) * constants[node.input[2]]).T
        layer, part = divmod(place, len(_PARTS))
        names = _PARTS[part]
        rows = zip(np.split(weight, len(names)), np.split(constants[node.input[4]], len(names)), strict=True)
        for name, (some, bias) in zip(names, rows, strict=True):
            found[f"layers.{layer}.{name}.weight"], found[f"layers.{layer}.{name}.bias"] = some, bias
    norms = [(constants[node.input[1]], constants[node.input[2]]) for node in nodes["LayerNormalization"]]
    names = ["embedded", *(f"layers.{layer}.{name}" for layer in range(LAYERS) for name in ("first", "last"))]
    for name, (weight, bias) in zip(names, norms, strict=True):
        found[f"{name}.weight"], found[f"{name}.bias"] = weight, bias
    (which,) = (node for node in nodes["Gather"] if node.input[1] == "second")
    found["which.weight"] = constants[which.input[0]]
    (head,) = (node for node in nodes["MatMul"] if node.input[1] in constants)
    (bias,) = (node for node in nodes["Add"] if node.output[0] == "odds")
    found["head.weight"], found["head.bias"] = constants[head.input[1]].T, constants[bias.input[1]]
    return found


_PARTS = (("query", "key", "value"), ("out",), ("inner",), ("outer",))
"""Parts of a layer in the order of its products."""


def rounded_words(table: Floats) -> Floats:
    """Returns the word table as the four bits of ``int4_words`` have it."""
    parts = table.reshape(len(table), -1, WORD_BLOCK)
    scales = (np.abs(parts).max(axis=-1, keepdims=True) / 7.5).astype(np.float16).astype(np.float32)
    return ((np.clip(np.rint(parts / scales + 7.5), 0, 15) - 7.5) * scales).reshape(table.shape)


def main(file: Path) -> None:
    original, tokenizer = published()
    trained = {name: value.astype(np.float32) for name, value in load_file(file).items()}
    weights = {**original, **bert_names(trained)}
    encoded = [tokenizer.encode(*sample) for sample in SAMPLES]
    pairs = [(one.ids, one.type_ids) for one in encoded]
    model = assembled(weights, int4_words, int8_linear)
    exact, quantised = odds(assembled(weights, exact_words, exact_linear), pairs), odds(model, pairs)
    print(f"largest difference to float32: {np.abs(exact - quantised).max():.2f} (log odds)")
    content = model.SerializeToString(deterministic=True)
    description = {
        "name": NAME,
        "sha256": {"model.onnx": digest(content)},
        "built_with": {name: version(name) for name in ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")},
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "model.onnx").write_bytes(content)
    (FOLDER / "model.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    print(f"{len(content):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
