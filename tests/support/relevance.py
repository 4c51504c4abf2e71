"""A relevance reader whose answers a test decides."""

from collections.abc import Callable, Mapping

from hivelore.core.text import Clean
from hivelore.errors import Unavailable


class DecidedReader:
    """Implements ``models.ports.RelevanceReader``: the odds of a text depend on the word that it contains."""

    def __init__(self, odds: Mapping[str, float], otherwise: float = -9.0) -> None:
        self.odds, self.otherwise = dict(odds), otherwise
        self.fails = False
        self.outage: str | None = None
        self.read_texts: list[str] = []

    def read(self, query: Clean) -> Callable[[Clean], float]:
        def odds(text: Clean) -> float:
            if self.fails:
                raise Unavailable("The relevance model failed: out of memory")
            self.read_texts.append(text)
            return next((value for word, value in self.odds.items() if word in text), self.otherwise)

        return odds
