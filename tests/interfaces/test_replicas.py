"""Two services on one PostgreSQL database, which are killed again and again."""

import random
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count, product
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import pytest

from hivelore.errors import HiveloreError, Unavailable
from hivelore.python.client import Client
from hivelore.python.remote import RemoteHive
from support import postgres
from support.replicas import Replica
from support.shown import Show

KILLS, EVERY = 12, 5.0
"""Seconds between two kills, if the machine is fast enough."""
REEMBEDDINGS = 2, 6, 10
"""Kills during a complete re-embedding; a second call joins the first."""
WRITERS = READERS = 8
DEEP = 50
"""How far down an answer is looked: others may be nearer in meaning to a word that nobody knows."""

_SUBJECTS = ("the mail relay", "the billing worker", "the search index", "the backup job", "the image resizer")
_PLACES = ("in the cellar", "on the second floor", "behind the balancer", "at the Oslo site", "in the staging zone")
_DOINGS = ("stops answering", "loses its lease", "writes to a full disk", "forgets its certificate", "doubles messages")
_CAUSES = ("after a kernel update", "while the clock jumps", "under a heavy import", "when DNS is slow", "at midnight")
_CURES = ("restarting it", "raising its limit", "draining the queue", "renewing the token", "moving it away")
_SENTENCES = [
    f"{' '.join(words[:4])}; {words[4]} helps" for words in product(_SUBJECTS, _PLACES, _DOINGS, _CAUSES, _CURES)
]
random.Random(7).shuffle(_SENTENCES)


@dataclass
class Seen:
    """Observations of the clients."""

    written: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """The word and the text of each acknowledged memory, by its id."""
    waited: list[float] = field(default_factory=list[float])
    """Seconds that each recall took which was answered."""
    wrong: list[str] = field(default_factory=list[str])
    lock: Lock = field(default_factory=Lock)


@pytest.fixture
def replicas(tmp_path: Path) -> Generator[tuple[Replica, Replica]]:
    database = postgres.schema()
    both = tuple(Replica(tmp_path / name, database, HIVELORE_EMBEDDER="local") for name in ("one", "two"))
    try:
        for replica in both:
            replica.start()
        for replica in both:
            replica.wait()
        yield both[0], both[1]
    finally:
        for replica in both:
            replica.end()


def insisting(urls: list[str], key: str, call: Callable[[RemoteHive], Any], stop: Event) -> Any:
    """Returns the answer of the first service that answers, starting with ``urls``."""
    for url in urls * 1_000:
        try:
            with RemoteHive(Client(url, key)) as hive:
                return call(hive)
        except Unavailable:
            stop.wait(0.05)
    raise AssertionError("no service answered")


def write(urls: list[str], key: str, numbers: "count[int]", seen: Seen, stop: Event) -> None:
    while not stop.is_set():
        number = next(numbers)
        word, text = f"zq{number}x", _SENTENCES[number % len(_SENTENCES)]
        content = f"{text} ({word})."
        random.shuffle(urls)
        try:
            memory = insisting(urls, key, lambda hive, c=content, w=word: hive.remember(c, external_id=w), stop)
        except HiveloreError as error:
            with seen.lock:
                seen.wrong.append(f"write: {error!r}")
            continue
        with seen.lock:
            seen.written[str(memory.id)] = word, text


def read(urls: list[str], key: str, seen: Seen, stop: Event) -> None:
    while not stop.is_set():
        with seen.lock:
            known = list(seen.written.items())[-2_000:]
        if not known:
            stop.wait(0.05)
            continue
        memory, (word, _) = random.choice(known)
        random.shuffle(urls)
        began = monotonic()
        try:
            with RemoteHive(Client(urls[0], key)) as hive:
                found = [str(hit.memory.id) for hit in hive.recall(word, limit=DEEP)]
        except Unavailable:
            stop.wait(0.05)
            continue
        except HiveloreError as error:
            with seen.lock:
                seen.wrong.append(f"read: {error!r}")
            continue
        with seen.lock:
            seen.waited.append(monotonic() - began)
            if memory not in found:
                seen.wrong.append(f"{memory} was acknowledged and is not found by its word")


@pytest.mark.slow
@pytest.mark.timeout(2_400)
def test_killed_replicas_lose_and_duplicate_no_acknowledged_memory(
    replicas: tuple[Replica, Replica], show: Show
) -> None:
    urls, operator = [one.url for one in replicas], replicas[0].operator_key
    with closing(Client(urls[0], operator)) as admin:
        key: str = admin.call("POST", "/api/agents", body={"name": "ada", "role": "worker"})["key"]
    seen, stop, numbers = Seen(), Event(), count()
    threads = [Thread(target=write, args=(list(urls), key, numbers, seen, stop)) for _ in range(WRITERS)]
    threads += [Thread(target=read, args=(list(urls), key, seen, stop)) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    began, jobs = monotonic(), set[str]()
    for kill in range(KILLS):
        stop.wait(began + EVERY * (kill + 1) - monotonic())
        replica, other = replicas[kill % 2], replicas[(kill + 1) % 2]
        replica.kill()
        replica.start()
        if kill in REEMBEDDINGS:
            other.wait()
            with closing(Client(other.url, operator)) as admin:
                jobs.add(admin.call("POST", "/api/memory/re-embed", body={"everything": True})["id"])
    took = monotonic() - began
    for replica in replicas:
        replica.wait()
    stop.set()
    for thread in threads:
        thread.join()
    assert not seen.wrong
    with closing(Client(urls[0], operator)) as admin, RemoteHive(Client(urls[0], operator)) as hive:
        assert hive.wait_until_indexed(600)
        assert {admin.call("GET", f"/api/memory/re-embed/{job}")["state"] for job in jobs} == {"done"}
        assert hive.stats().failed == 0
        assert kept(hive) == Counter({word: 1 for word, _ in seen.written.values()})
    for url in urls:
        assert missed(url, key, seen) == []
    waited = sorted(seen.waited)
    show(
        "Replicas that are killed",
        [
            f"{len(seen.written)} memories, {len(waited)} recalls, {KILLS} kills in {took:.0f} s: a recall took "
            f"{1_000 * waited[len(waited) // 2]:.0f} ms (p50), {1_000 * waited[len(waited) * 99 // 100]:.0f} ms (p99)"
        ],
    )


def kept(hive: RemoteHive) -> Counter[str]:
    """Counts the memories of each external id."""
    found: Counter[str] = Counter()
    after = None
    while True:
        page = hive.list(limit=200, after=after)
        found.update(str(memory.external_id) for memory in page.memories)
        after = page.next
        if after is None:
            return found


def missed(url: str, key: str, seen: Seen) -> list[str]:
    """Returns the acknowledged memories that a service does not find, and by which means."""
    written = sorted(seen.written.items())

    def of_a_part(start: int) -> list[str]:
        with RemoteHive(Client(url, key)) as hive:
            return [
                f"{one} {written_memory}: {how}"
                for one, written_memory in written[start::READERS]
                for how in lost(hive, one, *written_memory)
            ]

    with ThreadPoolExecutor(READERS) as readers:
        return [one for part in readers.map(of_a_part, range(READERS)) for one in part]


def lost(hive: RemoteHive, memory: str, word: str, text: str) -> Generator[str]:
    """Yields the means that do not find it."""
    try:
        hive.get(memory)
        by_word, by_meaning = hive.recall(word, limit=DEEP), hive.recall(text, limit=DEEP)
    except HiveloreError as error:
        yield repr(error)
        return
    if not any(hit.memory.id == memory and hit.score.keyword > 0.5 for hit in by_word):
        yield f"not by its word: {by_word.message}"
    if not any(hit.memory.id == memory and hit.score.vector > 0.5 for hit in by_meaning):
        yield f"not by its meaning: {by_meaning.message}"
