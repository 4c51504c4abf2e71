"""The way a text becomes ``Clean``: valid Unicode, and every secret replaced by its kind and a fingerprint.

Hooks import this package while an agent waits: the standard library only, a pattern is compiled when a text first
needs it, and a text without secrets costs little more than a search for fixed strings. Every pattern is linear:
what repeats is bounded, or possessive and never tried again from within its own run.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from hivelore.core.redaction.assignments import assigned_secrets, tabled_secrets
from hivelore.core.redaction.encodings import wrapped_secrets
from hivelore.core.redaction.logins import secrets_of_commands, sent_secrets
from hivelore.core.redaction.matching import Span, compiled
from hivelore.core.redaction.readings import as_shown, readings
from hivelore.core.redaction.suspicion import suspected_secrets
from hivelore.core.redaction.vendors import secrets_of_vendors
from hivelore.core.text import Clean
from hivelore.errors import Invalid, TooLarge

if TYPE_CHECKING:
    from hivelore.memories.model import Json

KEY_BYTES: Final = 16
"""The least length of a fingerprint key."""
METADATA_DEPTH: Final = 16
METADATA_VALUES: Final = 10_000

_WHOLE_WORDS_AFTER: Final = 1
_ALL_AFTER: Final = 3
"""Rounds of masking."""
_DIGEST_LENGTH: Final = 32
_MASK = r"\[[a-z0-9-]{2,24}:[0-9a-f]{4}\]"


class Redactor:
    """Masks secrets as ``[kind:9f3a]``: equal secrets look equal, and without the key the digits tell nothing."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise ValueError(f"a fingerprint key has at least {KEY_BYTES} bytes")
        self._key = key

    def clean(self, text: str, *, field: str = "text") -> Clean:
        """The text with its secrets masked; a clean text comes back as it is.

        Raises Invalid for NUL and lone surrogates, which no store keeps faithfully."""
        _refuse_unstorable(text, field)
        # A mask can lay open a secret that was glued to the first one. Each round masks characters that were not
        # masked before, so the rounds end, and the result is what would come out again. Where a text was made to
        # take many of them, whatever touches a secret goes with it, and in the end the rest of the text.
        rounds = 0
        while found := _scan(text):
            rounds += 1
            if rounds > _WHOLE_WORDS_AFTER:
                found = _widened(text, found, rounds - _ALL_AFTER)
            text = self._masked(text, found)
        return Clean(text)

    def clean_or_none(self, text: str | None, *, field: str = "text") -> Clean | None:
        return None if text is None else self.clean(text, field=field)

    def clean_all(self, texts: Iterable[str], *, field: str) -> tuple[Clean, ...]:
        """Each text cleaned, in order; an error names its place, such as ``tags[2]``."""
        return tuple(self.clean(text, field=f"{field}[{index}]") for index, text in enumerate(texts))

    def digest(self, text: str) -> str:
        """A keyed digest in place of an identifier that may not be kept as it is. Equal texts have equal digests."""
        return self._digest(text)[:_DIGEST_LENGTH]

    def clean_metadata(self, metadata: "Mapping[str, Json]", *, field: str = "metadata") -> "dict[str, Json]":
        """Keys and values cleaned to the last level. A key tells what its value is: ``{"password": ...}`` is masked.

        Raises Invalid where two keys become one, TooLarge beyond METADATA_DEPTH levels or METADATA_VALUES values."""
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
        """A text read in the light of its name, the way ``"name": "text"`` would be."""
        _refuse_unstorable(text, field)
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
        import hmac  # loads OpenSSL, which a text without secrets need not wait for

        return hmac.digest(self._key, text.encode(), "sha256").hex()


def find(text: str) -> list[Span]:
    """Kind, start and stop of each secret, in order and without overlap. Masks are not found again."""
    return [(kind, start, stop) for kind, start, stop, _ in _scan(text)]


def _refuse_unstorable(text: str, field: str) -> None:
    at = text.find("\0")
    what = "a NUL character"
    if at < 0 and not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:  # it carries the text: ours is raised outside
            at, what = error.start, "half of a surrogate pair"
    if at >= 0:
        raise Invalid(f"{field} has {what} at position {at}: remove it and send the rest again.", field=field)


def _scan(text: str) -> list[tuple[str, int, int, str]]:
    """Kind, start, stop and, without what is not seen, the secret itself."""
    hidden = compiled(_MASK).sub(lambda mask: "\0" * len(mask[0]), text) if "[" in text else text
    return [
        (kind, start, stop, as_shown(text[start:stop]))
        for kind, start, stop in _united(_spans(hidden, 0))
        if stop > start
    ]


def _spans(text: str, depth: int) -> Iterator[Span]:
    """``text``: with NUL where masks stand."""
    found: list[Span] = []
    suspected: list[Span] = []
    for reading in readings(text):
        for find_in in (
            secrets_of_vendors,
            sent_secrets,
            assigned_secrets,
            secrets_of_commands,
            tabled_secrets,
        ):
            found += [(kind, *reading.place(start, stop)) for kind, start, stop in find_in(reading)]
        if depth == 0:
            suspected += [(kind, *reading.place(start, stop)) for kind, start, stop in suspected_secrets(reading)]
    found += wrapped_secrets(text, _holds_secret, depth)
    yield from found
    yield from _apart(suspected, found)


def _apart(spans: list[Span], others: list[Span]) -> Iterator[Span]:
    """The spans that overlap none of the others: a rule knows better than a suspicion where a secret ends."""
    covered = _united(others)
    starts = [start for _, start, _ in covered]
    for kind, start, stop in spans:
        index = bisect_left(starts, stop) - 1
        if index < 0 or covered[index][2] <= start:
            yield kind, start, stop


def _holds_secret(text: str, depth: int) -> bool:
    return any(True for _ in _spans(text, depth))


def _widened(text: str, found: list[tuple[str, int, int, str]], late: int) -> list[tuple[str, int, int, str]]:
    """The same secrets with all that stands behind them up to the next blank.

    ``late``: at 1 all from the first one to the end, above it the whole text."""
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
    """In order. What overlaps becomes one span, of the kind that begins first, is longest or was found first."""
    result: list[Span] = []
    for kind, start, stop in sorted(spans, key=lambda span: (span[1], -span[2])):
        if result and start < result[-1][2]:
            kind, start, before = result.pop()
            stop = max(stop, before)
        result.append((kind, start, stop))
    return result
