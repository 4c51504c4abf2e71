"""Recall: results, visibility, ranking and messages."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hivelore.core.agents import LeadSees
from hivelore.core.operation import Call
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace, validated
from hivelore.errors import Invalid
from hivelore.feedback.recalls import Sign
from hivelore.memories.drafts import Draft
from hivelore.memories.handlers import list_memories
from hivelore.memories.model import Action, Scope, Source
from hivelore.memories.operations import ListMemories
from hivelore.observations.outcomes import ObservationInput
from hivelore.search.handlers import query_of
from hivelore.search.model import MemoryPage, RetrievalMode, ScopeChoice
from hivelore.search.operations import SearchMemories
from hivelore.search.ranking import Profile, RankingConstants
from support.clocks import SteppingClock
from support.embedders import FaultyEmbedder
from support.memories import evidence
from support.pasted import PROMPT, TRACE
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.relevance import DecidedReader
from support.stores import KEYWORDS, STORES, present
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, BOB, World, hashing

REDACTOR = Redactor(b"a key for tests only")


def test_a_new_memory_is_found_before_it_has_a_vector(world: World) -> None:
    world.memory_service.remember(Draft(content="Use pnpm here."), AS_ADA)
    assert world.found("pnpm") == ["Use pnpm here."]


def test_every_hit_shows_the_parts_of_its_score(world: World) -> None:
    world.remember("Use pnpm here.")
    (hit,) = world.recall("pnpm").hits
    assert set(hit.score.parts) == {
        "keyword",
        "vector",
        "similarity",
        "prior",
        "recency",
        "access",
        "update",
        "confidence",
        "usefulness",
        "total",
    }
    assert 0.0 <= hit.score.total <= 1.0


def test_of_two_equal_matches_the_useful_one_comes_first(clock: SteppingClock) -> None:
    world = World(ReferenceStore(clock), ReferenceKeywords(), clock)
    for text in ("Use pnpm in the frontend.", "The cache of pnpm is on a disk."):
        world.remember(text)
    first, last = (hit.memory for hit in world.recall("pnpm").hits)
    for memory, sign in ((last, Sign.APPLIED), (first, Sign.UNUSED)):
        key = present(world.store, memory).key
        seen = [evidence(sign, f"s{number}") for number in range(40)]
        world.store.write(lambda tx, key=key, seen=seen: tx.add_evidence({key: seen}))
    hits = world.recall("pnpm").hits
    assert [hit.memory for hit in hits] == [last, first]
    assert hits[0].score.usefulness > 1.0 > hits[1].score.usefulness


def test_the_total_follows_from_the_parts_as_documented(world: World) -> None:
    texts = ("Use pnpm here.", "Never use npm here, only pnpm.", "The lamp is broken", "pnpm?", "pnpm: port 1 of 2")
    for text in texts:
        read = world.remember(text, session="s", author="Ada")
        world.reading.get(read.id, AS_ADA)
        world.write_buffer.flush()
        signs = [Sign.USEFUL] if text.endswith(".") else [Sign.USELESS, Sign.UNUSED]
        key = present(world.store, read).key
        world.store.write(lambda tx, key=key, signs=signs: tx.add_evidence({key: [evidence(one) for one in signs]}))
        world.clock.advance(timedelta(days=40))
    world.remember("pnpm: port 2 of 2", session="s", author="Ada")
    answer = world.recall("what did Ada say about pnpm, and which port?")
    assert len(answer.hits) > len(texts) - 1
    for one in (hit.score for hit in answer.hits):
        known = (one.similarity, one.keyword, one.vector, one.recency)
        assert all(0.0 <= part <= 1.0 for part in known)
        wanted = min(max(one.similarity + one.prior, 0.0), 1.15)
        total = (wanted + 0.02 * one.recency + 0.02 * (one.access - 1)) / 1.18 * one.usefulness + one.update
        assert one.total == pytest.approx(total, abs=5e-6)  # An answer has six decimals.
        assert 0.0 <= one.total <= 1.0
    assert any(hit.score.prior for hit in answer.hits)
    assert any(hit.score.access > 1.0 for hit in answer.hits)


@pytest.mark.parametrize("category", ["config", "Configuration", "CONFIGS"])
def test_a_category_is_found_in_any_spelling(world: World, category: str) -> None:
    for spelling in ("config", "Configuration", "note"):
        world.remember(f"pnpm is set up in {spelling}", category=spelling)
    wanted = {"pnpm is set up in config", "pnpm is set up in Configuration"}
    assert set(world.found("pnpm", category=Clean(category))) == wanted
    where = world.reading.widest_filter(AS_ADA)
    listed = world.reading.page(where, None, 9, AS_ADA, category=Clean(category)).memories
    assert {one.content for one in listed} == wanted


@pytest.mark.parametrize("where", [{"tag": Clean("node")}, {"category": Clean("build")}], ids=["tag", "category"])
def test_a_filter_by_tag_or_category_admits_only_memories_that_have_it(world: World, where: dict[str, Any]) -> None:
    wanted = world.remember("Use pnpm here.", tags=("node",), category="build")
    world.remember("pnpm was slow today", tags=("other",), category="note")
    assert [hit.memory for hit in world.recall("pnpm", **where).hits] == [wanted]


def test_a_filter_by_source_or_creation_admits_only_memories_within_it(world: World) -> None:
    first = world.remember("Use pnpm here.", source=Source.TASK_COMPLETION)
    world.clock.advance(timedelta(days=1))
    second = world.remember("pnpm was slow today")

    def found(**where: Any) -> set[str]:
        return {hit.memory.content for hit in world.recall("pnpm", **where).hits}

    assert found(source=Source.TASK_COMPLETION) == {first.content}
    assert found(created_after=first.created_at) == {first.content, second.content}
    assert found(created_after=second.created_at) == {second.content}
    assert found(created_before=second.created_at) == {first.content}
    assert found(created_before=first.created_at) == set()


def test_the_best_passage_is_shown(world: World) -> None:
    long = "\n\n".join(f"Paragraph {n} about nothing in particular, " + "filler " * 60 for n in range(8))
    world.remember(f"{long}\n\nThe xylophone is kept in the attic of the old house.")
    (hit,) = world.recall("xylophone attic").hits
    assert "xylophone" in hit.passage.content
    assert len(hit.passage.content) < 1_000
    assert 0 <= hit.passage.chunk_index < hit.passage.total_chunks


HARBOUR = (
    "The boats dry in the harbour, and the weather of the harbour towns is mild in most of the months, says {name}. "
)
DUTY = "On duty the keeper writes into a book what has come and what has gone since the day before, and signs it. "


def test_a_passage_with_the_rare_query_term_is_shown_instead_of_the_nearest(world: World) -> None:
    world.remember(DUTY * 10 + "The code of the lock is ZX_9981_FROB. " + DUTY * 4 + HARBOUR.format(name="Ada") * 8)
    for name in ("Bob", "Lea", "Mia"):
        world.remember(HARBOUR.format(name=name))
    for question in ("weather in the harbour towns ZX_9981_FROB", "boats of the harbour in mild months, the lock"):
        hits = world.recall(question).hits
        (passage,) = (hit.passage.content for hit in hits if "ZX_9981_FROB" in hit.memory.content)
        assert "The code of the lock is ZX_9981_FROB." in passage


def test_chunks_and_snippets_begin_with_a_whole_word(world: World) -> None:
    text = "".join(HARBOUR.format(name=name) for name in ("Ada", "Bob", "Lea", "Mia") * 12).strip()
    long = world.remember(text)
    shown = world.reading.chunks(long.id, AS_ADA)
    assert len(shown) > 2
    for name in ("Ada", "Bob", "Lea", "Mia"):
        shown += [hit.passage for hit in world.recall(f"weather in the harbour, says {name}").hits]
    words = set(text.split())
    assert all(set(one.content.split()) <= words for one in shown)


def listed(world: World, request: ListMemories) -> MemoryPage:
    """A page that Ada sees."""
    app: Any = SimpleNamespace(reading=world.reading, redactor=REDACTOR)
    return list_memories(app, request, Call(viewer=AS_ADA))


def test_expired_memories_are_read_by_id_and_not_found(world: World) -> None:
    memory = world.remember("gone soon", source=Source.SESSION_SUMMARY)
    world.clock.advance(timedelta(days=3, seconds=1))
    assert world.found("gone soon") == []
    assert world.reading.get(memory.id, AS_ADA).content == "gone soon"
    page = listed(world, ListMemories(status="expired"))
    assert [one.id for one in page.memories] == [memory.id]


def test_a_recall_at_an_earlier_time_finds_memories_expired_since(world: World) -> None:
    then = world.remember("gone soon", source=Source.SESSION_SUMMARY).created_at
    world.clock.advance(timedelta(days=30))
    assert world.found("gone soon", now=then) == ["gone soon"]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (ScopeChoice.ALL, {"mine: lamp", "bobs shared: lamp"}),
        (ScopeChoice.AGENT, {"mine: lamp"}),
        (ScopeChoice.SWARM, {"bobs shared: lamp"}),
    ],
)
def test_a_worker_searches_its_own_and_shared_memories(world: World, scope: ScopeChoice, expected: set[str]) -> None:
    world.remember("mine: lamp")
    world.remember("bobs: lamp", AS_BOB)
    world.remember("bobs shared: lamp", AS_BOB, scope=Scope.SWARM)
    assert set(world.found("lamp", scope=scope)) == expected


def test_a_lead_sees_all_and_reads_of_private_memories_are_audited(world: World) -> None:
    secret = world.remember("adas lamp")
    assert world.found("lamp", AS_LEA) == ["adas lamp"]
    assert world.found("lamp", AS_LEA, owner=BOB) == []
    reads = [entry for entry in world.audit() if entry.action is Action.READ]
    assert [(entry.actor, entry.memory) for entry in reads] == [(AS_LEA.agent, secret.id)]


def test_a_lead_sees_only_shared_memories_if_so_configured(world: World) -> None:
    world.remember("adas lamp")
    narrow = World(world.store, KEYWORDS["exact"].index(), world.clock, lead_sees=LeadSees.SHARED)
    assert narrow.reading.widest_filter(AS_LEA).visibility.others is False


def test_private_memories_of_others_crowd_out_nothing(world: World) -> None:
    for number in range(7):
        world.remember(f"the lamp is broken {number}", AS_BOB)
    world.remember("a lamp")
    assert world.found("the lamp is broken") == ["a lamp"]


def test_memories_of_other_projects_are_excluded_and_those_of_none_included(world: World) -> None:
    world.remember("lamp of north", project="north")
    world.remember("lamp of south", project="south")
    world.remember("lamp of nobody")
    assert set(world.found("lamp", project="north")) == {"lamp of north", "lamp of nobody"}
    assert len(world.found("lamp")) == 3


def test_without_an_embedder_the_answer_says_keywords_only(plain_world: World) -> None:
    plain_world.remember("Use pnpm here.")
    answer = plain_world.recall("pnpm")
    assert answer.path is RetrievalMode.KEYWORDS
    assert "keywords only" in answer.message


def test_recent_memories_exclude_inactive_ones(plain_world: World) -> None:
    for number in range(7):
        sure = 0.2 if number % 3 else 0.9
        plain_world.curation.create(ObservationInput(f"Number {number}", "timing", confidence=sure), AS_OPERATOR)
    assert plain_world.found("zeppelin", limit=2) == ["Number 6", "Number 3"]


def test_without_embedder_and_matches_recent_memories_are_returned_and_labelled(plain_world: World) -> None:
    plain_world.remember("first")
    plain_world.remember("second")
    answer = plain_world.recall("zzz")
    assert answer.path is RetrievalMode.RECENT
    assert [hit.memory.content for hit in answer.hits] == ["second", "first"]
    assert "recent" in answer.message


def test_a_failing_embedder_does_not_prevent_an_answer(world: World) -> None:
    world.remember("Use pnpm here.")
    model = world.active_model.current
    assert model is not None
    down = World(
        world.store,
        world.keywords,
        world.clock,
        embedder=FaultyEmbedder(hashing(), down_for=None),
    )
    answer = down.recall("pnpm")
    assert answer.path is RetrievalMode.KEYWORDS
    assert [hit.memory.content for hit in answer.hits] == ["Use pnpm here."]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"reads": 8}, "1 memory found. Not reranked: The relevance model failed: out of memory."),
        ({"reads": 8, "only_fitting": True, "floor": 1.0}, "Nothing fits well enough. Not reranked: "),
        ({}, "1 memory found."),
    ],
)
def test_a_failing_relevance_model_is_named_if_it_was_asked_to_read(
    world: World, asked: dict[str, Any], message: str
) -> None:
    reader = DecidedReader({})
    asking = World(world.store, world.keywords, world.clock, embedder=hashing(), relevance_reader=reader)
    asking.remember("Use pnpm here.")
    assert "Not reranked" not in asking.recall("pnpm", reads=8).message
    reader.fails = True
    said = asking.recall("pnpm", **asked).message
    assert said.startswith(message)
    assert ("Not reranked" in said) == ("reads" in asked)


def test_nothing_is_said_of_the_relevance_model_where_it_has_nothing_to_read(world: World) -> None:
    reader = DecidedReader({})
    reader.fails = True
    asking = World(world.store, world.keywords, world.clock, embedder=hashing(), relevance_reader=reader)
    assert "Not reranked" not in asking.recall("pnpm", reads=8).message
    asking.remember("Use pnpm here.")
    assert "Not reranked" not in asking.recall("yes, please", reads=8).message


def test_without_a_relevance_model_an_answer_says_that_it_is_not_reranked(plain_world: World) -> None:
    plain_world.remember("Use pnpm here.")
    said = plain_world.recall("pnpm", reads=8).message
    assert said.endswith("Not reranked: no relevance model is configured.")


def test_only_reads_by_agents_count_as_accesses(world: World) -> None:
    memory = world.remember("lamp", scope=Scope.SWARM)
    world.reading.get(memory.id, AS_ADA)
    world.reading.get(memory.id, AS_BOB)
    world.reading.get(memory.id, AS_OPERATOR)
    world.found("lamp")
    world.write_buffer.flush()
    assert world.reading.get(memory.id, AS_OPERATOR).access_count == 2


def test_age_only_settles_ties(world: World) -> None:
    world.remember("the lamp stands in the hall, written long ago")
    world.clock.advance(timedelta(days=700))
    for number in range(20):
        world.remember(f"unrelated note {number}")
    assert world.found("where does the lamp stand")[0].endswith("long ago")
    old = world.remember("twin 1")
    world.clock.advance(timedelta(days=30))
    new = world.remember("twin 2")
    assert [hit.memory.id for hit in world.recall("twin").hits[:2]] == [new.id, old.id]


def test_a_newer_restatement_ranks_before_the_older_one(world: World) -> None:
    fillers = ["Sonarr keeps its lists in a database.", "The tunnel is up before the mounts.", "Radarr is slow."]
    for filler in fillers:
        world.remember(filler)
    old = world.remember("Jellyfin takes 60 seconds to start.")
    new = world.remember("Jellyfin takes 90 seconds to start now.")
    other = world.remember(
        "Jellyfin must start after the tunnel, which takes longer to come up than anything else here."
    )
    hits = world.recall("how many seconds does jellyfin take to start").hits
    assert [hit.memory.id for hit in hits[:3]] == [new.id, old.id, other.id]
    assert hits[0].score.total == hits[1].score.total
    assert hits[0].score.update > 0.0
    assert [hit.score.update for hit in hits[1:3]] == [0.0, 0.0]
    (only,) = world.recall("how many seconds does jellyfin take to start", limit=1).hits
    assert only.memory.id == new.id


def test_a_newer_statement_without_the_query_terms_stays_behind(world: World) -> None:
    old = world.remember("Jellyfin takes 60 seconds to start on the attic machine.")
    new = world.remember("Jellyfin takes 90 seconds to start on the cellar machine.")
    hits = world.recall("seconds jellyfin takes to start in the attic").hits
    assert [hit.memory.id for hit in hits[:2]] == [old.id, new.id]


def test_the_documented_ranking_ignores_updates(plain_world: World) -> None:
    ranking = RankingConstants(profile=Profile.DOCUMENTED)
    world = World(plain_world.store, KEYWORDS["exact"].index(), plain_world.clock, ranking=ranking, embedder=hashing())
    old = world.remember("Jellyfin takes 60 seconds to start.")
    world.remember("Jellyfin now takes 90 seconds to start.")
    assert world.recall("seconds jellyfin takes to start").hits[0].memory.id == old.id


def test_the_documented_ranking_multiplies(plain_world: World) -> None:
    ranking = RankingConstants(profile=Profile.DOCUMENTED)
    world = World(plain_world.store, KEYWORDS["exact"].index(), plain_world.clock, ranking=ranking)
    world.remember("lamp")
    world.clock.advance(timedelta(days=14))
    (hit,) = world.recall("lamp").hits
    assert hit.score.total == pytest.approx(hit.score.similarity * 0.5, rel=1e-3)


@pytest.mark.parametrize("indexes", [1, 2])
@pytest.mark.parametrize("limit", [1, 5, 20])
def test_the_documented_ranking_requests_as_many_candidates_as_configured(
    plain_world: World, limit: int, indexes: int
) -> None:
    ranking = RankingConstants(profile=Profile.DOCUMENTED, candidate_multiplier=2)
    embedder = hashing() if indexes == 2 else None
    world = World(plain_world.store, KEYWORDS["exact"].index(), plain_world.clock, ranking=ranking, embedder=embedder)
    for number in range(60):
        world.remember(f"The lamp of room {number} is lit.")
    assert len(world.recall("lamp", limit=limit, only_fitting=False).hits) == limit
    (logged,) = world.recall_log.page(AS_OPERATOR, None, 10).recalls
    assert 2 * limit <= logged.candidates <= 2 * limit * indexes


def test_pages_list_every_memory_once(world: World) -> None:
    ids = [world.remember(f"note {number}").id for number in range(7)]
    seen: list[str] = []
    listing = ListMemories(limit=3)
    while True:
        page = listed(world, listing)
        seen += [memory.id for memory in page.memories]
        if page.next is None:
            break
        listing = replace(listing, after=page.next)
    assert seen == ids[::-1]


@pytest.mark.parametrize("after", ["", "~", "nonsense", "2026-01-01T00:00:00~x", "2026-01-01T00:00:00+00:00~"])
def test_an_invalid_page_cursor_is_refused(world: World, after: str) -> None:
    with pytest.raises(Invalid, match="after"):
        listed(world, ListMemories(after=after))


@pytest.mark.parametrize(
    ("text", "limit", "field"),
    [
        ("", 10, "query"),
        (" ", 10, "query"),
        ("a\0", 10, "query"),
        ("x" * 100_001, 10, "query"),
        ("a", 0, "limit"),
        ("a", 51, "limit"),
    ],
)
def test_an_invalid_query_is_refused_with_its_field(text: str, limit: int, field: str) -> None:
    with pytest.raises(Invalid) as error:
        query_of(REDACTOR, validated(SearchMemories(text, limit)))
    assert error.value.field == field


@pytest.mark.parametrize(
    "text",
    [
        '"',
        "NEAR(a b)",
        "a AND",
        "own: x",
        "* OR",
        "(",
        "a-b",
        "^a",
        "{x}",
        "'; drop table memory;--",
        "的",
        "🦊",
        "?!.",
    ],
)
def test_operators_of_a_query_language_are_text(world: World, text: str) -> None:
    world.remember("something else")
    world.recall(text)


LEDGER = "A LedgerMismatch when the month is closed: run the import of the bank again, then close_month."


@pytest.mark.parametrize(
    "question",
    [
        TRACE,
        f"{TRACE}\n\nWhy is that?",
        f"{PROMPT}\n\nWhat to do about a LedgerMismatch?",
        f"What to do about a LedgerMismatch?\n\n{PROMPT}",
        "What to do about a LedgerMismatch? " + "Tell me. " * 3_300,
        '"LedgerMismatch" AND (NEAR(close_month, 2)) NOT -x:*',
        "LedgerMismatch 言葉 слово كلمة 🦊",
    ],
    ids=["trace", "trace and question", "prompt first", "prompt last", "30,000", "operators", "scripts"],
)
def test_pasted_text_finds_the_same_as_its_informative_words(plain_world: World, question: str) -> None:
    plain_world.remember(LEDGER)
    plain_world.remember(
        "The framework calls each layer with the request, its arguments and options; see layer7.py, line 47."
    )
    for number in range(20):
        plain_world.remember(
            f"Note {number} on the software: tell the user what the app in /srv does before you answer."
        )
    assert LEDGER in plain_world.found(question)[:1]


@pytest.mark.parametrize("question", ["what is it that they do to him", "?!... (--)", "w", "的", "the", "x" * 100_000])
def test_an_uninformative_query_is_answered(world: World, question: str) -> None:
    world.remember(LEDGER)
    assert len(world.recall(question, only_fitting=False).hits) <= 1


def test_workers_do_not_see_the_session_of_other_agents(world: World) -> None:
    memory = world.remember(LEDGER, scope=Scope.SWARM, session="s1")
    for viewer, session in ((AS_ADA, "s1"), (AS_BOB, None), (AS_LEA, "s1"), (AS_OPERATOR, "s1")):
        (hit,) = world.recall(LEDGER, viewer).hits
        (listed,) = world.reading.page(world.reading.widest_filter(viewer), None, 9, viewer).memories
        got = world.reading.get(memory.id, viewer)
        assert [one.session for one in (hit.memory, listed, got)] == [session] * 3


def test_stats_count_what_the_viewer_may_see(world: World) -> None:
    world.remember("mine")
    world.remember("bobs", AS_BOB)
    world.remember("shared", AS_BOB, scope=Scope.SWARM)
    assert world.reading.stats(AS_ADA).total == 2
    assert world.reading.stats(AS_OPERATOR).total == 3


@pytest.fixture
def plain_world(clock: SteppingClock, tmp_path: Path) -> World:
    """A world without an embedder."""
    return World(STORES["reference"].open(tmp_path, clock), KEYWORDS["exact"].index(), clock)
