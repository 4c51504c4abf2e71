"""The table of bad input: what a caller may send, and the answer of each interface.

A row is one input, a cell one input at one interface. Every row names every interface but the bridge,
which passes on the answer of MCP unless the row says otherwise.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.interfaces import LEFT_OUT, OK, Interface, Outcome
from support.pasted import PROMPT, TRACE

NAMED = ("embedded", "client", "rest", "mcp", "cli")
"""Python in this process, Python through a service, and the interfaces of the service."""
INTERFACES = (*NAMED, "bridge")

Expected = Mapping[str, str]
"""Kind of outcome by interface."""


def expected_at(interface: str, expected: Expected) -> str:
    return expected["mcp"] if interface == "bridge" and interface not in expected else expected[interface]


def names_every_interface(expected: Expected) -> bool:
    return set(expected) - {"bridge"} == set(NAMED)


@dataclass(frozen=True, slots=True)
class Row:
    input: str
    ask: Callable[[Interface, "Known"], Outcome]
    expected: Expected
    edits: bool = False
    """An accepted call changes the memory of the caller."""


@dataclass(frozen=True, slots=True)
class Known:
    """The ids that calls may use."""

    own: str
    """The id of a memory of the caller."""
    hidden: str
    """The id of a memory that the caller may not see."""
    folder: Path
    """An empty folder for files."""


# The names of errors at the interfaces.

INVALID = {"embedded": "Invalid", "client": "Invalid", "rest": "422 invalid", "mcp": "tool error", "cli": "2 invalid"}
TOO_LARGE = INVALID | {"embedded": "TooLarge", "client": "TooLarge", "rest": "413 too-large", "cli": "2 too-large"}
UNAUTHENTICATED = {
    "embedded": "Unauthenticated",
    "client": "Unauthenticated",
    "rest": "401 unauthenticated",
    "mcp": "401 unauthenticated",
    "bridge": "JSON-RPC -32000",
    "cli": "4 unauthenticated",
}
NOT_FOUND = INVALID | {"embedded": "NotFound", "client": "NotFound", "rest": "404 not-found", "cli": "3 not-found"}
FORBIDDEN = INVALID | {"embedded": "Forbidden", "client": "Forbidden", "rest": "403 forbidden", "cli": "4 forbidden"}
KEPT = dict.fromkeys(NAMED, OK)

TOO_LONG_FOR_A_URL = {"rest": "400 bad-request"}
UNKNOWN_ARGUMENTS = "tool error"
"""MCP has no such operation: another tool is called, which does not know the arguments."""
NOT_JSON = {"rest": "400 bad-request", "mcp": "JSON-RPC -32700"}
"""Bytes that are not JSON are refused before any other check."""
USAGE = {"cli": "2 usage"}
NO_ARGUMENT = {"cli": "2 invalid"}
"""No shell can pass it as an argument."""
SURROGATE = {"mcp": "JSON-RPC -32700"}
"""A lone surrogate: the SDK refuses JSON that contains one."""
REPLACED = {"rest": OK}
"""In a URL it is not UTF-8, and becomes the replacement character."""

LARGE = "x" * 5_000_000
NOWHERE = "01a00000-0000-7000-8000-000000000000"


def request(verb: str, **given: Any) -> Callable[[Interface, Known], Outcome]:
    """Returns a function that makes this call. OWN among the arguments stands for the id of a memory of the caller."""

    def ask(interface: Interface, known: Known) -> Outcome:
        return interface.ask(verb, **{name: known.own if value is OWN else value for name, value in given.items()})

    return ask


OWN = object()


# Invalid texts.

TEXTS: Mapping[str, str] = {
    "empty": "",
    "blank": " \n\t ",
    "5 MB": LARGE,
    "NUL": "before\0after",
    "lone surrogate": "before\ud800after",
}
PLACES: Mapping[str, Callable[[str], Callable[[Interface, Known], Outcome]]] = {
    "content": lambda text: request("remember", content=text),
    "name": lambda text: request("remember", content="Named badly.", name=text),
    "query": lambda text: request("recall", query=text),
    "id to get": lambda text: request("get", id=text),
    "id to forget": lambda text: request("forget", id=text),
    "edited content": lambda text: request("edit", id=OWN, content=text),
    "after": lambda text: request("list", after=text),
    "tag to list": lambda text: request("list", tag=text),
    "memory of recalls": lambda text: request("recalls", memory=text),
    "asker of recalls": lambda text: request("recalls", agent=text),
}
OF_TEXTS: Mapping[tuple[str, str], Expected] = {
    ("empty", "content"): INVALID,
    ("empty", "name"): INVALID,
    ("empty", "query"): INVALID,
    ("empty", "id to get"): NOT_FOUND,
    ("empty", "id to forget"): NOT_FOUND,
    ("empty", "edited content"): INVALID,
    ("empty", "after"): INVALID,
    ("empty", "tag to list"): KEPT | {"mcp": UNKNOWN_ARGUMENTS},
    ("empty", "memory of recalls"): NOT_FOUND,
    ("empty", "asker of recalls"): KEPT | {"mcp": UNKNOWN_ARGUMENTS},
    ("blank", "content"): INVALID,
    ("blank", "name"): INVALID,
    ("blank", "query"): INVALID,
    ("blank", "id to get"): NOT_FOUND,
    ("blank", "id to forget"): NOT_FOUND,
    ("blank", "edited content"): INVALID,
    ("blank", "after"): INVALID,
    ("blank", "tag to list"): KEPT | {"mcp": UNKNOWN_ARGUMENTS},
    ("blank", "memory of recalls"): NOT_FOUND,
    ("blank", "asker of recalls"): KEPT | {"mcp": UNKNOWN_ARGUMENTS},
    ("5 MB", "content"): TOO_LARGE,
    ("5 MB", "name"): INVALID,
    ("5 MB", "query"): INVALID,
    ("5 MB", "id to get"): INVALID | TOO_LONG_FOR_A_URL | {"cli": TOO_LARGE["cli"]},
    ("5 MB", "id to forget"): INVALID | TOO_LONG_FOR_A_URL | {"cli": TOO_LARGE["cli"]},
    ("5 MB", "edited content"): TOO_LARGE,
    ("5 MB", "after"): INVALID | TOO_LONG_FOR_A_URL | {"cli": TOO_LARGE["cli"]},
    ("5 MB", "tag to list"): TOO_LARGE | TOO_LONG_FOR_A_URL,
    ("5 MB", "memory of recalls"): TOO_LARGE | TOO_LONG_FOR_A_URL,
    ("5 MB", "asker of recalls"): TOO_LARGE | TOO_LONG_FOR_A_URL,
    ("NUL", "content"): INVALID,
    ("NUL", "name"): INVALID,
    ("NUL", "query"): INVALID,
    ("NUL", "id to get"): NOT_FOUND | NO_ARGUMENT,
    ("NUL", "id to forget"): NOT_FOUND | NO_ARGUMENT,
    ("NUL", "edited content"): INVALID,
    ("NUL", "after"): INVALID,
    ("NUL", "tag to list"): INVALID,
    ("NUL", "memory of recalls"): NOT_FOUND | NO_ARGUMENT,
    ("NUL", "asker of recalls"): KEPT | {"mcp": UNKNOWN_ARGUMENTS} | NO_ARGUMENT,
    ("lone surrogate", "content"): INVALID | SURROGATE,
    ("lone surrogate", "name"): INVALID | SURROGATE,
    ("lone surrogate", "query"): INVALID | SURROGATE,
    ("lone surrogate", "id to get"): INVALID | SURROGATE | {"rest": "404 not-found"},
    ("lone surrogate", "id to forget"): INVALID | SURROGATE | {"rest": "404 not-found"},
    ("lone surrogate", "edited content"): INVALID | SURROGATE,
    ("lone surrogate", "after"): INVALID | SURROGATE,
    ("lone surrogate", "tag to list"): INVALID | SURROGATE | REPLACED,
    ("lone surrogate", "memory of recalls"): INVALID | SURROGATE | {"rest": "404 not-found"},
    ("lone surrogate", "asker of recalls"): INVALID | SURROGATE | REPLACED,
}


def text_rows() -> Iterator[Row]:
    for text, value in TEXTS.items():
        for place, ask in PLACES.items():
            yield Row(f"{text} {place}", ask(value), OF_TEXTS[text, place])


# Values of another type.

VALUES: Mapping[str, Any] = {
    "number": 7,
    "fraction": 1.5,
    "truth": True,
    "null": None,
    "list": [1],
    "object": {"a": 1},
    "text": "yesterday",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """A place that accepts values of some types. ``takes``: the accepted types by interface."""

    ask: Callable[[Any], Callable[[Interface, Known], Outcome]]
    takes: Mapping[str, Set[str]]
    refused: Expected = field(default_factory=lambda: INVALID)
    but: Mapping[str, Expected] = field(default_factory=dict[str, Expected])
    """Errors for some types of values, where they differ."""


NOTHING = frozenset[str]()
NULL = frozenset({"null"})
"""MCP and imports treat null as absent."""
LINE = {"cli": LEFT_OUT}
"""Typed values are sent as a line of an import, and a bad line is skipped."""
ANY_WORD = frozenset({"number", "fraction", "truth", "list", "object", "text"})
"""On a command line every argument is text."""


def everywhere(*types: str) -> dict[str, Set[str]]:
    """Returns the same outcome for every interface."""
    return {interface: frozenset(types) for interface in NAMED}


TYPED: Mapping[str, Typed] = {
    "content": Typed(
        lambda value: request("remember", content=value),
        everywhere("text"),
        INVALID | LINE,
    ),
    "name": Typed(
        lambda value: request("remember", content="Named oddly.", name=value),
        everywhere("null", "text") | {"rest": {"text"}, "cli": {"null", "text", "number"}},
        INVALID | LINE,
    ),
    "scope": Typed(
        lambda value: request("remember", content="Scoped oddly.", scope=value),
        everywhere() | {"mcp": NULL, "cli": NULL},
        INVALID | LINE,
        {"text": USAGE},
    ),
    "source": Typed(
        lambda value: request("remember", content="From somewhere odd.", source=value),
        everywhere() | {"mcp": NULL, "cli": NULL},
        INVALID | LINE,
        {"text": USAGE},
    ),
    "tags": Typed(
        lambda value: request("remember", content="Tagged oddly.", tags=value),
        everywhere() | {"mcp": NULL, "cli": NULL | {"text"}},
        INVALID | LINE,
    ),
    "one tag": Typed(
        lambda value: request("remember", content="With an odd tag.", tags=["good", value]),
        everywhere("text"),
        INVALID | LINE,
    ),
    "metadata": Typed(
        lambda value: request("remember", content="Described oddly.", metadata=value),
        everywhere("null", "object") | {"mcp": NULL},
        INVALID | LINE,
    ),
    "createdAt": Typed(
        lambda value: request("remember", content="Of an odd time.", createdAt=value),
        everywhere("null") | {"cli": {"null", "number", "fraction"}},
        INVALID | LINE,
    ),
    "query": Typed(lambda value: request("recall", query=value), everywhere("text") | {"cli": ANY_WORD}),
    "limit": Typed(
        lambda value: request("recall", query="wombat", limit=value),
        everywhere("number") | {"mcp": {"number", "null"}},
        INVALID | USAGE,
    ),
    "onlyFitting": Typed(
        lambda value: request("recall", query="wombat", onlyFitting=value),
        everywhere("truth") | {"mcp": {"truth", "null"}},
        INVALID | USAGE,
    ),
    "rerank": Typed(
        lambda value: request("recall", query="wombat", rerank=value),
        everywhere("truth") | {"mcp": {"truth", "null"}},
        INVALID | USAGE,
    ),
    "budget": Typed(
        lambda value: request("recall", query="wombat", budget=value),
        everywhere("null") | {"cli": NOTHING},
        INVALID | USAGE,
        {"number": INVALID},
    ),
    "diversity": Typed(
        lambda value: request("recall", query="wombat", diversity=value),
        everywhere() | {"mcp": NULL},
        INVALID | USAGE,
        {"number": INVALID, "fraction": INVALID},
    ),
    "tag to recall": Typed(
        lambda value: request("recall", query="wombat", tag=value),
        everywhere("null", "text") | {"cli": ANY_WORD | NULL},
    ),
    "category to recall": Typed(
        lambda value: request("recall", query="wombat", category=value),
        everywhere("null", "text") | {"cli": ANY_WORD | NULL},
    ),
    "createdAfter to recall": Typed(
        lambda value: request("recall", query="wombat", createdAfter=value),
        everywhere("null") | {"cli": NOTHING},
    ),
    "createdBefore to recall": Typed(
        lambda value: request("recall", query="wombat", createdBefore=value),
        everywhere("null") | {"cli": NOTHING},
    ),
    "id": Typed(
        lambda value: request("get", id=value),
        everywhere(),
        INVALID | {"rest": "404 not-found", "cli": "3 not-found"},
        {"text": NOT_FOUND, "null": USAGE},
    ),
    "edited content": Typed(
        lambda value: request("edit", id=OWN, content=value),
        everywhere("text") | {"mcp": NULL | {"text"}, "cli": ANY_WORD | NULL},
    ),
    "edited tags": Typed(
        lambda value: request("edit", id=OWN, tags=value),
        everywhere() | {"mcp": NULL, "cli": ANY_WORD | NULL},
    ),
}


def typed_rows() -> Iterator[Row]:
    for place, typed in TYPED.items():
        for name, value in VALUES.items():
            refused = {**typed.refused, **typed.but.get(name, {})}
            expected = {
                interface: OK if name in takes else refused[interface] for interface, takes in typed.takes.items()
            }
            yield Row(f"{name} as {place}", typed.ask(value), expected, edits=place.startswith("edited"))


# Unknown choices, and numbers out of range.

OTHERS: Mapping[str, tuple[Callable[[Interface, Known], Outcome], Expected]] = {
    "unknown scope to remember": (request("remember", content="x y", scope="everyone"), INVALID | USAGE),
    "unknown source to remember": (request("remember", content="x y", source="rumour"), INVALID | USAGE),
    "unknown scope to recall": (request("recall", query="x", scope="mine"), INVALID | USAGE),
    "unknown source to recall": (request("recall", query="x", source="rumour"), INVALID | USAGE),
    "a day to recall": (request("recall", query="x", createdAfter="2026-01-31", createdBefore="2026-02-01"), {**KEPT}),
    "no such day to recall": (request("recall", query="x", createdAfter="2026-02-30"), INVALID),
    "no time between to recall": (
        request("recall", query="x", createdAfter="2026-01-31T12:00Z", createdBefore="2026-01-31T12:00Z"),
        INVALID,
    ),
    "a year before the first in UTC to recall": (
        request("recall", query="x", createdAfter="0001-01-01T00:00:00+14:00"),
        INVALID,
    ),
    "NUL in a tag to recall": (request("recall", query="x", tag="a\0b"), INVALID | NO_ARGUMENT),
    "no time between to list": (
        request("list", createdAfter="2026-01-31T12:00Z", createdBefore="2026-01-31T12:00Z"),
        INVALID,
    ),
    "unknown scope to list": (request("list", scope="mine"), INVALID | USAGE),
    "unknown status to list": (request("list", status="dead"), INVALID | USAGE),
    "unknown scope to edit": (request("edit", id=OWN, scope="all"), INVALID | USAGE),
    "limit 0": (request("recall", query="x", limit=0), INVALID),
    "limit 51": (request("recall", query="x", limit=51), INVALID),
    "limit -1": (request("recall", query="x", limit=-1), INVALID),
    "limit ten": (request("recall", query="x", limit="ten"), INVALID | USAGE),
    "limit beyond 64 bits": (request("recall", query="x", limit=10**30), INVALID),
    "limit 0 of a page": (request("list", limit=0), INVALID),
    "limit 501 of a page": (request("list", limit=501), INVALID),
    "limit ten of a page": (request("list", limit="ten"), INVALID | USAGE),
    "limit 0 of recalls": (request("recalls", limit=0), INVALID),
    "limit 101 of recalls": (request("recalls", limit=101), INVALID),
    "limit ten of recalls": (request("recalls", limit="ten"), INVALID | USAGE),
    "limit beyond 64 bits of recalls": (request("recalls", limit=10**30), INVALID),
    "unknown memory of recalls": (request("recalls", memory=NOWHERE), NOT_FOUND),
    "a time alone after recalls": (request("recalls", after="2026-01-31T12:00:00Z"), INVALID),
    "unknown id to get": (request("get", id=NOWHERE), NOT_FOUND),
    "unknown id to edit": (request("edit", id=NOWHERE, name="x"), NOT_FOUND),
    "unknown id to forget": (request("forget", id=NOWHERE), NOT_FOUND),
    "id that climbs to get": (request("get", id="../agents"), NOT_FOUND),
    "id that climbs to forget": (request("forget", id="../agents"), NOT_FOUND),
    "any project to remember": (request("remember", content="x y", project="*"), INVALID),
    "any project to edit": (request("edit", id=OWN, project=" * "), INVALID),
    "memory for somebody else": (request("remember", content="For you.", agentId="lea"), FORBIDDEN),
}


def other_rows() -> Iterator[Row]:
    for name, (ask, expected) in OTHERS.items():
        yield Row(name, ask, expected)


# Unusual queries, which are accepted.

QUERIES: Mapping[str, str] = {
    "30,000 characters": "Why does the wombat service restart at night? " * 650,
    "100,000 characters without a blank": "x" * 100_000,
    "a pasted prompt": PROMPT + "\n\nWhy is the wombat asleep?",
    "a stack trace": TRACE,
    "only stop words": "what is it that they do to him",
    "only punctuation": "?!... (--) /* */ ;;",
    "one character": "w",
    "operators": '"wombat" AND (NEAR(a b, 2) OR -c:*) NOT ^d',
    "half a quotation": "wombat's \" (",
    "scripts mixed": "wombat 言葉 слово كلمة คำ 🦊 wörd",
    "a thousand combining marks": "a" + "\u0301" * 1_000,
    "a line of SQL": "'; DROP TABLE memory; --",
}


def query_rows() -> Iterator[Row]:
    for name, query in QUERIES.items():
        yield Row(f"{name} to recall", request("recall", query=query), {**KEPT})


# Ids of other agents' memories.


def hidden(verb: str, place: str = "id", **given: Any) -> Callable[[Interface, Known], Outcome]:
    """Returns a function that requests an unknown id and then a memory of another agent. Both answers must be equal
    except for the id."""

    def ask(interface: Interface, known: Known) -> Outcome:
        unknown = interface.ask(verb, **{place: NOWHERE}, **given)
        outcome = interface.ask(verb, **{place: known.hidden}, **given)
        assert outcome.shown.replace(known.hidden, NOWHERE) == unknown.shown
        return outcome

    return ask


def hidden_rows() -> Iterator[Row]:
    yield Row("id of another to get", hidden("get"), NOT_FOUND)
    yield Row("id of another to edit", hidden("edit", name="Mine now."), NOT_FOUND)
    yield Row("id of another to forget", hidden("forget"), NOT_FOUND)
    yield Row("id of another among recalls", hidden("recalls", place="memory"), NOT_FOUND)


def rows() -> Iterator[Row]:
    yield from text_rows()
    yield from typed_rows()
    yield from other_rows()
    yield from query_rows()
    yield from hidden_rows()
