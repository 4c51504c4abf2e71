"""Which memories are compared, and which links verdicts make."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.decisions import LONGEST, is_comparable, make_link, may_compare, stated_at
from hivelore.links.judge import DEFAULTS, Judgement, Verdict
from hivelore.links.model import LinkKind
from hivelore.memories.model import Memory, Scope, Trust
from support.clocks import START
from support.memories import ADA, BOB, a_memory

MODEL, WEB = Clean("pairs-2"), Clean("web")
UPDATE = Judgement(Verdict.UPDATE, 0.9, "npm -> pnpm")


def of_trust(memory: Memory, trust: Trust) -> Memory:
    return replace(memory, provenance=replace(memory.provenance, trust=trust))


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (Verdict.UPDATE, LinkKind.UPDATES),
        (Verdict.CONFLICT, LinkKind.CONFLICTS_WITH),
        (Verdict.SAME, LinkKind.SAME_AS),
        (Verdict.DIFFERENT, None),
        (Verdict.UNCERTAIN, LinkKind.MAY_UPDATE),
    ],
)
def test_a_certain_verdict_makes_a_link_from_the_later_to_the_earlier_memory(
    verdict: Verdict, kind: LinkKind | None
) -> None:
    older, newer = a_memory(), a_memory()
    link = make_link(older, newer, Judgement(verdict, 0.9, "npm -> pnpm"), MODEL, START)
    assert (None if link is None else (link.source, link.target, link.kind)) == (
        None if kind is None else (newer.id, older.id, kind)
    )
    assert link is None or (link.certainty, link.why, link.model, link.at) == (0.9, "npm -> pnpm", MODEL, START)


@pytest.mark.parametrize(
    ("change", "certainty"), [(DEFAULTS.weak_doubt - 0.01, None), (DEFAULTS.weak_doubt, DEFAULTS.weak_doubt)]
)
def test_a_pair_that_is_rather_a_change_than_none_makes_a_doubt(change: float, certainty: float | None) -> None:
    judged = Judgement(Verdict.DIFFERENT, 1 - change, "npm vs pnpm", change)
    link = make_link(a_memory(), a_memory(), judged, MODEL, START)
    found = None if link is None else (link.kind, link.certainty)
    assert found == (None if certainty is None else (LinkKind.MAY_UPDATE, certainty))


@pytest.mark.parametrize(
    ("older", "newer", "updates"),
    [(None, None, True), (WEB, WEB, True), (WEB, None, True), (None, WEB, False)],
)
def test_a_memory_of_one_project_updates_none_of_all_projects(
    older: Clean | None, newer: Clean | None, updates: bool
) -> None:
    link = make_link(a_memory(project=older), a_memory(project=newer), UPDATE, MODEL, START)
    assert link is not None
    assert link.kind is (LinkKind.UPDATES if updates else LinkKind.CONFLICTS_WITH)


@pytest.mark.parametrize("trust", [Trust.WEB, Trust.TOOL_OUTPUT])
def test_what_a_tool_or_the_web_said_updates_only_its_like(trust: Trust) -> None:
    read, stated = of_trust(a_memory(), trust), a_memory()
    against, update = (make_link(older, read, UPDATE, MODEL, START) for older in (stated, read_before(read)))
    assert against is not None
    assert update is not None
    assert (against.kind, update.kind) == (LinkKind.CONFLICTS_WITH, LinkKind.UPDATES)
    assert make_link(stated, read, Judgement(Verdict.UNCERTAIN, 0.9, ""), MODEL, START) is None


def read_before(memory: Memory) -> Memory:
    return of_trust(a_memory(), memory.provenance.trust)


@pytest.mark.parametrize(
    ("one", "other", "compared"),
    [
        ({}, {}, True),
        ({"owner": ADA}, {"owner": BOB}, True),
        ({"scope": Scope.AGENT, "owner": ADA}, {"scope": Scope.AGENT, "owner": ADA}, True),
        ({"scope": Scope.AGENT, "owner": ADA}, {"scope": Scope.AGENT, "owner": BOB}, False),
        ({"scope": Scope.AGENT, "owner": ADA}, {"owner": ADA}, False),
        ({"project": WEB}, {"project": Clean("api")}, False),
        ({"project": WEB}, {}, True),
        ({"subject": Clean("pm")}, {"subject": Clean("pm")}, False),
        ({"subject": Clean("pm")}, {"subject": Clean("port")}, True),
        ({}, {"content": Clean("a" * (LONGEST + 1))}, False),
    ],
)
def test_only_memories_with_the_same_viewers_and_project_are_compared(
    one: dict[str, Any], other: dict[str, Any], compared: bool
) -> None:
    first, second = (replace(a_memory(), **{"scope": Scope.SWARM, **parts}) for parts in (one, other))
    assert may_compare(first, second) is compared


def test_a_long_text_makes_many_statements() -> None:
    assert is_comparable(a_memory("a" * LONGEST))
    assert not is_comparable(a_memory("a" * (LONGEST + 1)))


def test_a_statement_is_as_new_as_its_text_or_since_when_it_holds() -> None:
    memory = a_memory()
    assert stated_at(memory) == memory.created_at
    since = START + timedelta(days=30)
    assert stated_at(replace(memory, valid_from=since)) == since


def test_what_an_agent_said_updates_no_word_of_an_operator() -> None:
    word, said = of_trust(a_memory(), Trust.OPERATOR), of_trust(a_memory(), Trust.AGENT)
    against, update = make_link(word, said, UPDATE, MODEL, START), make_link(said, word, UPDATE, MODEL, START)
    assert against is not None
    assert update is not None
    assert (against.kind, update.kind) == (LinkKind.CONFLICTS_WITH, LinkKind.UPDATES)
