"""Texts with an invented secret: the context, and the secret. Nothing here opens anything; the values
are made when the tests run, from a seed, so that no scanner takes this file for a leak."""

import base64
import random
import string
import uuid
from collections.abc import Iterator
from typing import NamedTuple

from support.fake_secrets import HEX, LETTERS, LOWER
from support.secret_forms import LOGS, SAID, SESSIONS

WORDS = (
    *("walnut", "tulip", "gravel", "pepper", "anvil", "cobalt", "meadow", "trumpet", "saddle", "velvet", "harbor"),
    *("cactus", "puddle", "marble", "turnip", "lantern", "compass", "ferret", "gazelle", "hammock"),
)
ODD_STARTS = "$%<[{(|!@#~^+*?"
"""Signs that begin references as well."""


class Shape(NamedTuple):
    name: str
    text: str
    secrets: tuple[str, ...]


class Values:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        return "".join(self._random.choices(alphabet, k=length))

    def mixed(self, length: int = 24) -> str:
        """Returns a random text with capitals, small letters and digits."""
        return "".join(
            self._random.sample("ACDEFGHJKL", 2)
            + self._random.sample("bcdfghjkmnp", 2)
            + self._random.sample("23456789", 2)
        ) + self.of(LETTERS, length - 6)

    def password(self) -> str:
        return self.mixed(8) + self._random.choice("!#*+?") + self.of(LETTERS, 3)

    def thought_up(self) -> str:
        """Returns a password as people make them: a word, a sign, a number, and one more character."""
        word = self._random.choice(WORDS)
        word = word if self._random.random() < 0.3 else word.capitalize()
        return word + self._random.choice("!-_.#@") + self.of("123456789", 4) + self._random.choice("!?xQz")

    def phrase(self, count: int = 4) -> str:
        return " ".join(self._random.sample(WORDS, count))

    def styles(self) -> dict[str, str]:
        return {
            "hex40": self.of(HEX, 40),
            "hex32": self.of(HEX, 32),
            "uuid": str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
            "digits": self._random.choice("123456789") + self.of(string.digits, 9),
            "mixed": self.mixed(32),
            "short": self.mixed(8),
            "lower": self.of(LOWER, 18) + "7x",
            "base64": base64.b64encode(self._random.randbytes(24)).decode(),
        }


NAMES = (
    "WEATHER_API_KEY",
    "DEPLOY_TOKEN",
    "SECRET_KEY_BASE",
    "clientSecret",
    "db-password",
    "app.auth_token",
    "ADMIN_PASSWD_2",
)
NAMED = {
    "env": "{name}={value}",
    "export": 'export {name}="{value}"',
    "yaml": "service:\n  {name}: {value}\n  port: 80",
    "json": '{{"user": "app", "{name}": "{value}"}}',
    "code": 'const {name} = "{value}";',
}
PROSE = {
    "en": "the password is {0} from now on",
    "en-for": "The password for the staging database is {0}.",
    "en-with": "log in as eva with password {0} please",
    "en-changed": "we changed the password to {0} yesterday",
    "en-as": "use {0} as the password",
    "en-credentials": "credentials: eva / {0}",
    "en-user": "user: eva, password: {0}",
    "en-token": "the API token for the queue is {0}, it expires in May",
    "en-heading": "## Root password\n\n{0}\n",
    "en-log": "2026-01-02 12:00:01 INFO generated temporary password for root@localhost: {0}",
    "de": "Das Passwort lautet {0}.",
    "de-for": "Das Kennwort für den Server ist {0}",
    "de-login": "Zugangsdaten: eva / {0}",
    "de-key": "Der API-Schlüssel ist {0}",
    "fr": "Le mot de passe est {0}.",
    "fr-colon": "Mot de passe : {0}",
    "fr-key": "La clé API est {0}",
    "fr-mdp": "mdp: {0}",
    "es": "La contraseña es {0}.",
    "es-colon": "Contraseña del servidor: {0}",
    "es-key": "la clave de API es {0}",
    "pt": "A senha é {0}.",
    "pt-colon": "senha do banco: {0}",
    "it": "La password del server è {0}",
    "nl": "Het wachtwoord is {0}",
    "pl": "Hasło: {0}",
    "ru": "Пароль: {0}",
    "ru-dash": "Пароль от сервера — {0}",
    "ru-key": "Ключ API: {0}",
    "zh": "密码是{0}。",
    "zh-colon": "数据库密码：{0}",
    "zh-key": "API密钥是 {0}",
    "zh-token": "访问令牌：{0}",
    "ja": "パスワードは{0}です。",
    "ja-colon": "パスワード：{0}",
    "ja-key": "APIキーは {0} です",
    "ko": "비밀번호는 {0} 입니다",
}
COMMANDS = (
    "mysql -u root -p{0} crm",
    "mysqldump -h db -uapp -p'{0}' crm > crm.sql",
    "sshpass -p {0} ssh root@db1",
    "redis-cli -h cache -a {0} ping",
    "curl -u eva:{0} https://a.example/x",
    "curl -H 'X-Api-Key: {0}' https://a.example",
    "wget --user=eva --password={0} https://a.example/x",
    "docker login -u ci -p {0} registry.example",
    "PGPASSWORD={0} psql -h db app",
    "ldapsearch -x -D cn=admin -w {0} -b dc=example",
    "openssl enc -aes-256-cbc -pass pass:{0} -in a -out b",
    "zip -P {0} a.zip a.txt",
    "7z x -p{0} a.7z",
    "echo '{0}' | sudo -S systemctl restart app",
    "echo 'eva:{0}' | chpasswd",
    "htpasswd -b /etc/nginx/users eva {0}",
    "smbclient //nas/share -U eva%{0}",
    "sqlcmd -S db -U sa -P {0} -Q 'select 1'",
    "sqlplus scott/{0}@orcl",
    "mongosh --host db -u root -p {0}",
    "net use Z: \\\\nas\\share {0} /user:eva",
    "rabbitmqctl add_user eva {0}",
    "plink -ssh eva@db1 -pw {0}",
    "xfreerdp /u:eva /p:{0} /v:win1",
    "mosquitto_pub -u eva -P {0} -t a -m b",
    "keytool -list -keystore a.jks -storepass {0}",
    "gpg --batch --passphrase {0} -d a.gpg",
    "aws configure set aws_secret_access_key {0}",
    "vault login {0}",
    "gh secret set DEPLOY_KEY --body {0}",
    "kubectl create secret generic db --from-literal=password={0}",
    "ansible-playbook site.yml -e 'db_password={0}'",
    "nmcli dev wifi connect office password {0}",
    "http -a eva:{0} GET a.example/x",
    "twine upload -u eva -p {0} dist/*",
    "CREATE USER app IDENTIFIED BY '{0}';",
    "ALTER USER app WITH PASSWORD '{0}';",
    "SET PASSWORD FOR app = PASSWORD('{0}');",
    "INSERT INTO users (name, password) VALUES ('eva', '{0}');",
    "$p = ConvertTo-SecureString '{0}' -AsPlainText -Force",
    "New-Object System.Net.NetworkCredential('eva', '{0}')",
    "setx API_TOKEN {0}",
    "snmpwalk -v2c -c {0} 10.0.0.1",
)
FILES = (
    "machine a.example login eva password {0}\n",
    "db1:5432:app:eva:{0}",
    "ENV API_TOKEN {0}",
    "requirepass {0}\nmaxmemory 1gb",
    'network={{\n  ssid="office"\n  psk="{0}"\n}}',
    "define('DB_PASSWORD', '{0}');",
    "'password' => '{0}',",
    "<password>{0}</password>",
    '<add key="ApiKey" value="{0}"/>',
    '<bean><property name="password" value="{0}"/></bean>',
    "<key>Password</key>\n<string>{0}</string>",
    '[{{"name": "API_TOKEN", "value": "{0}"}}]',
    "- name: DB_PASSWORD\n  value: {0}\n",
    "Server=db;Database=app;User Id=sa;Password={0};Encrypt=true",
    "spring.datasource.password={0}",
    "token: |\n  {0}\nport: 80",
    "api_key: >-\n  {0}\n",
    'password = """{0}"""',
    "<password><![CDATA[{0}]]></password>",
    'variable "db_password" {{\n  default = "{0}"\n}}',
    "//registry.example/:_authToken={0}",
    "os.environ['API_TOKEN'] = '{0}'",
    'os.getenv("API_TOKEN", "{0}")',
    'System.setProperty("db.password", "{0}");',
    'builder.apiKey("{0}").build()',
    'requests.get(url, auth=("eva", "{0}"))',
    "const s = process.env.JWT_SECRET || '{0}';",
    "DB_PASSWORD=${{DB_PASSWORD:-{0}}}",
    'public string ClientSecret {{ get; set; }} = "{0}";',
    'Dim password As String = "{0}"',
    'let api_key: &str = "{0}";',
    'val token: String = "{0}"',
    'secret_key_base: "{0}"',
    '"Authorization": "Bearer {0}"',
    "X-Auth-Token: {0}",
    "https://a.example/x?access_token={0}&page=2",
    "postgres://eva:{0}@db/app",
    "amqp://eva:{0}@mq:5672/%2F",
    "git clone https://oauth2:{0}@git.example/a.git",
    "user,password\neva,{0}\n",
    "host;user;pass\ndb1;eva;{0}\n",
    "user\tpassword\neva\t{0}\n",
    "| user | password |\n|---|---|\n| eva | {0} |\n",
    "| name | value |\n|---|---|\n| password | {0} |\n",
    " login | password \n-------+----------\n eva | {0}\n(1 row)",
    "<tr><td>Password</td><td>{0}</td></tr>",
    "password\uff1d{0}",
    "redirect=https%3A%2F%2Fa.example%3Ftoken%3D{0}%26x%3D1",
    '{{\\"api_key\\": \\"{0}\\"}}',
    '{{"cmd": "password\\u003d{0}\\u0026x=1"}}',
    "&quot;password&quot;:&quot;{0}&quot;",
    "\x1b[32mpassword\x1b[0m=\x1b[33m{0}\x1b[0m",
    "DB_\x1b[1mPASS\x1b[0mWORD={0}",
    "pass\u200bword={0}",
)
PREFIXES = (
    *("nvapi-", "tvly-", "jina_", "pscale_tkn_", "lsv2_pt_", "phx_", "CFPAT-", "dckr_pat_", "pcsk_", "tgp_v1_", "sgp_"),
    *("vcp_", "nfp_", "rnd_", "pnu_", "napi_x", "fo1_", "gsk_", "r8_", "ntn_", "figd_", "apify_api_", "duffel_live_"),
    *("unknown_", "acme_live_", "zz-prod-"),
)


def shapes(seed: int) -> Iterator[Shape]:
    values = Values(seed)
    yield from _named(values)
    yield from _phrases(values)
    for language, form in PROSE.items():
        value = values.mixed(24 if "key" in language or "token" in language else 10)
        yield Shape(f"prose {language}", form.format(value), (value,))
    for form in COMMANDS:
        value = values.mixed(14)
        yield Shape(f"command {form}", form.format(value), (value,))
    for form in FILES:
        value = values.mixed(20)
        yield Shape(f"file {form}", form.format(value), (value,))
    for form in (*SAID, *SESSIONS, *LOGS):
        made, chosen = values.mixed(28), values.thought_up()
        text = form.format(made, chosen)
        yield Shape(f"form {form}", text, tuple(value for value in (made, chosen) if value in text))
    for prefix in PREFIXES:
        value = prefix + values.mixed(60)
        yield Shape(f"vendor {prefix}", f"it said {value} and stopped", (value,))
    yield from _wrapped(values)
    yield from _divided(values)


def _named(values: Values) -> Iterator[Shape]:
    for name in NAMES:
        for style, value in values.styles().items():
            for form in NAMED if style in ("hex40", "uuid", "short") else ("env", "json"):
                yield Shape(f"{form} {name} {style}", NAMED[form].format(name=name, value=value), (value,))
    for sign in ODD_STARTS:
        for form in ("PASSWORD='{0}'", 'password: "{0}"', '{{"password": "{0}"}}', "DB_PASSWORD={0}"):
            value = sign + values.password()
            if form.endswith("}") or sign not in "(|#*":
                yield Shape(f"odd {sign} {form}", form.format(value), (value[1:],))
    for index in range(20):
        value = values.of(string.ascii_lowercase if index % 2 else string.ascii_letters, 8)
        yield Shape(f"letters {index}", f"DB_PASSWORD={value}" if index % 3 else f'password: "{value}"', (value,))


def _phrases(values: Values) -> Iterator[Shape]:
    for form in (
        'PASSPHRASE="{0}"',
        "passphrase: {0}\n",
        "The passphrase is: {0}",
        "gpg --passphrase '{0}'",
        '{{"password": "{0}"}}',
    ):
        value = values.phrase()
        yield Shape(f"phrase {form}", form.format(value), tuple(value.split()[:2]))


def _wrapped(values: Values) -> Iterator[Shape]:
    for inner in ("DB_PASSWORD={0}", '{{"user": "eva", "password": "{0}"}}', "machine a login b password {0}"):
        for form in ("echo {0} | base64 -d", "payload: {0}", "{0}"):
            wrapped = base64.b64encode(inner.format(values.mixed(14)).encode()).decode()
            yield Shape(f"base64 {inner} {form}", form.format(wrapped), (wrapped.rstrip("="),))
    twice = base64.b64encode(base64.b64encode(f"API_TOKEN={values.mixed(30)}".encode())).decode()
    yield Shape("base64 twice", f"data={twice}", (twice.rstrip("="),))
    digits = f"password={values.mixed(12)}".encode().hex()
    yield Shape("hexadecimal", f"xxd: {digits}", (digits,))


def _divided(values: Values) -> Iterator[Shape]:
    for between in ('" +\n  "', '"\n    "', "' + '", "' . '"):
        first, second = values.mixed(14), values.mixed(14)
        quote = between[0]
        yield Shape(f"split {between!r}", f"api_key = {quote}{first}{between}{second}{quote}", (first, second))
    first, second = values.mixed(16), values.mixed(16)
    yield Shape("split backslash", f"export API_TOKEN={first}\\\n{second}", (first, second))
    first, second = values.mixed(30), values.mixed(20)
    yield Shape("split wrapped", f"Authorization: Bearer {first}\n  {second}", (first, second))
    github = "gh" + "p_" + values.mixed(36)
    yield Shape("split vendor", f"the token {github[:20]}\n{github[20:]}\n", (github[20:],))
    for gap in ("\x1b[0m\x1b[31m", "\u200b", "\u2060", "\u00ad"):
        yield Shape(f"broken {gap!r}", f"key {github[:20]}{gap}{github[20:]} x", (github[20:],))
