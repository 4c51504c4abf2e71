"""Conversion of published data sets for the quality benchmarks."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.material import Bench
from bench.prepare import locomo, longmemeval, main
from bench.quality.data import collections, names
from bench.quality.stores import as_draft


def turn(speaker: str, place: str, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": place, "text": text, **more}


def question(text: str, category: int, *evidence: str) -> dict[str, Any]:
    return {"question": text, "category": category, "evidence": list(evidence)}


LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [turn("Bo", "D2:1", "The boat is sold.")],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                turn("Ann", "D1:1", "I bought a boat!", blip_caption="a small red boat", img_url=["http://x"]),
                turn("Bo", "D1:2", "What is it called?", blip_caption=""),
            ],
            "session_3_date_time": "1:00 pm on 9 October, 2023",
        },
        "qa": [
            question("What colour was the boat?", 4, "D1:1"),
            question("What became of it?", 1, "D2:01; D1:1", "D:1:2", "D"),
            question("What did Bo buy?", 5, "D1:1"),
            question("Who else was there?", 3),
            question("Where is it now?", 2, "D9:9"),
        ],
    }
]


def said(role: str, content: str, **more: bool) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def instance(name: str, *sessions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": "knowledge-update",
        "question": "How many bikes do I own?",
        "answer": 4,
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_session_ids": [f"s{number}" for number in range(len(sessions))],
        "haystack_dates": [f"2023/05/{20 + number} (Sat) 02:21" for number in range(len(sessions))],
        "haystack_sessions": list(sessions),
        "answer_session_ids": ["s1"],
    }


CHAT = [said("user", "Any news?", has_answer=False), said("assistant", "None.")]
ANSWER = [said("user", "My fourth bike came.", has_answer=True), said("assistant", "")]
LONGMEMEVAL = [instance("q1", CHAT, ANSWER), instance("q2_abs", CHAT, ANSWER), instance("q3", CHAT)]


@pytest.fixture
def prepare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Runs the command with the given arguments."""

    def run(*arguments: str | Path) -> None:
        monkeypatch.setattr(sys, "argv", ["prepare", *map(str, arguments)])
        main()

    return run


def test_turns_of_locomo_become_memories_in_chronological_order() -> None:
    corpus = locomo(LOCOMO).corpus
    assert [one["id"] for one in corpus] == ["conv-1/D1:1", "conv-1/D1:2", "conv-1/D2:1"]
    assert corpus[0] == {
        "id": "conv-1/D1:1",
        "collection": "conv-1",
        "text": "Ann: I bought a boat! [shared photo: a small red boat]",
        "timestamp": "2023-05-08T13:56:00+00:00",
        "metadata": {
            "speaker": "Ann",
            "session": "conv-1/S1",
            "session_no": 1,
            "turn_no": 0,
            "raw": "I bought a boat! [shared photo: a small red boat]",
        },
    }
    assert corpus[1]["text"] == "Bo: What is it called?"
    assert corpus[2]["timestamp"] == "2023-09-13T00:09:00+00:00"


def test_all_notations_of_evidence_in_locomo_are_read() -> None:
    prepared = locomo(LOCOMO)
    assert [(one["qid"], one["category"], one["relevant"]) for one in prepared.queries] == [
        ("conv-1/q0", "single-hop", ["conv-1/D1:1"]),
        ("conv-1/q1", "multi-hop", ["conv-1/D1:1", "conv-1/D1:2", "conv-1/D2:1"]),
        ("conv-1/q2", "adversarial", ["conv-1/D1:1"]),
    ]
    assert prepared.left_out == 2


def test_every_question_of_longmemeval_has_a_separate_store() -> None:
    prepared = longmemeval(LONGMEMEVAL)
    assert [(one["id"], one["collection"], one["text"]) for one in prepared.corpus] == [
        ("q1/D1:1", "q1", "user: Any news?"),
        ("q1/D1:2", "q1", "assistant: None."),
        ("q1/D2:1", "q1", "user: My fourth bike came."),
    ]
    assert prepared.corpus[2]["timestamp"] == "2023-05-21T02:21:00+00:00"
    assert prepared.corpus[2]["metadata"]["session"] == "q1/S2"
    assert prepared.queries == [
        {
            "qid": "q1",
            "collection": "q1",
            "query": "How many bikes do I own?",
            "category": "knowledge-update",
            "relevant": ["q1/D2:1"],
        }
    ]
    assert prepared.left_out == 2


def test_a_prepared_set_has_the_requested_number_of_stores(
    prepare: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [instance(f"q{number}", CHAT, ANSWER) for number in range(10)]
    file = tmp_path / "longmemeval_s.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    prepare("longmemeval", file, tmp_path / "quality" / "longmemeval", "--stores", "3")
    assert "3 questions about 9 memories" in capsys.readouterr().err
    assert names(tmp_path) == ["longmemeval"]
    found = list(collections(Bench(1, tmp_path, tmp_path, print), "longmemeval"))
    assert [(len(one.items), one.cases[0].relevant) for one in found] == [
        (3, {"q0/D2:1"}),
        (3, {"q3/D2:1"}),
        (3, {"q6/D2:1"}),
    ]
    assert as_draft(found[0].items[2]).content == "My fourth bike came."


@pytest.mark.parametrize("text", [json.dumps(LOCOMO), "not JSON", "[1]", '{"sample_id": 1}'])
def test_a_file_of_another_format_is_refused_without_output(
    prepare: Callable[..., None], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "locomo10.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        prepare("longmemeval", file, tmp_path / "made")
    assert "is not a file of longmemeval" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
