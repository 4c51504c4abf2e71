"""Whether an update ends the valid time of what it updates, and who decides that."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import UNSET

from hivelore.core.agents import Interface, Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.decisions import stated_at
from hivelore.links.model import Link, LinkKind
from hivelore.links.validity import (
    CERTAIN,
    ending,
    has_ended,
    is_certain,
    may_decide_alone,
    may_end,
    removal_of_end,
    stating_version,
)
from hivelore.memories.model import Action, Memory, Scope, Trust, Version
from support.clocks import START
from support.memories import ADA, BOB, Parts, a_memory, instant, operational

HOUR = timedelta(hours=1)


def version(memory: Memory, number: int, content: str, hours: float, **more: Any) -> Version:
    plain = Version(
        number=number,
        at=START + hours * HOUR,
        action=Action.EDITED,
        actor=memory.owner,
        interface=Interface.PYTHON,
        reason=None,
        scope=memory.scope,
        name=memory.name,
        content=Clean(content),
        summary=memory.summary,
        category=memory.category,
        tags=(),
        project=None,
        expires_at=None,
        subject=None,
        valid_from=None,
    )
    return replace(plain, **more)


def a_pair(older: Parts | None = None, newer: Parts | None = None) -> tuple[Memory, Memory]:
    first: Parts = {"created_at": START, **(older or {})}
    second: Parts = {"created_at": START + HOUR, **(newer or {})}
    return a_memory(**first), a_memory(**second)


def trusted(memory: Memory, trust: Trust) -> Memory:
    return replace(memory, provenance=replace(memory.provenance, trust=trust))


def may(pair: tuple[Memory, Memory], *history: Version) -> bool:
    return may_end(*pair, history or [version(pair[1], 1, pair[1].content, 1)])


def test_only_a_link_that_updates_counts_and_is_very_certain_may_change_valid_time() -> None:
    older, newer = a_pair()
    link = Link(
        source=newer.id,
        target=older.id,
        kind=LinkKind.UPDATES,
        certainty=CERTAIN,
        why=Clean(""),
        model=Clean("pairs-2"),
        at=START,
    )
    assert is_certain(link)
    assert not is_certain(replace(link, certainty=CERTAIN - 0.001))
    assert not is_certain(replace(link, rejected_at=START))
    assert not any(is_certain(replace(link, kind=kind)) for kind in LinkKind if kind is not LinkKind.UPDATES)


def test_an_update_may_end_what_still_holds() -> None:
    assert may(a_pair())


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"valid_until": instant(5)}, {}),
        ({}, {"supersedes": a_memory().id}),
        ({"operational": operational()}, {}),
        ({}, {"operational": operational()}),
        ({"valid_from": START + HOUR}, {}),
        ({}, {"valid_from": START}),
        ({}, {"project": Clean("web")}),
        ({"project": Clean("tv")}, {"project": Clean("web")}),
        ({}, {"scope": Scope.SWARM}),
        ({"owner": BOB}, {}),
        ({}, {"expires_at": instant(90)}),
        ({"expires_at": instant(91)}, {"expires_at": instant(90)}),
        ({"subject": Clean("db.port")}, {"subject": Clean("db.port")}),
    ],
)
def test_an_update_may_not_end_this(older: Parts, newer: Parts) -> None:
    assert not may(a_pair(older, newer))


def test_an_update_that_stays_as_long_may_end_what_expires() -> None:
    soon, late = Parts(expires_at=instant(90)), Parts(expires_at=instant(91))
    assert may(a_pair(soon, {}))
    assert may(a_pair(soon, soon))
    assert may(a_pair(soon, late))


def test_less_reliable_text_ends_nothing() -> None:
    older, newer = a_pair()
    assert not may((older, trusted(newer, Trust.WEB)))
    assert may((trusted(older, Trust.WEB), newer))


def test_an_end_that_was_removed_is_not_made_again() -> None:
    older, newer = a_pair()
    first = version(newer, 1, "pnpm", 1)
    reason = ending(older, newer, [first]).reason
    ended = version(newer, 2, "pnpm", 2, reason=reason)
    assert not has_ended([first], older.id)
    assert has_ended([first, ended], older.id)
    assert not may((older, newer), first, ended)


def test_an_end_begins_when_the_update_was_stated() -> None:
    older, newer = a_pair()
    first = version(newer, 1, "npm is fine", 1)
    plain, later = ending(older, newer, [first]), ending(older, newer, [first, version(newer, 2, "pnpm now", 3)])
    assert (plain.supersedes, plain.valid_from) == (older.id, UNSET)
    assert (later.supersedes, later.valid_from) == (older.id, START + 3 * HOUR)


def test_what_an_end_changed_is_removed_with_it() -> None:
    older, newer = a_pair()
    first, second = version(newer, 1, "npm is fine", 1), version(newer, 2, "pnpm now", 3)
    edit = ending(older, newer, [first, second])
    ended = replace(newer, supersedes=older.id, valid_from=edit.valid_from, version=3)
    third = version(newer, 3, "pnpm now", 4, reason=edit.reason, valid_from=edit.valid_from)
    removal = removal_of_end(older.id, ended, [first, second, third])
    assert (removal.supersedes, removal.valid_from) == (None, None)
    moved = replace(ended, valid_from=START)
    fourth = version(newer, 4, "pnpm now", 5, valid_from=START)
    assert removal_of_end(older.id, moved, [first, second, third, fourth]).valid_from is UNSET


def test_an_end_does_not_change_when_a_later_text_was_stated() -> None:
    older, newer = a_pair()
    history = [version(newer, 1, "npm is fine", 1), version(newer, 2, "pnpm now", 3)]
    edit = ending(older, newer, history)
    ended = replace(newer, supersedes=older.id, valid_from=edit.valid_from)
    history.append(version(newer, 3, "pnpm now", 4, reason=edit.reason, valid_from=edit.valid_from))
    assert stated_at(ended, history) == START + 3 * HOUR
    history.append(version(newer, 4, "bun now", 9, valid_from=edit.valid_from))
    assert stated_at(ended, history) == START + 9 * HOUR
    history.append(version(newer, 5, "bun now", 10, valid_from=START))
    assert stated_at(replace(ended, valid_from=START), history) == START


def test_the_author_of_an_update_is_who_wrote_its_present_text() -> None:
    memory = a_memory()
    texts = ["npm", "pnpm", "npm", "pnpm", "pnpm"]
    history = [version(memory, number, text, number) for number, text in enumerate(texts, 1)]
    assert stating_version(history).number == 4
    assert stating_version(history[:1]).number == 1


@pytest.mark.parametrize(
    ("role", "agent", "scope", "alone"),
    [
        (Role.WORKER, ADA, Scope.AGENT, True),
        (Role.WORKER, ADA, Scope.SWARM, True),
        (Role.WORKER, BOB, Scope.SWARM, False),
        (Role.WORKER, BOB, Scope.AGENT, False),
        (Role.LEAD, BOB, Scope.SWARM, True),
        (Role.LEAD, BOB, Scope.AGENT, False),
        (Role.OPERATOR, None, Scope.AGENT, True),
    ],
)
def test_an_author_decides_alone_about_what_the_author_may_edit(
    role: Role, agent: Any, scope: Scope, alone: bool
) -> None:
    older, newer = a_pair({"scope": scope}, {"scope": scope})
    author = Viewer(role=role, agent=agent, interface=Interface.MCP)
    assert may_decide_alone(older, newer, author) is alone
    assert not may_decide_alone(older, newer, None)


@pytest.mark.parametrize("trust", [Trust.TOOL_OUTPUT, Trust.WEB])
def test_text_of_tools_and_the_web_is_never_decided_alone(trust: Trust) -> None:
    older, newer = (trusted(one, trust) for one in a_pair())
    assert not may_decide_alone(older, newer, Viewer(role=Role.WORKER, agent=ADA, interface=Interface.MCP))
