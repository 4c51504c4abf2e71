"""Access to transcripts: by file name, session and agent."""

import pytest

from hivelore.core.agents import Interface, Role, Viewer
from hivelore.core.values import replace
from hivelore.sessions.transcript_files import is_session_file, may_read_transcript
from support.memories import ADA, BOB, instant

ID = "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
WORKER = Viewer(role=Role.WORKER, agent=BOB, interface=Interface.HOOK)


@pytest.mark.parametrize(
    ("path", "session", "is_its"),
    [
        ("/p/s1.jsonl", "s1", True),
        (f"/p/{ID}.jsonl", ID, True),
        (f"/p/rollout-2026-01-02T03-04-05-{ID}.jsonl", ID, True),
        (f"/p/{ID}/subagents/agent-7.jsonl", ID, True),
        ("/p/s2.jsonl", "s1", False),
        (f"/p/{ID}.jsonl", "2aeb6098ae0e", False),
        (f"/p/{ID}.jsonl", "p", False),
        (f"/p/{ID}/../other.jsonl", ID, False),
        ("", ID, False),
    ],
)
def test_a_transcript_belongs_to_the_session_in_its_name(path: str, session: str, is_its: bool) -> None:
    assert is_session_file(path, session) is is_its


def test_others_may_read_only_sessions_that_began_with_their_key() -> None:
    for begun_by, may in (([BOB], True), ([], False), ([ADA], False), ([ADA, BOB], False)):
        assert may_read_transcript(WORKER, "/p/s1.jsonl", "s1", ADA, dict.fromkeys(begun_by)) is may
    assert not may_read_transcript(WORKER, "/p/s2.jsonl", "s1", ADA, {BOB: None})


@pytest.mark.parametrize(
    ("ada", "bob", "may"), [(2, 1, True), (1, 2, False), (1, 1, False), (None, 1, False), (2, None, False)]
)
def test_a_session_belongs_to_the_agent_that_began_it_first(ada: int | None, bob: int | None, may: bool) -> None:
    begun = {agent: None if at is None else instant(at) for agent, at in ((ADA, ada), (BOB, bob))}
    assert may_read_transcript(WORKER, "/p/s1.jsonl", "s1", None, begun) is may


def test_the_local_agent_and_operators_may_name_any_file() -> None:
    for viewer in (replace(WORKER, agent=ADA), replace(WORKER, acting=True)):
        assert may_read_transcript(viewer, "/p/s2.jsonl", "s1", ADA, {})
