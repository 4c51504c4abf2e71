"""A service killed right after it queued the end of a session summarizes it at its next start."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from hivelore.health.handlers import read_status
from hivelore.memories.model import Source
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load
from support.memories import EVERYTHING
from support.sessions import a_fix
from support.waiting import until

QUEUE_AND_DIE = """
import os, signal, sys

from hivelore.runtime.app import Application
from hivelore.runtime.settings import load
from hivelore.core.agents import Interface, Role, Viewer
from support.sessions import an_end

app = Application(load(embedder="none"))
viewer = Viewer(role=Role.WORKER, agent=app.agents.local_agent().id, interface=Interface.HOOK)
app.session_summaries.hand_over(an_end(sys.argv[1]), viewer)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_queued_end_survives_a_kill(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "sessions"
    folder.mkdir()
    transcript = folder / "s1.jsonl"
    transcript.write_text("\n".join(a_fix().lines), encoding="utf-8")
    environment = {
        **os.environ,
        "HIVELORE_HOME": str(home),
        "HIVELORE_TRANSCRIPTS": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", QUEUE_AND_DIE, str(transcript)]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with closing(open_application(load(home=home, transcripts=(folder,), embedder="none"), kind="embedded")) as app:
        until(lambda: read_status(app).pending_summaries == 0)
        with app.store.read() as view:
            lesson, summary = sorted(view.page(EVERYTHING, None, 9), key=lambda memory: memory.source)
    assert (lesson.source, lesson.content) == (Source.MANUAL, "No, use the currency of the customer instead of EUR.")
    assert (summary.source, summary.external_id) == (Source.SESSION_SUMMARY, "session:claude-code:s1")
    assert "It worked after changing `shop/cart.py`." in summary.content
    assert (summary.version, lesson.version) == (1, 1)
