"""Tokenizer and query analysis."""

import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.search.tokenizer import (
    GIST,
    QUERY_LIMIT,
    STOP_WORDS,
    TERM_LENGTH,
    Rarities,
    analyze_query,
    document_terms,
    query_terms,
    rarity,
    text_to_embed,
)
from support.pairs import PAIRS, PARAPHRASE, distractors

FTS5_TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co'"
"""Splits at spaces and keeps all other characters of terms."""

INVISIBLE = {"Cc", "Cf", "Cs"}

PIECES = (
    "getUserById", "HTTPServer2", "snake_case_name", "--dry-run", "v1.2.3", "E0502", "/src/be/db.ts:42", "9f2c4ab71de0",
    "C++", "2,000", "naïve", "ÉCOLE", "Straße", "数据库", "の", "サーバー", "서버를", "ไทยแลนด์", "ខ្មែរ", "كَلِمَة", "שָׁלוֹם",
    "ёлка", "ΔΟΚΙΜΏΝ", "हिन्दी", "👩🏽‍🚀", "🇯🇵", "1️⃣", '"quoted', "NOT", "NEAR(", "*",
    "don't", "…", "\u0301", "\x00", "ﬁn", "Ⅷ",
)  # fmt: skip
texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)

SAME = [
    ("Connections", "connection"),
    ("Cache", "CACHES"),
    ("retryCount", "retry_count"),
    ("retryCount", "retry-count"),
    ("RetryCounts", "retrycount"),
    ("sha-256", "SHA256"),
    ("10_000", "10,000"),
    ("café", "cafe"),
    ("cafe\u0301", "café"),
    ("ＦＵＬＬ", "full"),
    ("Straße", "STRASSE"),
    ("İstanbul", "istanbul"),
    ("Łódź", "lodz"),
    ("ёлка", "ЕЛКА"),
    ("διακομιστής", "ΔΙΑΚΟΜΙΣΤΗΣ"),
    ("كَلِمَة", "كلمه"),
    ("أرقام", "ارقام"),
    ("كتـــاب", "كتاب"),
    ("שָׁלוֹם", "שלום"),
    ("می‌خواهم", "میخواهم"),
    ("٣٤", "34"),
    ("soft\u00adhyphen", "softhyphen"),
    ("👍🏽", "👍"),
    ("❤️", "❤"),
    ("ｻｰﾊﾞｰ", "サーバー"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_a_name_share_a_distinctive_term(one: str, other: str) -> None:
    assert document_terms(one)[0] == document_terms(other)[0]


PARTS = [
    ("HTTPServer2", {"httpserver2", "http", "server", "2"}),
    ("parseXMLFile", {"parsexmlfil", "pars", "xml", "file"}),
    ("allURLs", {"allurl", "all", "url"}),
    ("MAX_RETRY_COUNT", {"maxretrycount", "max", "retri", "count"}),
    ("--dry-run", {"dryrun", "dri", "run"}),
    ("os.path.join", {"os.path.join", "os", "path", "join"}),
    ("/src/be/db.ts", {"src/be/db.ts", "src", "be", "db.ts", "db", "ts"}),
    (r"C:\tools\sign.ps1", {"c", "tools/sign.ps1", "tool", "sign.ps1", "sign", "ps1", "ps", "1"}),
    ("std::move", {"std::move", "std", "move"}),
    ("db.ts:42", {"db.ts:42", "db.ts", "db", "ts", "42"}),
    ("@scope/pkg", {"scope/pkg", "scope", "pkg"}),
    ("a.user@example.com", {"a.user@example.com", "a.user", "a", "user", "example.com", "exampl", "com"}),
    ("v1.2.3", {"v1.2.3", "1.2.3", "1.2"}),
    ("2.0-rc1", {"2.0-rc1", "2.0", "rc1", "rc", "1"}),
    ("E0502", {"e0502"}),
    ("k8s", {"k8s"}),
    ("45s", {"45s", "45"}),
    ("v10", {"v10", "10"}),
    ("8bab04bea9f7", {"8bab04bea9f7", "8bab04b"}),
    ("2025-01-31", {"2025-01-31", "2025", "01", "31"}),
    ("C++ F#", {"c++", "f#"}),
    ("数据库", {"数", "据", "库", "数据", "据库"}),
    ("Python3の設定", {"python3", "python", "3", "の", "設", "定", "の設", "設定"}),
    ("ไทย", {"ไท", "ทย", "ไทย"}),
    ("👩🏽‍🚀", {"👩🚀", "👩", "🚀"}),
    ("🇯🇵", {"🇯🇵"}),
]


@pytest.mark.parametrize(("text", "terms"), PARTS)
def test_a_name_has_terms_for_the_whole_and_its_parts(text: str, terms: set[str]) -> None:
    assert set(document_terms(text)) == terms


def test_marks_that_are_part_of_a_letter_stay() -> None:
    assert document_terms("が")[0] != document_terms("か")[0]
    assert document_terms("कि") != document_terms("क")


def test_a_digit_unknown_to_this_python_is_kept() -> None:
    assert document_terms("\U00010d40") == ["\U00010d40"]


def test_documents_repeat_terms_and_queries_do_not() -> None:
    assert document_terms("lock the lock") == ["lock", "the", "lock"]
    assert query_terms("lock, lock") == ["lock"]


def test_a_query_omits_stop_words_unless_it_has_nothing_else() -> None:
    assert query_terms("How do I rotate the keys?") == ["rotat", "key"]
    assert query_terms("To be, or not to be") == ["to", "be", "or", "not"]
    assert query_terms("") == []


def test_documents_include_stop_words() -> None:
    assert "the" in STOP_WORDS
    assert document_terms("the who") == ["the", "who"]


def test_operators_of_search_engines_are_text() -> None:
    assert query_terms('NEAR(foo bar, 5) AND NOT "qux*') == ["near", "foo", "bar", "5", "qux"]


def test_a_query_in_a_script_without_spaces_has_pairs_of_characters() -> None:
    assert query_terms("数据库") == ["数据", "据库"]
    assert query_terms("库") == ["库"]


def test_of_too_many_terms_names_numbers_and_repeated_ones_are_kept() -> None:
    words = [f"{first}{second}padow" for first in "bcdfghlmnp" for second in "aeiou"]
    chosen = query_terms(" ".join([*words, "k8s", "v1.2", "cat", "cat"]))
    assert len(chosen) == QUERY_LIMIT
    assert {"k8s", "v1.2", "1.2", "cat"} <= set(chosen)


def says(frequency: Mapping[str, int]) -> Rarities:
    return lambda terms: {term: rarity(1_000, frequency.get(term, 0)) for term in terms}


def test_of_too_many_terms_the_rarest_existing_ones_are_kept() -> None:
    words = [f"word{number}x" for number in range(40)]
    frequency = {word: 100 - number for number, word in enumerate(words)} | {"word39x": 0}
    chosen = analyze_query(" ".join(words), 3, says(frequency))
    assert chosen.terms == ["word36x", "word37x", "word38x"]


@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_the_informative_line_of_pasted_text_is_found_anywhere(place: float) -> None:
    lines = [f'File "/srv/app/layer{number}.py", line {number}, in call_{number}' for number in range(150)]
    lines.insert(int(place * len(lines)), "LedgerMismatch: months differ")
    known = {"ledgermismatch": 1, "month": 9, "differ": 5, "file": 300, "line": 200, "call": 150}
    asked = analyze_query("\n".join(lines), rarities=says(known))
    assert {"ledgermismatch", "month", "differ"} <= set(asked.terms)
    assert set(asked.terms) <= set(known)
    assert not asked.are_all
    rarities = says(known)(asked.terms)
    assert 0.0 < asked.weight(rarities) <= sum(rarities.values()) + 1e-9


def test_pasted_text_with_unknown_words_only_still_has_terms() -> None:
    asked = analyze_query(" ".join(f"frame{number}" for number in range(300)), rarities=says({}))
    assert 0 < len(asked.terms) <= QUERY_LIMIT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zq1739x", 1),
        ("the retry_count", 1),
        ("rotate the keys", 2),
        ("lock lock", 1),
        ("数据库", 2),
        ("to be", 2),
        ("", 0),
    ],
)
def test_a_name_is_one_word_whatever_its_parts(text: str, words: int) -> None:
    assert analyze_query(text).words == words


def test_a_short_question_keeps_all_terms_without_rarities() -> None:
    def never(terms: Sequence[str]) -> Mapping[str, float]:
        raise AssertionError(terms)

    asked = analyze_query("How do I rotate the keys?", rarities=never)
    assert (asked.terms, asked.are_all) == (["rotat", "key"], True)
    assert asked.weight({"rotat": 2.0, "key": 1.0}) == 3.0


@pytest.mark.parametrize("last", [True, False])
def test_the_question_next_to_pasted_text_is_kept(last: bool) -> None:
    pasted = "\n\n".join(" ".join(f"filler{line}n{word}" for word in range(40)) for line in range(30))
    question = "Why does the exporter deadlock?"
    chosen = query_terms(f"{pasted}\n\n{question}" if last else f"{question}\n\n{pasted}")
    assert {"export", "deadlock"} <= set(chosen)
    assert len(chosen) <= QUERY_LIMIT


@given(texts)
def test_terms_are_exactly_the_tokens_of_an_engine_that_splits_at_spaces(text: str) -> None:
    terms = document_terms(text)
    name, *options = shlex.split(FTS5_TOKENIZER)
    tokenize = apsw.Connection("").fts5_tokenizer(name, options)
    tokens = tokenize(" ".join(terms).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    assert tokens == [(term,) for term in terms]


@given(texts)
def test_a_term_is_short_visible_and_without_quotes(text: str) -> None:
    for term in document_terms(text) + query_terms(text):
        assert 0 < len(term) <= TERM_LENGTH
        assert '"' not in term
        assert not any(character.isspace() or unicodedata.category(character) in INVISIBLE for character in term)


@given(texts)
def test_a_document_contains_every_term_of_the_same_text_as_query(text: str) -> None:
    assert set(query_terms(text)) <= set(document_terms(text))


@given(texts, st.integers(min_value=1, max_value=40))
def test_a_query_has_distinct_terms_within_the_limit(text: str, limit: int) -> None:
    terms = query_terms(text, limit)
    assert len(terms) == len(set(terms)) <= limit
    assert bool(terms) == bool(document_terms(text))


@given(texts, texts)
def test_the_terms_of_a_word_do_not_depend_on_the_words_around_it(one: str, other: str) -> None:
    assert document_terms(f"{one} {other}") == document_terms(one) + document_terms(other)


@given(texts)
def test_the_unicode_form_of_a_text_does_not_matter(text: str) -> None:
    assert document_terms(unicodedata.normalize("NFD", text)) == document_terms(unicodedata.normalize("NFC", text))


HOSTILE = (
    "a", "_", "a-", "a.", "/a", "aB", "1,000,", "000,", "v1.", "0a", "👩\u200d", "\u0301", "\u0316\u0300",
    "e\u0301\u0316", "🇩", "汉", "ไทย", "a\u0301\u0316" * 20, "\n", "((", "://", "ABs", "İ",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_a_hostile_text_of_150_000_characters_takes_linear_time(piece: str) -> None:
    text = piece * (150_000 // len(piece))
    assert all(len(term) <= TERM_LENGTH for term in document_terms(text))
    assert len(query_terms(text)) <= QUERY_LIMIT


def best(connection: Any, terms: Sequence[str]) -> int | None:
    match = " OR ".join(f'"{term}"' for term in terms)
    return connection.execute("SELECT rowid FROM note WHERE note MATCH ? ORDER BY bm25(note) LIMIT 1", (match,)).get


def test_terms_alone_rank_the_note_of_every_question_first() -> None:
    connection: Any = apsw.Connection("")
    connection.execute(f'CREATE VIRTUAL TABLE note USING fts5(terms, tokenize="{FTS5_TOKENIZER}")')
    notes = [note for _, note, _ in PAIRS] + distractors(1_500)
    with connection:
        rows = [(number, " ".join(document_terms(note))) for number, note in enumerate(notes)]
        connection.executemany("INSERT INTO note(rowid, terms) VALUES (?, ?)", rows)
    missed = [
        (why, query[-80:])
        for number, (query, _, why) in enumerate(PAIRS)
        if why != PARAPHRASE and best(connection, query_terms(query)) != number
    ]
    assert missed == []


def test_the_other_notes_are_numerous_distinct_and_deterministic() -> None:
    notes = distractors(10_000)
    assert len(set(notes)) == 10_000
    assert notes[:100] == distractors(100)


def test_both_ends_of_pasted_text_are_embedded() -> None:
    assert text_to_embed("why is the build slow") == "why is the build slow"
    assert text_to_embed("slow " * 1_000) == "slow " * 1_000
    pasted = "\n\n".join(" ".join(f"filler{line}n{word}" for word in range(40)) for line in range(30))
    for text in (f"{pasted}\n\nwhich port has the wombat\n\nthanks", f"which port has the wombat\n\n{pasted}"):
        assert "which port has the wombat" in text_to_embed(text)
        assert len(text_to_embed(text)) <= 2 * GIST + 2


def test_pasted_text_with_an_uninformative_question_is_embedded_by_its_end() -> None:
    lines = "\n".join(f"at frame{number} of module{number}" for number in range(200))
    assert "ledgermismatch" in query_terms(f"{lines}\nLedgerMismatch: months differ\n\nWhy is that?")
    assert "LedgerMismatch" in text_to_embed(f"{lines}\nLedgerMismatch: months differ\n\nWhy is that?")


def test_a_query_of_all_stop_words_keeps_them() -> None:
    assert len(query_terms(" ".join(STOP_WORDS))) == QUERY_LIMIT
