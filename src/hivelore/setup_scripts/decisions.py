"""Authority over setup scripts, and their differences."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import takewhile

from hivelore.core.access import Permission
from hivelore.core.agents import AgentId, Role, Viewer
from hivelore.search.model import Visibility

MAX_COMPARED_LINES = 1_000
"""Most lines of a script of which the common lines are found."""


def may_see(seen: Visibility, agent: AgentId | None) -> bool:
    """Returns True if a script is among what is seen. That of an agent is as private as its memories, the global one is
    shared."""
    if agent is None:
        return seen.swarm
    return seen.others or (seen.own is not None and seen.own == agent)


def is_audited_read(viewer: Viewer, agent: AgentId | None) -> bool:
    """Returns True if a read of a script belongs in the audit trail: it is that of another agent."""
    return agent is not None and agent != viewer.agent


def may_change(viewer: Viewer, agent: AgentId | None, *, accepts_own: bool) -> Permission:
    """Returns the permission to change a script: operators change all; agents propose changes of their own and of the
    global one, leads of all (X15, X22). ``accepts_own``: agents may change their own."""
    if viewer.role is Role.OPERATOR:
        return Permission.ALLOWED
    if agent is not None and agent == viewer.agent:
        return Permission.ALLOWED if accepts_own else Permission.PROPOSED
    return Permission.PROPOSED if agent is None or viewer.role is Role.LEAD else Permission.REFUSED


def script_diff(older: str, newer: str, name: str, other: str) -> str:
    """Returns a unified diff; empty only if both are equal. Characters that a reader cannot see are escaped.

    A diff of long scripts has all lines from the first to the last that differ, because finding the common lines
    between takes too long."""
    if older == newer:
        return ""
    lines, others = _lines(older), _lines(newer)
    if max(len(lines), len(others)) > MAX_COMPARED_LINES:
        diff = _whole_diff(lines, others, name, other)
    else:
        diff = unified_diff(lines, others, name, other, lineterm="")
    return "\n".join(map(_visible, diff))


def _lines(script: str) -> list[str]:
    """Returns the lines as a shell counts them: other line ends are characters."""
    return script.removesuffix("\n").split("\n") if script else []


def _whole_diff(lines: Sequence[str], others: Sequence[str], name: str, other: str) -> Iterator[str]:
    before = _count_equal(lines, others)
    after = _count_equal(lines[before:][::-1], others[before:][::-1])
    removed, added = lines[before : len(lines) - after], others[before : len(others) - after]
    yield from (f"--- {name}", f"+++ {other}")
    yield f"@@ -{_range(before, len(removed))} +{_range(before, len(added))} @@"
    yield from (f"-{line}" for line in removed)
    yield from (f"+{line}" for line in added)


def _count_equal(lines: Sequence[str], others: Sequence[str]) -> int:
    """Counts the equal lines at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, others, strict=False)))


def _range(before: int, count: int) -> str:
    return f"{before + (count > 0)},{count}"


def _visible(line: str) -> str:
    return "".join(one if one == "\t" or one.isprintable() else one.encode("unicode_escape").decode() for one in line)
