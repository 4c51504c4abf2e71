"""Lessons of sessions are memories: one that updates an earlier lesson is linked with it and comes first."""

from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.core.text import Clean
from hivelore.feedback.implicit import ImplicitFeedback
from hivelore.links.comparer import Comparer
from hivelore.links.judge import Verdict
from hivelore.links.linker import LEASE, LEASE_NAME, Linker
from hivelore.links.model import LinkKind
from hivelore.memories.model import Lifetimes, Memory, Source
from hivelore.models.extractive import ExtractiveSummarizer
from hivelore.sessions import summaries
from hivelore.sessions.model import AgentEvent, EventId, EventKind
from hivelore.sessions.summaries import SessionSummaries
from hivelore.sessions.transcript_files import TranscriptFiles
from hivelore.storage.leader_lease import LeaderLease
from support.links import links_of
from support.memories import EVERYTHING
from support.pair_readers import TableReader
from support.sessions import ClaudeSession
from support.stores import present
from support.updates import a_review
from support.world import AS_ADA, World, hashing

BLACK = "Always run black before you commit."
RUFF = "Always run ruff before you commit, it replaced black."


class Sessions:
    """Sessions that hooks report, whose transcripts are in files."""

    def __init__(self, world: World, folder: Path) -> None:
        self._world, self._folder, self._count = world, folder, 0
        self._summaries = SessionSummaries(
            store=world.store,
            memory_service=world.memory_service,
            novelty_filter=world.novelty_filter,
            lesson_recorder=world.lesson_recorder,
            implicit_feedback=ImplicitFeedback(world.store, world.keywords, Lifetimes(), world.clock),
            transcripts=TranscriptFiles([folder]),
            summarizer=ExtractiveSummarizer(),
            fallback=ExtractiveSummarizer(),
            redactor=world.redactor,
            clock=world.clock,
            leader_lease=LeaderLease(world.store, world.clock, "one", summaries.LEASE_NAME, summaries.LEASE),
            ingest_markers=world.marker_ingest.ingest,
        )

    def hold(self, said: str) -> None:
        """Holds a session in which the user says something, until its end is worked off."""
        self._count += 1
        session = Clean(f"s{self._count}")
        path = self._folder / f"{session}.jsonl"
        transcript = ClaudeSession(session).user(said).says("OK, I will.")
        path.write_text("\n".join(transcript.lines) + "\n", encoding="utf-8")
        for kind, text in ((EventKind.STARTED, None), (EventKind.PROMPTED, said), (EventKind.ENDED, None)):
            self._world.clock.advance(timedelta(minutes=1))
            event = AgentEvent(
                id=EventId(f"{session}-{kind}"),
                kind=kind,
                program="claude-code",
                session=session,
                at=self._world.clock.now(),
                text=None if text is None else Clean(text),
                transcript=str(path),
            )
            self._world.capture.handle(event, AS_ADA)
        self._world.session_buffer.flush()
        for ended in self._world.handed_over:
            self._summaries.hand_over(ended, AS_ADA)
        self._world.handed_over.clear()
        while self._summaries.step():
            pass
        self._world.embed()


def lessons(world: World) -> dict[str, Memory]:
    with world.store.read() as view:
        return {
            one.content: one for one in view.page(EVERYTHING, None, 100) if one.source is not Source.SESSION_SUMMARY
        }


@pytest.mark.parametrize("ends", [False, True])
def test_a_lesson_that_updates_an_earlier_one_is_linked_and_found_first(
    world: World, tmp_path: Path, ends: bool
) -> None:
    reader = TableReader({(BLACK, RUFF): Verdict.UPDATE})
    world = World(world.store, world.keywords, world.clock, embedder=hashing(), reader=reader)
    sessions = Sessions(world, tmp_path)
    sessions.hold(BLACK)
    sessions.hold(RUFF)
    found = lessons(world)
    assert set(found) == {BLACK, RUFF}
    linker = Linker(
        store=world.store,
        keywords=world.keywords,
        active_model=world.active_model,
        comparer=Comparer(reader),
        leader_lease=LeaderLease(world.store, world.clock, "one", LEASE_NAME, LEASE),
        clock=world.clock,
        linked=a_review(world, ends=ends).review,
    )
    while linker.step():
        pass
    (link,) = links_of(world.store, present(world.store, found[BLACK]))
    ends_of_link = link.link.source, link.link.kind, link.link.target
    assert ends_of_link == (found[RUFF].id, LinkKind.UPDATES, found[BLACK].id)
    question = "What to run before you commit: black or ruff?"
    assert world.found(question, superseded=True)[:2] == [RUFF, BLACK]
    assert world.found(question)[:2] == ([RUFF] if ends else [RUFF, BLACK])
    assert lessons(world)[BLACK].valid_until == (found[RUFF].holds_since if ends else None)
