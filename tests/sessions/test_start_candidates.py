"""Candidates for the session-start context: their relevance to the work, if anything is known about that."""

from typing import Any

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.sessions.model import AgentEvent, EventId, EventKind, Session, Task
from hivelore.sessions.start_candidates import StartCandidates, describe_repository, describe_work
from support.memories import START
from support.world import ADA, AS_ADA, World

HERE = Clean("example.com/bees/hive")
STARTED = AgentEvent(
    id=EventId("e1"), kind=EventKind.STARTED, program="claude-code", session=Clean("s1"), at=START, project=HERE
)
SESSION = Session(agent=ADA, id=Clean("claude-code:s1"), updated_at=START)
NOTES = ("Port 8443 is taken by the proxy.", "The lamp in the hall is broken.", "The parser needs the flag --slow.")


def prompted(text: str) -> AgentEvent:
    return replace(STARTED, kind=EventKind.PROMPTED, text=Clean(text))


@pytest.mark.parametrize(
    ("event", "session", "expected"),
    [
        (STARTED, SESSION, ""),
        (prompted("hi"), SESSION, ""),
        (prompted("ok, go ahead"), replace(SESSION, goal=Clean("Hello!"), last_prompt=Clean("continue")), ""),
        (replace(STARTED, branch=Clean("main")), SESSION, ""),
        (replace(prompted("hi"), branch=Clean("master")), SESSION, ""),
        (prompted("continue"), replace(SESSION, goal=Clean("Fix the parser.")), "continue\nFix the parser."),
        (prompted("go on"), replace(SESSION, work=Clean("fix parser")), "go on\nfix parser"),
        (replace(STARTED, task=Task("T-7", "Fix the parser.")), SESSION, "Fix the parser."),
        (replace(STARTED, branch=Clean("main"), changed_files=(Clean("src/lexer.py"),)), SESSION, "lexer.py"),
        (replace(STARTED, branch=Clean("fix/main-loop")), SESSION, "fix main loop"),
    ],
)
def test_the_work_is_described_if_anything_is_known_about_it(
    event: AgentEvent, session: Session, expected: str
) -> None:
    assert describe_work(event, session) == expected


@pytest.mark.parametrize("branch", ["main", "master", "Main", None])
def test_a_default_branch_describes_no_work(branch: str | None) -> None:
    event = replace(STARTED, branch=None if branch is None else Clean(branch))
    assert describe_repository(event) is None


@pytest.mark.parametrize(
    ("known", "is_known"),
    [
        ({}, False),
        ({"kind": EventKind.PROMPTED, "text": Clean("hi")}, False),
        ({"kind": EventKind.PROMPTED, "text": Clean("ok, go ahead")}, False),
        ({"branch": Clean("main")}, False),
        ({"kind": EventKind.PROMPTED, "text": Clean("Which port is taken by the proxy?")}, True),
        ({"branch": Clean("fix/parser")}, True),
    ],
)
def test_candidates_have_a_relevance_if_the_work_is_known(world: World, known: dict[str, Any], is_known: bool) -> None:
    for text in NOTES:
        world.remember(text, project=HERE)
    source = StartCandidates(world.reading, world.search_service, world.rating, world.naming)
    candidates = source.collect(replace(STARTED, **known), SESSION, AS_ADA, None)
    assert {one.memory.content for one in candidates} == set(NOTES)
    assert [one.relevance is not None for one in candidates] == [is_known] * len(NOTES)


def test_instructions_stand_in_every_spelling_of_their_category(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.sessions.start_candidates.MAX_NEWEST", 1)
    world = World(world.store, world.keywords, world.clock, aliases=("regel=instruction",))
    for category in ("Preferences", "regel", "note"):
        world.remember(f"A note of {category}.", project=HERE, category=category)
    source = StartCandidates(world.reading, world.search_service, world.rating, world.naming)
    candidates = source.collect(STARTED, SESSION, AS_ADA, None)
    standing = {one.memory.content for one in candidates if one.standing}
    assert standing == {"A note of Preferences.", "A note of regel."}
