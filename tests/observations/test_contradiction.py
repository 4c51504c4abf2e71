"""The contradiction judge: examples by hand, laws, and the labelled pairs that measure it."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.judge import Verdict, judge, may_be_same
from hivelore.observations.contradiction.pieces import LONGEST
from hivelore.observations.model import PairScores
from support.laws import examples

STATEMENTS = Path(__file__).parents[2] / "bench" / "data" / "statements.jsonl"
PAIRS = [json.loads(line) for line in STATEMENTS.read_text(encoding="utf-8").splitlines()]
texts = st.sampled_from(sorted({pair["older"] for pair in PAIRS})) | st.text(max_size=200)


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        ("Takes 60s to start", "Takes about a minute to start", Verdict.SAME),
        ("Takes 60s to start", "Takes about 60 s to start", Verdict.SAME),
        ("Takes 60s to start", "Takes 10 minutes to start", Verdict.CONFLICT),
        ("Listens on port 8096", "Listens on port 8920", Verdict.CONFLICT),
        ("Must be started after WireGuard", "Can be started independently of WireGuard", Verdict.CONFLICT),
        ("Must be started after WireGuard", "Must be started before WireGuard", Verdict.CONFLICT),
        ("Anonymous access is enabled", "Anonymous access is disabled", Verdict.CONFLICT),
        ("Crashes on first start", "The disk is slow", Verdict.DIFFERENT),
        ("Replication runs from db1 to db2", "Replication runs from db2 to db1", Verdict.CONFLICT),
    ],
)
def test_notes_have_the_expected_verdict(older: str, newer: str, verdict: Verdict) -> None:
    assert judge(older, newer, None).verdict is verdict


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("A failed upgrade is not rolled back automatically", "Failed upgrades have to be rolled back manually"),
        ("It never sends an invoice without approval", "Approval is required before it sends an invoice"),
        ("The UI is only reachable through the VPN", "Without the VPN the UI cannot be reached"),
        ("Failover happens only if the leader is silent", "No failover unless the leader has been silent"),
        ("The tunnel does not come up if the clock is wrong", "A wrong clock keeps the tunnel from coming up"),
        ("A reload keeps connections, a restart drops them", "Restarting drops connections, reloading does not"),
        ("Do not deploy before the tests are green", "Deploy only after the tests are green"),
        ("Automations are not triggered while it starts", "Automations only trigger after it has started"),
        ("Do not run two transcodes at once", "Only one transcode may run at a time"),
        ("The disk must be mounted, or it writes nothing", "If the disk is not mounted, it writes nothing"),
        ("Messages without a key are rejected", "The broker only takes messages that have a key"),
        ("The meter is read each 10 seconds", "There are six readings of the meter a minute"),
        ("Fails to import when the folder is not mounted", "Import fails if the folder is unmounted"),
    ],
)
def test_a_negation_in_other_words_is_not_a_conflict(older: str, newer: str) -> None:
    assert judge(older, newer, None).verdict is not Verdict.CONFLICT


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The UI is only reachable through the VPN", "The UI is reachable without VPN"),
        ("The broker rejects messages without a key", "The broker accepts messages without a key"),
        ("Only the first replica takes backups", "All replicas take backups"),
        ("The tunnel only comes up if the clock is right", "The tunnel comes up even if the clock is wrong"),
        ("Mirrors are pulled every 8 hours and never pushed", "Mirrors are pushed every 8 hours and never pulled"),
        ("It takes 4 s with the cache, without it 11 s", "It takes 11 s with the cache, without it 4 s"),
        ("A crash of the broker stops the importer", "A crash of the broker has nothing to do with the importer"),
        ("The pool must not be more than 80 % full", "The pool must not be more than 95% full"),
        ("Uploads are capped at 20 MB/s", "Uploads are capped at 5 megabytes a second"),
        ("It fails to start without the key", "It starts without the key"),
        ("The database is SQLite", "The database is PostgreSQL"),
        ("The data volume is formatted with ext4", "The data volume is formatted with xfs"),
    ],
)
def test_a_negation_of_the_whole_statement_is_a_conflict(older: str, newer: str) -> None:
    assert judge(older, newer, None).verdict is Verdict.CONFLICT


def test_another_port_for_another_protocol_is_not_a_conflict() -> None:
    verdict = judge("Listens on port 8096 for HTTP", "Listens on port 8920 for HTTPS", None).verdict
    assert verdict not in (Verdict.SAME, Verdict.CONFLICT)


def test_statements_about_two_versions_are_at_most_uncertain() -> None:
    judgement = judge("Login fails in version 2.3", "Login does not fail in version 2.4", None)
    assert judgement.verdict is Verdict.UNCERTAIN


def test_notes_that_each_add_something_are_not_the_same() -> None:
    judgement = judge("The world is saved every 5 minutes", "The world is only saved on shutdown", None)
    assert judgement.verdict is Verdict.UNCERTAIN


def test_a_quantity_repeated_in_other_units_is_compared_once() -> None:
    judgement = judge("It scrapes every 15 seconds", "It scrapes every 15 s, four times a minute", None)
    assert judgement.verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("A second factor is needed by all admins", "All admins need a second factor"),
        ("Roles may be seized only if the controller is gone", "Seize roles only if the controller is gone"),
    ],
)
def test_words_that_resemble_numbers_are_not_quantities(older: str, newer: str) -> None:
    assert judge(older, newer, None).verdict is Verdict.SAME


def test_a_cautious_judge_is_uncertain_without_a_conflict_of_quantities() -> None:
    cautious = Constants(only_measures=True)
    denied = ("Anonymous access is enabled", "Anonymous access is disabled")
    assert judge(*denied, None, cautious).verdict is Verdict.UNCERTAIN
    assert judge("Retention is 7 days", "Retention is 30 days", None, cautious).verdict is Verdict.CONFLICT


def test_a_cautious_judge_finds_no_false_conflicts_in_the_labelled_pairs() -> None:
    cautious = Constants(only_measures=True)
    chosen = [pair for pair in PAIRS if pair["half"] == "judge" and pair["label"] != "conflict"]
    verdicts = {judge(pair["older"], pair["newer"], None, cautious, service=pair["service"]).verdict for pair in chosen}
    assert Verdict.CONFLICT not in verdicts


def stance(**shares: float) -> PairScores:
    return PairScores(**{"same": 0.0, "conflict": 0.0, "different": 0.0, **shares})


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        (stance(conflict=0.7, same=0.3), Verdict.CONFLICT),
        (stance(conflict=0.45, same=0.55), Verdict.UNCERTAIN),
        (stance(conflict=0.4, different=0.6), Verdict.UNCERTAIN),
    ],
)
def test_a_negation_is_a_conflict_only_if_the_pair_model_agrees(scores: PairScores, verdict: Verdict) -> None:
    pair = ("Anonymous access is enabled", "Anonymous access is disabled")
    assert judge(*pair, None, stance=scores).verdict is verdict


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        (stance(same=0.9, conflict=0.1), Verdict.CONFLICT),
        (stance(different=0.4, same=0.6), Verdict.CONFLICT),
        (stance(different=0.6, conflict=0.4), Verdict.UNCERTAIN),
    ],
)
def test_quantities_conflict_unless_the_pair_model_finds_different_subjects(
    scores: PairScores, verdict: Verdict
) -> None:
    assert judge("Retention is 7 days", "Retention is 30 days", None, stance=scores).verdict is verdict


@pytest.mark.parametrize(
    ("newer", "scores", "verdict"),
    [
        ("A backup takes 75 s", stance(conflict=0.97, same=0.03), Verdict.CONFLICT),
        ("A backup takes 75 s", stance(conflict=0.9, same=0.1), Verdict.UNCERTAIN),
        ("It is copied within the hour", stance(conflict=0.97), Verdict.CONFLICT),
        ("It is copied within the hour", stance(conflict=0.92), Verdict.UNCERTAIN),
        ("It is copied within the hour", stance(conflict=0.8), Verdict.DIFFERENT),
    ],
)
def test_a_conflict_without_a_rule_needs_a_very_sure_pair_model(
    newer: str, scores: PairScores, verdict: Verdict
) -> None:
    older = "A backup takes 60 s"
    doubted = Verdict.UNCERTAIN if "backup" in newer else Verdict.DIFFERENT
    assert judge(older, newer, 0.5).verdict is doubted
    assert judge(older, newer, 0.5, stance=scores).verdict is verdict


@given(st.sampled_from(PAIRS), st.floats(0, 1), st.floats(0, 1))
def test_the_pair_model_adds_a_conflict_only_if_it_is_very_sure(pair: dict[str, str], one: float, other: float) -> None:
    scores = PairScores(same=one, conflict=other, different=0.0)
    alone, both = (judge(pair["older"], pair["newer"], None, stance=given).verdict for given in (None, scores))
    assert both in (alone, Verdict.CONFLICT, Verdict.UNCERTAIN)
    assert (both is Verdict.CONFLICT) <= (alone is Verdict.CONFLICT or other >= Constants().found)
    least = Constants().doubted_same if alone is Verdict.SAME else Constants().doubted
    assert both is alone or alone is Verdict.CONFLICT or other >= least


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.7, Verdict.SAME), (0.85, Verdict.UNCERTAIN), (0.97, Verdict.CONFLICT)]
)
def test_a_sure_pair_model_overrides_the_verdict_same_of_the_rules(share: float, verdict: Verdict) -> None:
    pair = ("Anonymous access is enabled", "Anonymous access is always enabled")
    assert judge(*pair, None).verdict is Verdict.SAME
    assert judge(*pair, None, stance=stance(conflict=share, same=1 - share)).verdict is verdict


@pytest.mark.parametrize(
    "pair",
    [
        ("Takes 60s to start", "Takes about a minute to start"),
        ("Backups are kept for 2 weeks", "Backups are kept for 14 days"),
        ("Cache expires after 1 h", "Cache expires after 3600 seconds"),
        ("Session lasts 24 hours", "Session lasts one day"),
        ("Keeps logs for 7 days", "Keeps logs for a week"),
        ("Retries 3 times", "Retries three times"),
    ],
)
def test_the_pair_model_does_not_decide_about_notations_of_numbers(pair: tuple[str, str]) -> None:
    assert judge(*pair, 0.9, stance=stance(conflict=1.0)).verdict is Verdict.SAME


def test_a_conflict_found_only_by_the_pair_model_has_its_reason() -> None:
    judgement = judge("A backup takes 60 s", "It is copied within the hour", 0.5, stance=stance(conflict=1.0))
    assert judgement.reasons == ("the opposite in other words",)
    assert judgement.confidence == 1.0
    judgement = judge("A backup takes 60 s", "It is copied within the hour", 0.5, stance=stance(conflict=0.92))
    assert judgement.reasons == ("perhaps the opposite in other words",)
    assert judgement.confidence == 0.0


REWORDED = ("A cron job clears the queue", "A scheduled task throws away whatever waits")


@pytest.mark.parametrize(
    ("pair", "likeness", "share", "same"),
    [
        (REWORDED, 0.6, 0.88, True),
        (REWORDED, 0.6, 0.7, False),
        (REWORDED, 0.2, 0.9, False),
        (REWORDED, None, 0.9, False),
        (("Restarts after 3 failures", "Comes up again within 20 seconds"), 0.9, 0.9, False),
    ],
)
def test_vectors_and_the_pair_model_together_find_the_same(
    pair: tuple[str, str], likeness: float | None, share: float, same: bool
) -> None:
    assert judge(*pair, likeness).verdict is not Verdict.SAME
    judgement = judge(*pair, likeness, stance=stance(same=share, different=1 - share))
    assert (judgement.verdict is Verdict.SAME) is same


@given(st.sampled_from(PAIRS), st.floats(0, 1), st.floats(-1, 1))
def test_the_pair_model_never_turns_a_conflict_into_the_same(
    pair: dict[str, str], share: float, likeness: float
) -> None:
    alone = judge(pair["older"], pair["newer"], likeness)
    both = judge(pair["older"], pair["newer"], likeness, stance=stance(same=share, different=1 - share))
    assert (alone.verdict, both.verdict) != (Verdict.CONFLICT, Verdict.SAME)


@pytest.mark.parametrize("likeness", [None, 0.1, 0.39, 0.9])
def test_notes_that_differ_only_in_a_number_conflict_at_any_similarity(likeness: float | None) -> None:
    judgement = judge("Takes 60s to start", "Takes 10 minutes to start", likeness, service="jellyfin")
    assert judgement.verdict is Verdict.CONFLICT


def test_a_conflict_names_the_conflicting_quantities() -> None:
    judgement = judge("Retention is 7 days", "Retention is 30 days", None)
    assert judgement.verdict is Verdict.CONFLICT
    assert judgement.reasons == ("span 30 days against 7 days",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("60s", "1 minute"),
        ("90 min", "1.5 hours"),
        ("2 GB", "2000 MB"),
        ("14 days", "two weeks"),
        ("half an hour", "30 min"),
        ("1.4 kW", "1400 W"),
        ("20 MB/s", "20 megabytes a second"),
        ("50k rows", "50,000 rows"),
    ],
)
def test_equal_quantities_in_different_units_are_the_same(one: str, other: str) -> None:
    assert judge(f"The nightly dump needs {one}", f"The nightly dump needs {other}", None).verdict is Verdict.SAME


@given(texts, st.none() | st.floats())
def test_a_note_is_the_same_as_itself(text: str, likeness: float | None) -> None:
    assert judge(text, text, likeness).verdict is Verdict.SAME


@given(st.sampled_from(PAIRS))
@settings(max_examples=examples(200))
def test_case_spaces_and_a_full_stop_do_not_change_the_verdict(pair: dict[str, str]) -> None:
    plain = judge(pair["older"], pair["newer"], None).verdict
    loud = f"  {pair['newer'].upper().replace(' ', '   ')} "
    assert judge(pair["older"], pair["newer"].replace(" ", "  "), None).verdict is plain
    assert judge(pair["older"], f"{pair['newer']}.", None).verdict is plain
    if pair["newer"].upper().lower() == pair["newer"].lower():
        assert judge(pair["older"], loud, None).verdict is plain


@given(st.sampled_from(PAIRS), st.none() | st.floats(-1.0, 1.0))
def test_the_verdict_does_not_depend_on_the_order(pair: dict[str, str], likeness: float | None) -> None:
    assert judge(pair["older"], pair["newer"], likeness) == judge(pair["newer"], pair["older"], likeness)


@given(st.sampled_from(PAIRS), st.sampled_from(PAIRS), st.none() | st.floats(-1.0, 1.0), st.booleans())
def test_the_prefilter_never_excludes_pairs_that_are_the_same(
    pair: dict[str, str], other: dict[str, str], likeness: float | None, is_pair: bool
) -> None:
    one, two = pair["older"], pair["newer"] if is_pair else other["newer"]
    if judge(one, two, likeness).verdict is Verdict.SAME:
        assert may_be_same(one, two)
        assert may_be_same(two, one)


def test_the_prefilter_excludes_no_labelled_pair_that_is_the_same() -> None:
    same = [pair for pair in PAIRS if judge(pair["older"], pair["newer"], 1.0).verdict is Verdict.SAME]
    assert len(same) > 10
    assert all(may_be_same(pair["older"], pair["newer"]) for pair in same)
    assert not may_be_same("The port of the gateway is 5001.", "The port of the gateway is 5002.")


@given(st.text(max_size=300), st.text(max_size=300), st.none() | st.floats())
def test_any_text_has_a_verdict(older: str, newer: str, likeness: float | None) -> None:
    judgement = judge(older, newer, likeness)
    assert 0.0 <= judgement.confidence <= 1.0
    assert judgement.reasons


@pytest.mark.parametrize(
    "part", ["not ", "1" * 500, "a_b/", "before after ", "\u0301", "1:", "--", '"', "every a of ", "没有"]
)
def test_a_hostile_text_is_judged_fast(part: str) -> None:
    assert judge(part * (LONGEST // len(part)), part * 50 + "x", 0.5).verdict is not Verdict.CONFLICT


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("It is safe to delete the cache folder", "Deleting the cache folder breaks it"),
        ("It is safe to restart during a backup", "Restarting during a backup corrupts it"),
        ("Restarting clears the queue", "Restarting preserves the queue"),
        ("The max heap is 4 GB", "The min heap is 4 GB"),
        ("Memory use grows over time", "Memory use is stable over time"),
        ("Takes at most 5 minutes", "Takes at least 5 minutes"),
        ("Нужен VPN", "VPN не нужен"),
        ("VPN é necessário", "VPN não é necessário"),
        ("VPNが必要", "VPNは必要ない"),
        ("Transcoding is broken in 10.9", "Transcoding works in 10.9"),
    ],
)
def test_possible_opposites_are_uncertain(older: str, newer: str) -> None:
    for scores in (None, stance(same=0.97), stance(conflict=0.9)):
        assert judge(older, newer, 0.9, stance=scores).verdict is Verdict.UNCERTAIN


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Takes up to 5 minutes", "Takes at most 5 minutes"),
        ("It keeps partitions for eighteen months", "Old partitions are dropped after 18 months"),
        ("Il ne faut jamais redémarrer pendant une analyse", "Pendant une analyse, il ne faut pas redémarrer"),
    ],
)
def test_equal_statements_with_words_that_have_opposites_are_the_same(older: str, newer: str) -> None:
    assert judge(older, newer, None).verdict is Verdict.SAME


def test_a_prohibition_and_its_reason_are_not_a_conflict() -> None:
    ban, harm = "Do not run two instances at once", "Running two instances at once corrupts the index"
    for scores in (None, stance(conflict=0.94)):
        assert judge(ban, harm, 0.63, stance=scores).verdict is Verdict.UNCERTAIN


def test_a_quantity_in_only_one_note_is_not_a_conflict() -> None:
    assert judge(
        "wait 30s then retry", "wait 30s, then retry up to 3 times", 0.91, stance=stance(conflict=0.99)
    ).verdict is (Verdict.UNCERTAIN)
    judgement = judge(
        "A failed task is retried 3 times", "A failed task is not retried", 0.9, stance=stance(conflict=0.99)
    )
    assert judgement.verdict is Verdict.CONFLICT


def test_notes_without_content_words_are_uncertain() -> None:
    assert judge("no, not", "without it, never", None).verdict is Verdict.UNCERTAIN


def test_notes_over_the_length_limit_are_the_same_only_with_equal_words() -> None:
    long = "The dump needs 5 minutes. " * LONGEST
    assert judge(long, f"{long} And more.", 1.0).verdict is Verdict.UNCERTAIN
    assert judge(long, f" {long.upper()}\n", None).verdict is Verdict.SAME
    assert judge(long, "Anonymous access is enabled", 0.1).verdict is Verdict.DIFFERENT


BOUNDS = {
    # Minimum recall of the same and of conflicts, maximum share of the same judged as a conflict.
    "build": (0.65, 0.67, 0.01),
    "judge": (0.75, 0.77, 0.08),
    "fresh": (0.45, 0.5, 0.04),
}


@pytest.mark.parametrize("half", BOUNDS)
def test_the_labelled_pairs_are_judged_within_the_bounds(half: str) -> None:
    """The figures are in bench/README.md; these are their minimum bounds."""
    same, conflict, wrong = BOUNDS[half]
    chosen = [pair for pair in PAIRS if pair["half"] == half]
    called = Counter(
        (pair["label"], judge(pair["older"], pair["newer"], None, service=pair["service"]).verdict) for pair in chosen
    )
    of = Counter(pair["label"] for pair in chosen)
    assert called["same", Verdict.SAME] >= same * of["same"]
    assert called["conflict", Verdict.CONFLICT] >= conflict * of["conflict"]
    assert called["different", Verdict.CONFLICT] <= 0.02 * of["different"]
    assert called["different", Verdict.SAME] <= 0.02 * of["different"]
    assert called["same", Verdict.CONFLICT] <= wrong * of["same"]


def test_no_group_of_labelled_pairs_is_in_two_parts() -> None:
    parts = {pair["group"]: pair["half"] for pair in PAIRS}
    assert all(parts[pair["group"]] == pair["half"] for pair in PAIRS)
    labels = Counter(pair["label"] for pair in PAIRS)
    assert len(PAIRS) >= 600
    assert labels["same"] >= 300
    assert min(labels["conflict"], labels["different"]) >= 150
