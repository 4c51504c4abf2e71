"""Suspected secrets in texts that are independent of the code and the training data."""

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.redaction import Redactor, find, suspicion
from hivelore.core.redaction.renditions import renditions
from hivelore.core.redaction.suspicion import TABLE_SIZE, Surroundings, judged_value, regions
from support.secret_shapes import WORDS, Values

REDACTOR = Redactor(b"a key of some length")
TEXTS = Path(__file__).parents[1] / "support" / "texts_with_secrets.jsonl"
PLACEHOLDER = re.compile(r"\{(pw|phrase|pin|tok|hex|uuid|b64|words)\d?\}")


def value(sort: str, values: Values, rng: random.Random) -> str:
    """Returns a value for a placeholder, generated differently from the training data."""
    if sort == "pw":
        return rng.choice((values.password, values.thought_up, lambda: values.mixed(11)))()
    if sort == "pin":
        return values.of("123456789", rng.choice((6, 8)))
    if sort in ("phrase", "words"):
        return values.phrase(4 if sort == "phrase" else 12)
    if sort == "b64":
        return base64.b64encode(rng.randbytes(32)).decode()
    styles = values.styles()
    return styles["uuid"] if sort == "uuid" else styles["hex40"] if sort == "hex" else values.mixed(32)


def texts(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Returns each text with its secrets."""
    values, rng = Values(seed), random.Random(seed)
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["text"]
        known = {match[0]: value(match[1], values, rng) for match in PLACEHOLDER.finditer(text)}
        yield PLACEHOLDER.sub(lambda match, known=known: known[match[0]], text), list(known.values())


def test_secrets_in_independent_texts_are_masked() -> None:
    held = [(text, secrets) for text, secrets in texts(1) if secrets]
    missed = [text for text, secrets in held if any(secret in REDACTOR.clean(text) for secret in secrets)]
    assert len(held) >= 300
    assert len(missed) <= 0.06 * len(held), missed


def test_texts_without_a_secret_stay_as_they_are() -> None:
    harmless = [text for text, secrets in texts(1) if not secrets]
    changed = [text for text in harmless if REDACTOR.clean(text) != text]
    assert len(harmless) >= 200
    assert len(changed) <= 0.01 * len(harmless), changed


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("I used {} to get in, that is the root password of db-02", "Gravel-8842!tulip"),
        ("Zugangsdaten\n============\nroot:{}", "NSbRH0irB1"),
        ("HOST        USER        PASSWORD\npg-prd-01   postgres    {}", "Ks4KyDRoKmRyNGr6"),
        ("Q: what's the passphrase of the backup?\nA: {}", "juniper-saddle-tundra-umbra-velvet"),
        ("数据库密码是{}，请不要外传。", "uwMlAb2YtkgJc"),
        ("Recovery phrase of the wallet:\n{}", " ".join(WORDS[:12])),
        ("The door of cage 4 opens with PIN {}", "583659"),
    ],
)
def test_surrounding_words_identify_a_secret(text: str, secret: str) -> None:
    assert secret not in REDACTOR.clean(text.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        "The last good commit is e9435d4b74f01fc6727584751d560954db578c5d, the secret mount was added right after it.",
        "Notion page e58e0b4db54a2d7498d027df836cf8eb has the spec for password reset",
        "We should hash passwords with argon2id, memory 64 MB, 3 iterations.",
        "gpg: using RSA key D813039441892C2D479861A8DBA44DC4EA44014D",
        "max_tokens: 200000, next_page_token=3jFpmXKWlm8Dn7ckYdd8RIdZCAGb0Za9",
        "login took 1532 ms, exit code 137, user id 48151623",
    ],
)
def test_surrounding_words_identify_an_ordinary_value(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    "value",
    ["user_id", "getPasswordHash", "v1.24.3", "2026-11-25T12:00", "https://a.example", "eva@a.example", "0x10e0"],
)
def test_names_versions_times_and_addresses_are_no_candidates(value: str) -> None:
    assert judged_value(value) is None


def test_there_is_one_weight_for_each_trait() -> None:
    assert Path(suspicion.__file__).with_name("weights.bin").stat().st_size == TABLE_SIZE


def test_a_number_and_a_phrase_are_passwords_and_no_keys() -> None:
    assert [kind for kind, _, _ in find("the PIN 482913 opens the door of cage 4")] == ["password"]


PIECES = ("password ", "login: ", "\n", " ", "\u5bc6\u7801", "x9K2mQ7z", "/", '"', "a-b-c", "0", "pin 482913")


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_candidates_lie_within_the_text_and_have_traits_of_the_table(text: str) -> None:
    rendition = next(iter(renditions(text)))
    last = 0
    for region in regions(rendition):
        assert last <= region.start < region.stop <= len(rendition.view)
        last = region.stop
        around = Surroundings(rendition.view, region)
        for candidate in (candidate for group in region.groups for candidate in group):
            assert 0 <= candidate.start < candidate.stop <= len(rendition.view)
            assert all(0 <= trait < TABLE_SIZE for trait in around.traits(candidate))
