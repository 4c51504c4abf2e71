"""Passwords and tokens sent to log in: in URLs, headers, cookies and command lines.

``https://eva:...@host``, ``Authorization: Bearer ...``, ``mysql -p...``, ``requests.get(url, auth=("eva", "..."))``.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from hivelore.core.redaction.judgement import (
    HEAD,
    Span,
    compiled,
    decoded,
    is_generated,
    is_id,
    is_made_up,
    is_mixed_short,
    is_quoted_secret,
    is_reference,
    key_of,
)
from hivelore.core.redaction.renditions import Rendition


def sent_secrets(rendition: Rendition) -> Iterator[Span]:
    """Yields passwords and tokens in URLs, headers and cookies."""
    view, low = rendition.view, rendition.low
    yield from _logins(view, low)
    yield from _headers(view, low)
    yield from _logins_before_at(view)
    if "://" in low:
        yield from _queries(view)
    if "cookie" in low:
        yield from _cookies(view, low)


def _matches_after(word: str, pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Yields the matches directly after each occurrence of a word."""
    at = text.find(word)
    if at < 0:
        return
    match_at = compiled(pattern).match
    while at >= 0:
        at += len(word)
        if match := match_at(text, at):
            yield match
        at = text.find(word, at)


_URL_LOGIN = (
    r"://(?<=[A-Za-z0-9]://)([^\s/:@\"'<>\[\0]{0,128}):(?!\d{1,5}/|[a-z]{1,20}/)([^\s/\"'<>\0]{1,256}(?=@)|"
    r"[^\s\"'<>\0]{1,256}?)@(?!sha\d)(?=[\w\[{$%])"
)
_CURL_LOGIN = r"(?:[ ]-u|--user|--proxy-user)[ =]{0,3}[\"']?([\w.@+-]{1,64}):(?!\d+\b)([^\s\"'\0]{3,256}+)"
_NETRC_LOGIN = (
    r"(?:machine\s{1,8}\S{1,253}|default)\s{1,8}login\s{1,8}(\S{1,64})\s{1,8}password\s{1,8}([^\s\"'\0]{3,256}+)"
)
_AUTHORIZATION = (
    r"[\"'`\])]{0,3}[ \t]{0,4}(?:[:=,]|=>)[ \t]{0,4}[\"'`]{0,3}"
    r"(?:(bearer|token|bot|apikey|api-key|key|ssws|genie|genie-?key|splunk|discogs|basic|digest|hawk|oauth"
    r"|aws4-hmac-sha256"
    r"|[a-z][a-z-]{1,20})[ \t]{1,4}(?:token[= ]\"?)?)?([a-z0-9._~+/=-]{8,}+)"
)
_EXAMPLES = r"(?i:user|username|example|admin|root|guest|test|postgres|mysql)$|[A-Z_]+$|..?$|\d{1,5},"
"""Values that are no passwords: placeholders of documentation, and ports in a list of hosts."""


_LOGINS: Final = (
    ("://", _URL_LOGIN),
    ("curl", _CURL_LOGIN),
    ("login", _NETRC_LOGIN),
    ("thin:", r"thin:([\w$]{1,64})/([^\s@\"']{3,64}+)(?=@)"),
)


def _logins(view: str, low: str) -> Iterator[Span]:
    """Yields the passwords of ``scheme://user:password@host``, ``curl -u user:password`` and of lines of .netrc."""
    for sign, pattern in _LOGINS:
        if sign in low:
            for match in compiled(pattern).finditer(view):
                user, password = match.groups()
                if password != user and not is_reference(password) and not compiled(_EXAMPLES).match(password):
                    yield "password", *match.span(2)


def _logins_before_at(view: str) -> Iterator[Span]:
    """Yields the passwords of ``user:password@tcp(host)`` and of ``user:password@host`` without a scheme."""
    at = view.find("@", 4)
    while at >= 0:
        if not view[at - 1].isspace():
            login = compiled(
                r"(?:^|[\"'`= :\n(])([\w.-]{1,64}):(?=[^\s]{0,64}[0-9])"
                r"([^\s:@/\"'<>\0]{5,64}+)(?=@(?!sha\d)(?:tcp|unix|udp)?[\w(])"
            ).search(view, max(0, at - 130), at + 6)
            if login and login.end() == at and not is_reference(login[2]) and is_made_up(login[2]):
                yield "password", *login.span(2)
        at = view.find("@", at + 1)


def _headers(view: str, low: str) -> Iterator[Span]:
    """Yields the tokens of ``Authorization: Bearer ...`` and of similar headers, and those after a bare ``Bearer`` or
    ``SSWS``."""
    for match in _matches_after("authorization", _AUTHORIZATION, low):
        if low[match.start() - 14 : match.start() - 13].isalpha():
            continue
        scheme, start, stop = match[1] or "", *match.span(2)
        value = view[start:stop]
        if scheme not in ("basic", "digest", "aws4-hmac-sha256") and is_credential(value, bool(scheme)):
            yield "auth-token", start, stop
    for scheme in ("bearer", "ssws", "apikey"):
        for match in _matches_after(scheme, r"(?:[ \t]{1,4}|,[ ]?(?![a-z_]{1,40}=))([a-z0-9._~+/=-]{8,}+)", low):
            value = view[slice(*match.span(1))]
            if is_generated(value) or is_id(value):
                yield "auth-token", *match.span(1)
    for scheme, between in (("basic", r"[ \t]{1,4}"), ("_auth", r"[ \t]?=[ \t]?"), ('"auth"', r"[ \t]?:[ \t]?\"")):
        for match in _matches_after(scheme, between + r"([a-z0-9+/]{8,}+={0,2})", low):
            login = decoded(view[match.start(1) : match.end(1)])
            if login.partition(b":")[1] and login.partition(b":")[0].isascii():
                yield "basic-auth", *match.span(1)
    if "authorization" in low:
        for match in compiled(r"(?:[Ss]ignature|response)=\"?([0-9a-f]{32,128})\b").finditer(view):
            yield "auth-token", *match.span(1)


def _queries(view: str) -> Iterator[Span]:
    """Yields tokens in URLs: ``https://TOKEN@host``, ``?key=TOKEN``, and paths of webhooks."""
    for match in compiled(r"://([\w.~-]{16,256}+)(?=@[\w.-]{3})").finditer(view):
        if is_generated(match[1]) or is_id(match[1]):
            yield "token", *match.span(1)
    for match in compiled(
        r"://[^\s\"'<>]{0,120}?(?:hook|alchemy|infura|quiknode|moralis|ankr)[^\s\"'<>]{1,120}/([\w-]{20,256}+)(?![\w/.-])"
    ).finditer(view):
        if is_generated(match[1]):
            yield "token", *match.span(1)
    for match in compiled(r"IncomingWebhook/([0-9a-f]{32})(?!\w)").finditer(view):
        yield "token", *match.span(1)
    for match in compiled(r"[?&](?:key|k|sig|[Ss]ignature|auth|code|api|appid|hash|t)=([\w.~%+/-]{20,512}+)").finditer(
        view
    ):
        if is_generated(match[1]) or is_id(match[1]):
            yield "token", *match.span(1)
    for match in compiled(r"[?&]u(?:ser)?=[^\s&]{1,64}&p(?:w|ass)?=([^\s&\"'<>]{4,128}+)").finditer(view):
        if not is_reference(match[1]):
            yield "password", *match.span(1)


def is_credential(value: str, has_scheme: bool) -> bool:
    return is_generated(value) or is_id(value) or (has_scheme and is_quoted_secret(value, "token"))


def _cookies(view: str, low: str) -> Iterator[Span]:
    """Yields the random values of ``Cookie: name=value; name=value``."""
    done = 0
    for match in _matches_after("cookie", r"[\"'`\])]{0,3}[ \t]{0,4}[:=,][ \t]{0,4}", low):
        if match.end() >= done:
            line_end = low.find("\n", match.end())
            done = min(line_end if line_end >= 0 else len(low), match.end() + 4096)
            for pair in compiled(r"[\w.$-]{1,64}+=([^\s;,\"'`\\\0]{12,}+)").finditer(view, match.end(), done):
                if is_generated(pair[1]) or is_id(pair[1]):
                    yield "cookie", *pair.span(1)


# Parts of the patterns below. Each of their groups is a secret.
_ARG = r"(?:'([^'\n\0]{1,256})'|\"([^\"\n\0]{1,256})\"|((?!--?[a-z])[^\s'\"\0|;&<>()\[\]{},`]{1,256}+))"
_QUOTED = r"[NE]?(?:'([^'\n\0]{1,256})'|\"([^\"\n\0]{1,256})\")"
_SOME = r"(?:'[^'\n\0]{0,256}'|\"[^\"\n\0]{0,256}\"|[\w.$:>/@\[\]-]{1,128}+)"
_ON = r"[^\n|]{0,120}?[ \t]"
"""Other words of the same command."""
_READS = (
    r"[^\n|\0]{0,60}?(?:secrets? (?:create|set|put|add|versions)|login\b"
    r"|--?data-file=-|sudo\b[^\n|\0]{0,40}-\w{0,4}S|-?-(?:password-)?stdin|cryptsetup|kinit|passwd|su\b|gpg\b"
    r"[^\n\0]{0,40}passphrase-fd)"
)
"""Programs that read a password from a pipe."""
_PORTS: Final = (":5432:", ":5433:", ":6432:", ":*:")
"""Ports in lines of ``.pgpass``: ``host:5432:database:user:password``."""

_COMMANDS: Final = (
    # The lower-case literal that a pattern begins with, and the pattern.
    ("mysql", rf"mysql(?:dump|admin|import|show|check|sh|pump)?{_ON}-p(?! ){_ARG}"),
    ("mariadb", rf"mariadb(?:-\w+)?{_ON}-p(?! ){_ARG}"),
    ("identified", rf"IDENTIFIED[ \t](?:WITH[ \t][\w'\"]+[ \t])?BY(?:[ \t]PASSWORD)?[ \t]{{1,4}}{_ARG}"),
    (
        "identified",
        r"(?i:identified[ \t](?:with[ \t][\w'\"]+[ \t])?(?:by|as)(?:[ \t]password)?)[ \t]{1,4}'([^'\n\0]{1,256})'",
    ),
    *(
        (verb, rf"(?i:{verb}(?:role|user|login)[^;\n\0]{{1,120}}?password)[ \t]?=?[ \t]{{0,4}}{_QUOTED}")
        for verb in ("alter ", "create ")
    ),
    ("password(", rf"(?i:password)\({_QUOTED}\)"),
    ("pgp_sym_", rf"(?i:pgp_sym_(?:en|de)crypt\()[^\n;()]{{1,120}},[ \t]{{0,4}}{_QUOTED}"),
    ("aes_", rf"(?i:aes_(?:en|de)crypt\()[^\n;()]{{1,120}},[ \t]{{0,4}}{_QUOTED}"),
    ("crypt(", rf"(?i:crypt\(){_QUOTED}"),
    (
        "convertto-securestring",
        rf"(?i:ConvertTo-SecureString)(?:[ \t]{{1,4}}-(?i:String|AsPlainText|Force))*[ \t]{{1,4}}(?!-){_ARG}",
    ),
    ("pass ", rf"PASS(?<![^\s:>\]]PASS)[ \t]{_ARG}[ \t\r]*(?=\n|$)"),
    ("identify ", rf"(?i:identify)[ \t](?:[A-Za-z]\w{{1,16}}[ \t])?(?=\S*[0-9!?#]){_ARG}[ \t\r]*(?=\n|$)"),
    ("ugfzc3dvcmq6", r"UGFzc3dvcmQ6\s{1,4}(?:[<>C:-]{1,4}[ \t])?([A-Za-z0-9+/=]{4,256})"),
    ("auth plain", r"AUTH PLAIN[ \t]{1,4}([A-Za-z0-9+/=]{8,256})"),
    ("wifi:", r"WIFI:[^\n\0]{0,120}?P:((?:[^;\\\n\0]|\\.){4,128}+);"),
    ("rootpw", rf"rootpw(?:[ \t]--\w{{1,16}})*[ \t]{{1,4}}{_ARG}"),
    (
        "put-parameter",
        rf"put-parameter(?=[^\n]{{0,200}}(?:SecureString|pass|secret|token|key)){_ON}--value[ =]{{1,4}}{_ARG}",
    ),
    ("user-secrets set", rf"user-secrets set[ \t]{{1,4}}{_SOME}[ \t]{{1,4}}{_ARG}"),
    ("poetry config", rf"(?:poetry|uv) config{_ON}http-basic\.\S{{1,128}}[ \t]{{1,4}}\S{{1,64}}[ \t]{{1,4}}{_ARG}"),
    ("bundle config", rf"bundle config{_ON}[\w.@-]{{1,64}}:(?!//){_ARG}"),
    ("cloudflared", rf"cloudflared{_ON}install[ \t]{{1,4}}{_ARG}"),
    *(
        (
            f"{verb} ",
            rf"{verb}(?:[ \t](?:-[ne]{{1,2}}|'%s(?:\\n)?'|%s))?[ \t]{{1,4}}{_ARG}[ \t]{{0,4}}>{{1,2}}[ \t]?"
            r"[\w./~-]{0,60}(?:pass|pw|secret|token|key)",
        )
        for verb in ("echo", "printf")
    ),
    ("kinit", rf"kinit[^\n\0]{{0,60}}<<<?[ \t]{{0,4}}{_ARG}"),
    ("password-", rf"password-(?:file|command)[ =]{{1,2}}[<('\"]{{0,3}}(?:echo|printf)[ \t]{_ARG}"),
    ("sshpass", rf"sshpass{_ON}-p[ \t]?{_ARG}"),
    ("redis-cli", rf"redis-cli{_ON}(?:-a|--pass)[ \t]{{1,4}}{_ARG}"),
    (
        "auth ",
        rf"(?:AUTH(?<![\w.-]AUTH)|auth(?<=\nauth)|auth(?<=> auth)|\Aauth)[ \t](?:default[ \t])?{_ARG}[ \t]*(?=\n|$)",
    ),
    ("ldap", rf"ldap(?:search|add|modify|delete|whoami|compare|modrdn){_ON}-w[ \t]{{0,4}}{_ARG}"),
    ("ldappasswd", rf"ldappasswd{_ON}-[sawS][ \t]{{1,4}}{_ARG}"),
    (" pass:", rf" pass:{_ARG}"),
    ("openssl", rf"openssl[ \t](?:enc|aes|des|smime|cms){_ON}-[kK][ \t]{{1,4}}{_ARG}"),
    ("zip ", rf"zip{_ON}(?:-P|--password)[ \t]{{0,4}}{_ARG}"),
    ("unzip ", rf"unzip{_ON}-P[ \t]{{0,4}}{_ARG}"),
    ("7z", rf"7z[a-z]?{_ON}-p{_ARG}"),
    ("rar ", rf"rar{_ON}-h?p{_ARG}"),
    ("ssh-keygen", rf"ssh-keygen{_ON}-[NP][ \t]{{1,4}}{_ARG}"),
    ("qpdf", rf"qpdf{_ON}--(?:encrypt|password)[ =]{{1,4}}{_ARG}"),
    ("pdftk", rf"pdftk{_ON}(?:user_pw|owner_pw|input_pw)[ =]{{1,4}}{_ARG}"),
    ("pdf", rf"pdf(?:totext|images|info|toppm|unite){_ON}-[uo]pw[ =]{{1,4}}{_ARG}"),
    ("net use", rf"(?i:net use)[^\n\0]{{1,120}}?[ \t](?!/|\\|\w:){_ARG}[ \t]{{1,4}}/(?i:user)"),
    ("net use", rf"(?i:net use[^\n\0]{{1,120}}?/user:\S{{1,60}})[ \t]{{1,4}}(?!/){_ARG}"),
    ("net user", rf"(?i:net user)[ \t]{{1,4}}\S{{1,60}}[ \t]{{1,4}}(?!/){_ARG}"),
    ("echo ", rf"echo(?:[ \t]-[ne]{{1,2}})?[ \t]{{1,4}}{_ARG}[ \t]{{0,4}}\|{_READS}"),
    ("printf ", rf"printf(?:[ \t](?:'%s(?:\\n)?'|\"%s(?:\\n)?\"|%s))?[ \t]{{1,4}}{_ARG}[ \t]{{0,4}}\|{_READS}"),
    (
        "echo ",
        r"echo(?:[ \t]-[ne]{1,2})?[ \t]{1,4}[\"']?[\w.-]{1,32}:([^\s\"'\0|]{3,128}+)[\"']?[ \t]{0,4}\|"
        r"[^\n\0]{0,40}chpasswd",
    ),
    ("sudo ", rf"sudo\b[^\n|\0]{{0,40}}-\w{{0,4}}S[^\n|\0]{{0,80}}<<<[ \t]{{0,4}}{_ARG}"),
    ("chpasswd", r"chpasswd[^\n\0]{0,40}<<<?[ \t]{0,4}[\"']?[\w.-]{1,32}:([^\s\"'\0|]{3,128}+)"),
    ("smbclient", rf"smbclient{_ON}(?:-U|--user)[ =]{{0,3}}[\"']?[\w.\\/@-]{{1,64}}%{_ARG}"),
    ("rpcclient", rf"rpcclient{_ON}-U[ =]{{0,3}}[\"']?[\w.\\/@-]{{1,64}}%{_ARG}"),
    ("winexe", rf"winexe{_ON}-U[ =]{{0,3}}[\"']?[\w.\\/@-]{{1,64}}%{_ARG}"),
    ("evil-winrm", rf"evil-winrm{_ON}-p[ \t]{{1,4}}{_ARG}"),
    ("xfreerdp", rf"xfreerdp3?{_ON}/p:{_ARG}"),
    ("wlfreerdp", rf"wlfreerdp3?{_ON}/p:{_ARG}"),
    ("rdesktop", rf"rdesktop{_ON}-p[ \t]{{1,4}}{_ARG}"),
    ("sqlcmd", rf"sqlcmd{_ON}-P[ \t]{{0,4}}{_ARG}"),
    ("bcp ", rf"bcp{_ON}-P[ \t]{{0,4}}{_ARG}"),
    ("sqlplus", r"sqlplus\b(?:[ \t]-\w{1,8})*[ \t]{1,4}[\"']?[\w.$]{1,40}/\"?([^\s@/\"'\0]{3,64}+)"),
    ("expdp", r"expdp[ \t]{1,4}[\"']?[\w.$]{1,40}/\"?([^\s@/\"'\0]{3,64}+)"),
    ("impdp", r"impdp[ \t]{1,4}[\"']?[\w.$]{1,40}/\"?([^\s@/\"'\0]{3,64}+)"),
    ("rman ", rf"rman{_ON}\w{{1,16}}[ \t]{{1,4}}[\w.$]{{1,40}}/\"?([^\s@/\"'\0]{{3,64}}+)"),
    ("catalog ", r"catalog[ \t]{1,4}[\w.$]{1,40}/\"?([^\s@/\"'\0]{3,64}+)\"?@"),
    ("connect ", r"(?i:connect)[ \t]{1,4}(?:string[ \t]{1,4})?[\w.$]{1,40}/\"?([^\s@/\"'\0]{3,64}+)\"?@"),
    ("string ", r"string[ \t]{1,4}[\w.$]{1,40}/\"?([^\s@/\"'\0]{3,64}+)\"?@[A-Z]"),
    ("mongo", rf"mongo(?:sh|dump|restore|export|import|stat|top|files)?\b{_ON}-p[ \t]{{0,4}}{_ARG}"),
    ("cqlsh", rf"cqlsh{_ON}-p[ \t]{{0,4}}{_ARG}"),
    ("influx ", rf"influx{_ON}(?:-t|--token|--password)[ =]{{1,4}}{_ARG}"),
    ("mosquitto_", rf"mosquitto_(?:pub|sub|rr){_ON}(?:-P|--pw)[ =]{{0,4}}{_ARG}"),
    ("mosquitto_passwd", rf"mosquitto_passwd{_ON}-b[ \t]{{1,4}}\S{{1,128}}[ \t]{{1,4}}\S{{1,64}}[ \t]{{1,4}}{_ARG}"),
    (
        "htpasswd",
        rf"htpasswd[ \t]{{1,4}}(?:-\w{{1,8}}[ \t]{{1,4}})*-\w{{0,6}}n\w{{0,6}}[ \t]{{1,4}}(?:-\w{{1,8}}[ \t]{{1,4}})*"
        rf"[\w.@-]{{1,64}}[ \t]{{1,4}}{_ARG}",
    ),
    (
        "htpasswd",
        rf"htpasswd[ \t]{{1,4}}(?:-\w{{1,8}}[ \t]{{1,4}})*-\w{{0,6}}b\w{{0,6}}[ \t]{{1,4}}(?:-\w{{1,8}}"
        rf"[ \t]{{1,4}})*\S{{1,128}}[ \t]{{1,4}}[\w.@-]{{1,64}}[ \t]{{1,4}}{_ARG}",
    ),
    (
        "rabbitmqctl",
        rf"rabbitmqctl{_ON}(?:add_user|change_password|authenticate_user)[ \t]{{1,4}}\S{{1,64}}[ \t]{{1,4}}{_ARG}",
    ),
    ("plink", rf"plink(?:\.exe)?{_ON}-pw[ \t]{{1,4}}{_ARG}"),
    ("pscp", rf"pscp(?:\.exe)?{_ON}-pw[ \t]{{1,4}}{_ARG}"),
    ("putty", rf"putty(?:\.exe)?{_ON}-pw[ \t]{{1,4}}{_ARG}"),
    ("nmcli", rf"nmcli{_ON}(?:password|psk|wifi-sec\.psk|802-11-wireless-security\.psk)[ \t]{{1,4}}{_ARG}"),
    ("wpa_passphrase", rf"wpa_passphrase[ \t]{{1,4}}{_SOME}[ \t]{{1,4}}{_ARG}"),
    ("-setairportnetwork", rf"-setairportnetwork[ \t]{{1,4}}\w{{1,16}}[ \t]{{1,4}}{_SOME}[ \t]{{1,4}}{_ARG}"),
    ("iwconfig", rf"iwconfig{_ON}key[ \t]s:{_ARG}"),
    (
        "security ",
        rf"security[ \t](?:add|unlock|create|set|import|find|delete)-?[\w-]{{0,40}}{_ON}-[wpPk][ \t]{{1,4}}{_ARG}",
    ),
    ("cmdkey", rf"(?i:cmdkey{_ON}/pass:){_ARG}"),
    ("psexec", rf"(?i:psexec(?:64)?(?:\.exe|\.py)?{_ON}-p)[ \t]{{1,4}}{_ARG}"),
    ("schtasks", rf"(?i:schtasks{_ON}/r?p)[ \t]{{1,4}}{_ARG}"),
    ("wmic", rf"(?i:wmic{_ON}/password:){_ARG}"),
    ("-storepass", rf"-storepass(?:wd)?[ \t]{{1,4}}{_ARG}"),
    ("-keypass", rf"-keypass(?:wd)?[ \t]{{1,4}}{_ARG}"),
    ("-srcstorepass", rf"-srcstorepass(?:wd)?[ \t]{{1,4}}{_ARG}"),
    ("-deststorepass", rf"-deststorepass(?:wd)?[ \t]{{1,4}}{_ARG}"),
    ("signtool", rf"(?i:signtool{_ON}/p)[ \t]{{1,4}}{_ARG}"),
    ("useradd", rf"useradd{_ON}-p[ \t]{{1,4}}{_ARG}"),
    ("usermod", rf"usermod{_ON}-p[ \t]{{1,4}}{_ARG}"),
    ("ipmitool", rf"ipmitool{_ON}-P[ \t]{{1,4}}{_ARG}"),
    ("lftp", rf"lftp{_ON}(?:-u|user)[ \t]{{1,4}}[\"']?[\w.@-]{{1,64}},{_ARG}"),
    ("ncftp", rf"ncftp\w{{0,4}}{_ON}-p[ \t]{{1,4}}{_ARG}"),
    ("http", rf"https?{_ON}(?:-a|--auth)[ =]{{1,3}}[\"']?[\w.@+-]{{1,64}}:{_ARG}"),
    ("xh ", rf"xh{_ON}(?:-a|--auth)[ =]{{1,3}}[\"']?[\w.@+-]{{1,64}}:{_ARG}"),
    ("http", rf"https?{_ON}-A[ \t]bearer[ \t]-a[ =]{{1,3}}{_ARG}"),
    ("curl", rf"curl{_ON}(?:-U|--proxy-user|--user|-u)[ =]{{0,3}}[\"']?[\w.@+-]{{1,64}}:(?!\d{{1,3}}\b){_ARG}"),
    ("aws configure", rf"aws configure set[ \t]{{1,4}}[\w.-]{{0,64}}(?:secret|token)[\w.-]{{0,40}}[ \t]{{1,4}}{_ARG}"),
    (
        "mc alias set",
        rf"mc alias set[ \t]{{1,4}}\S{{1,64}}[ \t]{{1,4}}\S{{1,256}}[ \t]{{1,4}}\S{{1,128}}[ \t]{{1,4}}{_ARG}",
    ),
    ("gh secret", rf"gh secret set{_ON}(?:--body|-b)[ =]{{1,4}}{_ARG}"),
    ("config set", rf"config set[ \t]{{1,4}}\S{{0,128}}(?:_auth\w{{0,16}}|[Tt]oken|[Pp]assword)[ \t=]{{1,4}}{_ARG}"),
    ("composer config", rf"composer config{_ON}http-basic\.\S{{1,128}}[ \t]{{1,4}}\S{{1,64}}[ \t]{{1,4}}{_ARG}"),
    ("composer config", rf"composer config{_ON}(?:github|gitlab)-(?:oauth|token)\.\S{{1,128}}[ \t]{{1,4}}{_ARG}"),
    ("rclone obscure", rf"rclone obscure[ \t]{{1,4}}{_ARG}"),
    ("send ", r"send[ \t]{1,4}(?:--[ \t])?\"([^\"\n\\\0]{4,64})\\[rn]\""),
    ("snmp", rf"snmp(?:walk|get|set|bulkwalk|bulkget|getnext|table|trap){_ON}-[cAX][ \t]{{0,4}}{_ARG}"),
    ("snmp-server community", rf"snmp-server community[ \t]{{1,4}}{_ARG}"),
    ("rocommunity", rf"rocommunity6?[ \t]{{1,4}}{_ARG}"),
    ("rwcommunity", rf"rwcommunity6?[ \t]{{1,4}}{_ARG}"),
    ("password ", rf"password[ \t][05789][ \t]{_ARG}"),
    ("secret ", rf"secret[ \t][05789][ \t]{_ARG}"),
    ("key ", rf"key[ \t][067][ \t]{_ARG}"),
    ("pre-shared-key", rf"pre-shared-key[ \t](?:local[ \t]|remote[ \t])?(?:ascii-text[ \t])?{_ARG}"),
    (" psk ", r" PSK[ \t]{1,4}\"([^\"\n\0]{4,128})\""),
    ("radtest", rf"radtest[ \t]{{1,4}}\S{{1,64}}[ \t]{{1,4}}{_ARG}"),
    ("cloudflared", rf"cloudflared{_ON}--token[ =]{{1,4}}{_ARG}"),
    ("twilio", rf"[Tt]wilio[^\n\0]{{0,40}}AC[0-9a-f]{{32}}[\"'],[ \t]{{0,4}}{_QUOTED}"),
    ("importprivkey", rf"importprivkey[ \t]{{1,4}}{_ARG}"),
    ("password..", r"password\.{3,60}([^\s.]\S{3,128})"),
    ("p4 ", rf"p4{_ON}-P[ \t]{{0,4}}{_ARG}"),
    ("pwd={", r"(?i:pwd)=\{([^{}\n\0]{3,128})\}"),
    ("u:", r"[Uu]: ?[\w.@+-]{1,64}[ ,;/|]{0,3}\s{1,20}[Pp](?:[Ww]|ass)?: ?([^\s,;\0]{4,128}+)"),
    ("authtoken", rf"authtoken[ \t]{{1,4}}{_ARG}"),
    ("vault login", rf"vault login[ \t]{{1,4}}(?:-[\w=-]{{1,40}}[ \t])*(?!-){_ARG}"),
    *(
        (f"{program} ", rf"{program}(?:[ \t][\w-]{{1,20}}){{0,2}}[ \t]login{_ON}(?:-p|--token)[ =]{{1,4}}{_ARG}")
        for program in ("docker", "podman", "helm", "nerdctl", "oras", "crane", "skopeo", "az", "oc", "cf", "argocd")
    ),
    *(
        (f"{program} login", rf"{program} login[ \t]{{1,4}}(?:--(?:relogin|token)[ =])?(?!-)(?=\S*\d){_ARG}")
        for program in ("wandb", "huggingface-cli", "cargo", "railway", "npx wrangler")
    ),
    *((port, rf"{re.escape(port)}[\w.*-]{{1,64}}:[\w.*-]{{1,64}}:([^\s:\"'`\0]{{4,128}}+)") for port in _PORTS),
)
"""Commands whose argument is a secret whatever it looks like, unless it is a reference."""

_USER = rf"{_SOME}[ \t]{{0,4}},[ \t\n]{{0,20}}"
_CALLS: Final = (
    ("auth", rf"auth[ \t]?[=:][ \t]?[(\[][ \t]{{0,4}}{_USER}{_QUOTED}[ \t]{{0,4}}[)\]]"),
    ("auth(", rf"(?i:auth\()[ \t]{{0,4}}{_USER}{_QUOTED}"),
    ("authentication(", rf"(?i:authentication\()[ \t]{{0,4}}{_USER}{_QUOTED}"),
    ("credential", rf"(?i:credentials?\w{{0,20}}\()[ \t]{{0,4}}{_USER}{_QUOTED}"),
    ("connection(", rf"(?i:connection\()[ \t]{{0,4}}(?:{_USER}){{2}}{_QUOTED}"),
    ("real_connect(", rf"(?i:real_connect\()[ \t]{{0,4}}(?:\w{{1,20}}\(\w{{0,20}}\),[ \t]?)?(?:{_USER}){{2}}{_QUOTED}"),
    ("connect(", rf"(?i:connect\()[ \t]{{0,4}}(?:{_USER}){{2}}{_QUOTED}"),
    ("pdo(", rf"(?i:PDO\()[ \t]{{0,4}}(?:{_USER}){{2}}{_QUOTED}"),
    ("mysqli(", rf"(?i:mysqli\()[ \t]{{0,4}}(?:{_USER}){{2}}{_QUOTED}"),
    ("__construct(", rf"(?i:__construct\()[ \t]{{0,4}}(?:{_USER}){{2}}{_QUOTED}"),
    ("wifi", rf"(?i:wifi\w{{0,10}}\.begin\()[ \t]{{0,4}}{_USER}{_QUOTED}"),
    ("login(", rf"(?i:login\()[ \t]{{0,4}}{_USER}{_QUOTED}[ \t]{{0,4}}\)"),
    ("authenticate(", rf"(?i:authenticate\()[ \t]{{0,4}}{_USER}{_QUOTED}[ \t]{{0,4}}\)"),
    (" -u", rf" -u(?:ser(?:name)?)?[ =]{{0,2}}[\w.@$-]{{1,64}}[ \t]{{1,4}}(?:-p|--pass)[ =]{{0,2}}{_ARG}"),
    (" --user", rf" --user(?:name)?[ =]{{1,2}}[\w.@$-]{{1,64}}[ \t]{{1,4}}(?:-p|--pass)[ =]{{0,2}}{_ARG}"),
    ('-oauth"', r"-oauth\"\s{0,4}:\s{0,4}\{\s{0,20}\"[^\"\n\0]{1,128}\"\s{0,4}:\s{0,4}\"([^\"\s\0]{8,256})\""),
    ('-token"', r"-token\"\s{0,4}:\s{0,4}\{\s{0,20}\"[^\"\n\0]{1,128}\"\s{0,4}:\s{0,4}\"([^\"\s\0]{8,256})\""),
    ("enable ", rf"enable (?:secret|password)[ \t]{_ARG}"),
    ("isakmp key", rf"isakmp key[ \t]{_ARG}"),
    ("tacacs", rf"tacacs[\w -]{{0,40}} key[ \t]{_ARG}"),
    ("radius", rf"radius[\w -]{{0,40}} key[ \t]{_ARG}"),
    ("appid=", r"appid=([0-9a-f]{32})\b"),
    ("-signature=", r"-(?i:signature)=([0-9a-f]{40,512})\b"),
)
"""Calls and options that take a login. The last literal is a secret if it looks like one."""

_OPTIONS: Final = (
    *(
        (f" {option}", rf" {option}[ =:]{{1,2}}{_ARG}")
        for option in (
            "-p",
            "-pw",
            "-P",
            "-w",
            "-a",
            "-k",
            "--pw",
            "-Password",
            "/p",
            "/pass",
            "-auth",
            "--auth",
            "-s",
            "-t",
        )
    ),
    (" -p", rf" -p{_ARG}"),
    *(
        (f" {verb} ", rf" {verb}(?:[ ]-[\w-]{{1,20}})?[ ]{_ARG}")
        for verb in ("auth", "login", "activate", "register", "join", "install", "authenticate")
    ),
    *((call, rf"(?i:{re.escape(call)})[ \t]{{0,4}}{_USER}{_QUOTED}") for call in ("client(", "auth(", "api(")),
    *(
        (call, rf"(?i:{re.escape(call)})[^()\n\0]{{0,120}}?{_QUOTED}")
        for call in (
            "auth(",
            "login(",
            "connect(",
            "token(",
            "secret(",
            "key(",
            "hmac(",
            "sign(",
            "client(",
            "credentials(",
            "encrypt(",
            "fernet(",
            "password(",
            "verify(",
        )
    ),
)
"""Options and calls that often take a secret. A random run of characters is one."""
_HASHES: Final = (
    *(
        (f"${sort}", rf"(\${re.escape(sort)}[\w./$,=+-]{{16,512}}+)")
        for sort in ("apr1$", "2a$", "2b$", "2y$", "1$", "5$", "6$", "y$", "argon2", "pbkdf2", "scrypt$", "7$")
    ),
    ("{ssha", r"(\{SSHA(?:256|512)?\}[A-Za-z0-9+/=]{20,200}+)"),
)
"""Password hashes: ``$2b$12$...``."""


TRIGGERS: Final = (
    *("authorization", "bearer", "ssws", "apikey", "basic", "_auth", '"auth"', "cookie"),
    *(literal for rows in (_LOGINS, _COMMANDS, _CALLS, _OPTIONS, _HASHES) for literal, _ in rows),
)
"""Strings of which each lower-case text with one of these secrets contains one, unless it contains an ``@``."""


def secrets_of_commands(rendition: Rendition) -> Iterator[Span]:
    """Yields the secrets in commands, calls and options, and password hashes."""
    for start, stop in _found(rendition, _KEYED_COMMANDS, whole=True):
        value = rendition.view[start:stop]
        if len(value.strip()) > 2 and not is_reference(value):
            yield "password", start, stop
    for start, stop in _found(rendition, _KEYED_CALLS):
        if is_quoted_secret(rendition.view[start:stop], "token"):
            yield "password", start, stop
    for start, stop in _found(rendition, _KEYED_OPTIONS):
        if (
            is_mixed_short(value := rendition.view[start:stop])
            or is_id(value)
            or compiled("[0-9a-f]{32}").fullmatch(value)
        ):
            yield "password", start, stop
    if "$" in rendition.low or "{" in rendition.low:
        for start, stop in _found(rendition, _KEYED_HASHES):
            yield "password", start, stop


_Rows = dict[str, list[tuple[str, str, str]]]


def _keyed(rows: Iterable[tuple[str, str]], *, whole: bool = False) -> _Rows:
    """Returns the rows, each with the ``key_of`` of its literal, by the first letters of a word that a match contains.

    "" if these are not known.
    """
    result: _Rows = {}
    for literal, pattern in rows:
        key = key_of(literal)
        head = key.strip()[:HEAD] if whole or key[:1] == " " else ""
        result.setdefault(head if len(head) == HEAD else "", []).append((key, literal, pattern))
    return result


_KEYED_COMMANDS = _keyed(_COMMANDS, whole=True)
_KEYED_CALLS, _KEYED_OPTIONS, _KEYED_HASHES = map(_keyed, (_CALLS, _OPTIONS, _HASHES))


def _found(rendition: Rendition, rows: _Rows, *, whole: bool = False) -> Iterator[tuple[int, int]]:
    """Yields the spans of secrets. ``whole``: literals that begin with a letter match at the start of a word only."""
    view, low, words = rendition.view, rendition.low, rendition.words
    heads = rows.keys() & rendition.heads
    for key, literal, pattern in (row for head in ("", *heads) for row in rows.get(head, ())):
        if key not in words:
            continue
        at = low.find(literal)
        while at >= 0:
            inside = whole and literal[0].isalnum() and at and low[at - 1].isalnum()
            if not inside and (match := compiled(pattern).match(view, at)):
                yield match.span(match.lastindex or 0)
            at = low.find(literal, at + len(literal))
