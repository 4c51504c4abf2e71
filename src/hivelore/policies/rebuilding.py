"""The state of a rebuild of the keyword index, as it is kept with the data, and what requests and progress make of it.

Documents are indexed from the newest to the oldest, so one key says how far a rebuild came.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hivelore.domain.index import DocumentKey

_IN_PLACE = "in-place "


@dataclass(frozen=True, slots=True)
class Rebuild:
    below: DocumentKey
    """Documents with a smaller key are still to be indexed."""
    in_place: bool
    """Whether these are found meanwhile by what was indexed for them before; else the index began empty."""

    @property
    def text(self) -> str:
        return f"{_IN_PLACE if self.in_place else ''}{self.below}"


def rebuild_of(text: str | None) -> Rebuild | None:
    """The rebuild that a setting tells of; None for an absent or empty one: nothing is rebuilt."""
    if not text:
        return None
    return Rebuild(DocumentKey(int(text.removeprefix(_IN_PLACE))), text.startswith(_IN_PLACE))


def requested(running: Rebuild | None, newest: DocumentKey | None) -> Rebuild | None:
    """What runs after a request: the rebuild that runs already, else one of everything. ``newest``: None where there
    is nothing to index."""
    if running is not None or newest is None:
        return running
    return Rebuild(DocumentKey(newest + 1), in_place=True)


def advanced(running: Rebuild, indexed: Sequence[DocumentKey], limit: int) -> Rebuild | None:
    """The state after a step that indexed these, the newest ``limit`` of what was left; None: it is complete."""
    return replace(running, below=min(indexed)) if len(indexed) >= limit else None
