"""``python -m bench.prepare locomo|longmemeval FILE FOLDER``: converts the published file of a query set.

LoCoMo: locomo10.json. LongMemEval: longmemeval_s.json, _m or _oracle; the whole file is held in memory. The licences of
the data are their own: LoCoMo's forbids commercial use. Writes what ``bench.quality.data`` reads.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.quality.data import ADVERSARIAL, CORPUS, QUERIES

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ADVERSARIAL}
"""LoCoMo's, which its file has as numbers."""
ABSTENTION = "_abs"
"""How the id of a question of LongMemEval ends that nothing answers."""
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
"""Also "D8:6; D9:17", "D:11:26" and "D30:05" stand in the file; "D" alone says nothing."""
_WEEKDAY = re.compile(r"\s*\(\w+\)\s*")

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NormalizedDraft:
    corpus: Sequence[Json]
    queries: Sequence[Json]
    left_out: int
    """Questions for which the file names nothing that answers them."""


def locomo(samples: Sequence[Json]) -> NormalizedDraft:
    """Returns a collection for each conversation, an item for each turn. Captions of photos belong to the text of a
    turn."""
    corpus: list[Json] = []
    queries: list[Json] = []
    left_out = 0
    for sample in samples:
        name = str(sample["sample_id"])
        turns = list(_locomo_turns(name, sample["conversation"]))
        corpus += turns
        known = {str(turn["id"]) for turn in turns}
        for number, one in enumerate(sample["qa"]):
            named = _EVIDENCE.findall(" ".join(one.get("evidence", ())))
            relevant = sorted({f"{name}/D{int(session)}:{int(turn)}" for session, turn in named} & known)
            left_out += not relevant
            if relevant:
                queries.append(
                    _question(f"{name}/q{number}", name, one["question"], CATEGORIES[one["category"]], relevant)
                )
    return NormalizedDraft(corpus, queries, left_out)


def _locomo_turns(name: str, conversation: Json) -> Iterator[Json]:
    for session in sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key))):
        date = conversation[f"session_{session}_date_time"]
        for number, turn in enumerate(conversation[f"session_{session}"]):
            caption = f" [shared photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            said = f"{turn['text']}{caption}".strip()
            at = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            if said:
                yield _item(f"{name}/{turn['dia_id']}", name, turn["speaker"], said, at, session, number)


def longmemeval(instances: Sequence[Json]) -> NormalizedDraft:
    """Returns a collection for each question, an item for each turn. Turns that are marked to have the answer are
    relevant."""
    corpus: list[Json] = []
    queries: list[Json] = []
    left_out = 0
    for one in instances:
        name = str(one["question_id"])
        relevant: list[str] = []
        turns: list[Json] = []
        for session, (date, said) in enumerate(zip(one["haystack_dates"], one["haystack_sessions"], strict=True), 1):
            at = datetime.strptime(_WEEKDAY.sub(" ", date), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
            for number, turn in enumerate(said):
                if turn["content"].strip():
                    place = f"{name}/D{session}:{number + 1}"
                    turns.append(_item(place, name, turn["role"], turn["content"], at, session, number))
                    relevant += [place] if turn.get("has_answer") else []
        if relevant and not name.endswith(ABSTENTION):
            corpus += turns
            queries.append(_question(name, name, one["question"], one["question_type"], relevant))
        else:
            left_out += 1
    return NormalizedDraft(corpus, queries, left_out)


def _item(place: str, name: str, speaker: str, said: str, at: datetime, session: int, number: int) -> Json:
    metadata = {
        "speaker": speaker,
        "session": f"{name}/S{session}",
        "session_no": session,
        "turn_no": number,
        "raw": said,
    }
    return {
        "id": place,
        "collection": name,
        "text": f"{speaker}: {said}",
        "timestamp": at.isoformat(),
        "metadata": metadata,
    }


def _question(qid: str, name: str, query: str, category: str, relevant: Sequence[str]) -> Json:
    return {"qid": qid, "collection": name, "query": query, "category": category, "relevant": relevant}


KINDS: Mapping[str, Callable[[Sequence[Json]], NormalizedDraft]] = {"locomo": locomo, "longmemeval": longmemeval}


def _spread(records: Sequence[Json], most: int | None) -> Sequence[Json]:
    if most is None or most >= len(records):
        return records
    return [records[place * len(records) // most] for place in range(most)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.prepare", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("file", type=Path, help="as its authors publish it")
    parser.add_argument("folder", type=Path, help="$HIVELORE_BENCH_DATA/quality/NAME; made where it is not there")
    parser.add_argument("--stores", type=int, help="maximum number, spread over the file: LongMemEval has 500")
    given = parser.parse_args()
    try:
        records = json.loads(given.file.read_text(encoding="utf-8"))
        prepared = KINDS[given.kind](_spread(records, given.stores))
    except OSError as error:
        parser.error(f"{given.file} cannot be read: {error.strerror}")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        parser.error(f"{given.file} is not a file of {given.kind}: {type(error).__name__}: {error}")
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, lines in ((CORPUS, prepared.corpus), (QUERIES, prepared.queries)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (given.folder / name).write_text(text, encoding="utf-8")
    print(
        f"{len(prepared.queries):,} questions about {len(prepared.corpus):,} memories are in {given.folder}; "
        f"{prepared.left_out:,} were left out, because nothing answers them.",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
