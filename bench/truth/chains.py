"""Facts that change, told in free words: rank of the current one, what is injected, and the links between memories."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from bench.filling import local
from bench.injection.data import Prompt, Store
from bench.injection.stores import Filled, Given, filled, hook_of
from bench.material import Bench
from bench.quality.variants import identified
from bench.report import Section, Table, judged
from bench.speed import on_postgres
from bench.truth.data import PUBLIC, Chain, ChainSet, chain_sets
from bench.truth.keyed_chains import Asked, count_answers, update_chains
from bench.truth.stores import without_judge
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.model import LinkKind
from hivelore.memories.model import Memory
from hivelore.search.model import Query

TOP = 5
AMONG = 3
"""Hits of which the baseline puts the newest first."""
LEAST_CHAINS, LEAST_OTHERS = 2, 4
"""Of a set, at any scale."""
PAGE = 500
KEYED, LEAST_KEYED = 1_000, 5
RECALLED_ON_POSTGRES = 10
"""One of this number of keyed chains is recalled on PostgreSQL, which takes longer."""
OURS, UNLINKED, NEWEST = "Hivelore", "without links", f"newest of the first {AMONG}"
WORDINGS = ("question", "other words")
TEXT = f"""
Facts that changed one to four times, as a team tells them in its own words. Each set is a separate store with the
tellings and other notes, many of which share words with a chain. The linker compares all of them before the questions
are asked. Each fact is asked for twice, directly and in other words.

- *current first*: the last telling is the first hit. *ahead*: it is found, and before every older telling of its fact.
  *in the first {TOP}*: it is one of the first {TOP} hits.
- *as of a day*: the telling that held on that day is found, and before all others of its fact.
- *{UNLINKED}*: the same store before the linker ran. *{NEWEST}*: of the first {AMONG} hits without links, the newest
  comes first.
- *injected*: share of the questions for which the prompt hook injects the last telling. *injected or named*: it injects
  this telling, or a line with its name. *only older*: it injects or names an older telling, but not the last one.
- *updates found*: share of the steps from one telling to the next that are linked as an update; in *aside*, some repeat
  the value in other words. *as conflict* and *as same*: those that are linked otherwise. *false changes*: number of
  updates and conflicts between notes that are not tellings of one fact (not `may-update`, which claims nothing);
  *per note* divides it by the number of all notes.
  *false same*: number of links that call such notes, or tellings of different values, the same.

The sets *public* (in `HIVELORE_BENCH_DATA`) and *aside* train no model. The number of compared memories was kept after
a look at *public*, so its figures are somewhat too good. Nobody had looked at *aside*. *tuning* chose constants.
*public* also contains pairs of notes that look like an update and are none.

The last table has facts with keys (`subject`) that change 2 to 8 times, told in random order with the times since which
they hold. *as of a time*: the list of the key, the memory and a recall at, before and between its changes. Every
{RECALLED_ON_POSTGRES}th fact is recalled on PostgreSQL, and each on SQLite.
"""


PLACES: Mapping[str, Callable[["Place"], bool]] = {
    "current first": lambda place: place.is_first,
    "ahead": lambda place: place.is_ahead,
    f"in the first {TOP}": lambda place: place.is_near,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the right telling is among the hits of a question."""

    is_first: bool
    is_ahead: bool
    is_near: bool
    """True within the first ``TOP``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The ids that a question about a chain gets, best first."""

    chain: Chain
    found: Sequence[str]
    newest: Sequence[str]
    """``found`` in the order of the baseline."""
    as_of: Sequence[str]
    injected: Given


@dataclass(frozen=True, slots=True)
class Linked:
    """Counts of links in one store."""

    notes: int
    changes: int
    called: Mapping[LinkKind, int]
    """Changes by the kind of their link."""
    false_changes: int
    false_same: int


def place_of(found: Sequence[str], right: str, others: frozenset[str]) -> Place:
    """``others``: the other tellings of the same fact."""
    before = found[: found.index(right)] if right in found else None
    return Place(
        is_first=found[:1] == [right],
        is_ahead=before is not None and others.isdisjoint(before),
        is_near=right in found[:TOP],
    )


def count_links(part: ChainSet, links: Iterable[tuple[str, str, LinkKind]]) -> Linked:
    """``links``: the ids of the later and the earlier note, and the kind."""
    stated = {
        note: (chain, value) for chain in part.chains for note, value in zip(chain.ids, chain.values, strict=True)
    }
    changes = {(newer, older) for chain in part.chains for older, newer in pairwise(chain.ids)}
    called, false_changes, false_same = Counter[LinkKind](), 0, 0
    for newer, older, kind in links:
        called[kind] += (newer, older) in changes
        (chain, value), (other, earlier) = stated.get(newer, (newer, "")), stated.get(older, (older, ""))
        if kind is LinkKind.SAME_AS:
            false_same += chain != other or value != earlier
        else:
            false_changes += chain != other and kind is not LinkKind.MAY_UPDATE
    return Linked(len(part.notes), len(changes), called, false_changes, false_same)


def run(bench: Bench) -> Section:
    sets = list(chain_sets(bench.data))
    if all(one.name != PUBLIC for one in sets):
        bench.say("public: left out, its chains are not there (HIVELORE_BENCH_DATA)")
    places, held, injections, links = (list[list[str]]() for _ in range(4))
    for one in sets:
        part = _scaled(bench, one)
        bench.say(f"{part.name}: {len(part.chains)} chains, {len(part.notes):,} notes")
        unlinked, ours, linked = _measure(bench, part)
        for wording in WORDINGS:
            name, before, after = f"{part.name}, {wording}", unlinked[wording], ours[wording]
            places += [
                _place_row(f"{name}: {OURS}", [(answer, answer.found) for answer in after]),
                _place_row(f"{name}: {UNLINKED}", [(answer, answer.found) for answer in before]),
                _place_row(f"{name}: {NEWEST}", [(answer, answer.newest) for answer in before]),
            ]
            held += [_held_row(f"{name}: {OURS}", after), _held_row(f"{name}: {UNLINKED}", before)]
            injections += [
                _injected_row(f"{name}: {OURS}", after, has_target=True),
                _injected_row(f"{name}: {UNLINKED}", before, has_target=False),
            ]
        links.append(_link_row(part.name, linked))
    tables = [
        Table("**Questions for the current value**", ["set: row", "questions", *PLACES], places),
        Table("**Questions as of a day**", ["set: row", "questions", "ahead"], held),
        Table("**Injection into prompts**", INJECTION_HEAD, injections),
        Table("**Links**", LINK_HEAD, links),
        _keyed(bench),
    ]
    return Section("Facts that change", TEXT.strip(), tables)


def _scaled(bench: Bench, one: ChainSet) -> ChainSet:
    """Returns a part of a set."""
    chains, others = one.chains, one.others
    return ChainSet(
        one.name,
        chains[:: max(1, len(chains) // bench.count(len(chains), LEAST_CHAINS))],
        others[:: max(1, len(others) // bench.count(len(others), LEAST_OTHERS))],
    )


Answers = Mapping[str, Sequence[Answer]]
"""By wording."""


def _measure(bench: Bench, part: ChainSet) -> tuple[Answers, Answers, Linked]:
    """Returns the answers of a new store before and after its memories were linked, and counts of the links."""
    store = Store(part.name, part.notes, ())
    with filled(bench.place(), store) as opened:
        hook = hook_of(opened, store)
        unlinked = _ask(opened, part, hook)
        while opened.app.linker.step():
            pass
        return unlinked, _ask(opened, part, hook), count_links(part, _links(opened))


def _ask(opened: Filled, part: ChainSet, hook: Callable[[Prompt], Given]) -> Answers:
    return {
        wording: [_answer(opened, part.name, chain, chain.questions[number], hook) for chain in part.chains]
        for number, wording in enumerate(WORDINGS)
    }


def _answer(opened: Filled, project: str, chain: Chain, question: str, hook: Callable[[Prompt], Given]) -> Answer:
    query, search = Query(text=Clean(question), project=Clean(project)), opened.app.search_service
    hits = search.recall(query, opened.viewer).hits
    newest = [*sorted(hits[:AMONG], key=lambda hit: hit.memory.created_at, reverse=True), *hits[AMONG:]]
    held = search.recall(replace(query, as_of=chain.as_of), opened.viewer).hits
    given = hook(Prompt(chain.current, question, "question", (chain.current,), ()))
    return Answer(chain, identified(hits), identified(newest), identified(held), given)


def _links(opened: Filled) -> Iterator[tuple[str, str, LinkKind]]:
    """Yields the links between all memories."""
    app, viewer = opened.app, opened.viewer
    where, memories, after = app.reading.widest_filter(viewer), list[Memory](), None
    while page := app.reading.page(where, after, PAGE, viewer).memories:
        memories += page
        after = page[-1].created_at, page[-1].id
    names = {one.id: str(one.external_id) for one in memories}
    for one in memories:
        for linked in app.links.links(one.id, viewer).links:
            if linked.link.source == one.id:
                yield names[one.id], names[linked.other], linked.link.kind


def _place_row(name: str, answers: Sequence[tuple[Answer, Sequence[str]]]) -> list[str]:
    places = [place_of(found, answer.chain.current, answer.chain.older) for answer, found in answers]
    return [name, str(len(places)), *(_share(map(is_so, places)) for is_so in PLACES.values())]


def _held_row(name: str, answers: Sequence[Answer]) -> list[str]:
    places = [place_of(one.as_of, one.chain.held, frozenset(one.chain.ids) - {one.chain.held}) for one in answers]
    return [name, str(len(places)), _share(place.is_ahead for place in places)]


INJECTION_HEAD = ("set: row", "prompts", "injected", "injected or named", "only older", "target")


def _injected_row(name: str, answers: Sequence[Answer], *, has_target: bool) -> list[str]:
    shown = [(one.chain, one.injected.notes | one.injected.pointers) for one in answers]
    stale = [chain.current not in ids and not chain.older.isdisjoint(ids) for chain, ids in shown]
    return [
        name,
        str(len(answers)),
        _share(one.chain.current in one.injected.notes for one in answers),
        _share(chain.current in ids for chain, ids in shown),
        _share(stale),
        judged(not any(stale), "0") if has_target else "",
    ]


LINK_HEAD = (
    "set",
    "notes",
    "changes",
    "updates found, %",
    "as conflict, %",
    "as same, %",
    "false changes",
    "per note",
    "false same",
)


def _link_row(name: str, linked: Linked) -> list[str]:
    kinds = (LinkKind.UPDATES, LinkKind.CONFLICTS_WITH, LinkKind.SAME_AS)
    return [
        name,
        f"{linked.notes:,}",
        f"{linked.changes:,}",
        *(f"{100 * linked.called.get(kind, 0) / linked.changes:.1f}" for kind in kinds),
        f"{linked.false_changes:,}",
        f"{linked.false_changes / linked.notes:.3f}",
        f"{linked.false_same:,}",
    ]


def _share(values: Iterable[bool]) -> str:
    return f"{100 * fmean(values):.1f}"


def _keyed(bench: Bench) -> Table:
    """Returns the answers about facts with keys on both engines."""
    rows = [_keyed_row(bench, "SQLite", None)]
    with on_postgres.new_database() as database:
        rows.append(_keyed_row(bench, "PostgreSQL", database))
    head = ["engine", "facts", "current first", "as of a time", "another fact first, as of a time"]
    return Table("**Facts with keys**", head, rows)


def _keyed_row(bench: Bench, engine: str, database: str | None) -> list[str]:
    with without_judge(bench.place(), database) as app:
        asked, chains = Asked(app, local(app)), update_chains(bench.count(KEYED, LEAST_KEYED), app.clock.now())
        recalled = chains if database is None else chains[::RECALLED_ON_POSTGRES]
        asked.tell(chains, keyed=True)
        first, wrong = len(asked.on_top(chains)), asked.wrong_then(chains, recalled)
        late, answers = asked.behind(recalled), count_answers(chains, recalled)
        bench.say(f"{engine}: {len(chains):,} facts with keys")
    return [
        engine,
        f"{len(chains):,}",
        judged(first == len(chains), f"{first:,}"),
        judged(not wrong, f"{len(wrong):,} of {answers:,} wrong"),
        f"{len(late):,}",
    ]
