"""Redaction: examples and laws."""

import re
import string
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hivelore.core.redaction import (
    METADATA_DEPTH,
    METADATA_VALUES,
    Redactor,
    assignments,
    find,
    logins,
    suspicion,
    vendors,
)
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.model import Json
from support.fake_secrets import CONTEXTS, PLANTED, SHAPES, STRONG, encoded, pem, scramble

REDACTOR = Redactor(b"a key of some length")
MASK = re.compile(r"\[([a-z0-9-]+):[0-9a-f]{4}\]")
HARMLESS = [
    "fixed in 2f1e9c8b7a6d5e4f3c2b1a09f8e7d6c5b4a39281, see 8bab04bea9f7",
    "memory 0198c0de-7f3a-7c11-9d2e-1b2c3d4e5f60 was forgotten",
    '"integrity": "sha512-' + scramble(86) + '=="',
    "data:image/png;base64,iVBORw0KGgo" + scramble(400),
    "max_tokens: 200000, token_type: Bearer, next_page_token=" + STRONG,
    "password: str = Field(min_length=8)",
    "password=getPassword2(), token = self.config.api_token, secret: Uint8Array",
    "password: ${DB_PASSWORD}, token={{ secrets.TOKEN_2 }}, secret: <your-secret-1>, api_key=YOUR_API_KEY_2",
    "password = os.environ['DB_PASSWORD_2']; token: op://vault/item1/field2",
    "secret: /run/secrets/db_password_2; key: value; api_key: my-test-key-1",
    "password=user_2_password password: hasher.sha1x.value2 password = OAUTH_2_PASSWORD",
    "private_key: ed25519.Ed25519PrivateKey",
    "password: ********, token: xxxxxxxxxxxxxxxxxxxx, api_key=...",
    "postgres://user:pass@db, mysql://root:${PW}@db, a://u:<password>@h, b://u:***@h, c://postgres:postgres@localhost",
    "mysql://app:root@h redis://:PASSWORD@h http://h1:5432,h2:80@x a://b:my-password@c",
    "https://host:8080/path@2x.png git@github.com:org/repo.git docker://alpine:3.14@sha256:0123abcd",
    "docker run -u 1000:1000 image; curl https://a.example",
    "Authorization: Bearer <token>, Basic authentication, bearer token schemes, Bearer ${TOKEN_1}",
    "Cookie: theme=dark; lang=en. The cookie: a small file.",
    "ghp_" + "x" * 36 + " sk-ant-your-api-key-here xoxb-your-slack-bot-token github_pat_your_token_goes_here_please",
    "task-force-2024-implementation risk-averse-people sk-loading-container-wrapper-element hf_hub_offline",
    "`-----BEGIN RSA PRIVATE KEY-----` and `-----END RSA PRIVATE KEY-----` are the markers",
    "-----BEGIN PUBLIC KEY-----\n" + scramble(64) + "\n-----END PUBLIC KEY-----",
    "hl_line_numbers_in_code hl_search_result_text",
    ".".join([encoded('{"note": "no token"}'), encoded('{"sub": 1}'), "abcdefgh"]),
    "记住：测试的密码不要写在这里。パスワードは秘密です。token：见文档",
    "the password is required, the token was rejected, the secret is base64-encoded, passwords are hashed with sha256",
    'password=\'Contraseña\', "password": "密码不能为空", password: Passwort?',
]

SLOW = [
    *("a", "eyJ", "1meyJ", "-----BEGIN", "-----BEGIN PRIVATE KEY-----", "password=", "://a:", "://a:b@", "AKIA"),
    *("\u200b", "ghp_", "sk-", "cookie:", "bearer ", "_auth=", "password=Xk29", "key: ", "hl_a_b_", "[", "\\", "SG."),
    "curl -u a:",
]
"""Pieces that could make a pattern backtrack when repeated."""


TRIGGERS = [string for rules in (vendors, logins, assignments, suspicion) for string in rules.TRIGGERS]
PLAIN_WORDS = [
    *("is", "was", "a", "of", "Ab12cd34", "hunter22", "Summer-2024!", "8KzQ-77pf", "1234", "-p", "=", ":", "|", "->"),
    *("x7#kQ!9z", "correct", "horse", "battery", "staple", "eva:b1c2d3e4", "(", ")", "0123456789abcdef01"),
]
"""Words that are values of secrets next to some triggers, and signs between both."""


def clean(text: str) -> str:
    return REDACTOR.clean(text)


def kinds(text: str) -> list[str]:
    return [kind for kind, _, _ in find(text)]


def fragments() -> st.SearchStrategy[str]:
    """Returns pieces of texts that resemble secrets: prefixes, secrets, names, signs, masks and characters."""
    secrets = [secret for examples in SHAPES.values() for secret in examples]
    contexts = [piece for _, before, secret, after in CONTEXTS for piece in (before, secret, after)]
    heads = [secret[:4] for secret in secrets] + [
        "://",
        "u:",
        "@h",
        "--",
        "\\n",
        "\u200b",
        "\x1b[32m",
        "%3D",
        "[aws-key:9f3a]",
    ]
    return st.one_of(
        st.sampled_from(secrets),
        st.sampled_from(contexts),
        st.sampled_from(heads),
        st.text(max_size=8),
        st.sampled_from("=:\"' "),
    )


def texts() -> st.SearchStrategy[str]:
    storable = st.lists(fragments(), max_size=12).map("".join)
    return storable.filter(lambda text: "\0" not in text and not re.search("[\ud800-\udfff]", text))


PROSE = st.text(alphabet=string.ascii_lowercase + " .,;-\n中文字", max_size=60)


@pytest.mark.parametrize(("kind", "secret"), [(kind, secret) for kind in SHAPES for secret in SHAPES[kind]])
def test_a_secret_of_known_shape_is_masked_with_its_kind(kind: str, secret: str) -> None:
    assert re.fullmatch(rf"it used \[{kind}:[0-9a-f]{{4}}\] once", clean(f"it used {secret} once"))


@pytest.mark.parametrize(("kind", "before", "secret", "after"), CONTEXTS)
def test_a_secret_in_context_is_masked_and_its_context_kept(kind: str, before: str, secret: str, after: str) -> None:
    text = before + secret + after
    assert (kind, len(before), len(before) + len(secret)) in find(text)
    assert secret not in clean(text)
    assert clean(text).endswith(after)


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_kept(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("secret", [pem("RSA PRIVATE KEY", end=False), pem("PRIVATE KEY", end=False, line_break="\\n")])
def test_a_private_key_without_its_last_line_is_masked_to_the_end_of_the_text(secret: str) -> None:
    assert MASK.sub("#", clean(f"before {secret}\nand whatever follows")) == "before #"


def test_a_private_key_between_line_numbers_is_masked() -> None:
    numbered = "".join(f"{number:6}→{line}\n" for number, line in enumerate(pem("EC PRIVATE KEY").split("\n")))
    assert MASK.sub("#", clean(numbered)) == "     0→#\n"


def test_an_escape_before_a_secret_does_not_hide_it() -> None:
    key = SHAPES["aws-key"][0]
    for escape in ("\\n", "\\t", "%3D", "\x1b[32m", "\x1b[0;1m"):
        assert key not in clean(f"x{escape}{key} x")


def test_adjacent_secrets_are_all_masked() -> None:
    cleaned = clean(SHAPES["aws-key"][0] + SHAPES["github-token"][0] + SHAPES["jwt"][0] + SHAPES["anthropic-key"][0])
    assert MASK.sub("", cleaned) == ""


def test_secrets_that_overlap_are_masked_as_one() -> None:
    assert MASK.sub("#", clean("password=hunter22" + pem("RSA PRIVATE KEY") + " x")) == "password=# x"


def test_a_mask_is_not_masked_again() -> None:
    assert MASK.findall(clean('password="Xk29aaPP[aws-key:9f3a]"')) == ["password", "aws-key"]


@pytest.mark.parametrize(
    ("before", "after"), [("AWS_SESSION_TOKEN=", " x"), ("?token=", "&page=2"), ('"secret":"', '","x":1')]
)
def test_a_long_value_is_masked_to_its_end_and_no_further(before: str, after: str) -> None:
    assert MASK.sub("#", clean(f"{before}{scramble(900)}=={after}")) == f"{before}#{after}"


def test_a_value_that_continues_after_a_sign_is_masked_to_its_end() -> None:
    assert MASK.sub("#", clean("DB_PASSWORD=Tr0ub4dor;3(xyz&q\nUSER=bob")) == "DB_PASSWORD=#\nUSER=bob"


def test_equal_secrets_have_equal_masks_and_others_do_not() -> None:
    first, second = SHAPES["github-token"][:2]
    one, two, three = (mask[0] for mask in MASK.finditer(clean(f"{first} {second} token={first}")))
    assert one == three != two


def test_the_fingerprint_depends_on_the_key() -> None:
    secret = SHAPES["github-token"][0]
    assert Redactor(b"another key, as long").clean(secret) != clean(secret)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Redactor(b"short")


@pytest.mark.parametrize(("wrong", "what"), [("\0", "NUL"), ("\ud83d", "surrogate")])
def test_unstorable_text_is_refused_with_its_position_and_without_the_text(wrong: str, what: str) -> None:
    with pytest.raises(Invalid, match=rf"notes\[1\] has .*{what}.* at position 8: remove it") as caught:
        REDACTOR.clean(f"hunter2 {wrong}", field="notes[1]")
    assert caught.value.field == "notes[1]"
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None


def test_metadata_is_cleaned_to_the_last_level_keys_included() -> None:
    token = SHAPES["npm-token"][0]
    cleaned = REDACTOR.clean_metadata({"a": [{"b": f"x {token}"}], token: 1, "n": 2.5, "none": None, "yes": True})
    mask = clean(token)
    assert cleaned == {"a": [{"b": f"x {mask}"}], mask: 1, "n": 2.5, "none": None, "yes": True}


def test_a_key_of_metadata_names_its_value() -> None:
    cleaned = REDACTOR.clean_metadata(
        {"password": "hunter22", "api_keys": {"api_key": [STRONG]}, "Authorization": f"Bearer {STRONG}"}
    )
    assert MASK.sub(r"\1", repr(cleaned)) == repr(
        {"password": "password", "api_keys": {"api_key": ["api-key"]}, "Authorization": "Bearer auth-token"}
    )
    assert REDACTOR.clean_metadata(cleaned) == cleaned


def test_metadata_beyond_its_bounds_is_refused() -> None:
    nested: Json = "x"
    zeros: list[Json] = [0] * METADATA_VALUES
    for _ in range(METADATA_DEPTH):
        nested = [nested]
    assert REDACTOR.clean_metadata({"a": nested[0] if isinstance(nested, list) else nested})
    with pytest.raises(TooLarge, match="nested deeper"):
        REDACTOR.clean_metadata({"a": nested})
    assert REDACTOR.clean_metadata({"a": zeros[1:]})
    with pytest.raises(TooLarge, match="more than"):
        REDACTOR.clean_metadata({"a": zeros})


def test_two_keys_of_metadata_with_equal_masks_are_refused() -> None:
    token = SHAPES["npm-token"][0]
    with pytest.raises(Invalid, match="rename one") as caught:
        REDACTOR.clean_metadata({token: 1, clean(token): 2})
    assert token not in str(caught.value)


@given(texts())
@example(SHAPES["aws-key"][0] + SHAPES["github-token"][0])
@example("://[jwt:0a1b]:hunter2@host")
def test_a_clean_text_is_unchanged(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert find(clean(text)) == []


@given(st.lists(st.sampled_from(TRIGGERS + PLAIN_WORDS), max_size=8).map(" ".join))
@example("notarize with altool abcd-efgh-ijkl-mnop")
@example("redis-cli -a hunter22x")
@example("PW=hunter22x")
@example("unlock it with 8KzQ-77pf")
def test_a_short_plain_text_is_checked_as_thoroughly_as_any_other(text: str) -> None:
    assert (clean(text) != text) is bool(find(text))


@given(texts())
def test_found_secrets_are_in_order_and_do_not_overlap(text: str) -> None:
    edges = [edge for _, start, stop in find(text) for edge in (start, stop)]
    assert edges == sorted(edges)
    assert all(start < stop <= len(text) for _, start, stop in find(text))


@given(
    st.sampled_from(PLANTED),
    texts(),
    texts(),
    st.sampled_from(["", " ", "\n", '"', "'", "=", ": ", ",", "(", "\\n", "`", "中", "\x1b[32m"]),
)
def test_surrounding_text_never_hides_a_secret(secret: str, before: str, after: str, between: str) -> None:
    before += between or " "
    assert secret not in clean(f"{before}{secret}{between or ' '}{after}")


@given(PROSE, st.sampled_from(PLANTED), PROSE)
def test_prose_around_a_secret_is_kept(before: str, secret: str, after: str) -> None:
    assert MASK.sub("#", clean(f"{before} {secret} {after}")) == f"{before} # {after}"


@given(PROSE)
def test_prose_is_not_touched(text: str) -> None:
    assert clean(text) == text


@given(st.uuids(), st.binary(min_size=20, max_size=20), st.integers(), PROSE)
def test_ids_and_hashes_are_not_touched(uuid: object, digest: bytes, number: int, prose: str) -> None:
    text = f"{uuid} {digest.hex()} id: {uuid} commit={digest.hex()} {number} {prose}"
    assert clean(text) == text


@given(st.uuids(), st.binary(min_size=20, max_size=20).filter(lambda digest: len(set(digest)) > 8))
def test_ids_and_hashes_with_a_name_of_a_secret_are_masked(uuid: object, digest: bytes) -> None:
    assume(len(set(str(uuid))) > 8)
    assert MASK.sub("#", clean(f"token: {uuid}\nclient_secret={digest.hex()}\n")) == "token: #\nclient_secret=#\n"


@given(st.data(), st.sampled_from([examples[0] for kind, examples in SHAPES.items() if kind != "private-key"]))
def test_characters_without_width_neither_hide_nor_change_a_secret(data: st.DataObject, secret: str) -> None:
    split = secret
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(1, len(split) - 1))
        split = split[:at] + data.draw(st.sampled_from("\u200b\u200d\u2060\ufeff\u00ad")) + split[at:]
    assert clean(f"\u200bé {split}\u200b!") == f"\u200bé {clean(secret)}\u200b!"


@pytest.mark.parametrize("unit", SLOW)
def test_a_hostile_text_takes_linear_time(unit: str) -> None:
    """Needs no clock: a pattern that backtracks would take minutes."""
    assert isinstance(find(unit * (500_000 // len(unit))), list)


def test_importing_redaction_loads_and_compiles_little() -> None:
    source = Path(__file__).parents[2] / "src"
    program = (
        f"import sys; sys.path.insert(0, {str(source)!r}); import hivelore.core.redaction as redaction;"
        "redaction.find('a text in which nothing is found');"
        "print(redaction.compiled.cache_info().currsize, *sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    compiled, *modules = shown.stdout.split()
    assert compiled == "0"
    assert not {"hashlib", "hmac", "json", "dataclasses", "inspect", "pydantic", "numpy", "regex"}.intersection(modules)


@pytest.mark.parametrize(
    "text", ['{"session_id": "%s"}', "session:claude-code:%s", "session: %s", '{"sessionId":"%s"}']
)
def test_the_name_of_a_session_is_no_secret(text: str) -> None:
    for number in range(50):
        named = text.replace("%s", UUID(int=number * 0x1234_5678_9ABC_DEF0_1357_9BDF).hex)
        assert REDACTOR.clean(named) == named
