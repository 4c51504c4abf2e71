"""What is left of a session: a few points that somebody would want to know the next time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    points: tuple[str, ...]
    """One sentence or two each, the most useful first; none: nothing was learned."""
    quotes_tools: bool = False
    """Whether some of it are the words of tools: they may come from anywhere."""
    by: str = ""
    """Who made it, for people: ``extractive``, ``anthropic claude-haiku-5-5``."""

    @property
    def text(self) -> str:
        return "\n".join(f"- {point}" for point in self.points)


NOTHING_LEARNED = Summary(())
