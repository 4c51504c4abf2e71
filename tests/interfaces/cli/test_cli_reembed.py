"""reembed, with the model that ships with Hivelore."""

from collections.abc import Generator

import pytest

from support.command_line import CommandLine
from support.service import Service


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("embedding") / "home", embedder="local") as running:
        yield running


@pytest.fixture
def semantic(alone: CommandLine, embedding: Service, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("HIVELORE_HOME", str(embedding.home))
    return alone


def test_everything_is_embedded_again(semantic: CommandLine) -> None:
    semantic("remember", "Roses bloom in summer.")
    job = semantic.json("reembed", "--everything")
    assert job["state"] == "done"
    assert job["done"] == job["total"] >= 1
    assert semantic("recall", "which flowers are there in July?").out.startswith("1. ")


def test_without_work_reembed_ends_at_once(semantic: CommandLine) -> None:
    semantic("reembed")
    assert semantic("reembed").out == "Re-embedding is done: 0 of 0 passages.\n"


def test_reembed_can_run_in_the_background(semantic: CommandLine) -> None:
    semantic("remember", "A second thing.")
    assert semantic.json("reembed", "--everything", "--detach")["state"] in ("running", "done")
    assert semantic.json("reembed")["state"] == "done"


def test_reembed_without_a_model_is_refused(cli: CommandLine) -> None:
    result = cli("reembed", "--json")
    assert (result.code, result.error["code"]) == (5, "conflict")


def test_doctor_checks_the_model(semantic: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "local")
    findings = {one["name"]: one for one in semantic("doctor", "--json").json["findings"]}
    assert [findings[name]["level"] for name in ("model", "vectors", "embedding queue")] == ["ok", "ok", "ok"]
