"""Facts with keys that change 2 to 8 times each, mixed with each other and in any order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise, product
from random import Random

from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Memory
from hivelore.runtime.services import Services
from hivelore.search.model import Hit, Query

AT_ONCE = 50
"""Facts of a transaction."""

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


@dataclass(frozen=True, slots=True)
class Asked:
    """Chains in a store, and what it answers about them."""

    services: Services
    viewer: Viewer

    def tell(self, chains: Sequence[Chain], *, keyed: bool) -> None:
        """Stores the facts of all chains in random order, with their vectors."""
        drafts = [
            Draft(content=fact.text, subject=chain.subject, valid_from=fact.since)
            if keyed
            else Draft(content=fact.text, created_at=fact.since)
            for chain, fact in shuffled_facts(chains)
        ]
        for start in range(0, len(drafts), AT_ONCE):
            self.services.memory_service.remember_many(drafts[start : start + AT_ONCE], self.viewer)
        while self.services.embedding.step():
            pass

    def on_top(self, chains: Sequence[Chain]) -> list[Chain]:
        """Returns the chains whose current fact is the first hit."""
        return [
            chain for chain in chains if [hit.memory.content for hit in self._hits(chain)[:1]] == [chain.facts[-1].text]
        ]

    def wrong_then(self, chains: Sequence[Chain], recalled: Sequence[Chain]) -> list[str]:
        """Returns differences between the facts of a time and lists, memories and recalls. Recall takes longer, so only
        some chains are recalled."""
        reading, wrong = self.services.reading, list[str]()
        for chain in chains:
            for at, listed in zip(chain.instants(), self._known_at(chain), strict=True):
                fact = chain.at(at)
                expected = [] if fact is None else [fact.text]
                if [one.content for one in listed] != expected:
                    wrong.append(f"list {chain.subject} {at}")
                if [reading.get(one.id, self.viewer, at).content for one in listed] != expected:
                    wrong.append(f"get {chain.subject} {at}")
                if chain in recalled and self._recalled(chain, at) != expected:
                    wrong.append(f"recall {chain.subject} {at}")
        return wrong

    def behind(self, chains: Sequence[Chain]) -> list[str]:
        """Returns recalls that find the fact of a time only after one about another thing with a similar name."""
        return [
            f"{chain.subject} {at}"
            for chain in chains
            for at in chain.instants()
            if chain.at(at) and not all(_is_of(hit, chain) for hit in self._hits(chain, at)[:1])
        ]

    def _known_at(self, chain: Chain) -> list[list[Memory]]:
        """Returns the list of a fact key at each relevant time."""
        reading = self.services.reading
        where = replace(reading.widest_filter(self.viewer), subject=Clean(chain.subject))
        pages = (reading.page(replace(where, held_at=at), None, 9, self.viewer) for at in chain.instants())
        return [list(page.memories) for page in pages]

    def _recalled(self, chain: Chain, at: datetime) -> list[str]:
        """Returns the contents of the chain that a recall finds."""
        return [hit.memory.content for hit in self._hits(chain, at) if _is_of(hit, chain)]

    def _hits(self, chain: Chain, at: datetime | None = None) -> Sequence[Hit]:
        query = Query(text=Clean(chain.question), as_of=at)
        return self.services.search_service.recall(query, self.viewer).hits


def count_answers(chains: Sequence[Chain], recalled: Sequence[Chain]) -> int:
    """Returns the number of answers that ``wrong_then`` compares."""
    return sum(len(chain.instants()) * (3 if chain in recalled else 2) for chain in chains)


def _is_of(hit: Hit, chain: Chain) -> bool:
    return hit.memory.subject == chain.subject
