"""The model that reads a query and a text together, the real one."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import Broken, Unavailable
from hivelore.models.onnx.pairs import LONGEST_QUERY, OnnxRelevanceReader, PairGraph

SHIPPED = Path(str(files("hivelore.models.onnx")))
READER = OnnxRelevanceReader()
NOTE = "Uploads larger than 20 MB hang: the proxy buffers them. Set proxy_request_buffering off."


def odds(query: str, text: str) -> float:
    return READER.read(Clean(query))(Clean(text))


@pytest.mark.parametrize(
    "query",
    [
        "sending big files never finishes, the progress bar just stops",
        "what did we set proxy_request_buffering to, and why?",
        "add an endpoint that accepts videos of up to 200 MB",
    ],
)
def test_a_note_that_helps_stands_out_from_others(query: str) -> None:
    others = ["The office is closed on Fridays.", "Colours of charts come from the design tokens in theme.css."]
    assert odds(query, NOTE) > max(odds(query, other) for other in others) + 1


@settings(max_examples=30)
@given(st.text(max_size=5_000), st.text(max_size=3_000))
def test_every_text_is_read(query: str, text: str) -> None:
    assert -50 < odds(query, text) < 50


def test_beginning_and_end_of_a_huge_query_are_read() -> None:
    filler = "lorem ipsum dolor sit amet " * 4_000
    question = "uploads of big files hang behind the proxy, why? "
    assert len(filler) > 20 * LONGEST_QUERY
    without = odds(filler, NOTE)
    assert abs(odds(question + filler, NOTE) - without) > 0.1
    assert abs(odds(filler + question, NOTE) - without) > 0.1


def test_many_threads_may_ask_at_once() -> None:
    fresh = OnnxRelevanceReader()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(lambda: fresh.read(Clean("hanging uploads"))(Clean(NOTE))) for _ in range(8)]
        read = [one.result() for one in asked]
    assert read == [read[0]] * 8


def test_nothing_is_read_from_disk_before_it_is_asked(tmp_path: Path) -> None:
    reader = OnnxRelevanceReader(tmp_path)
    with pytest.raises(Broken, match="Reinstall"):
        reader.read(Clean("a"))


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    for name in ("model/model.json", "model/tokenizer.json", "relevance/model.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(SHIPPED / name, tmp_path / name)
    (tmp_path / "relevance" / "model.onnx").write_bytes(b"something else")
    with pytest.raises(Broken, match=r"model\.onnx"):
        OnnxRelevanceReader(tmp_path).read(Clean("a"))


def test_a_damaged_model_is_read_from_disk_only_once(tmp_path: Path) -> None:
    reader = OnnxRelevanceReader(tmp_path)
    with pytest.raises(Broken) as first:
        reader.read(Clean("a"))
    for name in ("model", "relevance"):
        (tmp_path / name).symlink_to(SHIPPED / name)
    with pytest.raises(Broken) as later:
        reader.read(Clean("a"))
    assert str(later.value) == str(first.value)


def test_a_model_that_cannot_be_loaded_has_an_outage(tmp_path: Path) -> None:
    reader = OnnxRelevanceReader(tmp_path)
    assert reader.outage is None
    with pytest.raises(Broken) as error:
        reader.read(Clean("a"))
    assert reader.outage == str(error.value).rstrip(".")


def test_an_outage_ends_when_the_model_reads_again() -> None:
    graph = PairGraph(None, "relevance", "relevance model")
    with pytest.raises(Unavailable) as error:
        graph.odds([1 << 40], [0])  # A word piece that the model does not have.
    assert graph.outage == str(error.value).rstrip(".")
    graph.odds([1], [0])
    assert graph.outage is None
