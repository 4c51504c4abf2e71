"""Reads lines from standard input, and writes whole lines to standard output and error."""

import os
import select
from _thread import allocate_lock

STDIN, STDOUT, STDERR = 0, 1, 2
LARGEST_LINE = 64 * 1024 * 1024
"""Most bytes of a line. A message may have fewer, so that the id of a too large one can be read for the error."""


class Lines:
    """Splits a stream of bytes into lines."""

    def __init__(self) -> None:
        self._whole: list[bytes] = []
        """In reverse order."""
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._append(first)
        whole: list[bytes] = []
        for other in others:
            whole.append(self.rest())
            self._append(other)
        self._whole[:0] = reversed([line for line in whole if line])

    def take(self) -> bytes | None:
        """Return the next complete line, or None; a line longer than LARGEST_LINE is cut."""
        return self._whole.pop() if self._whole else None

    def rest(self) -> bytes:
        """Return the text after the last line end."""
        line = b"".join(self._begun).strip()
        self._begun.clear()
        self._size = 0
        return line

    def _append(self, piece: bytes) -> None:
        if self._size <= LARGEST_LINE:
            self._begun.append(piece)
            self._size += len(piece)


class Output:
    """Standard output for several threads. Lines are written whole; without a reader the process ends."""

    def __init__(self) -> None:
        self._lock = allocate_lock()

    def line(self, data: bytes) -> None:
        """Write one JSON document as one line; line ends in it can only be white space."""
        data = data.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
        with self._lock:
            try:
                while data:
                    data = data[_write(data) :]
            except OSError:
                os._exit(0)


def _write(data: bytes) -> int:
    try:
        return os.write(STDOUT, data)
    except BlockingIOError:
        waiting = select.poll()
        waiting.register(STDOUT, select.POLLOUT)
        waiting.poll()
        return 0


def say(text: str) -> None:
    """Write a line to standard error if that is possible without waiting."""
    ready = select.poll()
    ready.register(STDERR, select.POLLOUT)
    try:
        if any(event & select.POLLOUT for _, event in ready.poll(0)):
            os.write(STDERR, f"hivelore mcp: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        pass
