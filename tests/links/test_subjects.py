"""Subjects that are suggested for memories that update each other."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.subjects import LEAST_MEMBERS, MOST_MEMBERS, MOST_WORDS, SEPARATOR, chain_subject, suggest_subject
from hivelore.memories.model import SUBJECT_LENGTH, Memory
from hivelore.memories.normalizer import canonical_subject
from support.memories import a_memory, instant

REDACTOR = Redactor(b"a key for tests only")
SECRETS = ("AKIAIOSFODNN7EXAMPLE", "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5")
statements = st.lists(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["database", "Port", "listens", "on", "5432", "Größe", "数据库", *SECRETS])).map(
        " ".join
    ),
    min_size=1,
    max_size=4,
)


def alike(terms: Sequence[str]) -> Mapping[str, float]:
    return dict.fromkeys(terms, 1.0)


def by_length(terms: Sequence[str]) -> Mapping[str, float]:
    return {term: float(len(term)) for term in terms}


@pytest.mark.parametrize(
    ("texts", "subject"),
    [
        (["The database listens on 5432.", "Our Database now listens on 6543."], "database.listens"),
        (["Deploys of atlas take 10 min", "A deploy to atlas took 30 s"], "deploys.atlas"),
        (["We use npm", "We moved from npm to pnpm", "We moved from pnpm to yarn"], None),
        (["port 5432 port_2 x9", "port 5432 port_2 x9"], "port"),
        (["The key is [aws-key:9f3a]", "A key was [aws-key:9f3a]"], "key"),
        (["We are the and of", "We are the and of"], None),
        ([""], None),
    ],
)
def test_the_words_that_all_statements_share_make_a_subject(texts: Sequence[str], subject: str | None) -> None:
    assert suggest_subject(texts, alike) == subject


def test_the_rarest_words_are_chosen_in_the_order_of_the_first_statement() -> None:
    assert suggest_subject(["cat elephant dog rhinoceros crocodile"] * 2, by_length) == "elephant.rhinoceros.crocodile"


@given(statements)
def test_a_suggestion_is_a_short_key_of_shared_words_and_no_secret(texts: Sequence[str]) -> None:
    subject = suggest_subject(texts, by_length)
    if subject is None:
        return
    words = subject.split(SEPARATOR)
    assert 1 <= len(words) <= MOST_WORDS
    assert len(subject) <= SUBJECT_LENGTH
    assert canonical_subject(Clean(subject)) == subject
    assert all(word in texts[0].casefold() for word in words)
    assert REDACTOR.clean(subject) == subject
    assert not any(secret.casefold() in subject for secret in SECRETS)
    assert suggest_subject(texts, by_length) == subject


@given(statements)
def test_words_of_only_one_statement_are_in_no_suggestion(texts: Sequence[str]) -> None:
    assert suggest_subject([*texts, "quokka"], alike) in (None, "quokka")


def suggested(members: Sequence[Memory]) -> str | None:
    """Returns the subject for memories that were stated one after the other."""
    dates = [instant(minute) for minute in range(len(members))]
    kept = [one if one.subject is None else replace(one, valid_from=at) for one, at in zip(members, dates, strict=True)]
    return chain_subject(kept, dates, alike)


def test_a_subject_is_suggested_for_enough_memories_or_taken_from_one_of_them() -> None:
    plain = [a_memory("the port of the database") for _ in range(MOST_MEMBERS + 1)]
    known, other = (a_memory(subject=Clean(name)) for name in ("db.port", "db.host"))
    assert suggested(plain[: LEAST_MEMBERS - 1]) is None
    assert suggested(plain[:LEAST_MEMBERS]) == suggested(plain[:-1]) == "port.database"
    assert suggested(plain) is None
    assert suggested([known, plain[0]]) == suggested([*plain[:5], known, known]) == "db.port"
    assert suggested([known, known]) is None
    assert suggested([known, other, plain[0]]) is None


def test_no_subject_is_suggested_against_the_order_of_time() -> None:
    plain = [a_memory("the port of the database") for _ in range(LEAST_MEMBERS)]
    dates = [instant(minute) for minute in range(LEAST_MEMBERS)]
    assert chain_subject(plain, dates, alike) is not None
    assert chain_subject(plain, [dates[0], dates[1], dates[1]], alike) is None
    known = replace(plain[1], subject=Clean("db.port"), valid_from=dates[0])
    assert chain_subject([plain[0], known], dates[:2], alike) is None
    assert chain_subject([plain[0], replace(known, valid_from=dates[1])], dates[:2], alike) == "db.port"


def test_no_subject_is_suggested_if_the_last_memory_expires_first() -> None:
    plain = [a_memory("the port of the database") for _ in range(LEAST_MEMBERS)]
    soon = replace(plain[-1], expires_at=instant(90))
    assert suggested([*plain[:-1], soon]) is None
    assert suggested([plain[0], soon, plain[1]]) == "port.database"
    assert suggested([soon, soon, soon]) == "port.database"
