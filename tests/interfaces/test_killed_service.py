"""A service killed during re-embedding or an import resumes, and answers whenever it runs."""

import json
import subprocess
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hivelore.cli.exits import UNAVAILABLE
from hivelore.embeddings.queue import BATCH
from hivelore.local import launcher
from hivelore.python.client import Client
from support.command_line import HIVELORE, CommandLine, environment
from support.embedding_server import EmbeddingServer, Exchange, QueryAnalysis, silence
from support.service import Service
from support.waiting import until

NOTES = 300
DIMENSION = 384
"""The dimension of the shipped model, so that the two models of this test differ only in their name."""
OF_PASSAGES = "passage: "
BEFORE_THE_KILL = 2
"""Batches: 43 % of the notes."""


class Talk:
    """An operator who talks to a service, also for the local agent."""

    def __init__(self, home: Path, url: str) -> None:
        key = (home / "operator.key").read_text().strip()
        self.operator = Client(url, key)
        self.local = Client(url, key, agent="local")

    def status(self) -> dict[str, Any]:
        return self.operator.call("GET", "/api/status")

    def counts(self) -> tuple[int, int, int]:
        """Returns the numbers of memories, of waiting passages, and of passages that failed."""
        stats = self.operator.call("GET", "/api/memory/stats")
        return stats["total"], stats["pendingEmbeddings"], stats["failed"]

    def memories(self) -> dict[str, str]:
        """Returns the memory ids by external id."""
        found: list[dict[str, Any]] = self.local.call("GET", "/api/memory", query={"limit": 500})["memories"]
        assert len({one["externalId"] for one in found}) == len(found)
        return {one["externalId"]: one["id"] for one in found}


@contextmanager
def talk(home: Path, url: str) -> Generator[Talk]:
    talking = Talk(home, url)
    with closing(talking.operator), closing(talking.local):
        yield talking


@contextmanager
def killed_service(home: Path, **settings: str) -> Generator[Talk]:
    """A service in another process, which is killed at the end."""
    words, env = [HIVELORE, "serve"], environment(home, **as_environment(settings))
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            url = None
            while url is None or not launcher.is_alive(url):
                assert process.poll() is None, process.stderr and process.stderr.read().decode()
                Event().wait(0.05)
                url = launcher.running(home)
            with talk(home, url) as talking:
                yield talking
        finally:
            process.kill()


@contextmanager
def local_service(home: Path) -> Generator[Talk]:
    """A service that is not killed, in a thread of this process, with the packaged model."""
    with Service(home, embedder="local") as service, talk(home, service.url) as talking:
        yield talking


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"HIVELORE_{name.upper()}": value for name, value in settings.items()}


def note(number: int) -> str:
    return f"Valve v{number} of pump p{number * 7 % 1_000} is checked by crew c{number * 13 % 1_000}."


def lines(numbers: Sequence[int]) -> bytes:
    return b"".join(json.dumps({"id": str(one), "content": note(one)}).encode() + b"\n" for one in numbers)


class Searcher:
    """Asks for one note after the other, word for word: with vectors of two models in one comparison, another one
    would be the nearest."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self._numbers: Iterator[int] = cycle(range(0, NOTES, 7))

    def ask(self, running: Talk) -> None:
        wanted = note(next(self._numbers))
        answer = running.local.call("POST", "/api/memory/search", body={"query": wanted, "limit": 3})
        best = answer["results"][0]
        assert best["memory"]["content"] == wanted
        self.answers[answer["path"]] += 1
        if answer["path"] == "hybrid":
            assert best["score"]["vector"] == 1.0
        else:
            assert "still being built" in answer["message"]


class Remote:
    """A model behind an embedding server, and its requests."""

    def __init__(self, server: EmbeddingServer) -> None:
        self.may_begin, self.is_stuck = Event(), Event()
        self._server = server
        self._left = 0

    def settings(self) -> dict[str, str]:
        return {
            "embedder": "openai",
            "embedding_url": self._server.base_url,
            "embedding_model": "hashing",
            "embedding_dimensions": str(DIMENSION),
            "embedding_document_prefix": OF_PASSAGES,
        }

    def passages(self) -> list[str]:
        """Every requested passage, in order."""
        return [text for asked in self._server.asked if _is_of_passages(asked) for text in asked.inputs]

    def questions(self) -> int:
        return sum(not _is_of_passages(asked) for asked in self._server.asked)

    def stop_after(self, batches: int) -> None:
        """Answers this number of batches after ``may_begin``, and blocks the next one."""
        self._left = batches
        self._server.always = self._answer

    def mend(self) -> None:
        self._server.always = None

    def hold(self) -> None:
        """Answer all again, but nothing of passages before ``let_go``."""
        self.may_begin.clear()
        self._left = NOTES

    def let_go(self) -> None:
        self.may_begin.set()

    def _answer(self, exchange: Exchange) -> None:
        if _is_of_passages(exchange.asked):
            self.may_begin.wait()
            self._left -= 1
            if self._left < 0:
                self.is_stuck.set()
                silence(exchange)
                return
        exchange.handler.send(200, exchange.answer())


def _is_of_passages(asked: QueryAnalysis) -> bool:
    return asked.inputs[0].startswith(OF_PASSAGES)


def test_embedding_with_a_new_model_resumes_after_a_kill_and_every_query_is_answered(tmp_path: Path) -> None:
    home, searcher = tmp_path / "home", Searcher()
    with local_service(home) as running:
        fill(running)
        local = running.status()["model"]
        searcher.ask(running)

    with EmbeddingServer(DIMENSION) as server:
        remote = Remote(server)
        remote.stop_after(BEFORE_THE_KILL)
        with killed_service(home, **remote.settings()) as running:
            job = running.operator.call("POST", "/api/memory/re-embed")
            assert (job["state"], job["total"]) == ("running", NOTES)
            stick(running, remote, searcher)
            assert running.status()["model"] == local

        before = len(remote.passages())
        remote.hold()
        with killed_service(home, **remote.settings()) as running:
            assert running.operator.call("POST", "/api/memory/re-embed")["id"] == job["id"]
            remote.let_go()
            finish(running, job, searcher)
            until(lambda: running.status()["model"] != local, lambda: searcher.ask(running))
            asked = remote.questions()
            for _ in range(20):
                searcher.ask(running)
            assert remote.questions() > asked
            assert running.counts() == (NOTES, 0, 0)
        look_at_passages(remote.passages(), before)
    assert searcher.answers["hybrid"] > 40


def test_a_complete_reembedding_resumes_after_a_kill(tmp_path: Path) -> None:
    home, searcher = tmp_path / "home", Searcher()
    with EmbeddingServer(DIMENSION) as server:
        remote = Remote(server)
        with killed_service(home, **remote.settings()) as running:
            fill(running)
            first = len(remote.passages())
            remote.stop_after(BEFORE_THE_KILL)
            job = running.operator.call("POST", "/api/memory/re-embed", body={"everything": True})
            assert (job["state"], job["total"]) == ("running", NOTES)
            stick(running, remote, searcher)

        before = len(remote.passages()) - first
        remote.mend()
        with killed_service(home, **remote.settings()) as running:
            finish(running, job, searcher)
        look_at_passages(remote.passages()[first:], before)


def fill(running: Talk) -> None:
    drafts = [{"content": note(number)} for number in range(NOTES)]
    running.local.call("POST", "/api/memory/batch", body={"memories": drafts})
    until(lambda: running.counts() == (NOTES, 0, 0))


def stick(running: Talk, remote: Remote, searcher: Searcher) -> None:
    """Blocks the model and keeps searching meanwhile."""
    remote.may_begin.set()
    until(remote.is_stuck.is_set, lambda: searcher.ask(running))
    for _ in range(20):
        searcher.ask(running)


def finish(running: Talk, job: dict[str, Any], searcher: Searcher) -> None:
    """Waits for the end of a job and keeps searching meanwhile."""
    path = f"/api/memory/re-embed/{job['id']}"
    until(lambda: running.operator.call("GET", path)["state"] == "done", lambda: searcher.ask(running))
    assert running.operator.call("GET", path)["done"] == NOTES


def look_at_passages(asked_for: list[str], before_kill: int) -> None:
    """All were embedded; after the kill no more than what was left, and what was with the server just then."""
    assert set(asked_for) == {OF_PASSAGES + note(number) for number in range(NOTES)}
    assert before_kill == (BEFORE_THE_KILL + 1) * BATCH
    assert len(asked_for) - before_kill == NOTES - BEFORE_THE_KILL * BATCH
    assert max(Counter(asked_for).values()) == 2


def test_an_import_resumes_after_a_kill_and_a_second_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, file = tmp_path / "home", str(tmp_path / "in.jsonl")
    Path(file).write_bytes(lines(range(NOTES)))
    words, env, pipe = [HIVELORE, "import", "-"], environment(home), subprocess.PIPE
    with killed_service(home, embedder="local") as running:
        importing = subprocess.Popen(words, env=env, stdin=pipe, stdout=pipe, stderr=pipe)
        assert importing.stdin is not None
        importing.stdin.write(lines(range(220)))
        importing.stdin.flush()
        while (counts := running.counts())[0] < 200:
            Event().wait(0.01)
        acknowledged = running.memories()
    _, errors = importing.communicate(lines(range(220, NOTES)), timeout=150)
    assert counts[1] > 0, "everything was embedded before the kill"
    assert len(acknowledged) == 200
    assert importing.returncode == UNAVAILABLE
    assert errors.startswith(b"Stopped at line")

    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    cli = CommandLine(monkeypatch, capsys)
    with local_service(home) as running:
        assert running.memories() == acknowledged
        again = cli.json("import", file)
        assert (again["created"], again["changed"], again["unchanged"]) == (NOTES - 200, 0, 200)
        until(lambda: running.counts() == (NOTES, 0, 0))
        memories = running.memories()
        assert memories.keys() == {str(number) for number in range(NOTES)}
        assert memories.items() >= acknowledged.items()
        searcher = Searcher()
        until(lambda: searcher.answers["hybrid"] >= 20, lambda: searcher.ask(running))
        assert running.operator.call("GET", "/api/check") == {"problems": [], "repairs": [], "failedEmbeddings": 0}
        before = cli.json("export", "--hash")
        third = cli.json("import", file)
        assert (third["created"], third["changed"], third["unchanged"]) == (0, 0, NOTES)
        assert (running.counts(), cli.json("export", "--hash")) == ((NOTES, 0, 0), before)
