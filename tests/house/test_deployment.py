"""The files of ``deploy`` are sound, and name only commands, options, variables and files that exist.

``tests/interfaces/test_deployment.py`` runs what they say.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hivelore.cli.dispatch import build
from hivelore.local import variables
from hivelore.runner import agent_process, guard, runner, task_run
from support.cases import Cases
from support.deployment import (
    DEPLOY,
    ENTRYPOINT,
    ROOT,
    RUNNER_UNIT,
    SECRETS,
    SERVICE_UNIT,
    UNITS,
    compose,
    stages,
    unit,
    unit_command,
    unit_environment,
)

TOOLS = Path(sys.executable).parent
SERVICES = ("service", "service-2")
RUNNERS = ("lead", "worker-1", "worker-2")
OF_OTHERS = {"PATH", "HOME", "TMPDIR", "PYTHONUNBUFFERED", "DISABLE_AUTOUPDATER", "RUN_ARGUMENTS"}
"""Variables that other programs and the units themselves read."""
HARDENED = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "ProtectProc": "invisible",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "RestrictSUIDSGID": "yes",
    "CapabilityBoundingSet": "",
    "UMask": "0077",
    "KillMode": "mixed",
    "Restart": "on-failure",
}
LONGEST_STOP = (
    agent_process.GRACE
    + guard.REST
    + guard.LAST_REST
    + guard._LONGEST_KILL
    + task_run._MARKERS_AFTER
    + runner._LAST_CLAIM
)
"""Seconds in which a runner whose service answers has handed its tasks back."""


def check_command(words: Sequence[str]) -> None:
    """Parses a command line of hivelore. Raises an error for verbs, options and values that do not exist."""
    build().parse_args(list(words), exit_on_error=False, print_error=False)


def check_variables(names: Iterable[str]) -> None:
    read = variables.KNOWN | OF_OTHERS | set(SECRETS) | {f"{name}_FILE" for name in SECRETS}
    assert set(names) <= read
    assert {name for name in SECRETS if name.startswith("HIVELORE_")} <= variables.KNOWN


def lint(program: str, *words: str | Path) -> None:
    done = subprocess.run([TOOLS / program, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# The entrypoint.


def test_shellcheck_has_no_objection() -> None:
    lint("shellcheck", ENTRYPOINT)


def test_the_entrypoint_reads_secrets_from_files(tmp_path: Path) -> None:
    script(tmp_path / "hivelore", 'echo "$HIVELORE_KEY|${HIVELORE_KEY_FILE:-}|$*"; ls -d "$TMPDIR"')
    (tmp_path / "key").write_text("hl_1_a b'c\n")
    answer = enter(tmp_path, "run", "--once", HIVELORE_KEY_FILE=str(tmp_path / "key"), TMPDIR=str(tmp_path / "t"))
    assert (answer.returncode, answer.stdout) == (0, f"hl_1_a b'c||run --once\n{tmp_path}/t\n"), answer.stderr
    assert (tmp_path / "t").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"HIVELORE_KEY_FILE": "/nonexistent/key"}, "HIVELORE_KEY_FILE cannot be read"),
        ({"HIVELORE_KEY_FILE": "/dev/null"}, "HIVELORE_KEY_FILE is empty"),
        ({"PGPASSWORD_FILE": "/etc/hostname", "PGPASSWORD": "x"}, "PGPASSWORD and PGPASSWORD_FILE are both set"),
        ({"TMPDIR": "/proc/nowhere"}, "/proc/nowhere cannot be created"),
    ],
)
def test_the_entrypoint_reports_what_is_wrong(tmp_path: Path, given: dict[str, str], words: str) -> None:
    script(tmp_path / "hivelore", "echo started")
    answer = enter(tmp_path, "serve", **given)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert words in answer.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [("one\ntwo\n", "has several lines"), ("x" * 65_536, "is too large"), ("\r\n", "is empty")],
)
def test_the_entrypoint_takes_no_file_that_is_no_secret(tmp_path: Path, content: str, words: str) -> None:
    script(tmp_path / "hivelore", "echo started")
    (tmp_path / "key").write_text(content, newline="")
    answer = enter(tmp_path, "serve", HIVELORE_KEY_FILE=str(tmp_path / "key"))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert words in answer.stderr


def test_the_entrypoint_reads_a_file_with_the_line_end_of_windows(tmp_path: Path) -> None:
    script(tmp_path / "hivelore", 'printf "[%s]" "$HIVELORE_KEY"')
    (tmp_path / "key").write_text("hl_1_a_b\r\n", newline="")
    assert enter(tmp_path, "serve", HIVELORE_KEY_FILE=str(tmp_path / "key")).stdout == "[hl_1_a_b]"


def script(file: Path, body: str) -> None:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def enter(folder: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    env = {"PATH": f"{folder}:/usr/bin:/bin", **environment}
    return subprocess.run([ENTRYPOINT, *words], env=env, capture_output=True, text=True, check=False)


# Images.


def test_hadolint_has_no_objection() -> None:
    lint("hadolint", DEPLOY / "Dockerfile")


def test_images_run_without_rights_and_without_secrets() -> None:
    found = stages()
    for name in ("service", "runner"):
        image = found[name]
        assert image.user == "10001:10001"
        assert image.volumes == ["/data"]
        assert image.entrypoint == ["hivelore-entrypoint"]
        assert not set(image.environment) & {*SECRETS, *(f"{one}_FILE" for one in SECRETS)}
        check_variables(image.environment)
        check_command(image.command)
        folders = [value for key, value in image.environment.items() if key not in ("PATH", "PYTHONUNBUFFERED")]
        assert all(one.startswith("/data") for one in folders if one.startswith("/"))
    assert found["service"].has_health_check
    assert not re.findall(r"^ARG (?!PYTHON=|NODE=)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)


def test_images_have_the_versions_that_are_tested() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    programs = json.loads((ROOT / "tests" / "agents" / "package.json").read_text())["dependencies"]
    assert re.findall(r"@anthropic-ai/claude-code@(\S+)", text) == [programs["@anthropic-ai/claude-code"]]
    uv = re.findall(r"^UV_VERSION=(\S+)", (ROOT / "scripts" / "bootstrap.sh").read_text(), re.MULTILINE)
    assert re.findall(r"uv==(\S+)", text) == uv
    (python,) = re.findall(r"^ARG PYTHON=(\S+)", text, re.MULTILINE)
    assert f"Programming Language :: Python :: {python}" in (ROOT / "pyproject.toml").read_text()


def test_images_are_built_from_what_they_copy_alone(tmp_path: Path) -> None:
    sources = {one for stage in stages().values() for one in stage.sources}
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {one[1:] for one in rules if one.startswith("!")} == sources
    for one in sources:
        if (ROOT / one).is_dir():
            shutil.copytree(ROOT / one, tmp_path / one, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (tmp_path / one).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / one, tmp_path / one)
    words = ["build", "--wheel", "--no-build-isolation", "--offline", "--python", sys.executable, "--out-dir", "out"]
    done = subprocess.run([TOOLS / "uv", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").glob("*.whl"))) == 1


# The compose file.


def test_the_compose_file_fits_its_schema() -> None:
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    found: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))
    jsonschema.validate(compose(), found)


def test_containers_are_limited() -> None:
    cases = Cases()
    for name, one in compose()["services"].items():
        with cases.case(name):
            assert one["read_only"] is True
            assert one["cap_drop"] == ["ALL"]
            assert "cap_add" not in one
            assert "privileged" not in one
            assert one["security_opt"] == ["no-new-privileges:true"]
            assert one["restart"] == "unless-stopped"
            assert set(one["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
            assert len(one["volumes"]) == 1
            assert not [port for port in one.get("ports", ()) if not port.startswith("127.0.0.1:")]
    cases.report()


def test_containers_have_commands_variables_and_volumes_that_exist() -> None:
    file, images = compose(), stages()
    assert set(file["services"]) == {"database", *SERVICES, *RUNNERS}
    volumes = [one["volumes"][0].partition(":")[0] for one in file["services"].values()]
    assert sorted(volumes) == sorted(file["volumes"])
    cases = Cases()
    for name in (*SERVICES, *RUNNERS):
        one = file["services"][name]
        with cases.case(name):
            image = images[one["build"]["target"]]
            assert (DEPLOY / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
            assert one["volumes"][0].endswith(":/data")
            check_command(one.get("command", image.command))
            check_variables(one["environment"])
            mounted = {each if isinstance(each, str) else each["target"] for each in one["secrets"]}
            read = {value for key, value in one["environment"].items() if key.endswith("_FILE")}
            assert read == {f"/run/secrets/{each}" for each in mounted}
    cases.report()


def test_secrets_come_from_files_that_are_not_committed() -> None:
    file = compose()
    given = {name for one in file["services"].values() for name in one["environment"]}
    assert not given & set(SECRETS) - {"HIVELORE_DATABASE"}
    assert (
        ":" not in file["services"]["service"]["environment"]["HIVELORE_DATABASE"].partition("@")[0].partition("//")[2]
    )
    names = {
        each if isinstance(each, str) else each["source"]
        for one in file["services"].values()
        for each in one["secrets"]
    }
    assert names == set(file["secrets"])
    paths = [str(Path("deploy") / one["file"]) for one in file["secrets"].values()]
    done = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == paths


def test_containers_have_the_time_to_hand_tasks_back() -> None:
    for name in RUNNERS:
        assert int(compose()["services"][name]["stop_grace_period"].removesuffix("s")) > LONGEST_STOP


# Units.


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_units_are_hardened(file: Path) -> None:
    settings = unit(file)
    assert {name: settings[name] for name in HARDENED} == {name: [value] for name, value in HARDENED.items()}
    assert not {"root", "0"} & set(settings.get("User", ("dynamic",)))
    assert {"MemoryMax", "TasksMax", "TimeoutStopSec", "ReadWritePaths"} <= set(settings)


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_units_have_commands_and_variables_that_exist(file: Path) -> None:
    settings = unit(file, i="worker-1", S="/var/lib", d="/run/credentials")
    check_variables(unit_environment(settings))
    program, *words = unit_command(settings)
    assert program == "/opt/hivelore/bin/hivelore-entrypoint"
    assert unit_environment(settings)["PATH"].startswith("/opt/hivelore/bin:")
    check_command(words)
    for name, value in unit_environment(settings).items():
        if name in ("HOME", "HIVELORE_HOME", "HIVELORE_WORKSPACE"):
            assert value.startswith(settings["ReadWritePaths"][0])
            assert value.startswith(f"/var/lib/{settings['StateDirectory'][0]}")
    credentials = {one.partition(":")[0] for one in settings.get("LoadCredential", ())}
    read = {value for name, value in unit_environment(settings).items() if name.endswith("_FILE")}
    assert read == {f"/run/credentials/{one}" for one in credentials}


def test_units_have_the_time_to_hand_tasks_back() -> None:
    (seconds,) = unit(RUNNER_UNIT)["TimeoutStopSec"]
    assert int(seconds) > LONGEST_STOP


def test_each_runner_has_a_user_of_its_own() -> None:
    assert unit(RUNNER_UNIT)["DynamicUser"] == ["yes"]
    (user,) = unit(SERVICE_UNIT)["User"]
    assert re.search(rf"^u {user} ", (DEPLOY / "systemd" / "hivelore.sysusers.conf").read_text(), re.MULTILINE)


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("NO SYSTEMD-ANALYZE, AND SO THE UNITS ARE NOT VERIFIED BY SYSTEMD ITSELF")
    (tmp_path / "hivelore-entrypoint").symlink_to(ENTRYPOINT)
    for file in UNITS:
        copy = tmp_path / file.name
        copy.write_text(
            file.read_text().replace("/opt/hivelore/bin/hivelore-entrypoint", str(tmp_path / "hivelore-entrypoint"))
        )
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


# Documents.


@pytest.mark.parametrize("page", ["deployment.md", "other-host.md"])
def test_the_commands_of_the_documents_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    blocks = "\n".join(re.findall(r"```(?:sh|ini)\n(.*?)```", text, re.DOTALL))
    commands = re.findall(
        r"hivelore(?:-entrypoint)? ([a-z][^>\n]*)", re.sub(r"^.*(/etc/|docker compose run).*$", "", blocks)
    )
    assert len(commands) >= 4
    cases = Cases()
    for command in commands:
        with cases.case(command):
            check_command(shlex.split(command))
    for arguments in re.findall(r'RUN_ARGUMENTS="?([^"\n]*)', blocks):
        with cases.case(arguments):
            check_command(["run", "--agent", "worker-1", *arguments.split()])
    for path in re.findall(r"deploy/[\w./*@-]+", blocks):
        with cases.case(path):
            assert list(ROOT.glob(path))
    check_variables(re.findall(r"\b([A-Z_]+(?:_FILE)?)=", blocks))
    cases.report()
