"""Temporary faults of a server: which are retried, and which error is raised in the end."""

import socket
from datetime import timedelta
from typing import Any

import pytest

from hivelore.errors import Unavailable
from hivelore.models.openai.connection import ATTEMPTS
from support.clocks import START, FixedClock, SteppingClock
from support.embedders import clean
from support.embedding_server import (
    EmbeddingServer,
    Exchange,
    Fault,
    altered,
    drip,
    hang_up,
    is_vector_of,
    raw,
    refusal,
    silence,
    split,
)
from support.remote_embedder import HELLO, Make, real_pauses


def test_retry_after_in_seconds_is_obeyed(server: EmbeddingServer, make: Make) -> None:
    server.script(refusal(429, headers={"Retry-After": "0.02"}))
    with real_pauses() as pauses:
        assert is_vector_of(make().embed_query(HELLO), "hello")
    assert pauses == [0.02]


def test_retry_after_as_a_date_is_obeyed(server: EmbeddingServer, make: Make) -> None:
    server.script(refusal(429, headers={"Retry-After": "Sun, 01 Mar 2026 12:00:01 GMT"}))
    clock = FixedClock(START + timedelta(milliseconds=980))
    with real_pauses() as pauses:
        assert is_vector_of(make(clock=clock).embed_query(HELLO), "hello")
    assert pauses == [pytest.approx(0.02)]


def test_a_long_retry_after_is_left_to_the_caller(server: EmbeddingServer, make: Make) -> None:
    server.always = refusal(429, headers={"Retry-After": "60"})
    with pytest.raises(Unavailable, match="429") as caught:
        make(timeout=3_600).embed_documents([HELLO])
    assert caught.value.retry_after == 60.0
    assert len(server.asked) == 1


def test_a_retry_after_beyond_the_time_out_is_left_to_the_caller(server: EmbeddingServer, make: Make) -> None:
    server.always = refusal(429, headers={"Retry-After": "4"})
    with pytest.raises(Unavailable) as caught:
        make(query_timeout=3).embed_query(HELLO)
    assert caught.value.retry_after == 4.0
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_server_in_trouble_is_asked_again(server: EmbeddingServer, make: Make, status: int) -> None:
    server.script(refusal(status), refusal(status))
    assert is_vector_of(make().embed_query(HELLO), "hello")
    assert len(server.asked) == 3


def test_a_server_that_stays_in_trouble_is_unavailable(server: EmbeddingServer, make: Make) -> None:
    server.always = refusal(500, "out of memory")
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1 .*500.*out of memory") as caught:
        make().embed_documents(clean("one", "two"))
    assert caught.value.retry_after is None
    assert len(server.asked) == ATTEMPTS


def test_a_status_counts_even_where_the_rest_of_the_answer_is_lost(server: EmbeddingServer, make: Make) -> None:
    def broken_off(exchange: Exchange) -> None:
        exchange.handler.send(429, b"", {"Retry-After": "60"}, length=100)
        exchange.handler.close_connection = True

    server.always = broken_off
    with pytest.raises(Unavailable, match="429") as caught:
        make().embed_documents([HELLO])
    assert caught.value.retry_after == 60.0


def test_a_silent_server_is_unavailable(server: EmbeddingServer, make: Make) -> None:
    server.always = silence
    with pytest.raises(Unavailable, match="in time"):
        make(timeout=0.1).embed_documents([HELLO])
    assert len(server.asked) <= 1


def test_a_question_waits_less_long_than_documents(server: EmbeddingServer, make: Make) -> None:
    server.always = silence
    with pytest.raises(Unavailable, match="in time"):
        make(timeout=3_600, query_timeout=0.1).embed_query(HELLO)


def test_a_slow_drip_ends_at_the_time_out(server: EmbeddingServer, make: Make) -> None:
    clock = SteppingClock()
    server.always = drip(lambda: clock.advance(timedelta(seconds=1)), pieces=100)
    with pytest.raises(Unavailable, match="in time"):
        make(clock=clock, timeout=30).embed_documents([HELLO])
    assert len(server.asked) == 1


def test_an_answer_in_many_pieces_is_fine_within_the_time_out(server: EmbeddingServer, make: Make) -> None:
    clock = SteppingClock()
    server.always = drip(lambda: clock.advance(timedelta(seconds=0.1)), pieces=100)
    (vector,) = make(clock=clock, timeout=30).embed_documents([HELLO])
    assert is_vector_of(vector, "hello")


def test_a_closed_port_is_unavailable(make: Make) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(Unavailable, match="cannot be reached"):
            make(base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1").embed_query(HELLO)


def without_one(answer: dict[str, Any]) -> None:
    answer["data"].pop()


def with_one_more(answer: dict[str, Any]) -> None:
    answer["data"].append(answer["data"][0])


def all_index_zero(answer: dict[str, Any]) -> None:
    for item in answer["data"]:
        item["index"] = 0


def without_index(answer: dict[str, Any]) -> None:
    for item in answer["data"]:
        del item["index"]


def without_embedding(answer: dict[str, Any]) -> None:
    del answer["data"][0]["embedding"]


def half_a_number(answer: dict[str, Any]) -> None:
    answer["data"][0]["embedding"] = "AAAAAAA="


PASSING: dict[str, Fault] = {
    "split body": split,
    "hung up": hang_up,
    "not JSON": raw(b"<html>Bad gateway</html>"),
    "truncated JSON": raw(b'{"data": [{"index": 0'),
    "no object": raw(b"[]"),
    "no data": raw(b"{}"),
    "data of strings": raw(b'{"data": ["a", "b"]}'),
    "too few vectors": altered(without_one),
    "too many vectors": altered(with_one_more),
    "doubled index": altered(all_index_zero),
    "no index": altered(without_index),
    "no embedding": altered(without_embedding),
    "half a number": altered(half_a_number),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_damaged_answer_is_asked_for_again(server: EmbeddingServer, make: Make, fault: Fault) -> None:
    server.script(fault)
    first, second = make().embed_documents(clean("one", "two"))
    assert is_vector_of(first, "one")
    assert is_vector_of(second, "two")
    assert len(server.asked) == 2


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_server_that_only_gives_damaged_answers_is_unavailable(
    server: EmbeddingServer, make: Make, fault: Fault
) -> None:
    server.always = fault
    with pytest.raises(Unavailable):
        make().embed_documents(clean("one", "two"))
    assert len(server.asked) == ATTEMPTS


def test_an_endless_answer_is_cut_off(server: EmbeddingServer, make: Make) -> None:
    server.always = raw(bytes(17 * 1024 * 1024))
    with pytest.raises(Unavailable, match="more than 16,793,600 bytes"):
        make().embed_documents([HELLO])


def test_a_compressed_answer_is_not_unfolded(server: EmbeddingServer, make: Make) -> None:
    server.always = raw(b"", headers={"Content-Encoding": "gzip"})
    with pytest.raises(Unavailable, match="compressed"):
        make().embed_documents([HELLO])
