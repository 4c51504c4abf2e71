"""The settings, as documented and as read."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from render_settings import render

from hivelore.errors import Invalid
from hivelore.local import variables
from hivelore.memories.model import Source
from hivelore.runtime.settings import Embedder, Settings, load
from hivelore.sessions import agent_instructions

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_settings_of_this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for field in Settings.model_fields.values():
        monkeypatch.delenv(str(field.validation_alias), raising=False)


def test_the_example_lists_every_setting_with_its_default_and_meaning() -> None:
    assert (ROOT / ".env.example").read_text() == render()


def test_every_setting_named_in_the_documentation_exists() -> None:
    known = {str(field.validation_alias) for field in Settings.model_fields.values()}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        named = set(re.findall(r"\b(?:HIVELORE|MEMORY)_[A-Z][A-Z_]*\b", page.read_text()))
        assert named <= known | {"HIVELORE_BENCH_DATA", "HIVELORE_RUN_ID", "HIVELORE_TEST_POSTGRES"}, page


def test_the_documents_say_what_is_worth_keeping_as_agents_are_taught() -> None:
    page = " ".join((ROOT / "docs" / "folders.md").read_text().split())
    assert all(one in page for one in (*agent_instructions.OCCASIONS, agent_instructions.EXCLUSIONS))


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "")
    assert load().embedder is Embedder.LOCAL


def test_variables_that_are_not_ours_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.setenv(name.upper(), "/elsewhere")
    settings = load(home=Path("/here"), transcripts=())  # These are in HOME, which is the user's.
    assert "/elsewhere" not in repr(settings)
    assert load().home == Path("/elsewhere/.local/share/hivelore")


def test_lists_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_ALLOWED_HOSTS", "hive.internal, memory ,")
    assert load().allowed_hosts == ("hive.internal", "memory")


@pytest.mark.parametrize("given", [",", " , ", "two words", "timing,a:b"])
def test_categories_are_one_at_least_and_can_stand_in_a_marker(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("HIVELORE_CATEGORIES", given)
    with pytest.raises(Invalid, match=r"HIVELORE_CATEGORIES: .*(name one category at least|cannot stand in a marker)"):
        load()


def test_aliases_are_pairs_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_ALIASES", "pg-main=postgres, k8s-prod = kubernetes")
    naming = load().naming
    assert naming.service_key("PG Main") == naming.service_key("PostgreSQL")
    assert naming.service_key("k8s prod") == naming.service_key("k8s")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("pg-main", "'pg-main' is not an alias. Write alias=name, like pg-main=postgres"),
        ("a=b,a=c", "'a' is an alias of both 'b' and 'c'. Choose one"),
        ("a=b,b=a", "Aliases form a circle: a=b, b=a. Remove one of them"),
        (
            '["a=b"]',
            """'["a=b"]' has a bracket or a quotation mark. Write aliases without them, separated by commas: """
            "pg-main=postgres, k8s-prod=kubernetes",
        ),
    ],
)
def test_a_bad_alias_is_named_at_start(monkeypatch: pytest.MonkeyPatch, given: str, says: str) -> None:
    monkeypatch.setenv("HIVELORE_ALIASES", given)
    with pytest.raises(Invalid) as error:
        load()
    assert str(error.value) == f"HIVELORE_ALIASES: {says}. See .env.example for its values."


def test_days_become_lifetimes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TTL_FILE_INDEX_DAYS", "1.5")
    lifetimes = load().lifetimes.by_source
    assert lifetimes[Source.FILE_INDEX] == timedelta(hours=36)
    assert lifetimes[Source.MANUAL] is None
    assert load().decided_lifetime == timedelta(days=90)
    monkeypatch.setenv("HIVELORE_REVIEW_DAYS", "0")
    assert load().decided_lifetime is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HIVELORE_EMBEDDER", "magic"),
        ("HIVELORE_LEAD_SEES", "nothing"),
        ("HIVELORE_RANKING", "best"),
        ("HIVELORE_VECTORS", "faiss"),
        ("MEMORY_ACCESS_BOOST_MAX", "0.5"),
        ("MEMORY_RECENCY_HALF_LIFE_DAYS", "0"),
        ("MEMORY_RECENCY_HALF_LIFE_DAYS", "two weeks"),
        ("HIVELORE_EMBEDDING_DIMENSIONS", "1"),
    ],
)
def test_a_bad_setting_is_named_and_says_where_to_look(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(Invalid, match=variable) as error:
        load()
    assert ".env.example" in str(error.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "POSTGRESQL", "Postgres"])
def test_a_database_server_is_named_by_its_url(scheme: str) -> None:
    settings = load(database=f"{scheme}://Ada:Secret@Host/Hive?options=-c%20x")
    assert settings.postgres_url == f"{scheme.lower()}://Ada:Secret@Host/Hive?options=-c%20x"
    assert settings.database_path is None


@pytest.mark.parametrize("path", ["hive.db", "./postgres", "~/hive.db", "/tmp/user@host:5432"])
def test_a_database_file_is_named_by_its_path(path: str) -> None:
    settings = load(database=path)
    assert settings.database_path == Path(path).expanduser().absolute()
    assert settings.postgres_url is None


@given(st.from_regex(r"[A-Za-z+.-]{0,12}", fullmatch=True), st.sampled_from(["", " ", "'", "PW=hunter2 "]))
@example("postgresql", " ")
@example("postgress", "")
@example("sqlite", "")
def test_a_database_of_another_scheme_is_refused_and_its_password_not_shown(scheme: str, before: str) -> None:
    assume(before or scheme.lower() not in ("postgresql", "postgres"))
    with pytest.raises(Invalid, match=r"HIVELORE_DATABASE: .*postgresql://user:password@host/database") as error:
        load(database=f"{before}{scheme}://ada:hunter2@host/x?password=hunter2")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("text", [" ", "~nobody_of_this_name/hive.db"])
def test_a_database_that_is_nowhere_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="HIVELORE_DATABASE"):
        load(database=text)


def test_keys_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-anybody")
    monkeypatch.setenv("HIVELORE_KEY", "not-for-anybody")
    assert "not-for-anybody" not in repr(load())


def test_no_setting_causes_a_warning_about_its_name() -> None:
    names = {str(one.validation_alias) for one in Settings.model_fields.values()}
    assert {name for name in names if name.startswith(variables.PREFIX)} <= variables.KNOWN
