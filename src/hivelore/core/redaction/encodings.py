"""Secrets within what is encoded: base64 and hexadecimal digits of a text that holds one."""

from binascii import Error, unhexlify
from collections.abc import Callable, Iterator
from typing import Final

from hivelore.core.redaction.matching import Span, compiled, decoded

_BASE64 = r"(?<![\w+/-])[A-Za-z0-9+/_-]{20,}+(?:\r?\n[ \t]{0,8}[A-Za-z0-9+/_-]{4,}+){0,200}={0,2}"
_HEX = r"(?<![\w-])(?:[2-7][0-9a-fA-F]){12,}+(?!\w)"
_SHORTEST: Final = 20
_DEEPEST: Final = 3
_MOST: Final = 65_536


def wrapped_secrets(view: str, holds_secret: Callable[[str, int], bool], depth: int) -> Iterator[Span]:
    """Whole runs that hold a secret once they are decoded."""
    if depth >= _DEEPEST or not any(len(word) >= _SHORTEST for word in view.split()):
        return
    for match in compiled(_BASE64).finditer(view):
        run = match[0]
        lines = run.split() if "\n" in run else [run]
        data = _decoded("".join(lines))
        if _is_private_key(data) or ((text := _text(data)) and holds_secret(text, depth + 1)):
            yield "encoded", *match.span()
        elif len(lines) > 1:
            at = match.start()
            for line in lines:
                at = view.index(line, at)
                if (text := _text(_decoded(line))) and holds_secret(text, depth + 1):
                    yield "encoded", at, at + len(line)
                at += len(line)
    for match in compiled(_HEX).finditer(view):
        if (text := _text(_unhexed(match[0]))) and holds_secret(text, depth + 1):
            yield "encoded", *match.span()


def _is_private_key(data: bytes) -> bool:
    return data.startswith(b"-----BEGIN ") and b"PRIVATE KEY-----" in data[:64]


def _decoded(run: str) -> bytes:
    run = run[:_MOST].rstrip("=")
    return decoded(run[: len(run) - 1] if len(run) % 4 == 1 else run)


def _unhexed(run: str) -> bytes:
    try:
        return unhexlify(run[: _MOST - _MOST % 2])
    except Error:
        return b""


def _text(data: bytes) -> str:
    """Nothing where it is no text."""
    if data[1:2] == b"\0" and data[3::2].count(0) == len(data[3::2]):  # as PowerShell encodes commands
        data = data[::2]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if len(text) > 7 and text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable() else ""
