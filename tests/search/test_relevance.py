"""Relevance: the probability that a memory helps with a query; examples by hand, and laws."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.search.model import Evidence
from hivelore.search.relevance import INJECTION_FLOOR, asks_something, identifier_share, identifiers, relevance
from hivelore.search.tokenizer import STOP_WORDS, query_terms

shares = st.floats(0.0, 1.0)
evidence = st.builds(
    Evidence,
    cosine=st.none() | st.floats(-1.0, 1.0),
    covered=shares,
    identifier=shares,
    read=st.none() | st.floats(-20.0, 20.0),
)


@pytest.mark.parametrize(
    ("found", "is_worth_injecting"),
    [
        (Evidence(cosine=0.7, covered=0.7), True),  # meaning and words
        (Evidence(cosine=0.6, covered=0.1), True),  # meaning, in other words
        (Evidence(cosine=0.2, covered=0.5, identifier=1.0), True),  # an exact rare identifier
        (Evidence(covered=0.8), True),  # no vector yet: most of the words
        (Evidence(cosine=0.3, covered=0.3), False),  # the same topic
        (Evidence(covered=0.4), False),
        (Evidence(), False),
        (Evidence(cosine=0.3, covered=0.2, read=5.0), True),  # the model that read both is sure
        (Evidence(cosine=0.6, covered=0.6, read=-7.0), False),
    ],
)
def test_any_kind_of_evidence_may_suffice(found: Evidence, is_worth_injecting: bool) -> None:
    assert (relevance(found) >= INJECTION_FLOOR) is is_worth_injecting


@given(evidence)
def test_relevance_is_a_probability(found: Evidence) -> None:
    assert 0.0 <= relevance(found) <= 1.0


@given(evidence, st.sampled_from(["cosine", "covered", "identifier"]), shares)
def test_more_evidence_never_lowers_the_relevance(found: Evidence, kind: str, more: float) -> None:
    if getattr(found, kind) is not None:
        greater = replace(found, **{kind: max(getattr(found, kind), more)})
        assert relevance(greater) >= relevance(found)


@given(evidence, st.floats(-20.0, 20.0), st.floats(-20.0, 20.0))
def test_greater_odds_of_the_reader_never_lower_the_relevance(found: Evidence, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert relevance(replace(found, read=low)) <= relevance(replace(found, read=high))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("why does TICKET-4711 fail in user_id mapping on 8443?", "ticket-4711 user_id 8443"),
        ("src/app/main.py:33 raised KeyError", "src/app/main.py:33 keyerror"),
        ("use --no-cache with v2.3.1, HTTP 503 in getUser.", "v2.3.1 http 503 getuser"),
        ("a well-known, long-term issue. Don't panic", ""),
        ("注意 max.poll.interval.ms 的值", "max.poll.interval.ms"),
        ("", ""),
    ],
)
def test_identifiers_are_names_that_no_language_has(text: str, names: str) -> None:
    assert identifiers(text) == frozenset(names.split())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"a1{'-' * 100}b2c", "b2c"),  # more signs than a name has
        ("https://example.com//a--b1", "https://example.com//a--b1"),
        ("TICKET-4711-is-well-known", "ticket-4711-is-well-known"),  # a word after the sign of a name belongs to it
        ("x" * 79 + "_y z", "x" * 79 + "_"),  # the first 80 characters
        ("HTTP-like API, but not A.P.I", "api a.p.i"),
        ("the end.) (see a/b) --fix -- /etc", "a/b"),
    ],
)
def test_an_identifier_ends_where_a_name_ends(text: str, names: str) -> None:
    assert identifiers(text) == frozenset(names.split())


names_and_words = st.text(st.sampled_from("aBZ19_./:@#- éßİ猫\n"), max_size=80)


@given(names_and_words, names_and_words)
def test_the_identifiers_of_a_text_do_not_depend_on_the_text_around_it(one: str, other: str) -> None:
    assert identifiers(f"{one} {other}") == identifiers(one) | identifiers(other)


@pytest.mark.parametrize("piece", ["/", "-", "a-", "a1-", "-1", "a", "aB", "A", "AB.", "://", "a1 ", "猫/", "_", "é-"])
def test_the_identifiers_of_a_hostile_text_take_linear_time(piece: str) -> None:
    """Needs no clock: a pattern that reads the rest of the text at each character would take hours."""
    assert isinstance(identifiers(piece * (500_000 // len(piece))), frozenset)


def test_an_identifier_counts_by_its_rarity_and_only_as_a_whole() -> None:
    rarities = {"user_id": 4.0, "mapping": 2.0, "8443": 8.0}
    names = {"user_id", "8443"}
    assert identifier_share(names, "The port is 8443.", rarities) == 1.0
    assert identifier_share(names, "Set USER_ID first.", rarities) == 0.5
    assert identifier_share(names, "Port 18443, my_user_ids, mapping", rarities) == 0.0
    assert identifier_share(names, "The port is 8443.", {}) == 0.0


@given(names_and_words, st.sampled_from([str, str.upper]), st.sampled_from(["", " ", "(", "/x ", "."]))
def test_a_text_contains_its_identifiers(text: str, spelled: Callable[[str], str], before: str) -> None:
    for name in identifiers(text):
        assert identifier_share({name}, f"{before}{spelled(text)}{before[::-1]}", {name: 1.0}) == 1.0


def test_only_a_name_with_a_term_of_the_query_counts() -> None:
    names = {"src/app.py", "app.py", "8443"}
    assert identifier_share(names, "see lib/src/app.py:33", {"app.py": 2.0, "other": 4.0}) == 0.5
    assert identifier_share(names, "8443", {"app.py": 2.0, "other": 4.0}) == 0.0
    assert identifier_share({"x" * 200}, f"the key {'X' * 200}!", {"x" * 64: 2.0}) == 1.0


class NeverListed(frozenset[str]):
    """Names of which single ones may be looked up only."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("The work for a hit depends on the number of names in the query.")


def test_the_identifiers_of_a_text_are_looked_up_among_all_of_the_query() -> None:
    names = NeverListed({"src/app/main.py", *(f"worker-{number}" for number in range(5_000))})
    rarities = {"src/app/main.py": 3.0, "worker-4711": 6.0}
    assert identifier_share(names, "in src/app/main.py", rarities) == 0.5
    assert identifier_share(names, "in src/app/main.py of (worker-4711)", rarities) == 1.0
    assert identifier_share(names, "a note of something else", rarities) == 0.0


@pytest.mark.parametrize("piece", ["/", "a", "a.", "a1-", "é", ".-a", "a" * 100 + "."])
def test_the_identifiers_of_a_hostile_hit_take_linear_time(piece: str) -> None:
    """Needs no clock: parts of any length would take many minutes."""
    assert identifier_share(frozenset({"ab1"}), piece * (50_000 // len(piece)), {"ab1": 1.0}) == 0.0


@given(st.lists(st.sampled_from([*sorted(STOP_WORDS), "OK", "please", "continue,", "thanks!"]), max_size=60))
def test_function_words_and_fillers_ask_nothing(words: list[str]) -> None:
    assert not asks_something(query_terms(" ".join(words)))
    assert asks_something(query_terms(" ".join([*words, "lighthouse"])))


@pytest.mark.parametrize("question", ["continue the migration", "is it done in go 1.22", "WILL_RETRY", "weiter", "猫"])
def test_one_informative_word_asks_something(question: str) -> None:
    assert asks_something(query_terms(question))
