"""Interleaved measurement, so that other load on the machine affects every row alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

LIMIT = 10
"""Answers to a question."""
TURN = 20
"""Questions to one row before it is the next one's turn."""

Ask = Callable[[str], object]


@dataclass(slots=True)
class Row:
    """A search function, its queries, and the milliseconds of each."""

    ask: Ask
    questions: Sequence[str]
    milliseconds: list[float] = field(default_factory=list[float])

    @property
    def total(self) -> float:
        """Returns the seconds of all queries together."""
        return sum(self.milliseconds) / 1e3

    def turn(self, questions: Sequence[str], seconds: float) -> None:
        """Runs these queries until the time limit is used up."""
        for text in questions:
            if self.total >= seconds:
                return
            began = perf_counter()
            self.ask(text)
            self.milliseconds.append((perf_counter() - began) * 1e3)


def take_turns(rows: Mapping[str, Row], warm: int, seconds: float) -> None:
    """Runs the queries of every row; the first ``warm`` are not counted. A row that is so slow that it has used up its
    ``seconds`` is left with fewer."""
    for row in rows.values():
        row.turn(row.questions[:warm], seconds / TURN)
        row.milliseconds.clear()
    for at in range(warm, max(len(row.questions) for row in rows.values()), TURN):
        for row in rows.values():
            row.turn(row.questions[at : at + TURN], seconds)
