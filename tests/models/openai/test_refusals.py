"""Texts that a server refuses are distinguished from wrong settings."""

from typing import Any

import pytest

from hivelore.core.text import Clean
from hivelore.errors import Invalid, Unavailable
from hivelore.models.openai.provider import OPENAI_URL
from support.embedders import clean
from support.embedding_server import EmbeddingServer, altered, is_vector_of, raw, refusal
from support.remote_embedder import HELLO, KEY, Make


@pytest.mark.parametrize("position", [0, 1, 3, 6])
def test_one_refused_text_is_found_in_its_batch(server: EmbeddingServer, make: Make, position: int) -> None:
    server.poison = {"poison"}
    contents = [f"note {number}" for number in range(7)]
    contents[position] = "a poison note"
    with pytest.raises(Invalid, match="input is not valid") as caught:
        make().embed_documents(clean(*contents))
    assert caught.value.field == str(position)


def test_the_position_counts_over_all_batches(server: EmbeddingServer, make: Make) -> None:
    server.poison = {"poison"}
    with pytest.raises(Invalid) as caught:
        make(batch_inputs=2).embed_documents(clean("one", "two", "three", "four", "poison"))
    assert caught.value.field == "4"


def test_finding_one_text_among_many_takes_few_requests(server: EmbeddingServer, make: Make) -> None:
    server.poison = {"poison"}
    with pytest.raises(Invalid):
        make(dimension=8).embed_documents(clean(*[f"note {number}" for number in range(2_047)], "poison"))
    assert len(server.asked) <= 2 * 11 + 2  # two for each halving of 2,048, the first, the harmless one


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_batch_that_is_too_big_for_the_server_is_halved(server: EmbeddingServer, make: Make, status: int) -> None:
    server.script(refusal(status, "maximum context length"))
    vectors = make().embed_documents(clean("one", "two", "three"))
    assert [is_vector_of(vector, text) for vector, text in zip(vectors, ("one", "two", "three"), strict=True)] == [
        True
    ] * 3
    assert [len(asked.inputs) for asked in server.asked] == [3, 1, 2]


def test_a_server_that_refuses_every_text_is_unavailable(server: EmbeddingServer, make: Make) -> None:
    server.always = refusal(400, "this model does not support dimensions")
    with pytest.raises(Unavailable, match=r"does not support dimensions.*refuses any text"):
        make().embed_documents(clean("one", "two"))


def test_a_text_whose_vector_is_not_a_number_is_found(server: EmbeddingServer, make: Make) -> None:
    server.degenerate = {"odd"}
    with pytest.raises(Invalid, match="not finite") as caught:
        make().embed_documents(clean("one", "two", "odd"))
    assert caught.value.field == "2"


def test_nan_that_passes_costs_only_another_request(server: EmbeddingServer, make: Make) -> None:
    def spoil(answer: dict[str, Any]) -> None:
        answer["data"][0]["embedding"] = [None] * 512  # how some servers write NaN

    server.script(altered(spoil))
    assert is_vector_of(make().embed_query(HELLO), "hello")
    assert len(server.asked) == 2


@pytest.mark.parametrize("number", ["null", "NaN", "0", "1e200", "1e999"])
def test_a_server_whose_vectors_are_all_unusable_is_unavailable(
    server: EmbeddingServer, make: Make, number: str
) -> None:
    embedding = ",".join([number] * 512)
    server.always = raw(f'{{"data": [{{"index": 0, "embedding": [{embedding}]}}]}}'.encode())
    with pytest.raises(Unavailable):
        make().embed_documents([HELLO])


def test_a_text_that_makes_ollama_fail_with_nan_is_found(server: EmbeddingServer, make: Make) -> None:
    nan = refusal(500, "failed to encode response: json: unsupported value: NaN")
    server.script(nan, nan)  # for both texts, then for the first alone; the harmless one after it is fine
    with pytest.raises(Invalid, match="NaN") as caught:
        make().embed_documents(clean("odd", "two"))
    assert caught.value.field == "0"


def test_a_refused_question_names_its_text(server: EmbeddingServer, make: Make) -> None:
    server.poison = {"poison"}
    with pytest.raises(Invalid) as caught:
        make().embed_query(Clean("poison"))
    assert caught.value.field == "text"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_the_setting_and_is_not_tried_again(
    server: EmbeddingServer, make: Make, status: int
) -> None:
    server.always = refusal(status, "Incorrect API key provided")
    with pytest.raises(Unavailable, match="OPENAI_API_KEY"):
        make().embed_documents([HELLO])
    assert len(server.asked) == 1


def test_openai_is_not_asked_without_a_key(make: Make) -> None:
    with pytest.raises(Unavailable, match="OPENAI_API_KEY"):
        make(base_url=OPENAI_URL, api_key=" ").embed_query(HELLO)


@pytest.mark.parametrize("status", [301, 402, 404, 405])
def test_a_wrong_address_or_model_is_not_tried_again(server: EmbeddingServer, make: Make, status: int) -> None:
    server.always = refusal(status, "no such model", {"Location": server.base_url})
    with pytest.raises(Unavailable, match=f"{status}.*no such model.*base URL"):
        make().embed_documents([HELLO])
    assert len(server.asked) == 1


def test_a_wrong_dimension_is_unavailable_and_says_which(server: EmbeddingServer, make: Make) -> None:
    with pytest.raises(Unavailable, match="512 numbers a vector where the dimension is set to 384"):
        make(dimension=384, send_dimensions=False).embed_documents(clean("one", "two"))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_url", "api.openai.com/v1"),
        ("base_url", "ftp://127.0.0.1/v1"),
        ("base_url", "http://[::1/v1"),
        ("base_url", "http:///v1"),
        ("base_url", "http://someone:secret@127.0.0.1/v1"),
        ("base_url", "http://127.0.0.1/v1?key=secret"),
        ("api_key", f"{KEY}\n{KEY}"),
        ("api_key", f"{KEY}é"),
        ("api_key", f"Bearer {KEY}"),
        ("model", " "),
        ("dimension", 0),
        ("batch_inputs", 2_049),
        ("batch_tokens", 300_001),
        ("input_tokens", 0),
        ("timeout", 0),
        ("query_timeout", float("nan")),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_name(make: Make, field: str, value: object) -> None:
    with pytest.raises(Invalid) as caught:
        make(**{field: value})
    assert caught.value.field == field
    assert "secret" not in str(caught.value)
    assert KEY not in str(caught.value)
