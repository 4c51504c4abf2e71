"""Trains the classifier of statements that carry lessons (``sessions/lessons/classifier.py``).

Reads ``bench/data/injection/sessions``. Writers kept aside train nothing. The report comes from cross-validation that
leaves one writer out; it gives the threshold ``EVIDENCE`` of ``sessions/lessons/drawing.py``. Needs scikit-learn; takes
a minute on one thread, and the same data give the same weights.
Run as ``python -m scripts.train_lessons``.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from hivelore.sessions.lessons import drawing
from hivelore.sessions.lessons.classifier import WEIGHTS, LessonClassifier
from hivelore.sessions.lessons.features import Features, describe, describe_neighbours
from hivelore.sessions.lessons.statements import Statement, statements_of
from hivelore.sessions.model import Speaker, Turn
from hivelore.sessions.transcripts.entries import parse_tool, result_turn

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bench" / "data" / "injection" / "sessions"
FILE = ROOT / "src" / "hivelore" / "sessions" / "lessons" / WEIGHTS
TRAINING = ("ana", "cam", "eve", "fay", "gus", "hal", "ivy", "jon")
STRENGTH = 1e-2
TREES, LEAVES, RATE, LEAST_LEAF, PENALTY = 100, 10, 0.05, 20, 5
QUIET = 0.05
"""Share of the sessions without lessons that may pass."""
_WORD = re.compile(r"\w+")
_OVERLAP = 0.6

Weights = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Example:
    """A session with the statements that carry its lessons."""

    writer: str
    teaches: bool
    turns: Sequence[Turn]
    statements: Sequence[Statement]
    features: Features
    right: NDArray[np.bool_]


def turns_of(session: Mapping[str, Any]) -> tuple[list[Turn], list[int]]:
    """Returns the turns of a session, and the index of each of them in the file."""
    turns: list[Turn] = []
    places: list[int] = []
    for place, one in enumerate(session["turns"]):
        if one["role"] == "tool":
            used = parse_tool(one["tool"], one["input"], session["cwd"])
            made = [
                Turn(speaker=Speaker.CALL, text="", tool=used),
                result_turn(used, one["result"], None, failed=one["error"]),
            ]
        else:
            made = [Turn(speaker=Speaker(one["role"]), text=one["text"])]
        turns += made
        places += [place] * len(made)
    return turns, places


def examples(writers: Sequence[str]) -> Iterator[Example]:
    for writer in writers:
        for line in (DATA / f"{writer}.jsonl").read_text("utf-8").splitlines():
            session = json.loads(line)
            turns, places = turns_of(session)
            statements = statements_of(turns)
            quotes = [(one["turn"], one["text"]) for lesson in session["lessons"] for one in lesson["quotes"]]
            right = [
                any(places[one.turn] == place and _carries(one.text, quote) for place, quote in quotes)
                for one in statements
            ]
            features = describe(turns, statements)
            yield Example(writer, bool(session["lessons"]), turns, statements, features, np.array(right, bool))


def _carries(statement: str, quote: str) -> bool:
    """Returns True if a statement has most words of a quote, or the other way round."""
    said, wanted = statement.lower(), quote.lower()
    if said in wanted or wanted in said:
        return True
    ours, theirs = set(_WORD.findall(said)), set(_WORD.findall(wanted))
    shared = len(ours & theirs)
    return shared >= 2 and shared >= _OVERLAP * min(len(ours), len(theirs))


def train_first(data: Sequence[Example]) -> dict[str, NDArray[Any]]:
    features = np.concatenate([one.features for one in data])
    mean, scale = features.mean(0), features.std(0) + 1e-3
    model = LogisticRegression(C=STRENGTH, max_iter=1_000)
    model.fit((features - mean) / scale, np.concatenate([one.right for one in data]))
    return {
        "mean": mean.astype(np.float32),
        "scale": scale.astype(np.float32),
        "coefficients": model.coef_[0].astype(np.float32),
        "intercept": np.float32(model.intercept_[0]),
    }


def first_odds(weights: Weights, one: Example) -> NDArray[np.float32]:
    return LessonClassifier({**weights, "depth": np.int64(0)}).first_odds(one.features)


def train_trees(data: Sequence[Example], odds: Sequence[NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    features = [
        np.hstack([one.features, describe_neighbours(one.statements, first)])
        for one, first in zip(data, odds, strict=True)
    ]
    model = HistGradientBoostingClassifier(
        max_iter=TREES,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        l2_regularization=PENALTY,
        min_samples_leaf=LEAST_LEAF,
        early_stopping=False,
        random_state=0,
    )
    model.fit(np.concatenate(features), np.concatenate([one.right for one in data]))
    return _exported(model)


def _exported(model: Any) -> dict[str, NDArray[Any]]:
    """Returns the trees as arrays. A leaf is its own child."""
    split, threshold, children, value, roots = [], [], [], [], []
    depth = 0
    for (tree,) in model._predictors:
        start = len(split)
        roots.append(start)
        for number, node in enumerate(tree.nodes):
            leaf = bool(node["is_leaf"])
            split.append(0 if leaf else int(node["feature_idx"]))
            threshold.append(np.inf if leaf else float(node["num_threshold"]))
            own = start + number
            children.append([own, own] if leaf else [start + int(node["left"]), start + int(node["right"])])
            value.append(float(node["value"]) if leaf else 0.0)
            depth = max(depth, int(node["depth"]))
    return {
        "feature": np.array(split, np.int16),
        "threshold": np.array(threshold, np.float64),
        "children": np.array(children, np.int32),
        "value": np.array(value, np.float32),
        "roots": np.array(roots, np.int32),
        "depth": np.int64(depth),
        "baseline": np.float32(model._baseline_prediction.ravel()[0]),
    }


def train(data: Sequence[Example]) -> dict[str, NDArray[Any]]:
    """Returns the weights. The trees see first estimates of models that have not seen the writer."""
    writers = sorted({one.writer for one in data})
    without = {name: train_first([one for one in data if one.writer != name]) for name in writers}
    odds = [first_odds(without[one.writer], one) for one in data]
    return {**train_first(data), **train_trees(data, odds)}


def main() -> None:
    data = list(examples(TRAINING))
    sums: list[tuple[bool, float]] = []
    for name in TRAINING:
        classifier = LessonClassifier(train([one for one in data if one.writer != name]))
        for one in data:
            if one.writer == name:
                odds = np.sort(classifier.odds(one.turns, one.statements))[-drawing.COUNTED :]
                sums.append((one.teaches, float(odds.sum())))
    quiet = sorted(total for teaches, total in sums if not teaches)
    evidence = quiet[-int(QUIET * len(quiet)) - 1]
    found = np.mean([total > evidence for teaches, total in sums if teaches])
    print(f"EVIDENCE {evidence:.2f}: {100 * found:.0f} % of the sessions with lessons pass")
    np.savez_compressed(FILE, **train(data))
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
