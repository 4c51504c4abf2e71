"""Cost of summaries: none by default, and with a model never more than the daily quota, across kills."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.core.agents import Interface, Role, Viewer
from hivelore.health.handlers import read_status
from hivelore.memories.model import Source
from hivelore.runtime.app import Application, open_application
from hivelore.runtime.settings import load
from support.language_server import LanguageServer
from support.memories import EVERYTHING
from support.sessions import a_fix, an_end
from support.waiting import until

SESSIONS = 30
CAP = 40_000
SERVES = """
import threading
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load

app = open_application(load(embedder="none"), kind="embedded")
threading.Event().wait()
"""


def environment(folder: Path, server: LanguageServer, **more: str) -> dict[str, str]:
    """Settings of a service with its home and transcripts in this folder."""
    return {
        "HIVELORE_HOME": str(folder / "home"),
        "HIVELORE_WORKSPACE": str(folder / "workspace"),
        "HIVELORE_TRANSCRIPTS": str(folder / "sessions"),
        "HIVELORE_SUMMARIZER_URL": f"{server.url}/v1",
        "HIVELORE_SUMMARIZER_MODEL": "small",
        "HIVELORE_SUMMARIZER_DAILY_TOKENS": str(CAP),
        "OPENAI_API_KEY": "sk-1",
        "ANTHROPIC_API_KEY": "sk-2",
        **more,
    }


def opened(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Application:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return open_application(load(embedder="none"), kind="embedded")


def hand_over_many(app: Application, folder: Path) -> None:
    path = folder / "sessions" / "s.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join(a_fix().lines), encoding="utf-8")
    viewer = Viewer(role=Role.WORKER, agent=app.agents.local_agent().id, interface=Interface.HOOK)
    for number in range(SESSIONS):
        app.session_summaries.hand_over(an_end(path, session=f"s{number}", project=f"p{number}"), viewer)


def makers(app: Application) -> list[object]:
    """Waits for all summaries, and returns the summariser of each."""
    until(lambda: read_status(app).pending_summaries == 0)
    with app.store.read() as view:
        memories = view.page(EVERYTHING, None, 10 * SESSIONS)
    return [memory.metadata["summarizer"] for memory in memories if memory.source is Source.SESSION_SUMMARY]


def test_by_default_no_model_is_called_whatever_keys_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LanguageServer() as server, closing(opened(environment(tmp_path, server), monkeypatch)) as app:
        hand_over_many(app, tmp_path)
        assert makers(app) == ["extractive"] * SESSIONS
        assert read_status(app).tokens_today == 0
    assert server.asked == []


def test_the_daily_quota_holds_across_a_kill_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LanguageServer() as server:
        # Not running yet: all of them wait when the first service begins.
        with closing(Application(load(home=tmp_path / "home", embedder="none"))) as app:
            hand_over_many(app, tmp_path)
        with_model = environment(tmp_path, server, HIVELORE_SUMMARIZER="openai")
        for _ in range(3):
            asked = len(server.asked)
            paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
            process = subprocess.Popen([sys.executable, "-c", SERVES], env={**os.environ, **with_model, **paths})
            until(lambda asked=asked: len(server.asked) > asked)
            process.send_signal(signal.SIGKILL)
            process.wait()
        with closing(opened(with_model, monkeypatch)) as app:
            made = makers(app)
            assert server.tokens <= app.token_quota.today() <= CAP
        assert len(made) == SESSIONS
        assert set(made) == {"openai small", "extractive"}
        assert 3 < len(server.asked) < SESSIONS
