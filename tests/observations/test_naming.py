"""Naming: which names mean the same service, and which the same category."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.observations.model import GENERAL
from hivelore.observations.naming import CATEGORY_ALIASES, SERVICE_ALIASES, Groups, Naming, check_name, parse_aliases

DEFAULT = Naming()
names = st.text(max_size=12) | st.sampled_from([name for group in SERVICE_ALIASES for name in group])
words = st.text(st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=6)
letters = st.text(st.characters(codec="ascii", categories=["Lu", "Ll"]), min_size=1, max_size=6)


@given(names)
def test_a_key_is_its_own_key(name: str) -> None:
    for key in (DEFAULT.service_key, DEFAULT.category_key):
        assert key(key(name)) == key(name)


@given(st.lists(letters, min_size=1, max_size=4), st.data())
def test_case_and_separators_between_letters_do_not_matter(parts: list[str], data: st.DataObject) -> None:
    separators = st.sampled_from(["", " ", "-", "_", ".", " - ", "\u2011"])
    spelled = "".join(f"{data.draw(separators)}{data.draw(st.sampled_from([part, part.swapcase()]))}" for part in parts)
    spelled = spelled.lstrip(" -_.\u2011")
    assert DEFAULT.service_key(f" {spelled}\n") == DEFAULT.service_key("".join(parts))


@given(st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=12))
def test_the_width_of_characters_does_not_matter(name: str) -> None:
    wide = "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in name)
    assert DEFAULT.service_key(wide) == DEFAULT.service_key(name)


def like(name: str, *known: str) -> frozenset[Clean]:
    return DEFAULT.services_like(Clean(name), map(Clean, known))


@given(names, names | letters)
def test_names_are_alike_either_way_round(one: str, other: str) -> None:
    for name in (other, f" {one.title()} "):
        assert (name in like(one, name)) is (one in like(name, one))


@pytest.mark.parametrize(
    ("groups", "key"), [(SERVICE_ALIASES, DEFAULT.service_key), (CATEGORY_ALIASES, DEFAULT.category_key)]
)
def test_a_group_of_aliases_has_one_key_of_its_own(groups: Groups, key: Callable[[str], str]) -> None:
    keys = [frozenset(key(name) for name in group) for group in groups]
    assert all(len(found) == 1 for found in keys)
    assert len(set(keys)) == len(groups)


@pytest.mark.parametrize(
    "names",
    [
        ("postgres", "PostgreSQL", "pg", "psql", "Postgre SQL", "ＰＯＳＴＧＲＥＳ"),
        ("kubernetes", "K8s"),
        ("docker compose", "Docker-Compose", "docker_compose", "compose"),
        ("node", "Node.js", "nodejs", "node js"),
        ("CI/CD", "ci-cd", "cicd", "ci / cd"),
        ("redis", "Redis-Server"),
        ("web-1", "web 1", "Web_1", "web1"),
        ("straße", "STRASSE"),
        ("café", "cafe\u0301"),
        ("general", "General"),
        ("❤️", "❤"),
        ("می‌خواهم", "میخواهم"),
    ],
)
def test_spellings_of_one_service(names: tuple[str, ...]) -> None:
    assert len({DEFAULT.service_key(name) for name in names}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mysql", "mariadb"),
        ("postgres", "postgrest"),
        ("redis", "redis-sentinel"),
        ("java", "javascript"),
        ("web-1", "web-11"),
        ("192.168.1.11", "192.168.11.1"),
        ("python 3.1", "python 31"),
        (".net", "net"),
        ("c++", "c"),
    ],
)
def test_different_services_stay_apart(one: str, other: str) -> None:
    assert DEFAULT.service_key(one) != DEFAULT.service_key(other)


def test_separators_between_digits_are_alike() -> None:
    assert DEFAULT.service_key("node 10-0-0-1") == DEFAULT.service_key("Node 10.0.0.1")


@pytest.mark.parametrize(
    "names",
    [
        ("config", "Configuration"),
        ("perf", "performance"),
        ("dep", "deps", "dependency", "Dependencies"),
        ("behaviour", "behavior"),
        ("mistake pattern", "mistake-pattern"),
        ("timing", "TIMING"),
    ],
)
def test_spellings_of_one_category(names: tuple[str, ...]) -> None:
    assert len({DEFAULT.category_key(name) for name in names}) == 1


def test_aliases_of_services_are_not_aliases_of_categories() -> None:
    assert DEFAULT.category_key("js") != DEFAULT.category_key("javascript")
    assert DEFAULT.service_key("perf") != DEFAULT.service_key("performance")


def test_a_name_is_like_itself_and_the_known_spellings_of_its_key() -> None:
    assert like("pg", "PostgreSQL", "postgres", "mysql") == {"pg", "PostgreSQL", "postgres"}
    assert DEFAULT.categories_like(Clean("deps"), map(Clean, ["dependency", "timing"])) == {"deps", "dependency"}


# valid names

INVISIBLE = "\xad\u034f\u115f\u17b4\u180b\u200b\u2060\u2800\u3164\ufe01\uffa0\U000e0101\U000e0067"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    "name",
    [
        "timing",
        "c++",
        "#1",
        "Ausfälle",
        "конфигурация",
        "時間",
        "می‌خواهم",
        "🚀",
        "👩‍💻",
        "❤️",
        "1️⃣",
        ENGLAND,
        "🫨",
        "x" * 100,
    ],
)
def test_names_may_be_in_any_script(name: str) -> None:
    for field in ("category", "service"):
        check_name(name, field)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x" * 101, "The category has 101 characters; at most 100 are allowed. Use a short name such as timing."),
        ("a\x1b[2J", "The category has a control character (U+001B) at position 1: remove it and send the rest again."),
        ("tim\u202eing", "The category has an invisible character (U+202E) at position 3"),
        ("\u200b", "The category has an invisible character (U+200B) at position 0"),
        *((f"a{one}", f"an invisible character (U+{ord(one):04X}) at position 1") for one in INVISIBLE),
        ("a\u2065", "an unassigned character (U+2065) at position 1"),
        ("a\ufdd0", "an unassigned character (U+FDD0)"),
        ("a\ue000", "a private-use character (U+E000)"),
        ("a\udcff", "an invalid character (U+DCFF)"),
        (f"{ENGLAND}{ENGLAND[1:]}", "an invisible character (U+E0067) at position 7"),
        (f"\U0001f3f4{ENGLAND[1:-1] * 2}\U000e007f", "an invisible character (U+E0067) at position 1"),
        ("\ufe0f", "The category has no visible character. Use a name such as timing."),
        ("\u0301\u200d", "The category has no visible character"),
    ],
)
def test_a_name_that_cannot_be_read_is_refused(name: str, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_name(name, "category")
    assert says in str(refused.value)
    assert refused.value.field == "category"


# aliases of operators


def test_an_alias_means_its_name_in_every_spelling() -> None:
    naming = parse_aliases(["pg-main=postgres", " K8s_prod = kubernetes ", "zeiten=timing"])
    assert naming.service_key("PG Main") == naming.service_key("psql")
    assert naming.service_key("k8s-prod") == naming.service_key("k8s")
    assert naming.category_key("Zeiten") == naming.category_key("timing")
    assert DEFAULT.service_key("pg-main") != DEFAULT.service_key("postgres")


@pytest.mark.parametrize("entries", [["a=b", "b=postgres"], ["b=postgres", "a=b"], ["a=b", "postgres=b"]])
def test_aliases_may_be_given_in_any_order(entries: list[str]) -> None:
    naming = parse_aliases(entries)
    assert naming.service_key("a") == naming.service_key("b")


@pytest.mark.parametrize(
    ("entry", "together", "left"),
    [
        ("es=event-store", ("es", "event store"), ("elastic", "Elasticsearch")),
        ("PG=mysql", ("pg", "mysql", "mysqld"), ("postgres", "psql")),
        ("postgres=main-db", ("postgres", "main db"), ("postgresql", "pg", "psql")),
        ("pg=postgres", ("pg", "postgres", "psql"), ("mysql",)),
        ("postgres=pg", ("pg", "postgres", "psql"), ("mysql",)),
        ("mariadb=mysqld", ("mariadb", "mysql", "mysqld"), ("postgres",)),
    ],
)
def test_an_alias_leaves_its_group(entry: str, together: tuple[str, ...], left: tuple[str, ...]) -> None:
    naming = parse_aliases([entry])
    one, other = ({naming.service_key(name) for name in names} for names in (together, left))
    assert (len(one), len(other), one & other) == (1, 1, set())


def test_a_whole_group_may_get_another_name() -> None:
    naming = parse_aliases(["mysql=db", "mysqld=db"])
    assert {naming.service_key(name) for name in ("mysql", "mysqld")} == {"db"}


def test_an_alias_may_be_given_twice() -> None:
    assert parse_aliases(["a=b", "A = b", "pg=postgres"]).service_key("a") == "b"


@given(st.lists(st.tuples(words, words), max_size=6), words)
def test_a_key_with_aliases_is_its_own_key(pairs: list[tuple[str, str]], name: str) -> None:
    try:
        naming = parse_aliases([f"{alias}={of}" for alias, of in pairs])
    except Invalid:
        assume(False)
        raise
    assert naming.service_key(naming.service_key(name)) == naming.service_key(name)
    for alias, of in pairs:
        assert naming.service_key(alias) == naming.service_key(of)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("postgres", "'postgres' is not an alias. Write alias=name, like pg-main=postgres"),
        ("=postgres", "'=postgres' is not an alias"),
        ("pg-main= ", "'pg-main= ' is not an alias"),
        ("a=b=c", "'a=b=c' is not an alias"),
        (f"{'x' * 101}=postgres", "The service has 101 characters; at most 100 are allowed"),
        (f"{'x' * 100_000}=postgres", "The service has 100,000 characters; at most 100 are allowed"),
        ("a\x1bb=postgres", "The service has a control character (U+001B) at position 1"),
        ("\u200d=postgres", "The service has no visible character"),
        ('["pg-main=postgres"]', "has a bracket or a quotation mark. Write aliases without them, separated by commas"),
        ('{"pg-main": "postgres"}', "has a bracket or a quotation mark"),
        ('"pg-main=postgres"', "has a bracket or a quotation mark"),
        ("pg-main:postgres", "is not an alias. Write alias=name"),
        ("PG-main=pg_Main", "'PG-main=pg_Main' has the same name twice. Remove it"),
        ("General=postgres", f"{GENERAL!r} stands for all services"),
    ],
)
def test_an_entry_that_is_not_an_alias_is_refused(entry: str, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_aliases([entry])
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        (["a=b", "b=a"], "a=b, b=a"),
        (["start=b", "B=c", "c=d", "D=b"], "B=c, c=d, D=b"),
        ([f"x{one}=x{(one + 1) % 7}" for one in range(7)], "x0=x1, x1=x2, x2=x3, x3=x4, x4=x5 and 2 more"),
    ],
)
def test_a_circle_of_aliases_is_refused(entries: list[str], shown: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_aliases(entries)
    assert str(refused.value) == f"Aliases form a circle: {shown}. Remove one of them."


@pytest.mark.parametrize("end", ["postgres", "x0"])
def test_a_long_chain_of_aliases_is_one_name(end: str) -> None:
    names = [f"x{one}" for one in range(10_000)]
    entries = [f"{alias}={name}" for alias, name in pairwise([*names, end])]
    if end == "x0":
        with pytest.raises(Invalid, match="and 9,995 more"):
            parse_aliases(entries)
    else:
        assert parse_aliases(entries).service_key("X0") == "postgres"


def test_an_alias_of_two_names_is_refused() -> None:
    with pytest.raises(Invalid, match="'PG-Main' is an alias of both 'postgres' and 'mysql'"):
        parse_aliases(["pg-main=postgres", "PG-Main=mysql"])
