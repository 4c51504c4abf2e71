"""Collects training pairs for scripts/train_encoder.py: a short line, and the text that explains it.

*commits*: subjects and bodies from those changelogs of Debian packages that are the log of a repository.
*code*: the first sentence of a docstring, and its rest or the code below it, out of Python packages. Nothing is kept
that shares eight words in a row with a text or question of the benchmarks. Run as ``python -m scripts.encoder_pairs
build/pairs.jsonl FOLDER...``; changelogs and Python files are looked for in all of the folders.
"""

import argparse
import ast
import gzip
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = 8
"""Number of consecutive words that must not be shared with a benchmark."""
FEWEST_ENTRIES = 15
SHORTEST_BODY, LONGEST_BODY = 80, 1_200
SHORTEST_CODE, LONGEST_CODE = 100, 700
LARGEST_FILE = 400_000
MOST = 3_000
"""Of one project."""
COMMIT, CODE = "commit", "code"

STARTS = {
    "git log": re.compile(r"^(?=(?:commit [0-9a-f]{40}.*\n)?(?:Merge: .*\n)?Author: )", re.M),
    "git2cl": re.compile(r"^(?=\d{4}-\d\d-\d\d \d\d:\d\d.* <)", re.M),
    "gitlog-to-changelog": re.compile(r"^(?=\d{4}-\d\d-\d\d  \S)", re.M),
}
"""Where an entry begins, by the tool that wrote the changelog."""
HEADER = re.compile(r"(?:(?:commit|Merge:|Author:|AuthorDate:|Commit:|CommitDate:|Date:) .*\n)*")
TRAILER = re.compile(
    r"\s*((Signed-off|Reviewed|Acked|Tested|Reported|Suggested|Co-authored|Review)[- ]by|Cc|Part-of|Fixes|Closes|"
    r"Bugzilla|Change-Id|Link|Bug|See also|Refs?|References|git-svn-id)\b.*[:#].*|\s*\(cherry[- ]picked from.*|"
    r"\s*https?://\S+\s*",
    re.I,
)
ROUTINE = re.compile(
    r"(merge|bump|update (gnulib|copyright|po|translat)|(maint|gnulib): update|prepare|revert \"|automatic update|"
    r"translation|po[:/]|\d+\.\d)|.*(copyright|\brelease\b|\bversion \d)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Pair:
    question: str
    passage: str
    kind: str
    source: str


def commits(file: Path) -> Iterator[Pair]:
    """Yields the pairs of a changelog; none if it is not the log of a repository."""
    text = gzip.decompress(file.read_bytes()).decode("utf-8", errors="ignore")
    tool = max(STARTS, key=lambda name: len(STARTS[name].findall(text)))
    entries = STARTS[tool].split(text)
    if len(entries) <= FEWEST_ENTRIES:
        return
    for entry in entries[1:]:
        subject, body = split_entry(tool, entry)
        if is_telling(subject, body):
            yield Pair(subject, body[:LONGEST_BODY], COMMIT, file.parent.name)


def split_entry(tool: str, entry: str) -> tuple[str, str]:
    """Returns the subject and the body of an entry."""
    if tool == "git log":
        lines = [line.strip() for line in HEADER.sub("", entry, count=1).split("\n")]
        subject, _, body = "\n".join(lines).strip().partition("\n\n")
    else:
        lines = [line.removeprefix("\t") for line in entry.split("\n")[1:]]
        if tool == "git2cl":  # the files come first, the message is further in
            lines = [line.removeprefix("  ") for line in lines if line.startswith("  ")]
        subject, _, body = "\n".join(lines).strip().partition("\n")
    kept = "\n".join(line.rstrip() for line in body.split("\n") if not TRAILER.fullmatch(line))
    return " ".join(subject.split()).rstrip("."), re.sub(r"\n{3,}", "\n\n", kept).strip()


def is_telling(subject: str, body: str) -> bool:
    if not 2 <= len(subject.split()) <= 20 or len(body) < SHORTEST_BODY or ROUTINE.match(subject):
        return False
    lines = [line for line in body.split("\n") if line.strip()]
    in_words = sum(one.isalpha() or one.isspace() for one in body) >= 0.7 * len(body)
    files = sum(line.startswith("* ") for line in lines)
    return in_words and files <= 0.6 * len(lines) and not body.lower().startswith(subject.lower())


def docstrings(file: Path, package: str) -> Iterator[Pair]:
    try:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text) if len(text) <= LARGEST_FILE else ast.Module([], [])
    except (SyntaxError, ValueError, OSError):
        return
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            head, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
            question = " ".join(head.split(". ")[0].split()).rstrip(".")
            function = not isinstance(node, ast.ClassDef)
            as_code = function and len(node.body) > 1 and random.Random(question).random() < 0.5
            passage = code_of(node, lines) if as_code else rest.strip()
            if 3 <= len(question.split()) <= 25 and len(passage) > SHORTEST_CODE:
                yield Pair(question, passage[:LONGEST_CODE], CODE, package)


def code_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str]) -> str:
    """Returns the code of a function without its docstring."""
    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
    body = lines[node.body[1].lineno - 1 : node.end_lineno]
    return re.sub(r"\n\s{4,}", "\n ", "\n".join(head + body)).strip()


def rows_of(text: str) -> set[int]:
    words = re.findall(r"\w+", text.lower())
    return {hash(tuple(words[at : at + ROW])) for at in range(len(words) - ROW + 1)}


def of_benchmarks(folders: Iterable[Path]) -> set[int]:
    files = [file for folder in folders for file in folder.rglob("*.jsonl")]
    objects = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return {row for one in objects for value in one.values() if isinstance(value, str) for row in rows_of(value)}


def mined(folder: Path) -> Iterator[Pair]:
    for file in sorted(folder.rglob("[cC]hange[lL]og*.gz")):
        if file.is_file() and not file.name.startswith("changelog.Debian"):
            yield from commits(file)
    for file in sorted(folder.rglob("*.py")):
        path = file.relative_to(folder).parts
        if {"test", "tests", "_vendor"}.isdisjoint(path):
            yield from docstrings(file, path[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--not-from", type=Path, action="append", default=[ROOT / "bench" / "data"], metavar="FOLDER")
    given = parser.parse_args()
    forbidden = of_benchmarks(given.not_from)
    pairs = {pair.question.lower(): pair for folder in given.folders for pair in mined(folder)}
    allowed = [one for one in pairs.values() if forbidden.isdisjoint(rows_of(f"{one.question}\n{one.passage}"))]
    random.Random(1).shuffle(allowed)
    seen: Counter[str] = Counter()
    with given.target.open("w", encoding="utf-8") as file:
        for pair in allowed:
            seen[pair.source] += 1
            if seen[pair.source] <= MOST:
                file.write(json.dumps(asdict(pair)) + "\n")
    print(
        f"{len(pairs):,} pairs, {len(allowed):,} without the benchmarks' own, of {len(seen)} sources", file=sys.stderr
    )


if __name__ == "__main__":
    main()
