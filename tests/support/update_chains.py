"""Facts that change 2 to 8 times each, mixed with each other and in any order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise, product
from random import Random

_SYLLABLES = (
    "ve",
    "ka",
    "lun",
    "do",
    "ri",
    "tas",
    "mo",
    "zel",
    "pir",
    "ong",
    "fa",
    "qui",
    "bre",
    "sho",
    "nad",
    "eth",
    "wum",
    "gli",
)
_NAMES = ("Mara", "Tomas", "Yuki", "Priya", "Olu", "Ingrid", "Chen", "Fatima", "Diego", "Aroha", "Sven", "Leila")
_PLACES = ("Frankfurt", "Oslo", "Dublin", "Osaka", "Montreal", "Sydney", "Mumbai", "Lisbon", "Seoul", "Denver")


@dataclass(frozen=True, slots=True)
class Aspect:
    name: str
    question: str
    wordings: tuple[str, ...]
    values: tuple[str, ...]


_ASPECTS = (
    Aspect(
        "port",
        "What is the port of {}?",
        ("{} listens on port {}.", "The port of {} is {} now.", "We moved {} to port {} because of a clash."),
        tuple(map(str, range(4_000, 4_900, 13))),
    ),
    Aspect(
        "owner",
        "Who is the owner of {}?",
        ("The owner of {} is {}.", "Since the reorganisation the owner of {} is {}.", "Owner of {}: {}."),
        tuple(f"{name} {letter}." for name, letter in product(_NAMES, "ABCD")),
    ),
    Aspect(
        "region",
        "What is the region of {}?",
        ("{} is deployed in the region {}.", "Region of {}: {}.", "{} was moved to the region {} for its users."),
        tuple(f"{place}-{number}" for place, number in product(_PLACES, range(1, 5))),
    ),
    Aspect(
        "timeout",
        "What is the timeout of {}?",
        ("The request timeout of {} is {} ms.", "We set the timeout of {} to {} ms.", "{} has a timeout of {} ms now."),
        tuple(map(str, range(300, 9_000, 170))),
    ),
)


@dataclass(frozen=True, slots=True)
class Fact:
    text: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Chain:
    subject: str
    question: str
    facts: tuple[Fact, ...]
    """Each holds until the next one."""

    def at(self, instant: datetime) -> Fact | None:
        held = [fact for fact in self.facts if fact.since <= instant]
        return held[-1] if held else None

    def instants(self) -> list[datetime]:
        """Returns instants before the first change, and at, just before and between changes."""
        since = [fact.since for fact in self.facts]
        between = [one + (other - one) / 2 for one, other in pairwise(since)]
        day = timedelta(days=1)
        return sorted([since[0] - day, *since, *(one - timedelta(microseconds=1) for one in since), *between])


def update_chains(count: int, until: datetime, seed: int = 7) -> list[Chain]:
    """Returns this many chains, each about another subject, all within the two years before an instant."""
    random = Random(seed)
    things = random.sample(["".join(parts) for parts in product(_SYLLABLES, repeat=3)], count)
    chains: list[Chain] = []
    for thing in things:
        aspect = random.choice(_ASPECTS)
        length = random.randint(2, 8)
        days = sorted(random.sample(range(2, 700), length))
        texts = [random.choice(aspect.wordings).format(thing, value) for value in random.sample(aspect.values, length)]
        facts = [
            Fact(text, until - timedelta(days=day, minutes=random.randrange(600)))
            for text, day in zip(texts, reversed(days), strict=True)
        ]
        chains.append(Chain(f"{thing}.{aspect.name}", aspect.question.format(thing), tuple(facts)))
    return chains


def shuffled_facts(chains: Sequence[Chain], seed: int = 7) -> list[tuple[Chain, Fact]]:
    """Returns all facts of all chains in random order."""
    facts = [(chain, fact) for chain in chains for fact in chain.facts]
    Random(seed).shuffle(facts)
    return facts
