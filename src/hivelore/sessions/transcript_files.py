"""Reading the files in which agent programs keep their sessions: their ends only, for they grow without bound."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from hivelore.errors import NotFound

_SUFFIX = ".jsonl"


class TranscriptFiles:
    """Implements ``storage.ports.Transcripts``. Whoever has a key may name any path, so only those inside
    ``folders`` are opened, wherever links lead."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders

    def end(self, path: str, most: int) -> tuple[Sequence[str], bool]:
        try:
            # Not blocking: opening a pipe would wait for who writes into it.
            file = os.open(self._resolve(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError, RuntimeError) as error:
            raise NotFound(f"The transcript cannot be read ({error}).") from error
        try:
            told = os.fstat(file)
            if not stat.S_ISREG(told.st_mode):
                raise NotFound("The transcript is no file.")
            start = max(told.st_size - most, 0)
            lines = _read(file, start, min(told.st_size, most)).decode(errors="replace").split("\n")
        except OSError as error:
            raise NotFound(f"The transcript cannot be read ({error}).") from error
        finally:
            os.close(file)
        return (lines[1:] if start else lines), bool(start)

    def _resolve(self, path: str) -> Path:
        """Where it really is. Raises NotFound for what is no transcript of an agent program."""
        real = Path(path).resolve()
        if real.suffix == _SUFFIX and any(real.is_relative_to(folder.resolve()) for folder in self._folders):
            return real
        raise NotFound("The transcript is in none of the folders of HIVELORE_TRANSCRIPTS.")


def _read(file: int, start: int, size: int) -> bytes:
    """So many bytes from there on, or as many as there are."""
    pieces: list[bytes] = []
    while size > 0 and (piece := os.pread(file, size, start)):
        pieces.append(piece)
        start, size = start + len(piece), size - len(piece)
    return b"".join(pieces)
