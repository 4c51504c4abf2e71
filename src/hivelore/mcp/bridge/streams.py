"""Lines out of standard input, and whole lines onto standard output and error."""

import os
import select
from _thread import allocate_lock

STDIN, STDOUT, STDERR = 0, 1, 2
LARGEST_LINE = 64 * 1024 * 1024
"""Bytes that are kept of a line. Far more than a message may have, so that one that is too large can be told which
it was; only of a line without end nothing is known."""


class Lines:
    """Cuts a stream of bytes into lines."""

    def __init__(self) -> None:
        self._whole: list[bytes] = []
        """The next one last."""
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._begin(first)
        whole: list[bytes] = []
        for other in others:
            whole.append(self.rest())
            self._begin(other)
        self._whole[:0] = reversed([line for line in whole if line])

    def take(self) -> bytes | None:
        """The next line that is whole. One over LARGEST_LINE comes as its beginning."""
        return self._whole.pop() if self._whole else None

    def rest(self) -> bytes:
        """What came after the last line end."""
        line = b"".join(self._begun).strip()
        self._begun.clear()
        self._size = 0
        return line

    def _begin(self, piece: bytes) -> None:
        if self._size <= LARGEST_LINE:
            self._begun.append(piece)
            self._size += len(piece)


class Output:
    """Standard output, for many threads: a line is written whole or, where nobody reads any more, ends everything."""

    def __init__(self) -> None:
        self._lock = allocate_lock()

    def line(self, data: bytes) -> None:
        """Write one JSON document as one line. Line ends can only be blanks between its parts."""
        data = data.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
        with self._lock:
            try:
                while data:
                    data = data[_written(data) :]
            except OSError:
                os._exit(0)


def _written(data: bytes) -> int:
    try:
        return os.write(STDOUT, data)
    except BlockingIOError:
        waiting = select.poll()
        waiting.register(STDOUT, select.POLLOUT)
        waiting.poll()
        return 0


def say(text: str) -> None:
    """Write a line to standard error, unless nobody takes it: not even then does anything wait or end."""
    ready = select.poll()
    ready.register(STDERR, select.POLLOUT)
    try:
        if any(event & select.POLLOUT for _, event in ready.poll(0)):
            os.write(STDERR, f"hivelore mcp: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        pass
