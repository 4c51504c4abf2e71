"""Builds what late interaction needs of the shipped model: the directions its token vectors are kept in, and which
word pieces say nothing. Writes tokens.npz next to the model, and its hash into model.json.

Run as ``.venv/bin/python scripts/build_tokens.py`` after scripts/build_model.py. The directions are the principal
components of the token vectors of docstrings of Python's standard library: text that no benchmark asks about.
"""

import ast
import hashlib
import io
import json
import random
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hivelore.search.ranking import TOKEN_DIMENSIONS
from hivelore.search.tokenizer import STOP_WORDS

MODEL = Path(__file__).resolve().parent.parent / "src" / "hivelore" / "models" / "onnx" / "model"
SEED = 3
TEXTS = 1_500
SHORTEST, LONGEST = 80, 1_200
"""Characters of a docstring that is used."""

Floats = NDArray[np.float32]


def docstrings() -> Iterator[str]:
    """Yields the docstrings of the standard library, without its tests."""
    for file in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "dist-packages", "test", "tests"}.isdisjoint(file.parts):
            try:
                tree = ast.parse(file.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                    text = ast.get_docstring(node)
                    if text and SHORTEST < len(text) < LONGEST:
                        yield text


def token_vectors(session: Any, tokenizer: Tokenizer, text: str) -> Floats:
    """Returns unit vectors of all tokens but the first and the last, which are marks."""
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    vectors: Floats = session.run(["tokens"], {"ids": ids})[0][0][1:-1]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def silent(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Returns by id True for stop words, punctuation and marks."""
    pieces = [str(tokenizer.id_to_token(number)) for number in range(tokenizer.get_vocab_size())]
    return np.array([piece in STOP_WORDS or not re.search(r"\w", piece) or piece[0] == "[" for piece in pieces])


def main() -> None:
    texts = sorted(set(docstrings()))
    random.Random(SEED).shuffle(texts)
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    session: Any = onnxruntime.InferenceSession(str(MODEL / "model.onnx"), providers=["CPUExecutionProvider"])
    vectors = np.concatenate([token_vectors(session, tokenizer, text) for text in texts[:TEXTS]])
    mean = vectors.mean(axis=0)
    kept, directions = np.linalg.eigh(np.cov((vectors - mean).T))
    basis = directions[:, ::-1][:, :TOKEN_DIMENSIONS]
    share = kept[::-1][:TOKEN_DIMENSIONS].sum() / kept.sum()
    print(f"{len(vectors):,} tokens; {TOKEN_DIMENSIONS} directions keep {share:.0%}")
    file = io.BytesIO()
    np.savez(file, mean=mean.astype(np.float32), basis=basis.astype(np.float32), silent=np.packbits(silent(tokenizer)))
    (MODEL / "tokens.npz").write_bytes(file.getvalue())
    description = json.loads((MODEL / "model.json").read_text())
    description["sha256"]["tokens.npz"] = hashlib.sha256(file.getvalue()).hexdigest()
    together = hashlib.sha256("".join(description["sha256"].values()).encode()).hexdigest()
    description["fingerprint"] = f"onnx:{description['name']}:{description['dimension']}:{together[:8]}"
    description["tokens_from"] = f"docstrings of Python {sys.version.split()[0]}"
    (MODEL / "model.json").write_text(json.dumps(description, indent=2) + "\n")


if __name__ == "__main__":
    main()
