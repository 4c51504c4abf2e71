"""Packing of entries into chunks: split, compressed, and unpacked with a limit."""

import zlib
from collections.abc import Iterator, Sequence

from hivelore.errors import Broken
from hivelore.stored_transcripts.model import CHUNK_BYTES

_LEVEL = 6


def split_lines(lines: Sequence[str], most: int = CHUNK_BYTES) -> Iterator[list[str]]:
    """Yields consecutive parts of at most ``most`` bytes, or of one line."""
    part: list[str] = []
    size = 0
    for line in lines:
        length = line_size(line)
        if part and size + length > most:
            yield part
            part, size = [], 0
        part.append(line)
        size += length
    if part:
        yield part


def line_size(line: str) -> int:
    """Returns the bytes of a line in a file."""
    return len(line.encode()) + 1


def pack(lines: Sequence[str]) -> bytes:
    return zlib.compress("\n".join(lines).encode(), _LEVEL)


def unpack(data: bytes, size: int) -> list[str]:
    """Returns the lines of a chunk, whose entries have ``size`` bytes. Raises Broken for other data."""
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(data, size)
        if not reader.eof or len(text) + 1 != size:
            raise Broken("A part of a stored transcript was altered. Restore a backup, or delete the transcript.")
        return text.decode().split("\n")
    except (zlib.error, UnicodeDecodeError):
        raise Broken("A part of a stored transcript was altered. Restore a backup, or delete the transcript.") from None
