"""Redaction: makes a text ``Clean``, that is valid Unicode without private text, with every secret replaced by its kind
and a fingerprint.

``private_text`` removes marked text. ``vendors`` finds tokens by their shape (``ghp_...``), ``logins``
finds passwords in URLs, headers and commands, ``assignments`` the values of names such as ``DB_PASSWORD``,
``suspicion`` scores other values by the words around them. Each of them searches all ``renditions`` of a text.

Most texts are short and plain, and ``_is_harmless`` sees that no rule can match them. Hooks import this package while
an agent waits. It therefore uses the standard library only, compiles a pattern when a text first needs it, and searches
a text without secrets for fixed strings only. Every pattern takes linear time: repetitions are bounded, or possessive
and never retried from within their own match.
"""

from binascii import unhexlify
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from hivelore.core.redaction import assignments, logins, suspicion, vendors
from hivelore.core.redaction.assignments import assigned_secrets, tabled_secrets
from hivelore.core.redaction.judgement import Span, compiled, decoded
from hivelore.core.redaction.logins import secrets_of_commands, sent_secrets
from hivelore.core.redaction.private_text import remove_private_text
from hivelore.core.redaction.renditions import as_shown, renditions
from hivelore.core.redaction.suspicion import suspected_secrets
from hivelore.core.redaction.vendors import secrets_of_vendors
from hivelore.core.text import Clean
from hivelore.errors import Invalid, TooLarge

if TYPE_CHECKING:
    from hivelore.memories.model import Json

KEY_BYTES: Final = 16
"""Least length of a fingerprint key."""
METADATA_DEPTH: Final = 16
METADATA_VALUES: Final = 10_000

_WHOLE_WORDS_AFTER: Final = 1
_ALL_AFTER: Final = 3
"""Rounds of masking after which secrets are widened: to the next white space, to the end of the text."""
_DIGEST_LENGTH: Final = 32
_MASK = r"\[[a-z0-9-]{2,24}:[0-9a-f]{4}\]"


class Redactor:
    """Masks secrets as ``[kind:9f3a]``. Equal secrets have equal masks; without the key the digits reveal nothing."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise ValueError(f"a fingerprint key has at least {KEY_BYTES} bytes")
        self._key = key

    def clean(self, text: str, *, field: str = "text") -> Clean:
        """Returns the text without its private parts and with its secrets masked. A clean text is returned unchanged.

        Raises Invalid for NUL and lone surrogates, which not every store can keep.
        """
        if (public := remove_private_text(text)) != text:
            _refuse_unstorable(text, field)
            text = public
        if _is_harmless(text):
            return Clean(text)
        _refuse_unstorable(text, field)
        # A mask can expose an adjacent secret, so masking is repeated until nothing is found. Each round masks further
        # characters, so the loop ends. For a text made to take many rounds, more is masked: first everything up to the
        # next white space, then the rest of the text.
        rounds = 0
        while found := _scan(text):
            rounds += 1
            if rounds > _WHOLE_WORDS_AFTER:
                found = _widened(text, found, rounds - _ALL_AFTER)
            text = remove_private_text(self._masked(text, found))
        return Clean(text)

    def digest(self, text: str) -> str:
        """Returns a keyed digest that replaces an identifier. Equal texts have equal digests."""
        return self._digest(text)[:_DIGEST_LENGTH]

    def clean_metadata(self, metadata: "Mapping[str, Json]", *, field: str = "metadata") -> "dict[str, Json]":
        """Returns keys and values cleaned on all levels. A key counts as the name of its value, so the value of
        ``{"password": ...}`` is masked.

        Raises Invalid if two keys become equal, TooLarge beyond METADATA_DEPTH levels or METADATA_VALUES values.
        """
        left = METADATA_VALUES

        def cleaned(value: "Json", name: Clean | None, depth: int) -> "Json":
            nonlocal left
            left -= 1
            if left < 0:
                raise TooLarge(f"{field} holds more than {METADATA_VALUES} values: send fewer.", field=field)
            if depth > METADATA_DEPTH:
                raise TooLarge(f"{field} is nested deeper than {METADATA_DEPTH} levels: flatten it.", field=field)
            if isinstance(value, str):
                return self.clean(value, field=field) if name is None else self._clean_under(name, value, field)
            if isinstance(value, list):
                return [cleaned(item, name, depth + 1) for item in value]
            if isinstance(value, dict):
                return mapping(value, depth)
            return value

        def mapping(values: "Mapping[str, Json]", depth: int) -> "dict[str, Json]":
            result: dict[str, Json] = {}
            for key, value in values.items():
                name = self.clean(key, field=field)
                if name in result:
                    raise Invalid(f"Two keys of {field} read {name!r} once masked: rename one.", field=field)
                result[name] = cleaned(value, name, depth + 1)
            return result

        return mapping(metadata, 0)

    def _clean_under(self, name: Clean, text: str, field: str) -> Clean:
        """Returns the text of a name cleaned as in ``"name": "text"``."""
        _refuse_unstorable(text, field)
        text = remove_private_text(text)
        before = f'"{name}": "'
        while found := [
            (kind, start - len(before), min(stop - len(before), len(text)), secret)
            for kind, start, stop, secret in _scan(f'{before}{text}"')
            if len(before) <= start < len(before) + len(text)
        ]:
            text = self._masked(text, found)
        return self.clean(text, field=field)

    def _masked(self, text: str, found: list[tuple[str, int, int, str]]) -> str:
        pieces: list[str] = []
        end = 0
        for kind, start, stop, secret in found:
            pieces += (text[end:start], f"[{kind}:{self._fingerprint(secret)}]")
            end = stop
        return "".join((*pieces, text[end:]))

    def _fingerprint(self, secret: str) -> str:
        return self._digest(secret)[:4]

    def _digest(self, text: str) -> str:
        import hmac  # Loads OpenSSL, so only texts with secrets import it.

        return hmac.digest(self._key, text.encode(), "sha256").hex()


def find(text: str) -> list[Span]:
    """Returns kind, start and stop of each secret, in order and without overlap. Existing masks are skipped."""
    return [(kind, start, stop) for kind, start, stop, _ in _scan(text)]


def _refuse_unstorable(text: str, field: str) -> None:
    at = text.find("\0")
    what = "a NUL character"
    if at < 0 and not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:  # It contains the text, so our error is raised outside.
            at, what = error.start, "half of a surrogate pair"
    if at >= 0:
        raise Invalid(f"{field} has {what} at position {at}: remove it and send the rest again.", field=field)


_PLAIN: Final = r"(?!.*[^ ]{20})[ !#$(-?A-\[\]-~]*+(?:'[ !#$(-?A-\[\]-~]*+)?"
"""A line without escapes and literals, so with one rendition; without an ``@``, and without a word that is as long as a
token or an encoded text."""
_LONGEST_PLAIN: Final = 1_000


def _is_harmless(text: str) -> bool:
    """Returns True for a short plain text without any string that a rule searches for. No rule matches such a text."""
    if len(text) > _LONGEST_PLAIN or not compiled(_PLAIN).fullmatch(text):
        return False
    low = text.lower()
    triggers = _triggers()
    for pair in triggers.keys() & {*pairwise(low)}:
        for string in triggers[pair]:
            if string in low:
                return False
    return True


@cache
def _triggers() -> Mapping[tuple[str, str], Sequence[str]]:
    """Returns the strings that the rules search for and a plain text can contain, by their first two characters."""
    result: dict[tuple[str, str], list[str]] = {}
    for rules in (vendors, logins, assignments, suspicion):
        for string in rules.TRIGGERS:
            if compiled(_PLAIN).fullmatch(string):
                result.setdefault((string[0], string[1]), []).append(string)
    return result


def _scan(text: str) -> list[tuple[str, int, int, str]]:
    """Returns kind, start and stop of each secret, and the secret without invisible characters."""
    hidden = compiled(_MASK).sub(lambda mask: "\0" * len(mask[0]), text) if "[" in text else text
    return [
        (kind, start, stop, as_shown(text[start:stop]))
        for kind, start, stop in _united(_spans(hidden, 0))
        if stop > start
    ]


def _spans(text: str, depth: int) -> Iterator[Span]:
    """Yields the secrets of a text. Masks in it are replaced by NUL."""
    found: list[Span] = []
    suspected: list[Span] = []
    for rendition in renditions(text):
        for find_in in (
            secrets_of_vendors,
            sent_secrets,
            assigned_secrets,
            secrets_of_commands,
            tabled_secrets,
        ):
            for kind, start, stop in find_in(rendition):
                found.append((kind, *rendition.place(start, stop)))
        if depth == 0:
            for kind, start, stop in suspected_secrets(rendition):
                suspected.append((kind, *rendition.place(start, stop)))
    found += _encoded_secrets(text, depth)
    yield from found
    yield from _apart(suspected, found)


def _apart(spans: list[Span], others: list[Span]) -> Iterator[Span]:
    """Yields the spans that overlap no span of ``others``: a rule knows the ends of a secret better than a score."""
    covered = _united(others)
    starts = [start for _, start, _ in covered]
    for kind, start, stop in spans:
        index = bisect_left(starts, stop) - 1
        if index < 0 or covered[index][2] <= start:
            yield kind, start, stop


_BASE64 = r"(?<![\w+/-])[A-Za-z0-9+/_-]{20,}+(?:\r?\n[ \t]{0,8}[A-Za-z0-9+/_-]{4,}+){0,200}={0,2}"
_HEX = r"(?<![\w-])(?:[2-7][0-9a-fA-F]){12,}+(?!\w)"
_SHORTEST_ENCODED: Final = 20
_DEEPEST: Final = 3
"""Levels of encoding that are decoded."""
_MOST_DECODED: Final = 65_536
"""Characters of an encoded text that are decoded."""


def _encoded_secrets(view: str, depth: int) -> Iterator[Span]:
    """Yields base64 and hexadecimal runs whose decoded text contains a secret."""
    if depth >= _DEEPEST or not any(len(word) >= _SHORTEST_ENCODED for word in view.split()):
        return
    for match in compiled(_BASE64).finditer(view):
        run = match[0]
        lines = run.split() if "\n" in run else [run]
        data = _from_base64("".join(lines))
        if (data.startswith(b"-----BEGIN ") and b"PRIVATE KEY-----" in data[:64]) or _holds_secret(data, depth):
            yield "encoded", *match.span()
        elif len(lines) > 1:
            at = match.start()
            for line in lines:
                at = view.index(line, at)
                if _holds_secret(_from_base64(line), depth):
                    yield "encoded", at, at + len(line)
                at += len(line)
    for match in compiled(_HEX).finditer(view):
        if _holds_secret(unhexlify(match[0][:_MOST_DECODED]), depth):
            yield "encoded", *match.span()


def _from_base64(run: str) -> bytes:
    run = run[:_MOST_DECODED].rstrip("=")
    return decoded(run[: len(run) - 1] if len(run) % 4 == 1 else run)


def _holds_secret(data: bytes, depth: int) -> bool:
    """Returns True if decoded bytes are a text that contains a secret."""
    if data[1:2] == b"\0" and data[3::2].count(0) == len(data[3::2]):  # UTF-16, as PowerShell encodes commands.
        data = data[::2]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    printable = text.replace("\n", "").replace("\t", "").replace("\r", "")
    return len(text) > 7 and printable.isprintable() and any(True for _ in _spans(text, depth + 1))


def _widened(text: str, found: list[tuple[str, int, int, str]], late: int) -> list[tuple[str, int, int, str]]:
    """Returns the secrets extended to the next white space.

    ``late``: 1 masks everything from the first secret to the end, a greater value the whole text.
    """
    if late > 0:
        kind, start, _, _ = found[0]
        start = start if late == 1 else 0
        return [(kind, start, len(text), text[start:])]
    spans: list[Span] = []
    for kind, start, stop, _ in found:
        behind = compiled(r"\S*+").match(text, stop)
        spans.append((kind, start, behind.end() if behind else stop))
    return [(kind, start, stop, text[start:stop]) for kind, start, stop in _united(spans)]


def _united(spans: Iterable[Span]) -> list[Span]:
    """Returns the spans in order, with overlapping ones joined. The kind is that of the first and longest one."""
    result: list[Span] = []
    for kind, start, stop in sorted(spans, key=lambda span: (span[1], -span[2])):
        if result and start < result[-1][2]:
            kind, start, before = result.pop()
            stop = max(stop, before)
        result.append((kind, start, stop))
    return result
