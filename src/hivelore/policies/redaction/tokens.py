"""Secrets that are known by their own shape: the tokens of services, and private keys."""

from collections.abc import Callable, Iterator
from typing import Final

from hivelore.policies.redaction.judgement import is_telling
from hivelore.policies.redaction.matching import Span, compiled, decoded


def secrets_of_known_shape(view: str, low: str) -> Iterator[Span]:
    """``view`` is the text in ASCII, ``low`` the same in lower case."""
    yield from _tokens(view, low)
    if "PRIVATE KEY" in view:
        yield from _private_keys(view)


def _alone(head: str, run: str = "A-Za-z0-9") -> str:
    """``head`` where it does not continue a run of characters; an escape before it (``\\n``, ``%3D``, a colour) may.

    Looking behind comes second, because a pattern that begins with fixed characters is found much faster."""
    escapes = (r"\\[nrt]", r"%[0-9A-F]{2}", r"[\[;][0-9]m", r"[\[;][0-9]{2}m")
    return f"{head}(?:(?<![{run}]{head})|{'|'.join(f'(?<={escape}{head})' for escape in escapes)})"


def _is_jwt(token: str) -> bool:
    header = decoded(token.partition(".")[0])
    return header.startswith(b"{") and b'"alg"' in header


def _is_discord(token: str) -> bool:
    return decoded(token.partition(".")[0]).isdigit()


_Token = tuple[str, str, str, Callable[[str], bool]]


def _token(kind: str, literals: str, pattern: str, check: Callable[[str], bool] = is_telling) -> _Token:
    return kind, literals, pattern, check


_TOKENS: Final = (
    _token("aws-key", "AKIA ASIA ABIA ACCA", _alone("A(?:KIA|SIA|BIA|CCA)") + r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_\w{30,}+(?:\.[\w-]{10,}+){0,2}"),
    _token("github-token", "github_pat_", r"github_pat_\w{22,}+"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w-]{20,}+(?:\.[a-z0-9]{2,9}){0,2}",
    ),
    _token("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", r"xox[abcdeoprs]-[\w%-]{15,}+"),
    _token("slack-token", "xapp-", _alone("xapp-") + r"\d-[\w-]{15,}+"),
    _token("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,}+)"),
    _token("discord-webhook", "/api/webhooks/", r"/api/webhooks/\d{15,20}/([\w-]{30,}+)"),
    _token("discord-token", ".", _alone("[MNO]", r"\w-") + r"[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+", _is_discord),
    _token("teams-webhook", ".webhook.office.com/", r"\.webhook\.office\.com/webhookb2/([\w@/-]{40,}+)"),
    _token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", _alone("[sr]k_(?:live|test)_") + r"[A-Za-z0-9]{16,}+"),
    _token("stripe-key", "whsec_", _alone("whsec_") + r"[A-Za-z0-9+/]{24,}+=*+"),
    _token("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{16,}+"),
    _token("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"sk-(?:proj|svcacct|admin)-[\w-]{16,}+"),
    _token("openai-key", "sk-", _alone("sk-") + r"(?:[a-z]{2,8}-(?:v\d-)?)?(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}+"),
    _token("google-key", "AIza", _alone("AIza") + r"[\w-]{30,}+"),
    _token("google-oauth", "ya29.", r"ya29\.[\w-]{20,}+"),
    _token("google-oauth", "GOCSPX-", r"GOCSPX-[\w-]{20,}+"),
    _token("google-oauth", "1//0", _alone("1//0") + r"[\w-]{30,}+"),
    _token("npm-token", "npm_", _alone("npm_") + r"[A-Za-z0-9]{30,}+"),
    _token("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{30,}+"),
    _token("huggingface-token", "hf_", _alone("hf_") + r"[A-Za-z0-9]{30,}+"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{32,}+"),
    _token("sendgrid-key", "SG.", _alone(r"SG\.", r"\w-") + r"[\w-]{16,}+\.[\w-]{16,}+"),
    _token("telegram-token", ":AA", r"AA(?<=[0-9]{8}:AA)[\w-]{32,}+"),
    _token("azure-sas", "sig=", r"sig=([A-Za-z0-9%+/]{40,}+=*+)"),
    _token("azure-secret", "Q~", r"[\w.~-]{3}\dQ~[\w.~-]{30,}+"),
    _token("jwt", "eyJ", _alone("eyJ", r"\w-") + r"[\w-]{10,}+\.[\w-]{4,}+\.[\w-]{4,}+(?:\.[\w-]*+){0,2}", _is_jwt),
    _token("vault-token", "hvs. hvb. hvr.", _alone(r"hv[sbr]\.") + r"[\w-]{20,}+"),
    _token(
        "doppler-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        _alone(r"dp\.") + r"(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?\w{30,}+",
    ),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{30,}+"),
    _token("mailgun-key", "key-", _alone("key-") + r"[0-9a-f]{32}(?![A-Za-z0-9-])"),
    _token("databricks-token", "dapi", _alone("dapi") + r"[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _token("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}+"),
    _token("atlassian-token", "ATATT3 ATCTT3", r"AT[AC]TT3[\w=-]{30,}+"),
    _token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[\w+/=-]{30,}+"),
    _token("grafana-token", "glsa_ glc_", _alone("gl(?:sa|c_)") + r"[\w+/=-]{30,}+"),
    _token("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{30,}+"),
    _token("private-key", "b3BlbnNzaC1rZXkt", r"b3BlbnNzaC1rZXkt[\w+/=]*+(?:(?:\s|\\n)[\w+/=]{30,}+)*+"),
    _token("hivelore-key", "hl_", _alone("hl_") + r"[A-Za-z0-9.-]{1,64}_[A-Za-z0-9.-]{1,64}_[\w-]{16,}+"),
    _token("groq-key", "gsk_", _alone("gsk_") + r"[A-Za-z0-9]{40,}+"),
    _token("xai-key", "xai-", _alone("xai-") + r"[A-Za-z0-9]{60,}+"),
    _token("perplexity-key", "pplx-", _alone("pplx-") + r"[A-Za-z0-9]{40,}+"),
    _token("replicate-token", "r8_", _alone("r8_") + r"[A-Za-z0-9]{36,}+"),
    _token("notion-token", "ntn_", _alone("ntn_") + r"[A-Za-z0-9]{40,}+"),
    _token("figma-token", "figd_", _alone("figd_") + r"[\w-]{36,}+"),
    _token("postman-key", "PMAK-", r"PMAK-[a-f0-9]{20,}+-[a-f0-9]{30,}+"),
    _token("supabase-key", "sbp_", _alone("sbp_") + r"[a-f0-9]{40,}+"),
    _token("supabase-key", "sb_secret_", _alone("sb_secret_") + r"[\w-]{20,}+"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]{3,12}-[A-Za-z0-9-]{20,}+"),
    _token("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27,}+"),
    _token("docker-token", "dckr_pat_", r"dckr_pat_[\w-]{20,}+"),
    _token("brevo-key", "xkeysib-", r"xkeysib-[a-f0-9]{40,}+(?:-\w{10,}+)?"),
    _token("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{40,}+"),
)

_LITERALS: Final = [(literal, index) for index, (_, literals, *_) in enumerate(_TOKENS) for literal in literals.split()]
_SHORTEST: Final = 20
"""Every token stands in a word at least this long; prose has few of those."""


def _tokens(view: str, low: str) -> Iterator[Span]:
    dense = " ".join([word for word in view.split() if len(word) >= _SHORTEST])
    for index in dict.fromkeys([index for literal, index in _LITERALS if literal in dense] if dense else ()):
        kind, _, pattern, is_secret = _TOKENS[index]
        for match in compiled(pattern).finditer(view):
            start, stop = match.span(match.lastindex or 0)
            if is_secret(view[start:stop]):
                yield kind, start, stop
                if kind == "aws-key":
                    yield from _beside_aws_key(view, stop)
    if "twilio" in low:
        for match in compiled(_alone("(?:SK|AC)") + r"[0-9a-f]{32}(?![A-Za-z0-9])").finditer(view):
            yield "twilio-key", *match.span()


def _beside_aws_key(view: str, stop: int) -> Iterator[Span]:
    """The secret that belongs to a key id tends to stand right behind it, under any name or none."""
    for match in compiled(r"(?<![\w/+])[A-Za-z0-9/+]{40}(?![\w/+=])").finditer(view, stop, stop + 100):
        if not match[0].islower() and not match[0].isupper() and not match[0].isalpha():
            yield "aws-secret", *match.span()


def _private_keys(view: str) -> Iterator[Span]:
    """Whole blocks, to the end of the text where the last line is missing. A header alone is no key."""
    begin = (
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\"'+,|>#*]|\\+[nr]?|[0-9]{1,6}[|:?\t]){0,60}+"  # from quotes, escapes and numbered lines
        r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): |(?=[A-Za-z0-9+/=]{0,9}[A-Z0-9+/])[A-Za-z0-9+/=]{10})"
    )
    stop = 0
    while header := compiled(begin).search(view, stop):
        end = compiled(r"-----END [A-Z0-9 ]{0,60}-----").search(view, header.end())
        stop = end.end() if end else len(view)
        yield "private-key", header.start(), stop
