"""Splits the output of a program into lines of bounded length, whatever the pieces in which it arrives."""

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_LINE = 16_000_000
"""Bytes of a line that are kept: the events of agent programs contain whole files."""


@dataclass(frozen=True, slots=True)
class StreamLine:
    data: bytes
    """The line without its end; of a longer one the beginning."""
    is_cut: bool = False


class LineSplitter:
    """Keeps at most one unfinished line of at most ``longest`` bytes."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._line = bytearray()
        self._is_cut = False

    def read(self, data: bytes) -> Iterator[StreamLine]:
        """Yields the lines that end in this piece."""
        *ended, begun = data.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield self._take()
        self._add(begun)

    def end(self) -> Iterator[StreamLine]:
        """Yields the last line if the output does not end with a line end."""
        if self._line or self._is_cut:
            yield self._take()

    def _add(self, piece: bytes) -> None:
        room = self._longest - len(self._line)
        self._is_cut = self._is_cut or len(piece) > room
        self._line += piece[:room]

    def _take(self) -> StreamLine:
        line = StreamLine(bytes(self._line).removesuffix(b"\r"), self._is_cut)
        self._line, self._is_cut = bytearray(), False
        return line
