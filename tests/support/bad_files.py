"""Files that cannot be indexed, as rows of the table of bad input."""

import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.bad_input import INVALID, NAMED, TOO_LARGE, Expected, Known, Row
from support.interfaces import LEFT_OUT, OK, Interface, Outcome

HERE = dict.fromkeys(NAMED, LEFT_OUT)
"""The interfaces that read files: Python and the command line. REST and MCP receive their contents."""
BYTES = HERE | {"rest": "400 not-json", "mcp": "JSON-RPC -32700"}
CONTROLS = HERE | {"rest": "400 not-json", "mcp": "JSON-RPC -32700"}
A_NAME = HERE | {"rest": OK, "mcp": "tool error"}
"""Without a file there is only its path, which to REST is a name and nothing to open; MCP takes none."""
ABSENT = A_NAME | {interface: INVALID[interface] for interface in ("embedded", "client", "cli")}

CONTENTS: Mapping[str, tuple[bytes, Expected]] = {
    "empty": (b"", HERE | {"rest": INVALID["rest"], "mcp": INVALID["mcp"]}),
    "blank": (b"    ", HERE | {"rest": INVALID["rest"], "mcp": INVALID["mcp"]}),
    "not UTF-8": (b"caf\xe9", BYTES),
    "UTF-16": ("wide".encode("utf-16"), BYTES),
    # The reader of JSON takes it for one, and the service sees it then.
    "half a surrogate pair": (b"\xed\xa0\x80", BYTES | {"rest": INVALID["rest"]}),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\r", BYTES),
    "NUL far inside": (b"a" * 20_000 + b"\0", CONTROLS),
    "5 MB": (b"x" * 5_000_000, HERE | {"rest": TOO_LARGE["rest"], "mcp": TOO_LARGE["mcp"]}),
}


def file_rows() -> Iterator[Row]:
    for name, (content, expected) in CONTENTS.items():
        yield Row(f"{name} file", _index(content), expected)
    yield Row("missing file", lambda interface, known: interface.ask("index", path=known.folder / "missing.md"), ABSENT)
    yield Row("pipe for a file", _index_pipe, A_NAME)
    yield Row("file that vanishes when it is its turn", _index_vanishing_file("a.md"), A_NAME)
    yield Row("file that vanishes when it is opened", _index_vanishing_file("b.md"), A_NAME)


def _index(content: bytes) -> Callable[[Interface, Known], Outcome]:
    def ask(interface: Interface, known: Known) -> Outcome:
        file = known.folder / "file.md"
        file.write_bytes(content)
        return interface.ask("index", path=file)

    return ask


def _index_pipe(interface: Interface, known: Known) -> Outcome:
    """A pipe without a writer: opening it blocks forever."""
    if interface.name in ("rest", "mcp", "bridge"):
        return interface.ask("index", path=known.folder / "pipe")
    os.mkfifo(known.folder / "pipe")
    return interface.ask("index", path=known.folder / "pipe")


def _index_vanishing_file(trigger: str) -> Callable[[Interface, Known], Outcome]:
    """Indexes two files of a folder. The second is deleted as soon as ``trigger`` is opened."""

    def ask(interface: Interface, known: Known) -> Outcome:
        (known.folder / "a.md").write_text(f"Stays, at {interface.name}.")
        (known.folder / "b.md").write_text("Goes.")
        with _vanishing(known.folder / "b.md", when_opened=known.folder / trigger):
            return interface.ask("index", path=known.folder)

    return ask


_armed: dict[str, Path] = {}
_hooked: list[bool] = []


@contextmanager
def _vanishing(file: Path, *, when_opened: Path) -> Generator[None]:
    """The interpreter reports each file just before it opens it. A hook cannot be removed again, only
    disarmed."""
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_on_open)
    _armed[str(when_opened)] = file
    try:
        yield
    finally:
        _armed.clear()


def _on_open(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _armed and (file := _armed.pop(str(arguments[0]), None)) is not None:
        file.unlink()
