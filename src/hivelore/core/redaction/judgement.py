"""Judgement of names and values: what kind of secret a name stands for, and whether a value is a secret.

A name is judged by its words: ``DB_PASSWORD_2``, ``apiKey``, ``client-secret``. A value is a secret, a word, a name in
a program, or a reference to a secret such as ``${TOKEN}``.
"""

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from functools import cache, lru_cache
from typing import Final

Span = tuple[str, int, int]
"""Kind, start and stop of a secret."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def decoded(base64: str) -> bytes:
    """Decodes either alphabet of base64, with or without padding; empty if the text is not base64."""
    try:
        return a2b_base64(base64.replace("-", "+").replace("_", "/") + "==")
    except NotBase64:
        return b""


HEAD: Final = 3
"""Length of the word beginnings in ``Rendition.heads``."""
BLANKS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
"""Translation of all other ASCII characters to spaces."""


def key_of(literal: str) -> str:
    """Returns a string that ``Rendition.words`` contains whenever the text contains this lower-case literal."""
    words = literal.translate(BLANKS).split()
    begins = bool(words) and literal.startswith(words[0])
    return "" if not words else words[0] if begins else f" {words[0]}"


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def word_list(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


# Names.

PASSWORDS: Final = word_list(
    "password, passwd, passwort, passphrase, passcode, pwd, kennwort, bindpw, requirepass, masterauth, "
    "contrasena, senha, wachtwoord, haslo, palavra-passe, losenord, adgangskode, salasana, heslo, jelszo, "
    "sifre, passord, mot de passe, parola d'ordine, пароль, 密码, 密碼, 口令, パスワード, 暗証番号, "
    "비밀번호, 암호, mat khau, kata sandi, kodeord, slaptazodis, zaporka, كلمة المرور, كلمة السر, סיסמה, "
    "סיסמא, पासवर्ड, κωδικος, κωδικός, รหัสผ่าน, mật khẩu, mnemonic, seed phrase, mdp, pasword, passwrod, "
    "passowrd, paswort, passwrd, wachtword, parool, storepass, keypass, sshpass, passkey, motdepasse, "
    "userpass, dbpass"
)
"""Words for passwords, without accents."""
SECRETS: Final = word_list(
    "secret, credential, clientsecret, 密钥, 密鑰, 秘钥, 凭证, 令牌, シークレット, トークン, секрет, "
    "токен, 비밀키, 토큰, geheimnis, jeton"
)
KEYS: Final = word_list("key, schlussel, cle api, cle d'api, clave, chave, apiキー, ключ, api 키")
_DEFINITE: Final = word_list("losenordet, passordet, adgangskoden, kodeordet, salasanani, sifresi, jelszava")
"""Words for passwords with a definite ending, as in Swedish ``losenordet``."""
_OTHER_PASSES: Final = word_set(
    "compass bypass trespass surpass overpass encompass underpass singlepass multipass"
    " engpass engpaesse reisepass kompass"
    " firstpass secondpass onepass twopass renderpass prepass postpass lowpass highpass bandpass"
)
"""Words that end in ``pass`` but name no password."""
_STEMS: Final = word_list(
    "pass, pwd, pw, kennwort, contrasena, senha, wachtwoord, haslo, parola, mnemonic, phrase, secret, "
    "credential, key, clave, chave, schlussel, token, psk, sess, auth, salt, jeton, losenord, adgangskode, "
    "salasana, heslo, jelszo, sifre, chiave, klucz, sleutel, seed words, cred, jwt, otp, sas, licen, "
    "cookie, bearer, _pin, _pat, seed, mdp, connstr, _sid, geheimnis, cle, recovery, login, zugang, "
    "art-api, pasw, parool, kodeord, mat khau, wachtword, kata sandi, slaptazodis, zaporka, private"
)
KEYED_STEMS: Final = tuple((key_of(stem), stem) for stem in _STEMS)
"""Parts of possible names of secrets, each with its ``key_of``."""
FOREIGN_NAMES: Final = tuple(
    word for word in (*PASSWORDS, *SECRETS, *KEYS, "логин", "账号", "帳號") if not word.isascii()
)


_KEY_OF: Final = word_set(
    "api access secret private encryption decryption signing sign auth account master storage role webhook"
    " license licence app application admin deploy jwt session hmac client service subscription functions"
    " function shared consumer pay payment signature symmetric cipher aes crypto crypt vault root server ssh"
    " gpg pgp rsa ec stripe aws gcp azure google openai anthropic github gitlab twilio sendgrid firebase"
    " supabase write ingest integration logged nonce fernet cookie rest sdk live bot dev prod logging security"
    " host ssl tls wallet operator infura alchemy mailgun datadog dd sentry maps oauth hash kms provisioning"
    " bearer transit django flask rails machine sas unseal recovery shamir validator mining nsec"
)
"""Words before ``key`` in names of secret keys: ``api_key``, but not ``primary_key`` or ``sort_key``."""
_OTHER_KEYS: Final = word_set(
    "primary foreign public publishable sort partition cache dict map index unique hash range lookup group row cell"
    " item field column object s3 bucket shift ctrl control alt meta arrow enter return escape esc tab space delete"
    " hot quick composite candidate natural surrogate parent child node json yaml attribute the a an this that"
    " each every any message routing topic search answer foreign_key config environment env registry reg"
    " ordering set get by last first next min max host_key known sorted sorting id name value key idempotency"
    " state color translation i18n from on with for in to via by of"
)
"""Words before ``key`` in names of other keys: ``primary_key``, ``cache_key``, ``shift key``."""
_GLUED_KEY: Final = tuple(
    f"{word}key"
    for word in word_list(
        "api, access, secret, private, encryption, signing, auth, account, master, storage, role, webhook, "
        "license, licence, app, admin, deploy, jwt, session, hmac, client, service, subscription, shared, "
        "server, ssh"
    )
)
_PLACES: Final = word_set(
    "page next prev previous continuation pagination sync resume cursor pad eos bos mask cls sep unk publickey"
    " key start end stop special first last left right open close keyword operator comment string max min num"
    " new_line current line peek other matched begin eof identifier word name new old lookahead expected"
    " unexpected invalid async css punctuation number literal image text audio prompt completion input output"
    " cached total per this the a an each any every cancellation cancel dedent indent newline op non"
    " client_request idempotency shift whitespace terminal rule"
)
"""Words before ``token`` in names of page tokens and of parts of a text: ``next_token``, ``eos_token``."""
_RANDOM_ONLY: Final = word_set(
    "auth cred creds jwt pat otp totp seed sas license licence bearer cookie pin apitoken dsn"
    " signature mdp otpsecret unlock connstr hmac ticket"
)
"""Names whose value is a secret only if it is random: ``auth``, ``seed``, ``cookie``."""
_SUFFIXES: Final = word_set(
    "value base prod production dev development staging stage stg test testing live new old current default"
    " primary secondary main backup readonly ro rw ci eu us uk v plain plaintext text cleartext raw b64 base64"
    " string str confirmation confirm again repeat repeated verify retype root admin db env local here one two"
    " master slave replica encoded hex pem"
)
"""Words after a name that do not change its meaning: ``password_value``, ``API_KEY_PROD``."""
_SUFFIXES_OF_PARTS: Final = frozenset(
    {"value", "text", "string", "str", "base", "start", "end", "main", "raw", "v", "new"}
)
"""Words after ``token`` in names of parts of a text: ``token_text``, ``token_start``."""
_BY_END: Final = (
    ("aws-secret", ("secretaccesskey", "awssecretkey", "awssecret")),
    ("azure-key", ("accountkey", "sharedaccesskey")),
    (
        "password",
        (
            *(
                "seedphrase",
                "recoveryphrase",
                "motdepasse",
                "palavrapasse",
                "phrasesecrete",
                "frasesegreta",
                "katasandi",
                "matkhau",
            ),
            *("frasesecreta", "merkphrase", "password", "passphrase", "passcode", "keycontent"),
        ),
    ),
    ("some-key", ("secretid", "vapidprivate", "keyprivate", "rsaprivate", "privatehex", "privatepem")),
    ("cookie", ("sessid",)),
    ("api-key", ("cleapi", "clesecrete", "artapi")),
)
_FOREIGN_KEYS: Final = {
    "schlussel": True,
    "clave": True,
    "chave": True,
    "ключ": True,
    "키": True,
    "cle": False,
    "chiave": False,
    "klucz": False,
    "sleutel": False,
}
"""Words for keys; True if the word alone means a secret key."""
_WORD_OF_NAME = "[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\\x00-\\x7f]+"


_TOKEN_OF: Final = tuple(
    f"{word}token"
    for word in word_list(
        "access, auth, api, bot, refresh, id, csrf, xsrf, session, bearer, user, app, deploy, secret, my, "
        "gh, github, gitlab, npm, slack, device, service, jwt, the, admin, personal, oauth, security, "
        "webhook, verification, reset, private, db, root, vault, hub, x, login, zugangs, sicherheits, join"
    )
)


def words_before(view: str, start: int) -> str:
    """Returns up to two words of a text before a name that may belong to it, as in ``API key``."""
    if start < 2 or view[start - 1] not in " -" or not view[start - 2].isalpha():
        return ""
    *_, first, second = ("", *view[max(0, start - 34) : start].rpartition("\n")[2].replace("-", " ").split(" ")[:-1])
    second = second.lstrip("*_\"'`([{").replace("'", "")
    return f"{first if first.isalpha() else ''} {second} " if second.isalpha() else ""


@lru_cache(maxsize=2048)
def kind_of(name: str) -> str | None:
    """Returns the kind of secret that a name stands for, or None. ``name``: as written, possibly after other words."""
    words = [word.lower() for word in compiled(_WORD_OF_NAME).findall(name)]
    behind: list[str] = []
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        behind.append(words.pop())
    if not words:
        return None
    if words[-1] == "data" and words[-2:-1] == ["key"]:
        words.pop()
    return _kind_of_words(words, behind)


def _kind_of_words(words: list[str], behind: list[str]) -> str | None:
    *before, last = words
    glued = "".join(words)
    for kind, ends in _BY_END:
        if glued.endswith(ends):
            return kind
    if last.endswith((*PASSWORDS, *_DEFINITE)) or last in ("pass", "pw", "psk") or _ends_in_pass(last):
        return "password"
    if last.endswith("token"):
        return _token_kind(before, last, behind)
    if last.endswith("key"):
        return _key_kind(before, last)
    if last in _FOREIGN_KEYS or "キー" in last:
        return "api-key" if _FOREIGN_KEYS.get(last, True) or {"api", "secrete"}.intersection(words) else None
    if last == "salt":
        return "secret" if before and before[-1] in ("auth", "in", "nonce", "password") else None
    if last.endswith((*SECRETS, "credentials")):
        return "secret"
    return "some-key" if last in _RANDOM_ONLY else None


def _ends_in_pass(word: str) -> bool:
    return word.endswith(("pass", "pw")) and len(word) < 13 and word not in _OTHER_PASSES


def _token_kind(before: list[str], last: str, behind: list[str]) -> str | None:
    if _SUFFIXES_OF_PARTS.intersection(behind) or (last == "token" and before and before[-1] in _PLACES):
        return None
    if last == "token" or last.endswith(_TOKEN_OF):
        return "token"
    return None if last.removesuffix("token") in _PLACES else "some-key"


def _key_kind(before: list[str], last: str) -> str | None:
    if last == "key":
        if not before or "public" in before or before[-1] in _OTHER_KEYS:
            return None
        return "api-key" if before[-1] in _KEY_OF else "some-key"
    return "api-key" if last.endswith(_GLUED_KEY) else None


# Values.

CODE = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z0-9]+(?:_[A-Z0-9]+)+"
"""A name in a program with several parts: ``config.token``, ``max_retries``, ``MAX_RETRIES``."""
_MADE_UP = (
    r"(?:[A-Z]?[a-z]{2,12}|[A-Z]{2,12})(?:[-_.!#@+*&][A-Z]?[a-z]{2,12})?[-_.!#@+*&]?"
    r"(?:\d{2,6}[A-Za-z]?[!?*#$]|\d{4,6}[A-Za-z]?)"
)
"""A word, a number and a sign, as in passwords that people think up: ``Summer-2024!``."""
_TYPE = r"(?:[A-Z]{1,6}\d{0,3})?(?:[A-Z][a-z]{2,}\d{0,2}){2,}"
"""A name of a class: ``HTTPClientError``."""
SHORTEST_PASSWORD = 6
SHORTEST_SECRET = 12
_JUDGED = 96
"""Characters of a value that are judged."""

_WORD = r"(?:[A-Z]?[a-z]{1,16}|[A-Z]{1,16})\d{0,2}"
_WORDS = rf"{_WORD}(?:[-_.]{{1,3}}(?:{_WORD}|\d{{1,2}}(?!\d)))++"
"""Words in a row: ``my-api-key-2``."""
_NUMBERED = (
    r"(?<![A-Za-z0-9])(?i:base|utf|sha|u?int|float|md|aes|rsa|oauth|http|ipv|x|ed|curve|win|amd|arm|pbkdf|argon|s|ec|v)"
    r"-?\d+(?![A-Za-z0-9])"
)
"""Technical terms that end in a number: ``base64``, ``sha256``."""
_ID = r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}"
"""UUIDs and git hashes. They are secrets only under a name that stands for a secret."""
_VARIABLE = r"(?:[A-Z]+(?:_[A-Z0-9]+)*|_?[a-z]+(?:_[a-z0-9]+)*|[a-z]+(?:[A-Z][a-z]+)+)\d?"
_REFERENCE = (
    rf"\$\{{.*|\$\(.*|\${_VARIABLE}(?:(?:->|\.|\[|:).*)?$|\$[\d@*]$|%\w*%$|%\(\w+\)?s?$|%[-.\d]*[a-z]$|%[A-Z_]+%?$|(?i:[a-z_]{{2,}}=(?:\d+|true|false|none)$)|[A-Za-z]+-\d+(?:\.\d+){{1,3}}$|[$#]\w*\{{|\$[a-z_]+/|([@#%_~]{{1,2}})[A-Z][A-Z0-9_]*\1$|@[\w.]+@$"
    r"|</?[A-Za-z][\w .:/|-]{0,60}[^\w]*$|<[a-zA-Z]{0,20}$|\[[A-Za-z _-]{0,40}\]?$|\{\{|\{[%#]|\{[\w.: -]{0,40}\}?$"
    r"|(?:~|\.{0,2})/[a-z._-]{2,}(?:/|$)|[A-Za-z]:\\|\\\\|\^.*\$$|(?i:sha\d{1,3}|md5)[-:=]|&{1,2}[A-Za-z_]\w*$|%env\("
    r"|(?i:(?:arn|vault|op|sops|file|env|secrets?|process\.env|os\.environ|import\.meta|vars|config|settings|ssm"
    r"|keyring|keychain|secretsmanager|ref\+[a-z]+|projects|data)[.:/\[])"
    r"|(?i:!(?:vault|ref|sub|getatt|env|secret|include|lookup)\b)|![a-z_]+$|[a-z]+\(\d+(?:, ?\d+)?\)$"
    r"|(?i:(?:my|your|the|some|a|an|new|old|this|that|user|wrong|bad|good|invalid|test)?[-_ ]?"
    r"(?:api|access|secret|auth|client|private)?[-_ ]?(?:pass|password|passwd|pwd|passphrase|secret|token|key"
    r"|credentials?)s?$)"
    r"|ENC\[|\^?\[[^\]]*-[^\]]*\][+*]?\$?$|:[a-z_]+$|.*\{[\w.]+\}|\{\w+![rsa]\}?$|[~^<>=v]{0,2}\d+(?:\.\d+){1,3}"
    r"(?:[-+][\w.]+)?$|[\w./-]+\.(?:pem|key|txt|json|ya?ml|env|p12|pfx|crt|cer|py|js|ts|md|conf|ini|toml|html?)$"
)
"""Variables (``$TOKEN``, ``%s``), templates (``{{ token }}``), paths, patterns, file names and type names."""
_PLACEHOLDERS: Final = (
    *("xxxx", "***", "...", "://", "[a-z", "(?:", "\\d", "\\w", "{{", "\u2022\u2022", "____", "a-za-z", "a-z0-9"),
    *("your-", "your_", "changeme", "change-me", "change_me", "placeholder", "redacted", "example", "dummy"),
)
_NOTHING: Final = word_set(
    "true false yes no none null nil undefined on off void any unknown never auto str string text bytes byte"
    " int integer number float bool boolean object array list dict map char varchar uuid type required optional"
    " hidden empty missing invalid valid default unset disabled enabled masked omitted self this super new"
    " await async lambda function return not is in if else for from with and or the a an to of it that which"
    " must should can will may be are was has have see use used using your my our their its as at by on when"
    " where what how only also same here there todo tbd fixme user username login email name id key value"
    " secret token password pass passwd pwd passphrase credential credentials const let var def class static"
    " public private final readonly ref props data input output field bearer basic digest oauth oauth2 jwt saml"
    " ldap sha256 md5 base64 plain plaintext encrypted hashed file env vault passwort kennwort senha"
    " contrase\u00f1a contrasena wachtwoord has\u0142o parola \u043f\u0430\u0440\u043e\u043b\u044c \u5bc6\u7801"
    " \u30d1\u30b9\u30ef\u30fc\u30c9 inherit manual prompt random generated plugin import export"
)
"""Words that stand in place of a value in programs and manuals."""
_WORDS_OF_CODE: Final = word_set("hash opts kwargs args pwd_hash callback msg expr ptr func buf tmp")
_STOPS: Final = word_set(
    "the a an is are was be to of for in on with and or not your you must should can will may this that it its"
    " if no enter please use using used by from as at has have when which password passwords token tokens"
    " secret secrets key keys required invalid wrong missing confirm new old login user username account reset"
    " forgot change set get does do only one all any der die das und ist le la les des de el los y o un une ein"
    " eine di da do"
)
"""Words of sentences. No passphrase contains them."""
_SIGNS = frozenset("!#$%^&*?~@+")
_SORTS = ("[a-z]", "[A-Z]", "[0-9]")


def is_thought_up(value: str) -> bool:
    """Returns True for a password that a person made of a word and a number: ``Summer-2024!``."""
    if len(value) < 8 or not compiled(_MADE_UP).fullmatch(value):
        return False
    if value[-1].isdigit():
        return bool(_SIGNS.intersection(value)) or (not value.isalnum() and value[0].isupper())
    return not value[:-1].isalnum() or not value[-1].isalnum()


def is_telling(token: str) -> bool:
    """Returns False for placeholders such as ``ghp_xxxx...`` or ``sk-ant-your-key-here`` and for names of variables."""
    return bool(set(token[-12:].lower()) - set("x*._-")) and not compiled(_WORDS).fullmatch(token)


def is_mixed(value: str) -> bool:
    """Returns True for a run of upper-case and lower-case letters and digits without words."""
    return len(set(value)) > 9 and all(compiled(sort).search(value) for sort in _SORTS) and is_generated(value)


def is_mixed_short(value: str) -> bool:
    return len(value) > 7 and all(compiled(sort).search(value) for sort in _SORTS) and is_random(value)


def is_reference(value: str) -> bool:
    """Returns True for a placeholder or a reference to a secret: ``${TOKEN}``, ``your-key-here``, ``*****``."""
    low = value.lower()
    for sign in _PLACEHOLDERS:  # A plain loop, because every value is checked.
        if sign in low:
            return True
    if (len(value) > 2 and len(set(low)) < 3) or low in _NOTHING or "\0" in value or compiled(_REFERENCE).match(value):
        return True
    formatted = compiled(r"%[sdr]|\{\d?\}").sub("", value)
    if formatted != value or ".*" in value:
        return not compiled("[A-Z0-9]").search(formatted)
    return False


def is_id(value: str) -> bool:
    return bool(compiled(_ID).fullmatch(value.lower()))


def is_quoted_secret(value: str, kind: str) -> bool:
    """Returns True if the literal or setting with a name of a secret of this ``kind`` is a secret."""
    if is_reference(value):
        return False
    if " " in value or "\t" in value:
        return _is_phrase(value, kind)
    if kind == "password":
        return len(value) >= 3 and not compiled(r"[\W_]+").fullmatch(value)
    if kind == "token":
        return len(value) >= SHORTEST_PASSWORD and _is_no_word(value)
    if kind in ("cookie", "some-key"):
        return is_generated(value) or is_id(value) or (kind == "some-key" and is_mixed_short(value))
    return len(value) >= SHORTEST_PASSWORD and (_is_no_word(value) or (kind == "secret" and len(value) > 7))


def is_bare_secret(value: str, kind: str, *, ends_line: bool) -> bool:
    """Returns True if a value without quotes, after a name of a secret of this ``kind``, is a secret and neither a word
    nor a name in a program."""
    if len(value) < 4 or is_reference(value):
        return False
    if is_id(value) or (kind == "password" and is_thought_up(value)):
        return True
    if compiled(f"{CODE}|{_TYPE}").fullmatch(value) and not any(map(is_mixed, value.split(".")[1:])):
        return False
    if value.isdigit():
        return len(value) >= (4 if kind == "password" else 8)
    if kind == "password" and ends_line and _mixes(value) and compiled(r"[^\s.:/]{4,5}").fullmatch(value):
        return True
    if kind in ("cookie", "some-key"):
        return is_quoted_secret(value, kind)
    if len(value) < SHORTEST_PASSWORD:
        return False
    if value.isalpha():
        return _is_no_word(value) or (
            kind == "password" and ends_line and not _is_word(value.lower()) and value not in _WORDS_OF_CODE
        )
    if kind == "password" and ends_line and compiled("[a-z]+(?:-[a-z]+){3,}").fullmatch(value):
        return not _STOPS.intersection(value.split("-"))
    return is_made_up(value) or is_generated(value)


def is_made_up(value: str) -> bool:
    """Returns True for six or more letters, digits and signs that are neither a name in a program nor words."""
    if len(value) < SHORTEST_PASSWORD or is_reference(value):
        return False
    rest = compiled(_NUMBERED).sub("", value.rstrip("!?"))
    if sum(map(str.isalpha, rest)) < 2 or not compiled(r"[0-9!#$%^&*?~@+]").search(rest):
        return False
    return not compiled(_WORDS).fullmatch(value) and not compiled(CODE).fullmatch(value)


def is_generated(value: str) -> bool:
    """Returns True for twelve or more characters that mix letters, digits and signs, or that are mostly random."""
    if len(value) < SHORTEST_SECRET or is_reference(value):
        return False
    if sum(map(_SIGNS.__contains__, value)) > 1 and all(compiled(some).search(value) for some in _SORTS):
        return True
    runs: list[str] = compiled(r"[^-_./:,=@\s]+").findall(value, 0, _JUDGED)
    random = sum(len(run) for run in runs if len(run) > 3 and is_random(run))
    return random >= 10 and (random >= 0.6 * sum(map(len, runs)) or random >= 28)


def _is_no_word(value: str) -> bool:
    """Returns True if a value is neither words nor a name: it has digits, signs or unusual letters."""
    if value.isdigit():
        return len(value) >= SHORTEST_PASSWORD
    if compiled(_WORDS).fullmatch(value) or compiled(CODE).fullmatch(value):
        return False
    if value.isascii() and value.isalpha():
        if value.isupper():
            return False
        pieces: list[str] = compiled("[A-Z]?[a-z]+|[A-Z]+").findall(value)
        in_words = sum(len(piece) for piece in pieces if _is_word(piece.lower()))
        return in_words < 0.3 * len(value) and (len(pieces) > 3 or len(value) > 9)
    return bool(compiled(r"[0-9!#$%^&*?~@+]").search(compiled(_NUMBERED).sub("", value.rstrip("!?:"))))


def _is_phrase(value: str, kind: str) -> bool:
    """Returns True for several words that form no sentence, or that contain a secret."""
    words = value.split()
    if len(value) > 200 or not words:
        return False
    low = [word.strip(".,:;!?'\"()").lower() for word in words]
    if _STOPS.intersection(low):
        return False
    if kind == "password" and len(words) > 2:
        return all(compiled("[a-z]{2,12}").fullmatch(word) for word in words) or len(words) > 11
    if kind == "password" and len(words) < 5 and any(_mixes(word) for word in words):
        return True
    return all(is_made_up(word) or word.isdigit() or _mixes(word) for word in words)


def _mixes(word: str) -> bool:
    return len(word) > 3 and bool(compiled("[0-9]").search(word)) and bool(compiled("[a-zA-Z]").search(word))


def is_phrase(words: str) -> bool:
    """Returns True if these words, up to the end of a line, are a passphrase."""
    parts = words.split()
    return len(parts) > 3 and len(set(parts)) == len(parts) and _is_phrase(words, "password")


def is_random(run: str) -> bool:
    """Returns True if the sorts of characters change too often for words, or if digits stand among the letters."""
    pieces: list[str] = compiled(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]").findall(run)
    letters = digits = in_words = 0
    for piece in pieces:
        if piece.isdigit():
            digits += len(piece)
        elif piece.isalpha():
            letters += len(piece)
            in_words += len(piece) if _is_word(piece.lower()) else 0
    if len(set(run)) < min(5, len(run)) or letters < 2 or in_words > 0.4 * len(run):
        return False
    changes_often = len(run) <= (2.8 if digits else 2.5) * len(pieces)
    return changes_often or (digits >= 2 and len(run) >= SHORTEST_SECRET)


_PAIRS = (
    "inreerteesontiedatngenstlecontaraldeorraliseanriioitmeecrotrnstaveisdineetunsilapeceacprcticchndcaealomaaselllnarsp"
    "atofigencheiltsouurssthamolniexemompohartsumiabbladutlympieplckkeimotepusaphoshaiidigspn"
)
_COMMON_PAIRS = frozenset(_PAIRS[at : at + 2] for at in range(0, 200, 2))
"""The hundred most frequent pairs of letters in prose and programs."""


def _is_word(piece: str) -> bool:
    """Returns True if half of the pairs of letters are common, as in 3 of 4 words and 1 of 20 random runs."""
    if len(piece) < 4:
        return False
    pairs = len(piece) - 1
    return 2 * sum([piece[at : at + 2] in _COMMON_PAIRS for at in range(pairs)]) >= pairs
