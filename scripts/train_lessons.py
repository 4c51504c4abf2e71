"""Trains the classifier of lessons and of what later turns take back (``sessions/lessons/classifier.py``).

Reads ``bench/data/injection/sessions``. Writers kept aside train nothing. The report comes from cross-validation that
leaves one writer out; it gives the thresholds of ``sessions/lessons/drawing.py``. Needs scikit-learn; takes two minutes
on one thread, and the same data give the same weights.
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
from hivelore.sessions.lessons.features import Features, Odds, describe, describe_neighbours
from hivelore.sessions.lessons.retractions import describe_pairs
from hivelore.sessions.lessons.statements import Statement, statements_of
from hivelore.sessions.model import Speaker, Turn
from hivelore.sessions.transcripts.entries import parse_tool, result_turn

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bench" / "data" / "injection" / "sessions"
FILE = ROOT / "src" / "hivelore" / "sessions" / "lessons" / WEIGHTS
TRAINING = ("ana", "cam", "eve", "fay", "gus", "hal", "ivy", "jon", "lea", "mia", "oda", "pia")
STRENGTH, PAIR_STRENGTH = 1e-2, 3e-2
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
    lasting: frozenset[int]
    """Statements of lessons that are not taken back."""
    taken_back: Mapping[int, int]
    """Turn that takes a statement back."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a turn and an earlier statement, and whether the turn takes it back."""

    example: Example
    numbers: Sequence[tuple[int, int]]
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
            lasting, taken_back, told = set[int](), dict[int, int](), set[int]()
            for lesson in session["lessons"]:
                end = lesson.get("retracted", len(turns))
                for quote in lesson["quotes"]:
                    rows = {
                        row
                        for row, one in enumerate(statements)
                        if places[one.turn] == quote["turn"] and _carries(one.text, quote["text"])
                    }
                    told |= rows
                    if "retracted" not in lesson:
                        lasting |= rows
                    elif quote["turn"] < end:
                        taken_back.update(dict.fromkeys(rows, places.index(end)))
            yield Example(
                writer,
                bool(session["lessons"]),
                turns,
                statements,
                describe(turns, statements),
                np.array([row in told for row in range(len(statements))], bool),
                frozenset(lasting),
                taken_back,
            )


def _carries(statement: str, quote: str) -> bool:
    """Returns True if a statement has most words of a quote, or the other way round."""
    said, wanted = statement.lower(), quote.lower()
    if said in wanted or wanted in said:
        return True
    ours, theirs = set(_WORD.findall(said)), set(_WORD.findall(wanted))
    shared = len(ours & theirs)
    return shared >= 2 and shared >= _OVERLAP * min(len(ours), len(theirs))


def regression(
    features: Sequence[Features], right: Sequence[NDArray[np.bool_]], strength: float
) -> dict[str, NDArray[Any]]:
    """Returns the weights of a logistic regression, with the scale of its features."""
    rows = np.concatenate(features)
    mean, scale = rows.mean(0), rows.std(0) + 1e-3
    model = LogisticRegression(C=strength, max_iter=3_000)
    model.fit((rows - mean) / scale, np.concatenate(right))
    return {
        "mean": mean.astype(np.float32),
        "scale": scale.astype(np.float32),
        "coefficients": model.coef_[0].astype(np.float32),
        "intercept": np.float32(model.intercept_[0]),
    }


def train_first(data: Sequence[Example]) -> dict[str, NDArray[Any]]:
    return regression([one.features for one in data], [one.right for one in data], STRENGTH)


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


def pairs_of(one: Example, odds: Odds) -> Pairs:
    """Returns the pairs of a session by estimates of a model that has not seen it. A statement that was taken back
    before is in none."""
    rows = [row for row in range(len(one.statements)) if odds[row] >= drawing.LEAST or one.right[row]]
    numbers = [
        (later, row)
        for later, row in drawing.retraction_pairs(one.turns, one.statements, [[row] for row in rows])
        if later <= one.taken_back.get(row, later)
    ]
    right = np.array([one.taken_back.get(row) == later for later, row in numbers], bool)
    return Pairs(one, numbers, describe_pairs(one.turns, one.statements, odds, numbers), right)


def train_pairs(data: Sequence[Pairs]) -> dict[str, NDArray[Any]]:
    data = [one for one in data if one.numbers]
    weights = regression([one.features for one in data], [one.right for one in data], PAIR_STRENGTH)
    return {f"pair_{name}": value for name, value in weights.items()}


def report_pairs(data: Sequence[Pairs]) -> None:
    """Prints, for some thresholds, how many of the statements that are taken back are recognized, and how many others
    of lessons are lost."""
    found, wrong = list[float](), list[float]()
    for name in TRAINING:
        weights = train_pairs([one for one in data if one.example.writer != name])
        for one in data:
            if one.example.writer == name and one.numbers:
                scaled = (one.features - weights["pair_mean"]) / weights["pair_scale"]
                odds = 1 / (1 + np.exp(-(scaled @ weights["pair_coefficients"] + weights["pair_intercept"])))
                most: dict[int, float] = {}
                for (_, row), share in zip(one.numbers, odds, strict=True):
                    most[row] = max(most.get(row, 0.0), float(share))
                found += [share for row, share in most.items() if row in one.example.taken_back]
                wrong += [share for row, share in most.items() if row in one.example.lasting]
    for share in (0.05, 0.1, 0.15, 0.2, 0.3):
        recognized, lost = (sum(one >= share for one in each) for each in (found, wrong))
        print(f"TAKEN_BACK {share}: {recognized} of {len(found)}, and {lost} of {len(wrong)} that last")


def main() -> None:
    data = list(examples(TRAINING))
    sums: list[tuple[bool, float]] = []
    pairs: list[Pairs] = []
    for name in TRAINING:
        classifier = LessonClassifier(train([one for one in data if one.writer != name]))
        for one in data:
            if one.writer == name:
                odds = classifier.odds(one.turns, one.statements)
                pairs.append(pairs_of(one, odds))
                sums.append((one.teaches, float(np.sort(odds)[-drawing.COUNTED :].sum())))
    quiet = sorted(total for teaches, total in sums if not teaches)
    evidence = quiet[-int(QUIET * len(quiet)) - 1]
    found = np.mean([total > evidence for teaches, total in sums if teaches])
    print(f"EVIDENCE {evidence:.2f}: {100 * found:.0f} % of the sessions with lessons pass")
    report_pairs(pairs)
    np.savez_compressed(FILE, **train(data), **train_pairs(pairs))
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
