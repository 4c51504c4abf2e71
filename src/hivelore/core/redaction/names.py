"""Names of secrets and their kinds, by the words of a name: ``DB_PASSWORD_2``, ``apiKey``, ``client-secret``."""

from functools import lru_cache
from typing import Final

from hivelore.core.redaction.patterns import compiled, key_of, word_list, word_set

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
_WORD = "[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\\x00-\\x7f]+"


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
    words = [word.lower() for word in compiled(_WORD).findall(name)]
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
