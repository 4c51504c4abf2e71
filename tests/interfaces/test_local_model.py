"""Summaries by a real language model, without a network and without a key."""

from contextlib import closing
from pathlib import Path

import pytest

from hivelore.core.agents import Interface, Role, Viewer
from hivelore.health.handlers import read_status
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load
from support.local_model import local_model, weights
from support.memories import EVERYTHING
from support.missing import missing
from support.sessions import a_fix, an_end
from support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_summary_of_a_small_local_model_has_the_form_and_passes_the_quality_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if weights() is None:
        missing("The packages of a local model are missing: `make soak` installs them.")
    transcript = tmp_path / "sessions" / "s.jsonl"
    transcript.parent.mkdir()
    transcript.write_text("\n".join(a_fix().lines), encoding="utf-8")
    monkeypatch.setenv("HIVELORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HIVELORE_TRANSCRIPTS", str(transcript.parent))
    monkeypatch.setenv("HIVELORE_SUMMARIZER", "openai")
    monkeypatch.setenv("HIVELORE_SUMMARIZER_MODEL", "smollm2")
    with local_model() as url:
        monkeypatch.setenv("HIVELORE_SUMMARIZER_URL", f"{url}/v1")
        with closing(open_application(load(embedder="none"), kind="embedded")) as app:
            viewer = Viewer(role=Role.WORKER, agent=app.agents.local_agent().id, interface=Interface.HOOK)
            app.session_summaries.hand_over(an_end(transcript), viewer)
            until(lambda: read_status(app).pending_summaries == 0)
            status, spent = read_status(app), app.token_quota.today()
            with app.store.read() as view:
                kept = view.page(EVERYTHING, None, 100)
    assert (status.summary_trouble, status.failed_summaries) == (None, 0)
    assert 100 < spent < 4_096
    for memory in kept:  # A model of this size may well find nothing that passes the gate.
        assert memory.metadata["summarizer"] == "openai smollm2"
        assert 1 <= memory.content.count("\n- ") + 1 <= 7
