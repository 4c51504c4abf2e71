"""Secrets that open nothing. They are put together from parts and a seeded scramble when the tests run, so that no
scanner takes this file for a leak."""

import base64
import random
import string
from functools import partial

HEX, LOWER, LETTERS = "0123456789abcdef", string.ascii_lowercase + string.digits, string.ascii_letters + string.digits


def scramble(length: int, alphabet: str = LETTERS, seed: str = "") -> str:
    """Returns the same text for the same arguments, with a digit and a letter."""
    chosen = random.Random(f"{length}{alphabet}{seed}").choices(alphabet, k=length - 2)
    return "".join(chosen) + alphabet[0] + alphabet[-1]


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def pem(label: str, *, end: bool = True, line_break: str = "\n", seed: str = "") -> str:
    dashes = "-" * 5
    lines = [
        f"{dashes}BEGIN {label}{dashes}",
        "MII" + scramble(61, seed=seed),
        scramble(64, seed=seed),
        scramble(20, seed=seed),
    ]
    return line_break.join([*lines, f"{dashes}END {label}{dashes}"] if end else lines)


def private_key(lines: int) -> str:
    """Returns a private key with so many lines between the first and the last."""
    first, *_, last = pem("RSA PRIVATE KEY").split("\n")
    return "\n".join([first, *(scramble(64, seed=f"{number}") for number in range(lines)), last])


def shapes(seed: str) -> dict[str, list[str]]:
    """Returns secrets that are found in any context, by kind."""
    made = partial(scramble, seed=seed)
    return {
        "aws-key": [
            "AK" + "IA" + made(16, string.ascii_uppercase + "234567"),
            "AS" + "IA" + made(16, string.ascii_uppercase + "234567"),
        ],
        "github-token": ["gh" + kind + "_" + made(36) for kind in "pousr"] + ["github" + "_pat_" + made(82)],
        "gitlab-token": [
            "gl" + "pat-" + made(20),
            "gl" + "rt-" + made(20),
            "gl" + "pat-" + made(30) + ".01.1f",
        ],
        "slack-token": ["xo" + "xb-123456789012-123456789012-" + made(24), "xa" + "pp-1-A012-345-" + made(64, HEX)],
        "stripe-key": ["sk" + "_live_" + made(24), "rk" + "_live_" + made(24), "wh" + "sec_" + made(32)],
        "openai-key": ["sk" + "-" + made(48), "sk" + "-proj-" + made(60), "sk" + "-or-v1-" + made(64, HEX)],
        "anthropic-key": ["sk" + "-ant-api03-" + made(93) + "AA", "sk" + "-ant-oat01-" + made(40)],
        "google-key": ["AI" + "za" + made(35)],
        "google-oauth": ["ya" + "29." + made(60), "GOC" + "SPX-" + made(28), "1/" + "/0" + made(40)],
        "npm-token": ["np" + "m_" + made(36)],
        "pypi-token": ["py" + "pi-AgE" + "IcHlwaS5vcmc" + made(60)],
        "huggingface-token": ["h" + "f_" + made(34)],
        "digitalocean-token": ["do" + "p_v1_" + made(64, HEX)],
        "sendgrid-key": ["S" + "G." + made(22) + "." + made(43)],
        "discord-token": ["M" + encoded("123456789012345678")[1:] + "." + made(6) + "." + made(27)],
        "jwt": [".".join([encoded('{"alg":"HS256","typ":"JWT"}'), encoded('{"sub":"1234567890"}'), made(43)])],
        "vault-token": ["hv" + "s." + made(24)],
        "doppler-token": ["dp" + ".pt." + made(43), "dp" + ".st.dev." + made(43)],
        "shopify-token": ["shp" + "at_" + made(32, HEX)],
        "mailgun-key": ["ke" + "y-" + made(32, HEX)],
        "databricks-token": ["da" + "pi" + made(32, HEX)],
        "linear-key": ["lin" + "_api_" + made(40)],
        "atlassian-token": ["ATA" + "TT3" + made(180)],
        "sentry-token": ["snt" + "rys_" + made(60), "snt" + "ryu_" + made(64, HEX)],
        "grafana-token": ["gl" + "sa_" + made(32) + "_0a1b2c3d"],
        "age-key": ["AGE-" + "SECRET-KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")],
        "azure-secret": [made(3) + "8" + "Q~" + made(34)],
        "hivelore-key": [
            "hl" + "_default_0198c0de_" + made(43),
            "hl" + "_my-team_7f3a_" + made(20) + "-" + made(20),
        ],
        "groq-key": ["gs" + "k_" + made(52)],
        "xai-key": ["xa" + "i-" + made(80)],
        "perplexity-key": ["ppl" + "x-" + made(48)],
        "replicate-token": ["r" + "8_" + made(37)],
        "notion-token": ["nt" + "n_" + made(46)],
        "figma-token": ["fig" + "d_" + made(40)],
        "postman-key": ["PM" + "AK-" + made(24, HEX) + "-" + made(34, HEX)],
        "supabase-key": ["sb" + "p_" + made(40, HEX), "sb" + "_secret_" + made(31)],
        "tailscale-key": ["ts" + "key-auth-" + made(17) + "-" + made(32)],
        "newrelic-key": ["NR" + "AK-" + made(27, string.ascii_uppercase + string.digits)],
        "docker-token": ["dck" + "r_pat_" + made(27)],
        "brevo-key": ["xkey" + "sib-" + made(64, HEX) + "-" + made(16)],
        "rubygems-key": ["ruby" + "gems_" + made(48, HEX)],
        "private-key": [
            pem("RSA PRIVATE KEY", seed=seed),
            pem("OPENSSH PRIVATE KEY", seed=seed),
            pem("PRIVATE KEY", line_break="\\n", seed=seed),
            pem("PGP PRIVATE KEY BLOCK", seed=seed),
            "b3BlbnNz" + "aC1rZXktdjEAAAAA" + made(40) + "\n" + made(70),
        ],
    }


SHAPES = shapes("")
PLANTED = [secret for examples in shapes("planted").values() for secret in examples]
JWT = SHAPES["jwt"][0]
STRONG = scramble(32)
CONTEXTS: list[tuple[str, str, str, str]] = [
    ("aws-secret", "aws_secret_access_key = ", scramble(38) + "/+", "\n"),
    ("aws-secret", SHAPES["aws-key"][0] + ",", scramble(38) + "/+", "\n"),
    ("azure-key", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", scramble(86) + "==", ";EndpointSuffix=b"),
    ("azure-sas", "https://a.blob.core.windows.net/c?sv=2024&sig=", scramble(44) + "%3D", "&se=2025"),
    ("telegram-token", "123456789:", "AA" + scramble(33), " "),
    ("twilio-key", "twilio sid ", "SK" + scramble(32, HEX), " "),
    ("slack-webhook", "https://hooks.slack.com/services/", "T012/B012/" + scramble(24), " "),
    ("discord-webhook", "https://discord.com/api/webhooks/123456789012345678/", scramble(68), " "),
    ("password", "postgres://bob:", "hunter2", "@db.example.com/x"),
    ("password", "redis://:", "123456", "@localhost:6379"),
    ("password", "https://bob:", "p@ss:w0rd", "@${HOST}/x"),
    ("password", "curl -u bob:", "s3cr3t", " https://a.example"),
    ("password", "machine a.example login bob password ", "qwerty", "\n"),
    ("auth-token", "Authorization: Bearer ", "abc123def456", "\n"),
    ("auth-token", '-H "authorization: token ', STRONG, '"'),
    ("auth-token", "then it sent bearer ", STRONG, " and failed"),
    ("basic-auth", "Authorization: Basic ", base64.b64encode(b"bob:secret").decode(), "\n"),
    ("basic-auth", '{"auths": {"a.example": {"auth": "', base64.b64encode(b"bob:secret").decode(), '"}}}'),
    ("cookie", "Cookie: theme=dark; sid=", STRONG, "; lang=en"),
    ("cookie", "?PHPSESSID=", scramble(26, LOWER), " "),
    ("token", "X-Auth-Token: ", STRONG, "\n"),
    ("token", "https://a.example/?access_token=", STRONG, "&page=2"),
    ("api-key", "X-API-Key: ", scramble(32, HEX), "\n"),
    ("api-key", "const apiKey: string = '", STRONG, "';"),
    ("api-key", '<add key="ApiKey" value="', STRONG, '"/>'),
    ("api-key", "The API key is `", STRONG, "` for now."),
    ("secret", '"client_secret" : "', STRONG, '",'),
    ("secret", "SECRET = ", scramble(64, HEX), "\n"),
    ("secret", "webhook secret: ", scramble(24, LOWER), "."),
    ("password", "password = '", "password123", "'"),
    ("password", "password: ", "hunter2", "\n"),
    ("password", "DB_PASSWORD=", "Tr0ub4dor&3xyz", "\nX=1"),
    ("password", 'password: str = "', "hunter22", '"'),
    ("password", '\\"password\\": \\"', "abc123XYZ", '\\",'),
    ("password", "<password>", "S3cretValue", "</password>"),
    ("password", "- name: DB_PASSWORD\n  value: ", "abc123XYZ", "\n"),
    ("password", "mysql --password ", "Xk29aaPP", " -h db"),
    ("password", "SMTP_PASS=", "Xk29aaPP", "\n"),
    ("password", "**Password:** ", "Summer2024!", "\n"),
    ("password", "The staging password is ", "Tr0ub4dor&3", "."),
    ("password", "数据库密码password=", "abc123XYZ", "，然后重启"),
    ("password", "&quot;password&quot;:&quot;", "abc123XYZ", "&quot;"),
]
"""Kind, what stands before a secret, the secret, what stands behind it."""
