"""The figures as tables and bars."""

from collections.abc import Mapping, Sequence

from bench.plots import Bars
from bench.quality.data import PARAPHRASED, Group
from bench.quality.measuring import LEADING, OURS, ROWS
from bench.quality.metrics import COLUMNS, LIMIT, MS, SESSION_HIT, Figures
from bench.report import Table

SESSIONS = f"session hit@{SESSION_HIT}"
MAIN = ("R@1", "R@5", f"R@{LIMIT}", f"NDCG@{LIMIT}", f"MRR@{LIMIT}", SESSIONS, MS)
BOTH = (f"R@{LIMIT}", f"NDCG@{LIMIT}")
HARD = "hard"

All = Mapping[tuple[Group, str], Figures]


def main_table(figures: All) -> Table:
    """Returns the table of sets with the leading rows. The hard paraphrased queries have separate rows."""
    rows = [
        [f"{_titled(group, figures)}: {row}", *(figures[group, row].cell(column) for column in MAIN)]
        for group in _headed(figures)
        for row in LEADING
    ]
    return Table("", ["set (queries): row", *MAIN], rows)


def ablation(figures: All) -> Table:
    """Returns the table of ablations: each row omits one part, columns are sets."""
    groups = _headed(figures)
    left_out = [row for row in ROWS if row == OURS or row not in LEADING]
    rows = [[row, *(_both(figures[group, row]) for group in groups)] for row in left_out]
    return Table(f"**Contribution of each part**, {' / '.join(BOTH)}", ["", *map(_title, groups)], rows)


def by_category(figures: All, name: str) -> Table | None:
    """Returns the table of a set of conversations by category; None for other sets."""
    parts = [group for group in _groups(figures) if group.name == name and group.part]
    if not parts or SESSIONS not in figures[parts[0], OURS].shares:
        return None
    rows = [[row, *(_both(figures[group, row]) for group in parts)] for row in LEADING]
    head = ["", *(f"{group.part} ({figures[group, OURS].count})" for group in parts)]
    return Table(f"**{name} by category**, {' / '.join(BOTH)}", head, rows)


def bars(figures: All) -> Sequence[Bars]:
    """Returns a chart for each of the two main figures."""
    groups = _headed(figures)
    return [
        Bars(
            f"quality-{column.replace('@', '').lower()}",
            f"{column} by set, in percent",
            [_title(group) for group in groups],
            {row: [round(figures[group, row].shares[column], 1) for group in groups] for row in LEADING},
        )
        for column in BOTH
    ]


def everything(figures: All) -> Sequence[Mapping[str, object]]:
    """Returns all figures, for programs."""
    return [
        {
            "set": group.name,
            "part": group.part,
            "row": row,
            "questions": one.count,
            **{column: round(one.shares[column], 2) for column in COLUMNS if column in one.shares},
            MS: round(one.milliseconds, 2),
        }
        for group in _groups(figures)
        for row in ROWS
        for one in [figures[group, row]]
    ]


def _groups(figures: All) -> list[Group]:
    """Returns the groups in the order of the queries."""
    return list(dict.fromkeys(group for group, _ in figures))


def _headed(figures: All) -> list[Group]:
    """Whole sets, and the hard questions of ours."""
    groups = _groups(figures)
    hard = [group for group in groups if group.name in PARAPHRASED.values() and group.part == HARD]
    return [
        one
        for group in groups
        if not group.part
        for one in (group, *(each for each in hard if each.name == group.name))
    ]


def _title(group: Group) -> str:
    return f"{group.name}, {group.part}" if group.part else group.name


def _titled(group: Group, figures: All) -> str:
    return f"{_title(group)} ({figures[group, OURS].count})"


def _both(one: Figures) -> str:
    return " / ".join(one.cell(column) for column in BOTH)
