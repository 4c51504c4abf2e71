"""Unusual values that reach the store, as rows of the table of bad input: times at the ends of the calendar, numbers at
the ends of their range, and rare characters."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from support.bad_input import INVALID, KEPT, UNKNOWN_ARGUMENTS, Expected, Known, Row, request
from support.interfaces import LEFT_OUT, Interface, Outcome

NO_SUCH_ARGUMENT = {"mcp": "tool error"}
LINE = {"cli": LEFT_OUT}
"""The command line takes it in a line of an import alone."""

TAKEN: dict[str, str] = {**KEPT}
REFUSED = INVALID | LINE
TIMES: Mapping[str, tuple[str, bool]] = {
    "first moment of year 1": ("0001-01-01T00:00:00Z", True),
    "moment before that": ("0001-01-01T00:00:00+14:00", False),
    "last moment before 1970": ("1969-12-31T23:59:59.999999Z", True),
    "last moment of year 9999": ("9999-12-31T23:59:59.999999Z", False),
    "moment after that": ("9999-12-31T23:59:59-12:00", False),
    "year 10000": ("10000-01-01T00:00:00Z", False),
    "30th of February": ("2026-02-30T12:00:00Z", False),
}
"""And whether it may have been then."""
NUMBERS: Mapping[str, tuple[float, bool]] = {
    "largest of 64 bits": (2**63 - 1, True),
    "smallest of 64 bits": (-(2**63), True),
    "one more than 64 bits hold": (2**63, False),
    "one less than 64 bits hold": (-(2**63) - 1, False),
    "400 digits": (10**400, False),
    "largest fraction": (1.7976931348623157e308, True),
    "smallest fraction": (5e-324, True),
}
"""And whether it is kept."""
LETTERS: Mapping[str, str] = {
    "right to left": "\u202eabc\u202c שלום مرحبا",
    "no characters": "a\ufffe\uffff\ufdd0\U0010ffff b",
    "controls": "a\x01\x1b[31m\x7f\x85 b",
    "byte order mark": "\ufeffa b",
    "line separators": "a\u2028b\u2029c",
    "beyond 16 bits": "𝔘𝔫𝔦 🦊 𓀀",
    "apart and together": "A\u030a is \u00c5",
    "many marks": "a" + "\u0301" * 90,
    "unseen tags": "a\U000e0001\U000e0061 b",
    "statement": "'; DROP TABLE memory; -- %s :id {where} \\x00 $1",
}
"""Each fits into a tag."""


def value_rows() -> Iterator[Row]:
    for name, (time, may_be) in TIMES.items():
        created = TAKEN | NO_SUCH_ARGUMENT if may_be else REFUSED
        yield Row(f"{name} as createdAt", _at("createdAt", time), created)
        yield Row(f"{name} as validFrom", _at("validFrom", time), TAKEN if may_be else INVALID)
    for name, (number, is_kept) in NUMBERS.items():
        expected: Expected = TAKEN if is_kept else REFUSED
        ask = request("remember", content="With a number.", metadata={"n": [number, {"m": number}]})
        yield Row(f"{name} in metadata", ask, {**expected, **NO_SUCH_ARGUMENT})
    for name, letters in LETTERS.items():
        yield Row(f"{name} to recall", request("recall", query=letters), TAKEN)
        yield Row(f"{name} as tag to list", request("list", tag=letters), TAKEN | {"mcp": UNKNOWN_ARGUMENTS})


def _at(place: str, time: str) -> Callable[[Interface, Known], Outcome]:
    """Returns an instant in Python, if the text is a valid one."""

    def ask(interface: Interface, known: Known) -> Outcome:
        value: str | datetime = time
        if interface.name in ("embedded", "client"):
            try:
                value = datetime.fromisoformat(time)
            except ValueError:
                value = time
        return interface.ask("remember", content="Of an odd time.", **{place: value})

    return ask
