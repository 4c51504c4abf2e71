"""Claims: sentences repeat each other only if they have the same meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.lessons.claims import is_stated, parse_claim, parse_claims, parse_prompts, select_points


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always run make lint before pushing.", "- always run `make lint` before pushing"),
        ("The scheduler does not support time zones.", "Note: the scheduler doesn't support time zones!"),
        ("Feature flags cannot be changed.", "Feature flags can't be changed"),
        ("Use the small runner for docs.", "Please use the small runner for docs, thanks."),
        ("The cache was moved from Redis to Memcached.", "The cache was moved\nfrom Redis to Memcached"),
        ("Use 4 spaces; never tabs.", "Use 4 spaces, never tabs"),
        ("Migrations run first.", "As noted before: migrations run first."),
        ("Migrations run first.", "Note: according to my notes, migrations run first."),
        ("Vor dem Deployment immer die Tests ausführen.", "Hinweis: vor dem Deployment IMMER die Tests ausführen!"),
        ("Il ne faut jamais pousser sur main.", "Il ne faut jamais pousser sur « main »."),
        ("服务监听8080端口。", "注意：服务监听 8080 端口"),
        ("mainに直接プッシュしないでください。", "・「main」に直接プッシュしないでください"),
    ],
)
def test_claims_repeat_each_other_despite_different_form(one: str, other: str) -> None:
    assert parse_claim(one).repeats(parse_claim(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always push with tags.", "Never push with tags."),
        ("The API listens on port 8080.", "The API listens on port 8081."),
        ("It times out after 30 seconds.", "It times out after 30 minutes."),
        ("Run the seed script before the migration.", "Run the migration before the seed script."),
        ("Copy the data from Berlin to Vienna.", "Copy the data from Vienna to Berlin."),
        ("Deploy only if the queue is empty.", "Deploy if the queue is empty."),
        ("Logs go to /var/log/app.", "Logs go to /var/log/App."),
        ("Pass -v to the runner.", "Pass -V to the runner."),
        ("Set app_mode to strict.", "Set APP_MODE to strict."),
        ("Use C for this.", "Use C++ for this."),
        ("The tests must pass.", "Must the tests pass?"),
        ("Retry while the load is < 5.", "Retry while the load is > 5."),
        ("The limit is 1,000 rows.", "The limit is 1.000 rows."),
        ("Man darf die Datei ändern.", "Man darf die Datei nicht ändern."),
        ("部署之前必须运行测试。", "部署之前不必运行测试。"),
        ("数据从上海同步到北京。", "数据从北京同步到上海。"),
    ],
)
def test_claims_with_a_different_meaning_do_not_repeat_each_other(one: str, other: str) -> None:
    assert not parse_claim(one).repeats(parse_claim(other))
    assert not is_stated(one, parse_claims(other))
    assert not is_stated(other, parse_claims(one))


_WORDS = "port 8080 30s not never before after api/v1 --no-cache Maria staging 不 nicht runs"
words = st.lists(st.sampled_from(_WORDS.split()), min_size=1)


@given(said=words, other=words)
def test_claims_repeat_only_with_the_same_words_in_the_same_order(said: list[str], other: list[str]) -> None:
    assert parse_claim(" ".join(said)).repeats(parse_claim(" ".join(other))) == (said == other)


@given(text=st.text(max_size=200))
def test_a_claim_repeats_itself_unless_it_is_empty(text: str) -> None:
    claim = parse_claim(text)
    assert claim.repeats(claim) == claim.is_contained_in(claim) == bool(claim.words)


def test_a_point_is_stated_if_all_its_sentences_are() -> None:
    known = parse_claims("The cache is in Redis. The queue is in Kafka. Both run on staging.")
    assert is_stated("The queue is in Kafka. The cache is in Redis.", known)
    assert not is_stated("The queue is in Kafka. The cache is in Memcached.", known)
    assert not is_stated("", known)


def test_points_that_change_a_fact_of_the_prompt_are_selected() -> None:
    prompts = parse_prompts(["The upload has to give up after 30 seconds without an answer. Never retry it."])
    changed = ["The upload has to give up after 90 seconds without an answer.", "It is safe: always retry the upload."]
    assert [
        *select_points([*changed, "The upload has to give up after 30 seconds without an answer."], prompts)
    ] == changed
