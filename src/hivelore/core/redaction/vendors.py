"""Secrets recognized by their shape: tokens of services (``ghp_...``, ``sk-ant-...``, ``AKIA...``) and private keys."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from hivelore.core.redaction.judgement import Span, compiled, decoded, is_generated, is_mixed, is_telling
from hivelore.core.redaction.renditions import Rendition


def secrets_of_vendors(rendition: Rendition) -> Iterator[Span]:
    """Yields tokens of services and private keys."""
    view = rendition.view
    yield from _tokens(view, rendition.low)
    if "PRIVATE KEY" in view:
        yield from _private_keys(view)
    if "Private-Lines" in view:
        for match in compiled(
            r"Private-Lines:[ \t]{0,4}\d{1,4}\s{1,4}((?:[A-Za-z0-9+/=]{4,128}+\s{1,4}){1,400})"
        ).finditer(view):
            yield "private-key", *_stripped(view, *match.span(1))
    if "kty" in view:
        yield from _web_keys(view)
    if "<RSAKeyValue>" in view:
        for match in compiled(r"<(?:D|P|Q|DP|DQ|InverseQ)>\s{0,40}([A-Za-z0-9+/=\s]{16,4096}+)<").finditer(view):
            yield "private-key", *_stripped(view, *match.span(1))


def _stripped(view: str, start: int, stop: int) -> tuple[int, int]:
    return start, start + len(view[start:stop].rstrip())


def _web_keys(view: str) -> Iterator[Span]:
    """Yields the private parts of a JSON Web Key: ``{"kty": "RSA", "d": "..."}``."""
    for match in compiled(r"[\"' {,](?:d|p|q|dp|dq|qi|k)[\"']?[ \t]{0,4}:\s{0,8}[\"']([\w-]{16,}+)[\"']").finditer(
        view
    ):
        yield "private-key", *match.span(1)


def _alone(head: str, run: str = "A-Za-z0-9") -> str:
    """Returns a pattern for ``head`` that is not preceded by characters of ``run``, except for an escape (``\\n``,
    ``%3D``, a color).

    The lookbehind comes second, because a search for a pattern with fixed first characters is much faster.
    """
    escapes = (r"\\[nrt]", r"%[0-9A-F]{2}", r"[\[;][0-9]m", r"[\[;][0-9]{2}m")
    return f"{head}(?:(?<![{run}]{head})|{'|'.join(f'(?<={escape}{head})' for escape in escapes)})"


def _is_jwt(token: str) -> bool:
    header = decoded(token.partition(".")[0])
    return header.startswith(b"{") and b'"alg"' in header


def _is_discord(token: str) -> bool:
    number, _, rest = token.partition(".")
    return decoded(number).isdigit() or is_generated(number + rest)


_Token = tuple[str, str, str, Callable[[str], bool]]
"""Kind, literals of which every match contains one, pattern, and a check of the match."""


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
    _token(
        "private-key",
        "MII MHcCAQEE MHQCAQEE MC4CAQAw MIGHAgEA",
        r"(?<![\w+/])(?:MII[A-Za-z0-9+/]{3}IBA(?:AKCA|DANBgkqhkiG9w0BAQEFAASC)|MH[cQ]CAQEE|MC4CAQAwBQYDK2V[wu]"
        r"|MIGHAgEAMBMGByqGSM49)"
        r"[\w+/]{20,}+(?:(?:\s|\\n)[\w+/]{20,}+)*+=*+",
    ),
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
    _token("twilio-key", "SK", _alone("SK") + r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("artifactory-token", "AKCp", _alone("AKCp") + r"[A-Za-z0-9]{10,}+"),
    _token("artifactory-token", "cmVmdGtu", _alone("cmVmdGtu") + r"[A-Za-z0-9]{40,}+"),
    _token("square-token", "sq0atp- sq0csp- sq0idp-", r"sq0(?:atp|csp)-[\w-]{20,}+"),
    _token("square-token", "EAAA", _alone("EAAA", r"\w+/-") + r"[\w-]{55,62}(?![\w+/-])"),
    _token("braintree-token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{10,}+\$[0-9a-f]{20,}+"),
    _token("airtable-token", "pat", _alone("pat") + r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth|app_secret)_[\w=.-]{20,}+"),
    _token("posthog-key", "phx_ phs_", _alone("ph[xs]_") + r"[A-Za-z0-9_-]{30,}+"),
    _token("langsmith-key", "lsv2_ ls__", r"lsv2_(?:pt|sk)_\w{30,}+|ls__\w{30,}+"),
    _token("nvidia-key", "nvapi-", r"nvapi-[\w-]{40,}+"),
    _token("jina-key", "jina_", _alone("jina_") + r"[\w-]{40,}+"),
    _token("tavily-key", "tvly-", r"tvly-[\w-]{20,}+"),
    _token("sonar-token", "sqp_ squ_ sqa_ sqb_", _alone("sq[puab]_") + r"[0-9a-f]{40}"),
    _token("bitcoin-key", "prv", _alone("[xyztuv]prv") + r"[1-9A-HJ-NP-Za-km-zA-Za-z0-9]{95,}+"),
    _token("mailchimp-key", "-us", _alone("[0-9a-f]") + r"[0-9a-f]{31}-us\d{1,2}(?!\w)"),
    _token("notion-token", "secret_", _alone("secret_") + r"[A-Za-z0-9]{40,}+"),
    _token("terraform-token", ".atlasv1.", r"(?<!\w)\w{12,16}\.atlasv1\.[\w-]{50,}+"),
    _token("pulumi-token", "pul-", _alone("pul-") + r"[0-9a-f]{40}"),
    _token("dynatrace-token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{20,}+\.[A-Z0-9]{40,}+"),
    _token("fly-token", "fo1_ fm1r_ fm2_ FlyV1", r"(?<!\w)(?:fo1_[\w-]{40,}+|fm(?:1[ar]|2)_[\w+/=-]{40,}+)"),
    _token("clojars-token", "CLOJARS_", r"CLOJARS_[a-f0-9]{40,}+"),
    _token("duffel-token", "duffel_", r"duffel_(?:live|test)_[\w=-]{30,}+"),
    _token("easypost-key", "EZAK EZTK", _alone("EZ[AT]K") + r"[A-Za-z0-9]{40,}+"),
    _token("mapbox-token", "sk.eyJ", r"(?<!\w)sk\.eyJ[\w-]{20,}+\.[\w-]{15,}+"),
    _token("facebook-token", "EAA", _alone("EAA", r"\w+/-") + r"[A-Z][A-Za-z0-9]{60,}+(?![\w+/-])"),
    _token("buildkite-token", "bkua_ bkct_", r"bk(?:ua|ct)_[a-f0-9]{40}"),
    _token("contentful-token", "CFPAT-", r"CFPAT-[\w-]{40,}+"),
    _token("prefect-key", "pnu_ pnb_", _alone("pn[ub]_") + r"[A-Za-z0-9]{30,}+"),
    _token("readme-key", "rdme_", _alone("rdme_") + r"[a-z0-9]{60,}+"),
    _token("adobe-secret", "p8e-", _alone("p8e-") + r"[\w-]{30,}+"),
    _token("plaid-token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}"),
    _token("cloudflare-key", "v1.0-", _alone(r"v1\.0-") + r"[a-f0-9]{24}-[a-f0-9]{100,}+"),
    _token("netlify-token", "nfp_ nfc_ nfo_ nfu_", _alone("nf[pcou]_") + r"[A-Za-z0-9]{30,}+"),
    _token(
        "vercel-token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", r"(?<!\w)(?:vc[piark]_|vercel_blob_rw_)[\w]{24,}+"
    ),
    _token("circleci-token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{10,}+_[a-f0-9]{40}"),
    _token("heroku-key", "HRKU-", r"HRKU-[\w-]{30,}+"),
    _token("render-key", "rnd_", _alone("rnd_") + r"[A-Za-z0-9]{24,}+"),
    _token("sourcegraph-token", "sgp_ sgd_", r"(?<!\w)sg[pd]_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40,}+"),
    _token("pinecone-key", "pcsk_", r"pcsk_\w{40,}+"),
    _token("openrouter-key", "sk-lf- sk-or-", r"sk-(?:lf|or)-[\w-]{30,}+"),
    _token("firecrawl-key", "fc-", _alone("fc-") + r"[0-9a-f]{32}(?!\w)"),
    _token("elevenlabs-key", "sk_", _alone("sk_") + r"[0-9a-f]{48}(?!\w)"),
    _token("resend-key", "re_", _alone("re_") + r"(?=\w*\d)[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}+"),
    _token("mailersend-key", "mlsn.", r"mlsn\.[a-f0-9]{40,}+"),
    _token("mandrill-key", "md-", _alone("md-") + r"(?=[\w-]*\d)[\w-]{22}(?![\w-])"),
    _token("hubspot-token", "pat-", _alone("pat-") + r"[a-z]{2}\d-[0-9a-f]{8}-[0-9a-f-]{27}"),
    _token(
        "asana-token",
        "1/1 1/2 1/3 1/4 1/5 1/6 1/7 1/8 1/9 2/1 2/2 2/3 2/4 2/5 2/6 2/7 2/8 2/9",
        r"[12]/(?<![\w/.-][12]/)\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}(?!\w)",
    ),
    _token("clickup-token", "pk_", _alone("pk_") + r"\d{4,10}_[A-Z0-9]{20,}+"),
    _token("trello-token", "ATTA", _alone("ATTA") + r"[0-9a-f]{60,}+\w{0,12}"),
    _token("bitbucket-token", "ATBB", _alone("ATBB") + r"[A-Za-z0-9]{20,}+"),
    _token("dropbox-token", "sl.", _alone(r"sl\.") + r"(?:u\.)?[\w-]{60,}+"),
    _token("twitch-token", "oauth:", r"oauth:([a-z0-9]{30})(?!\w)"),
    _token("discord-token", "mfa.", _alone(r"mfa\.") + r"[\w-]{80,}+"),
    _token("onepassword-token", "ops_eyJ", r"ops_eyJ[\w+/=-]{100,}+"),
    _token(
        "onepassword-key",
        "A3-",
        _alone("A3-", r"\w-")
        + r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
    _token("alibaba-key", "LTAI", _alone("LTAI") + r"(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}+"),
    _token("tencent-key", "AKID", _alone("AKID") + r"[A-Za-z0-9]{32}(?!\w)"),
    _token("yandex-key", "AQVN", _alone("AQVN") + r"[\w-]{35,}+"),
    _token("google-key", "AQ.", _alone(r"AQ\.") + r"Ab[\w-]{40,}+"),
    _token("anyscale-key", "esecret_", r"esecret_[A-Za-z0-9]{20,}+"),
    _token("together-key", "tgp_v1_", r"tgp_v1_[\w-]{30,}+"),
    _token("cerebras-key", "csk-", _alone("csk-") + r"[a-z0-9]{40,}+"),
    _token("voyage-key", "pa-", _alone("pa-", r"\w-") + r"(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{40,}+"),
    _token("neon-key", "napi_", _alone("napi_") + r"[a-z0-9]{50,}+"),
    _token("aiven-password", "AVNS_", r"AVNS_[\w-]{15,}+"),
    _token("shippo-token", "shippo_live_ shippo_test_", r"shippo_(?:live|test)_[a-f0-9]{32,}+"),
    _token("razorpay-key", "rzp_live_ rzp_test_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}+"),
    _token("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}+(?:-X)?"),
    _token("honeycomb-key", "hcaik_ hcbik_ hcxik_ hcalk_", r"hc[abx](?:ik|lk|mk)_[a-z0-9]{40,}+"),
    _token("newrelic-key", "NRII- NRAA- NRRA- NRBR- NRJS-", r"NR(?:II|AA|RA|BR|JS)-[\w-]{19,}+"),
    _token("newrelic-key", "NRAL", _alone("[0-9a-f]") + r"[0-9a-zA-Z]{35}NRAL(?!\w)"),
    _token("typeform-token", "tfp_", _alone("tfp_") + r"[\w.=-]{40,}+"),
    _token("frameio-token", "fio-u-", r"fio-u-[\w=-]{40,}+"),
    _token("scalingo-token", "tk-us-", r"tk-us-[\w-]{40,}+"),
    _token("infisical-token", "st.", _alone(r"st\.") + r"[a-f0-9]{8,}+\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    _token(
        "launchdarkly-key",
        "sdk- api- mob-",
        _alone("(?:sdk|api|mob)-", r"\w-") + r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    _token("azure-key", "JQQJ99", r"[A-Za-z0-9]{20,80}JQQJ99[A-Za-z0-9]{20,40}"),
    _token(
        "azure-key",
        "AzFu AzSe +ACR AIoT +ASt APIM",
        r"(?<![\w+/])[\w+/]{20,80}(?:AzFu|AzSe|\+ACR|AIoT|\+ASt|APIM)[\w+/]{5,12}={0,2}(?![\w+/])",
    ),
    _token("snyk-token", "snyk_", r"snyk_(?:uat|sat)\.[\w.-]{30,}+"),
    _token("wandb-key", "wandb_v1_", r"wandb_v1_[\w-]{40,}+"),
    _token("mongodb-key", "mdb_sa_sk_", r"mdb_sa_sk_[\w-]{30,}+"),
    _token("slack-token", "xox", r"xox[abcdeoprs]\.[\w%-]{15,}+"),
    _token("amazon-key", "amzn. ABSK", r"amzn\.mws\.[0-9a-f]{8}-[0-9a-f-]{27}|(?<!\w)ABSK[A-Za-z0-9+/]{80,}+=*+"),
    _token("docker-token", "SWMTKN-", r"SWMTKN-1-[\w-]{40,}+"),
    _token("octopus-key", "API-", _alone("API-") + r"[A-Z0-9]{25,30}(?!\w)"),
    _token("openshift-token", "sha256~", r"sha256~[\w-]{40,}+"),
    _token("firebase-key", ":APA91b", r"(?<!\w)AAAA[\w-]{7}:APA91b[\w-]{100,}+"),
    _token("fernet-token", "gAAAAA", r"(?<![\w+/-])gAAAAA[\w-]{60,}+=*+"),
    _token("paseto", "v1.local. v2.local. v3.local. v4.local.", r"(?<!\w)v[1-4]\.local\.[\w-]{30,}+(?:\.[\w-]+)?"),
    _token("salesforce-token", "00D", _alone("00D") + r"[A-Za-z0-9]{12,15}![\w.]{60,}+"),
    _token("mercadopago-token", "APP_USR- TEST-", r"(?:APP_USR|TEST)-\d{10,20}-\d{6}-[0-9a-f]{32}(?:-\d+)?"),
    _token("backblaze-key", "K00", _alone("K00", r"\w") + r"[0-9][A-Za-z0-9/+]{27}(?!\w)"),
    _token("k3s-token", "K10", _alone("K10") + r"[0-9a-f]{64}::\w+:[0-9a-zA-Z.]+"),
    _token("nuget-key", "oy2", _alone("oy2") + r"[a-z0-9]{43}(?!\w)"),
    _token("crates-token", "cio", _alone("cio") + r"(?=[A-Za-z]*\d)[A-Za-z0-9]{32}(?!\w)"),
    _token("nostr-key", "nsec1", _alone("nsec1") + r"[a-z0-9]{50,64}(?!\w)"),
    _token("bitcoin-key", "5H 5J 5K", _alone("5[HJK]") + r"[1-9A-HJ-NP-Za-km-z]{49}(?!\w)"),
)

_ANY_PREFIX = (
    r"(?<![\w/+.=-])(?!(?i:sha\d|md5|data|chunk|image))[A-Za-z][A-Za-z0-9]{1,11}(?:[_-][A-Za-z0-9]{1,10}){0,3}[_-]{1,2}"
    r"([A-Za-z0-9_-]{20,}+(?:\.[\w-]{16,}+)?=*+)(?![\w/+])"
)
"""A prefix before a random run, as unknown services have: ``acme_live_8fK2...``."""
_NEAR: Final = (
    ("twilio", "twilio-key", _alone("AC") + r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("okta", "okta-token", r"(?<![\w-])00[\w-]{40}(?![\w-])"),
    ("algolia", "algolia-key", r"(?<=[\"'`= :])[0-9a-f]{32}(?=[\"'`\s;,])"),
    ("jfrog", "artifactory-token", r"(?<![\w-])[A-Za-z0-9]{64,80}(?![\w-])"),
    ("artifactory", "artifactory-token", r"(?<![\w-])(?=[a-z0-9]{0,70}[A-Z])[A-Za-z0-9]{64,80}(?![\w-])"),
    ("keyname", "azure-key", r"(?<=\")[A-Za-z0-9+/]{86}==(?=\")"),
    ("encryption", "encryption-key", r"(?<=key: \")[A-Za-z0-9+/]{43}=(?=\")"),
    *((word, "azure-key", r"(?<![\w+/])[A-Za-z0-9+/]{86}==") for word in ("azure", "storage", "accountkey")),
    ("genkey", "wireguard-key", r"(?<![\w+/])[A-Za-z0-9+/]{43}="),
    ('"username"', "api-key", r"(?<=\"key\":)\s?\"[0-9a-f]{32}(?=\")"),
    ("altool", "apple-password", r"(?<![\w-])[a-z]{4}(?:-[a-z]{4}){3}(?![\w-])"),
    ("notarytool", "apple-password", r"(?<![\w-])[a-z]{4}(?:-[a-z]{4}){3}(?![\w-])"),
    ("app-specific", "apple-password", r"(?<![\w-])[a-z]{4}(?:-[a-z]{4}){3}(?![\w-])"),
    ("keypair", "private-key", r"\[\s?(?:\d{1,3},\s{0,4}){31,63}\d{1,3}\s?\]"),
    ("private", "private-key", r"\[\s?(?:\d{1,3},\s{0,4}){31,63}\d{1,3}\s?\]"),
    ("chpasswd", "password", r"(?<=\n)[ \t-]{0,12}[\w.-]{1,32}:([^\s:\0]{4,128}+)(?=[ \t\r]*(?:\n|$))"),
    *(
        (f"]:{port}", "password", rf"\]:{port}[ \t]{{1,4}}[^\s:]{{1,64}}:([^\s:\0]{{4,128}}+)")
        for port in (25, 465, 587)
    ),
    *((word, "recovery-key", r"(?<![\d-])\d{6}(?:-\d{6}){5,7}(?![\d-])") for word in ("bitlocker", "recovery", "luks")),
    ("kubeadm", "kubernetes-token", r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])"),
    ("bootstrap", "kubernetes-token", r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])"),
    ("wif", "bitcoin-key", r"(?<!\w)[5KLc][A-Za-z0-9]{50,51}(?!\w)"),
)
"""Tokens without a characteristic shape: a word that the text must contain, kind and pattern."""
TRIGGERS: Final = ("private", "kty", "rsakeyvalue", *(word for word, _, _ in _NEAR))
"""Lower-case strings of which each text with one of these secrets contains one, unless it contains a word of at least
20 characters."""
_LITERALS: Final[dict[tuple[str, ...], list[tuple[str, int]]]] = {}
"""Literals and the indexes of their rows, by their first two characters."""
for _index, (_, _literals, *_) in enumerate(_TOKENS):
    for _literal in _literals.split():
        _LITERALS.setdefault(tuple(_literal[:2]), []).append((_literal, _index))
_SHORTEST: Final = 20
"""Least length of a word with a token. Prose has few words of that length."""


def _tokens(view: str, low: str) -> Iterator[Span]:
    long = {word for word in view.split() if len(word) >= _SHORTEST}
    dense = " ".join(filter(compiled("[0-9]|[a-z][A-Z]").search, long)) if long else ""
    pairs = _LITERALS.keys() & {(".",), *pairwise(dense)}
    for index in sorted({index for pair in pairs for literal, index in _LITERALS[pair] if literal in dense}):
        kind, _, pattern, is_secret = _TOKENS[index]
        for match in compiled(pattern).finditer(view):
            start, stop = match.span(match.lastindex or 0)
            if is_secret(view[start:stop]):
                yield kind, start, stop
                if kind == "aws-key":
                    yield from _secrets_after_aws_key(view, stop)
    if dense:
        yield from _unknown_tokens(view, dense)
    for word, kind, pattern in _NEAR:
        if word in low:
            for match in compiled(pattern).finditer(view):
                if not match[0].isalpha() and not match[0].isdigit():
                    yield kind, *match.span(match.lastindex or 0)


def _unknown_tokens(view: str, dense: str) -> Iterator[Span]:
    for match in compiled(_ANY_PREFIX).finditer(dense):
        if _is_random_tail(match[0], match[1]) and is_telling(match[0]):
            at = view.find(match[0])
            while at >= 0:
                if not compiled(r"\"[xyne]\"[ ]?:[ ]?\"$").search(view, max(0, at - 8), at):  # Part of a public key.
                    yield "token", at, at + len(match[0])
                at = view.find(match[0], at + len(match[0]))


def _is_random_tail(token: str, tail: str) -> bool:
    """Returns True if the part after the prefix is random. Ids with a prefix are shorter than tokens."""
    marker = r"(?i)(?:^|[_-])(?:live|prod|sk|tok|token|key|api|secret|pat|pw|auth|priv)[_-]"
    return len(tail) >= (20 if compiled(marker).search(token) else 30) and any(
        len(run) > 15 and is_mixed(run) for run in compiled("[_.=-]").split(tail)
    )


def _secrets_after_aws_key(view: str, stop: int) -> Iterator[Span]:
    """Yields the secret of an AWS key id, which usually follows it directly, with or without a name."""
    for match in compiled(r"(?<![\w/+])[A-Za-z0-9/+]{40}(?![\w/+=])").finditer(view, stop, stop + 100):
        if not match[0].islower() and not match[0].isupper() and not match[0].isalpha() and is_telling(match[0]):
            yield "aws-secret", *match.span()


def _private_keys(view: str) -> Iterator[Span]:
    """Yields whole PEM blocks, up to the end of the text if the last line is missing. A header alone is no key."""
    begin = (  # Quotes, escapes and line numbers may stand between header and key.
        r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
        r"(?:[\s\"'+,|>#*\u2192\u2502]|\\+[nr]?|[0-9]{1,6}[|:?\t\u2192\u2502]){0,60}+"
        r"(?:(?:[^\0-]|-(?!-)){0,200}?(?<![\w/+])(?=[A-Za-z/+]{0,60}[0-9])[A-Za-z0-9+/=]{40}"
        r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): |(?=[A-Za-z0-9+/=]{0,9}[A-Z0-9+/])[A-Za-z0-9+/=]{10})"
    )
    stop = 0
    while header := compiled(begin).search(view, stop):
        end = compiled(r"-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}").search(view, header.end())
        stop = end.end() if end else len(view)
        yield "private-key", header.start(), stop
