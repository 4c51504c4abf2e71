"""Every benchmark runs at a small scale and produces well-formed tables."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from hivelore.search.dates import closeness, date_spans
from hivelore.search.tokenizer import document_terms, query_terms

ROOT = Path(__file__).parents[2]
NEEDS_DATA = ("quality", "quality-rest", "recency", "updates", "silence", "usefulness")
SECTIONS = (
    *NEEDS_DATA,
    "injection",
    "lessons",
    "truth-pairs",
    "truth-chains",
    "truth-cost",
    "speed",
    "speed-1m",
    "writes",
    "claims",
    "growth",
    "import",
    "footprint",
    "bridge",
    "hooks",
    "vectors",
    "walks",
)
SLOW = (*NEEDS_DATA[1:], "truth-chains", "truth-cost", "speed", "writes", "claims", "growth", "footprint", "hooks")
"""Sections that fill several stores or start several services; `make soak` runs them."""
QUICK = "vectors"
DATA = os.environ.get("HIVELORE_BENCH_DATA", "")


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([name for name in SECTIONS if name not in (*NEEDS_DATA, *SLOW)], id="without data"),
        pytest.param(["quality"], id="quality"),
        *(pytest.param([name], id=name, marks=pytest.mark.slow) for name in SLOW),
    ],
)
def test_benchmark_sections_have_well_formed_tables(names: Sequence[str], tmp_path: Path) -> None:
    if not DATA and set(names) & set(NEEDS_DATA):
        pytest.skip("HIVELORE_BENCH_DATA is not set")
    done = bench(*names, "--scale", "0.001", "--into", tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert page.count("at a scale of 0.001") == len(names)
    for name in names:
        kept = json.loads((tmp_path / "results" / f"{name}.json").read_text(encoding="utf-8"))
        assert f"## {kept['title']}\n" in page
        assert kept["text"].strip()
        assert kept["tables"]
        for table in kept["tables"]:
            assert table["rows"]
            for row in table["rows"]:
                assert len(row) == len(table["head"])
                assert all(isinstance(cell, str) for cell in row)
                assert row[0]
                assert any(cell for cell in row[1:]), row
                assert "nan" not in row


def test_the_page_retains_sections_that_were_not_run(tmp_path: Path) -> None:
    kept = json.loads((ROOT / "bench" / "results" / f"{QUICK}.json").read_text(encoding="utf-8"))
    (results := tmp_path / "results").mkdir()
    for name in ("bridge", "writes"):
        older = {**kept, "title": f"Older {name}", "made": {**kept["made"], "date": "2026-01-02"}}
        (results / f"{name}.json").write_text(json.dumps(older), encoding="utf-8")
    assert bench(QUICK, "--scale", "0.001", "--into", tmp_path).returncode == 0
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## Older writes", "## Older bridge", "## Vector engines"]
    assert page.count("on 2026-01-02 at commit") == 2


def test_an_unknown_section_is_refused_with_the_available_ones() -> None:
    done = bench("haste")
    assert done.returncode == 2
    assert done.stderr.strip().endswith(f"choose from {', '.join(SECTIONS)}")


def test_a_scaled_run_prints_its_tables_and_stores_nothing() -> None:
    before = [file.read_bytes() for file in sorted((ROOT / "bench" / "results").glob("*"))]
    done = bench(QUICK, "--scale", "0.001")
    assert "| numpy float32 floor |" in done.stdout
    assert [file.read_bytes() for file in sorted((ROOT / "bench" / "results").glob("*"))] == before


@pytest.mark.skipif(not DATA, reason="HIVELORE_BENCH_DATA is not set")
def test_a_paraphrase_shares_at_most_one_term_with_its_note() -> None:
    corpus = Path(DATA) / "quality" / "commits" / "corpus.jsonl"
    notes = {note["id"]: note for note in map(json.loads, corpus.read_text(encoding="utf-8").splitlines())}
    questions = (ROOT / "bench" / "data" / "paraphrases.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(questions) >= 130
    for question in map(json.loads, questions):
        (note,) = (notes[one] for one in question["relevant"])
        assert question["collection"] == note["collection"]
        assert question["category"] in ("old", "middle", "new", "hard")
        assert question["split"] in ("tune", "aside")
        assert len(set(query_terms(question["query"])) & set(document_terms(note["text"]))) <= 1, question["query"]


@pytest.mark.skipif(not DATA, reason="HIVELORE_BENCH_DATA is not set")
def test_a_dated_question_names_the_time_of_its_note() -> None:
    corpus = Path(DATA) / "quality" / "commits" / "corpus.jsonl"
    notes = {note["id"]: note for note in map(json.loads, corpus.read_text(encoding="utf-8").splitlines())}
    questions = (ROOT / "bench" / "data" / "dated.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(questions) >= 30
    for question in map(json.loads, questions):
        (note,) = (notes[one] for one in question["relevant"])
        at = datetime.fromisoformat(note["timestamp"])
        (span,) = date_spans(question["query"], datetime.fromisoformat(question["now"]))
        assert closeness(at, span) > 0.5, question["query"]
