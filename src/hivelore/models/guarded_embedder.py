"""A circuit breaker for a server that somebody waits for: when it is asked, when it is only probed, and how long a
caller waits.

Instants are seconds of a clock that only goes forward.
"""

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from enum import Enum
from threading import Lock

from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Unavailable
from hivelore.indexing.model import Vector
from hivelore.models.ports import EmbeddingProvider

FAILURES = 2
"""So many in a row, and the server is not waited for any more."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds between two probes; they double from the first to the longest."""
PROBE_PATIENCE = 0.1
"""Seconds that the caller whose question is the probe waits for it."""
FIRST_WAITERS = 2
"""So many calls may wait for as long as the server has time to answer, ..."""
SILENCE = 1.0
"""... the others until it has answered nobody for so many seconds."""


class Verdict(Enum):
    ASK = "ask"
    PROBE = "probe"
    """Ask, and wait for the answer for a moment only."""
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    failures: int = 0
    """Since the last answer."""
    answered_at: float = 0.0
    opened_at: float = 0.0
    probe_at: float = 0.0
    """No probe before this. Both mean something only while it is open."""

    @property
    def is_open(self) -> bool:
        return self.failures >= FAILURES


def verdict(breaker: CircuitBreaker, now: float) -> Verdict:
    """What becomes of a call that comes now."""
    if not breaker.is_open:
        return Verdict.ASK
    return Verdict.PROBE if now >= breaker.probe_at else Verdict.REFUSE


def probed(breaker: CircuitBreaker, now: float) -> CircuitBreaker:
    """The state after a probe was begun: the next one has to wait."""
    return replace(breaker, probe_at=now + pause(breaker.failures))


def answered(now: float) -> CircuitBreaker:
    """The state after the server answered anybody."""
    return CircuitBreaker(answered_at=now)


def failed(breaker: CircuitBreaker, began: float, now: float) -> CircuitBreaker:
    """The state after a call failed that began then. Calls that were under way at the last answer, or when the breaker
    opened, tell nothing new."""
    if began < breaker.answered_at or (breaker.is_open and began < breaker.opened_at):
        return breaker
    failures = breaker.failures + 1
    opened_at = breaker.opened_at if breaker.is_open else now
    return replace(breaker, failures=failures, opened_at=opened_at, probe_at=now + pause(failures))


def pause(failures: int) -> float:
    """Seconds until the next probe after so many failures in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(max(failures - FAILURES, 0), 30), LONGEST_PAUSE)


def patience(now: float, *, earlier: int, silent_since: float) -> float | None:
    """Seconds that a call still waits, 0 or less: no longer; None: until the server had its time.

    ``earlier``: how many calls that are under way began before it. ``silent_since``: when the server last answered
    anybody, or the oldest call under way began, whichever is later."""
    return None if earlier < FIRST_WAITERS else silent_since + SILENCE - now


AT_ONCE = 16
"""Questions that are put to the server at the same time."""


class GuardedEmbedder:
    """Implements ``storage.ports.EmbeddingProvider`` over another one; safe from many threads; ``close`` it in the end.

    Failures with documents, which may be due to one of their texts, do not open the breaker. While it is open,
    documents are refused too, but for those that come when a probe is due."""

    def __init__(self, inner: EmbeddingProvider, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._lock = Lock()
        """Held for everything below but the threads."""
        self._breaker = answered(clock.monotonic())
        self._said = ""
        """Why the last question failed."""
        self._under_way: dict[Future[Vector], float] = {}
        """When each question was asked that has no answer yet, in this order."""
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
        """Why questions do not wait for the server at present; None where they do."""
        with self._lock:
            return self._outage()

    def embed_query(self, text: Clean) -> Vector:
        now = began = self._clock.monotonic()
        with self._lock:
            asked, is_probe = self._begun(text, began)
        asked.add_done_callback(self._ended)
        while not asked.done():
            with self._lock:
                left = began + PROBE_PATIENCE - now if is_probe else self._patience(asked, now)
                refusal = self._refusal(now)
            if left is not None and left <= 0.0:
                asked.cancel()
                raise refusal
            wait([asked], left)
            now = self._clock.monotonic()
        try:
            return asked.result()
        except CancelledError:
            raise Unavailable("The embedding server is not asked any more, the service ends.") from None

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
        """Ask no more; questions under way end with the inner provider, which is closed by whoever made it."""
        with self._lock:
            self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begun(self, text: Clean, now: float) -> tuple[Future[Vector], bool]:
        """A question that was put to the server, and whether it is a probe."""
        what = verdict(self._breaker, now)
        if what is Verdict.REFUSE or self._is_closed:
            raise self._refusal(now)
        if what is Verdict.PROBE:
            self._breaker = probed(self._breaker, now)
        asked = self._threads.submit(self._ask, text)
        self._under_way[asked] = now
        return asked, what is Verdict.PROBE

    def _ask(self, text: Clean) -> Vector:
        began = self._clock.monotonic()
        try:
            vector = self._inner.embed_query(text)
        except Unavailable as error:
            self._note_failure(began, error)
            raise
        self._note_answer()
        return vector

    def _ended(self, asked: Future[Vector]) -> None:
        with self._lock:
            self._under_way.pop(asked, None)

    def _patience(self, asked: Future[Vector], now: float) -> float | None:
        if asked not in self._under_way:
            return None
        oldest = next(iter(self._under_way.values()))
        earlier = list(self._under_way).index(asked)
        return patience(now, earlier=earlier, silent_since=max(self._breaker.answered_at, oldest))

    def _note_answer(self) -> None:
        with self._lock:
            self._breaker = answered(self._clock.monotonic())

    def _note_failure(self, began: float, error: Unavailable) -> None:
        with self._lock:
            self._breaker = failed(self._breaker, began, self._clock.monotonic())
            self._said = str(error).rstrip(".")

    def _refusal(self, now: float) -> Unavailable:
        outage = self._outage()
        if outage is None:
            return Unavailable("The embedding server does not answer at present.")
        return Unavailable(f"{outage}.", retry_after=max(self._breaker.probe_at - now, 0.0))

    def _outage(self) -> str | None:
        if not self._breaker.is_open:
            return None
        return f"{self._said} ({self._breaker.failures} times in a row; it is tried again in the background)"
