"""Port of the change log, which indexes follow."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from hivelore.indexing.model import Change, ChangeCursor


class ChangeLogReads(Protocol):
    """The change log, which indexes follow."""

    def change_cursor(self) -> ChangeCursor:
        """Returns the position in the change log up to which this view sees changes."""
        ...

    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]:
        """Yields the changes that this view sees and ``since`` does not, in batches. Each batch comes with the cursor
        behind it; the last cursor, whose batch may be empty, is that of the view. Changes of one transaction keep
        their order."""
        ...
