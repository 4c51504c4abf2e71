"""Places that statements are about: environments, regions and hosts, in English, German and Chinese.

A statement about one place says nothing about another one: ``staging keeps 7 days`` and ``production keeps 90 days`` do
not contradict each other. In doubt, a statement is about no place: where the place is its predicate (``the database is
in us-east-1``), and where a word may mean something else (``the test takes 5 s``).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class _Kind(Enum):
    ENVIRONMENT = auto()
    REGION = auto()
    HOST = auto()


@dataclass(frozen=True, slots=True)
class _Mention:
    """A place that a statement is about."""

    role: tuple[_Kind, str]
    """The kind of the place, and where it stands in the statement if that matters."""
    names: frozenset[str]
    """The places that the words may mean."""
    start: int
    stop: int


MAX_LENGTH = 500
"""Characters of a statement that is looked at; a longer one is about several things."""


def are_about_different_places(one: str, other: str) -> bool:
    """Returns True if both statements are about a place of the same kind, and neither names a place of the other.

    Statements that differ in nothing but their places may both say where something is, and statements that are limited
    to a place or exclude one are about all others too: neither are told apart."""
    if max(len(one), len(other)) > MAX_LENGTH:
        return False
    ours, theirs = list(_mentions(one)), list(_mentions(other))
    common = {mention.role for mention in ours} & {mention.role for mention in theirs}
    if not common or _LIMITED.search(one) or _LIMITED.search(other) or _rest(one, ours) == _rest(other, theirs):
        return False
    all_ours, all_theirs = _all_names(one), _all_names(other)
    return any(
        _names(ours, role).isdisjoint(all_theirs) and _names(theirs, role).isdisjoint(all_ours) for role in common
    )


def _names(mentions: Sequence[_Mention], role: tuple[_Kind, str]) -> frozenset[str]:
    return frozenset(name for one in mentions if one.role == role for name in one.names)


def _all_names(text: str) -> frozenset[str]:
    """Returns every word of a statement that may name a place, and the places it may mean."""
    words = (word.rstrip("./-").casefold() for word in _WORD.findall(text))
    names = {name for word in words for name in (word.split(".")[0], *_ENVIRONMENTS.get(word, ()))}
    found = ((kind, match) for kind, _, pattern in _PATTERNS for match in pattern.finditer(text))
    return frozenset(names.union(*(_meanings(kind, match["place"]) for kind, match in found)))


def _rest(text: str, mentions: Sequence[_Mention]) -> list[str]:
    """Returns the words of a statement without its places and what introduces them."""
    kept = list(text)
    for one in mentions:
        kept[one.start : one.stop] = " " * (one.stop - one.start)
    return sorted(word for word in re.findall(r"\w+", "".join(kept).casefold()) if not _INTRODUCTION.fullmatch(word))


def _any(words: str) -> str:
    """Returns a pattern for one of these words, longest first."""
    return f"(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})"


_WORDS: Mapping[str, str] = {
    "production": "production prod prd produktion produktions produktiv 生产环境 生产库 生产集群 线上环境 线上",
    "staging": "staging stg preprod pre-prod preproduction pre-production 预发环境 预发布环境 预生产环境",
    "test": "test testing 测试环境 测试库 测试集群",
    "test staging": "uat qa abnahme",
    "dev": "dev development entwicklung entwicklungs 开发环境 开发机 开发库",
    "dev local": "local locally lokal 本地环境 本机",
    "ci": "ci",
    "preview test staging": "preview",
    "sandbox dev test staging": "sandbox",
}
_ENVIRONMENTS: Mapping[str, frozenset[str]] = {
    word: frozenset(names.split()) for names, words in _WORDS.items() for word in words.split()
}
"""The environments that a word may mean: a local one may be called dev."""
_CLEAR = _any("production prod prd staging stg preprod pre-prod preproduction pre-production produktion uat")
"""Words that name an environment almost everywhere."""
_CHINESE = _any(" ".join(word for word in _ENVIRONMENTS if not word.isascii()))
_VAGUE = _any("test testing qa dev development entwicklung abnahme local lokal ci preview sandbox")
"""Words that name an environment only in some contexts."""
_UNLIKE = _any(
    "area tables? buffer director(?:y|ies) dirs? folders? files? code ready readiness quality grade lines? use"
)
"""Words after one of ``_CLEAR`` with which it means something else."""
_SYSTEM = _any(
    "environments? envs? clusters? servers? systems? instances? databases? db hosts? machines? stack account namespace "
    "deployments? setup mode endpoint tier runners? agents? umgebung(?:en)?"
)
"""Words after one of ``_VAGUE`` with which it names an environment."""
_BEGINNING = _any(
    "the a an our it we you they i no all only there der die das es wir man ist sind hat haben dauert gibt"
)
"""Words that follow a place and begin the statement about it."""
_COMPOUND_END = r"-?(?:umgebung|system|server|datenbank|db|cluster|instanz|rechner|maschine)(?:en|es|s|n)?"
_PREPOSITION = _any("in on at for within under im auf bei für am unter")
_DETERMINER = _any("the a an our my your der die das den dem des unsere[rnm]? eine[rnm]?")
_INTRODUCTION = re.compile(rf"{_PREPOSITION}|{_DETERMINER}|在", re.IGNORECASE)

_REGION_PARTS = "(?:north|south|east|west|central){1,2}"
_REGION = (
    rf"(?:us|eu|ap|sa|ca|me|af|il|mx|cn)(?:-gov)?-{_REGION_PARTS}-\d"  # AWS
    rf"|(?:us|europe|asia|australia|northamerica|southamerica|africa|me)-{_REGION_PARTS}\d\d?"  # Google
    rf"|{_REGION_PARTS}(?:us|europe|asia|india)\d?"  # Azure
)
_ZONE = r"(?:-?[a-f])?"

_HOST_NOUN = _any("host server node machine vm box rechner knoten maschine")
_HOST = r"[a-z][\w-]*(?:\.[\w-]+)*"
_NUMBERED_HOST = r"[a-z][a-z-]*\d+(?:\.[a-z][\w-]*)*|\d{1,3}(?:\.\d{1,3}){3}"
_NO_HOST = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun|week|holi|work)(?:days?|ends?)|"
    + _any(
        "startup start boot restart reload failure error login logout demand average port disk top time call request "
        "save exit shutdown success timeout retry purpose first each every both all it them arrival commit push merge "
        "release deploy side behalf localhost"
    )
    + "|"
    + _any(" ".join(word for word in _ENVIRONMENTS if word.isascii()))
)

_WORD = re.compile(r"\w[\w./-]*")
_END = r"(?=\s*(?:$|[.,;:!?()\[\]，。；：！？]))"
_LEFT, _RIGHT = r"(?<![\w./-])", r"(?![\w/-]|\.\w)"
_PATTERNS: Sequence[tuple[_Kind, str, re.Pattern[str]]] = [
    (kind, position, re.compile(pattern, re.IGNORECASE | re.ASCII))
    for kind, position, pattern in (
        (_Kind.ENVIRONMENT, "", rf"{_LEFT}(?P<place>{_CLEAR}){_RIGHT}(?!\s+{_UNLIKE}\b)"),
        (_Kind.ENVIRONMENT, "", rf"^\W*(?P<place>{_VAGUE})[\])*`]*(?:\s*[\]:|–—]|\s+-\s)"),
        (_Kind.ENVIRONMENT, "", rf"{_LEFT}(?P<place>{_VAGUE})\s+{_SYSTEM}{_RIGHT}"),
        (
            _Kind.ENVIRONMENT,
            "",
            rf"{_LEFT}{_PREPOSITION}\s+(?:{_DETERMINER}\s+)?(?P<place>{_VAGUE}){_RIGHT}(?:{_END}|(?=\s+{_BEGINNING}\b))",
        ),
        (_Kind.ENVIRONMENT, "", rf"{_LEFT}(?P<place>locally|lokal|(?:local|lokal)(?=\s+dev\b)){_RIGHT}"),
        (_Kind.ENVIRONMENT, "", rf"{_LEFT}(?P<place>[a-z]{{3,12}}?){_COMPOUND_END}{_RIGHT}"),
        (_Kind.ENVIRONMENT, "", rf"(?P<place>{_CHINESE})"),
        (_Kind.REGION, "", rf"{_LEFT}(?P<place>{_REGION}){_ZONE}{_RIGHT}"),
        (_Kind.HOST, "named", rf"{_LEFT}(?:on|auf)\s+(?:{_DETERMINER}\s+)?{_HOST_NOUN}\s+(?P<place>{_HOST}){_RIGHT}"),
        (_Kind.HOST, "first", rf"^on\s+(?P<place>{_HOST})(?=\s*,|\s+{_BEGINNING}\b)"),
        (_Kind.HOST, "of subject", rf"^(?:[^\s,;:]+\s+){{1,3}}(?:on|auf)\s+(?P<place>{_NUMBERED_HOST}){_RIGHT}"),
        (_Kind.HOST, "last", rf"{_LEFT}\d[\w.,]*(?:\s+[a-z]+)?\s+(?:on|auf)\s+(?P<place>{_HOST}){_END}"),
        (_Kind.HOST, "在", rf"在\s*(?:服务器|主机|节点)?\s*(?P<place>{_HOST})\s*(?:服务器|主机|节点)?\s*上"),
    )
]

_ADVERB = _any("now only also still always currently both mainly jetzt nur auch noch immer derzeit")
_SAYING = re.compile(
    rf"(?<!\w)(?:{_ADVERB}\s+)*"
    + _any(
        "is are was were be been being to into from as about called named uses? using lives? lived runs? running ran "
        "hosted deployed located resides? sits? stays? stored kept placed based moved migrated switched promoted "
        "go(?:es)? points? connects? belongs? copied installed depends? rel(?:y|ies) listens? ist sind war waren "
        "liegt liegen läuft laufen lief steht stehen wird werden sich gehostet gespeichert nach zu zur zum von vom als"
    )
    + rf"\s+(?:{_ADVERB}\s+)*(?:{_PREPOSITION}\s+)?(?:{_DETERMINER}\s+)?(?:{_HOST_NOUN}\s+)?$"
    r"|(?:部署|运行|位于|托管|存放|迁移|发布|连接|指向|推送|安装)(?:到|在|至|于|了)*\s*$|[是为到从]\s*$",
    re.IGNORECASE,
)
"""Words before a place that is the predicate of its statement."""
_SAYING_AFTER = re.compile(r"\s*[中里上]?\s*(?:(?:运行|部署|托管)[。.]?)?\s*$")
_LIMITED = re.compile(
    rf"(?<!\w)(?:except|excluding|outside|not|besides|unlike|without|than|instead\s+of|apart\s+from|non|only|solely"
    rf"|exclusively|außer|außerhalb|nicht|ohne|statt|nur|ausschließlich)[\s-]+"
    rf"(?:{_PREPOSITION}\s+)?(?:{_DETERMINER}\s+)?(?:{_CLEAR}|{_VAGUE}|{_REGION})(?!\w)"
    rf"|(?:{_CLEAR}|{_VAGUE}|{_REGION})\s+(?:only|alone|exclusively){_END}"
    rf"|(?:非|除了?|不在|不是|只有?|仅)\s*(?:在\s*)?(?:{_CHINESE}|{_CLEAR})"
    r"|\b(?:by\s+default|otherwise|elsewhere|everywhere|sonst|überall|standardmäßig)\b|默认|其他|其它",
    re.IGNORECASE,
)
"""A place that is left out, or the only one, and words for all other places."""
_BEFORE = 60
"""Characters before a place that are looked at."""


def _mentions(text: str) -> Iterator[_Mention]:
    for kind, position, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, stop = match.span("place")
            before = text[max(0, start - _BEFORE) : start]
            ends = before.rstrip().endswith("在") and _SAYING_AFTER.match(text, stop)
            names = _meanings(kind, match["place"])
            if names and not ends and not _SAYING.search(before):
                yield _Mention((kind, position), names, start, stop)


def _meanings(kind: _Kind, word: str) -> frozenset[str]:
    """Returns the places that a word may mean; none if it is no place."""
    place = word.casefold()
    match kind:
        case _Kind.ENVIRONMENT:
            return _ENVIRONMENTS.get(place.rstrip("-"), frozenset())
        case _Kind.REGION:
            return frozenset({place})
        case _Kind.HOST if _NO_HOST.fullmatch(place):
            return frozenset()
        case _Kind.HOST:
            return frozenset({place if place[0].isdigit() else place.split(".")[0]})
