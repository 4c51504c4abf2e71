"""An embedding server behind a circuit breaker: who waits, who does not, and how it comes back."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event
from time import monotonic

import pytest

from hivelore.core.text import Clean
from hivelore.errors import Invalid, Unavailable
from hivelore.indexing.model import Vector
from hivelore.models import guarded_embedder
from hivelore.models.guarded_embedder import GuardedEmbedder
from hivelore.runtime.clock import SystemClock
from support.embedders import FaultyEmbedder, clean
from support.hashing_embedder import HashingEmbedder
from support.waiting import until

TEXT = Clean("where")
ITS_TIME = 0.6
"""Seconds that a question waits for a server that hangs, where nobody guards it."""


class SlowEmbedder(FaultyEmbedder):
    def __init__(self) -> None:
        super().__init__(HashingEmbedder())
        self.hangs = False
        self.over = Event()

    def embed_query(self, text: Clean) -> Vector:
        if self.hangs:
            self.calls += 1
            self.over.wait(ITS_TIME)
            raise Unavailable("The embedding server did not answer in time.")
        return super().embed_query(text)


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_embedder, "SILENCE", 0.1)
    monkeypatch.setattr(guarded_embedder, "FIRST_PAUSE", 0.2)
    monkeypatch.setattr(guarded_embedder, "PROBE_PATIENCE", 0.1)


@pytest.fixture
def inner() -> SlowEmbedder:
    return SlowEmbedder()


@pytest.fixture
def embedder(inner: SlowEmbedder) -> Generator[GuardedEmbedder]:
    with closing(GuardedEmbedder(inner, SystemClock())) as embedder:
        yield embedder
        inner.over.set()


def seconds(call: Callable[[], object]) -> tuple[float, bool]:
    """Returns the duration of a call, and True if it was answered."""
    began = monotonic()
    try:
        call()
    except Unavailable:
        return monotonic() - began, False
    return monotonic() - began, True


def fail(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    """Open the breaker."""
    inner.down_for = None
    for _ in range(guarded_embedder.FAILURES):
        with pytest.raises(Unavailable):
            embedder.embed_query(TEXT)


def test_a_guarded_embedder_gives_the_same_vectors(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    plain = HashingEmbedder()
    assert (embedder.fingerprint, embedder.dimension) == (plain.fingerprint, plain.dimension)
    assert (embedder.embed_query(TEXT) == plain.embed_query(TEXT)).all()
    assert (embedder.embed_documents([TEXT])[0] == plain.embed_documents([TEXT])[0]).all()
    assert embedder.outage is None


def test_only_a_few_calls_wait_for_a_hanging_server(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    inner.hangs = True
    with ThreadPoolExecutor(24) as pool:
        waited = list(pool.map(seconds, [lambda: embedder.embed_query(TEXT)] * 24))
    assert not any(is_answered for _, is_answered in waited)
    assert sum(took > ITS_TIME / 2 for took, _ in waited) <= guarded_embedder.FIRST_WAITERS
    assert embedder.outage is not None


def test_after_repeated_failures_calls_fail_at_once_with_the_reason(
    inner: SlowEmbedder, embedder: GuardedEmbedder
) -> None:
    fail(inner, embedder)
    calls = inner.calls
    with pytest.raises(Unavailable, match=r"The embedder is down for this test \(2 times in a row") as refused:
        embedder.embed_query(TEXT)
    assert (inner.calls, str(refused.value)) == (calls, f"{embedder.outage}.")
    assert 0.0 < (refused.value.retry_after or 0.0) <= guarded_embedder.FIRST_PAUSE


def test_one_query_in_a_pause_is_a_probe_and_waits_only_shortly(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    fail(inner, embedder)
    inner.hangs, calls = True, inner.calls
    until(lambda: seconds(lambda: embedder.embed_query(TEXT))[0] > 0.05)
    assert inner.calls == calls + 1
    assert seconds(lambda: embedder.embed_query(TEXT)) < (0.05, False)
    assert inner.calls == calls + 1


def test_a_probe_that_is_answered_closes_it(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    fail(inner, embedder)
    inner.down_for = 0
    assert not seconds(lambda: embedder.embed_query(TEXT))[1]
    until(lambda: seconds(lambda: embedder.embed_query(TEXT))[1])
    assert embedder.outage is None


def test_questions_that_were_under_way_before_the_answer_do_not_open_it_again(
    inner: SlowEmbedder, embedder: GuardedEmbedder
) -> None:
    inner.hangs = True
    with ThreadPoolExecutor(guarded_embedder.FAILURES) as pool:
        late = [pool.submit(seconds, lambda: embedder.embed_query(TEXT)) for _ in range(guarded_embedder.FAILURES)]
        until(lambda: inner.calls == guarded_embedder.FAILURES)
        inner.hangs = False
        embedder.embed_query(TEXT)
    assert [one.result()[1] for one in late] == [False] * guarded_embedder.FAILURES
    assert embedder.outage is None


def test_documents_that_are_embedded_close_it_and_their_failures_do_not_open_it(
    inner: SlowEmbedder, embedder: GuardedEmbedder
) -> None:
    inner.down_for = 5
    for _ in range(5):
        with pytest.raises(Unavailable):
            embedder.embed_documents([TEXT])
    assert embedder.outage is None
    fail(inner, embedder)
    with pytest.raises(Unavailable, match="times in a row"):
        embedder.embed_documents([TEXT])
    inner.down_for = 0
    until(lambda: seconds(lambda: embedder.embed_documents([TEXT]))[1])
    assert embedder.outage is None


def test_documents_that_fail_as_a_probe_put_off_the_next_one(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    fail(inner, embedder)
    calls = inner.calls
    until(lambda: seconds(lambda: embedder.embed_documents([TEXT])) and inner.calls > calls)
    with pytest.raises(Unavailable) as refused:
        embedder.embed_query(TEXT)
    assert (inner.calls, (refused.value.retry_after or 0.0) > guarded_embedder.FIRST_PAUSE) == (calls + 1, True)


def test_a_text_that_is_refused_is_no_failure_of_the_server(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    inner.poison = {"poison"}
    for _ in range(5):
        with pytest.raises(Invalid):
            embedder.embed_query(Clean("poison"))
        with pytest.raises(Invalid):
            embedder.embed_documents(clean("poison"))
    assert embedder.outage is None


def test_after_closing_nothing_is_asked(inner: SlowEmbedder, embedder: GuardedEmbedder) -> None:
    embedder.close()
    embedder.close()
    with pytest.raises(Unavailable):
        embedder.embed_query(TEXT)
    assert inner.calls == 0
