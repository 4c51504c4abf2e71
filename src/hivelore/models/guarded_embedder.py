"""An embedding server behind a circuit breaker, so that a server that hangs delays few queries, and only once.

The breaker decides whether a call is sent, sent as a probe, or refused, and how long its caller waits. Instants are
seconds on a monotonic clock.
"""

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import Enum
from threading import Lock

from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Unavailable
from hivelore.indexing.model import Vector
from hivelore.models.ports import EmbeddingProvider

FAILURES = 2
"""Failures in a row that open the breaker."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds between probes; the pause doubles from the first to the longest."""
PROBE_PATIENCE = 0.1
"""Seconds that the caller of a probe waits for its result."""
FIRST_WAITERS = 2
"""Number of concurrent calls that may wait until the time limit of the server."""
SILENCE = 1.0
"""Seconds without any answer of the server after which the other calls give up."""


class Verdict(Enum):
    ASK = "ask"
    PROBE = "probe"
    """Send the call, but wait only briefly."""
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    failures: int = 0
    """Failures since the last answer."""
    answered_at: float = 0.0
    opened_at: float = 0.0
    probe_at: float = 0.0
    """The earliest time of the next probe. ``opened_at`` and ``probe_at`` are valid only while the breaker is open."""

    @property
    def is_open(self) -> bool:
        return self.failures >= FAILURES


def verdict(breaker: CircuitBreaker, now: float) -> Verdict:
    """Decides about a call at this instant."""
    if not breaker.is_open:
        return Verdict.ASK
    return Verdict.PROBE if now >= breaker.probe_at else Verdict.REFUSE


def probed(breaker: CircuitBreaker, now: float) -> CircuitBreaker:
    """Returns the state after a probe began; the next probe has to wait."""
    return replace(breaker, probe_at=now + pause(breaker.failures))


def answered(now: float) -> CircuitBreaker:
    """Returns the state after any answer of the server."""
    return CircuitBreaker(answered_at=now)


def failed(breaker: CircuitBreaker, began: float, now: float) -> CircuitBreaker:
    """Returns the state after a call that began at ``began`` failed. Calls that began before the last answer, or before
    the breaker opened, do not count."""
    if began < breaker.answered_at or (breaker.is_open and began < breaker.opened_at):
        return breaker
    failures = breaker.failures + 1
    opened_at = breaker.opened_at if breaker.is_open else now
    return replace(breaker, failures=failures, opened_at=opened_at, probe_at=now + pause(failures))


def pause(failures: int) -> float:
    """Returns the seconds until the next probe after this number of failures in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(max(failures - FAILURES, 0), 30), LONGEST_PAUSE)


def patience(now: float, *, earlier: int, silent_since: float) -> float | None:
    """Returns the seconds that a call may still wait; None: until the time limit of the server.

    ``earlier`` is the number of running calls that began before it. ``silent_since`` is the later of the last answer of
    the server and the start of the oldest running call."""
    return None if earlier < FIRST_WAITERS else silent_since + SILENCE - now


AT_ONCE = 16
"""Queries that are sent to the server concurrently."""


class GuardedEmbedder:
    """Implements ``models.ports.EmbeddingProvider`` by wrapping another one. Thread-safe; ``close`` it in the end.

    Failures with documents do not open the breaker, since a single text may cause them. While it is open, documents are
    refused too, unless a probe is due."""

    def __init__(self, inner: EmbeddingProvider, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._lock = Lock()
        """Protects all attributes below except the thread pool."""
        self._breaker = answered(clock.monotonic())
        self._last_error = ""
        self._running: dict[Future[Vector], float] = {}
        """Start times of running queries, oldest first."""
        self._is_closed = False
        self._threads = ThreadPoolExecutor(AT_ONCE, "hivelore-asking")

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def outage(self) -> str | None:
        """The reason why queries do not wait for the server; None while they do."""
        with self._lock:
            return self._outage()

    def embed_query(self, text: Clean) -> Vector:
        now = began = self._clock.monotonic()
        with self._lock:
            query, is_probe = self._begun(text, began)
        query.add_done_callback(self._ended)
        while not query.done():
            with self._lock:
                left = began + PROBE_PATIENCE - now if is_probe else self._patience(query, now)
                refusal = self._refusal(now)
            if left is not None and left <= 0.0:
                query.cancel()
                raise refusal
            wait([query], left)
            now = self._clock.monotonic()
        try:
            return query.result()
        except CancelledError:
            raise Unavailable("The service is shutting down and sends no more queries.") from None

    def embed_documents(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        began = self._clock.monotonic()
        with self._lock:
            is_probe = self._breaker.is_open
            if verdict(self._breaker, began) is Verdict.REFUSE:
                raise self._refusal(began)
        try:
            vectors = self._inner.embed_documents(texts)
        except Unavailable as error:
            if is_probe:
                self._note_failure(began, error)
            raise
        self._note_answer()
        return vectors

    def close(self) -> None:
        """Refuses new queries. Running ones end with the inner provider, which its creator closes."""
        with self._lock:
            self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begun(self, text: Clean, now: float) -> tuple[Future[Vector], bool]:
        """Starts a query; returns its future and whether it is a probe."""
        what = verdict(self._breaker, now)
        if what is Verdict.REFUSE or self._is_closed:
            raise self._refusal(now)
        if what is Verdict.PROBE:
            self._breaker = probed(self._breaker, now)
        query = self._threads.submit(self._ask, text)
        self._running[query] = now
        return query, what is Verdict.PROBE

    def _ask(self, text: Clean) -> Vector:
        began = self._clock.monotonic()
        try:
            vector = self._inner.embed_query(text)
        except Unavailable as error:
            self._note_failure(began, error)
            raise
        self._note_answer()
        return vector

    def _ended(self, query: Future[Vector]) -> None:
        with self._lock:
            self._running.pop(query, None)

    def _patience(self, query: Future[Vector], now: float) -> float | None:
        if query not in self._running:
            return None
        oldest = next(iter(self._running.values()))
        earlier = list(self._running).index(query)
        return patience(now, earlier=earlier, silent_since=max(self._breaker.answered_at, oldest))

    def _note_answer(self) -> None:
        with self._lock:
            self._breaker = answered(self._clock.monotonic())

    def _note_failure(self, began: float, error: Unavailable) -> None:
        with self._lock:
            self._breaker = failed(self._breaker, began, self._clock.monotonic())
            self._last_error = str(error).rstrip(".")

    def _refusal(self, now: float) -> Unavailable:
        outage = self._outage()
        if outage is None:
            return Unavailable("The embedding server does not answer.")
        return Unavailable(f"{outage}.", retry_after=max(self._breaker.probe_at - now, 0.0))

    def _outage(self) -> str | None:
        if not self._breaker.is_open:
            return None
        return f"{self._last_error} ({self._breaker.failures} times in a row; retried in the background)"
