"""Prepares the workspace of an agent before its first session (A37, D40).

That are folders, clones of repositories, configuration, the start-up file, and files of the profile. Preparing again
changes nothing. A part that fails does not keep the others from being prepared, except for folders and start-up file.
The files of the profile are the user's own until the start-up file has run: what it writes there is not the agent's.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hivelore.configuration.env_files import EnvFiles
from hivelore.core.redaction import Redactor
from hivelore.core.text import counted
from hivelore.errors import Conflict, HiveloreError, NotFound, Unavailable
from hivelore.folders.workspace import make_folders
from hivelore.hooks.profile_files import PreparedFiles
from hivelore.integrations import start_up_files
from hivelore.integrations.start_up_files import FoundFile, Note
from hivelore.local import endpoint, private_files, script_process
from hivelore.local.script_process import Finished, Limits
from hivelore.python.client import Client
from hivelore.repos.clones import IN_USE
from hivelore.setup_scripts.start_up_file import command_of, programs

LOG = "start-up.log"
"""The last part of what the start-up file printed, in the personal folder."""
_USUAL = (
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM TZ TMPDIR DEBIAN_FRONTEND SSL_CERT_FILE SSL_CERT_DIR "
    "REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS NO_PROXY no_proxy HIVELORE_WORKSPACE"
)
_USUAL_NAMES = frozenset(_USUAL.split())
_USUAL_PREFIX = "LC_"
_LEAST_MASKED = 4
"""Characters of the shortest value or line of a value that is masked in the output."""
_LOG_BYTES = 65_536
"""Most bytes of the output that are kept."""
_SEARCHED_BYTES = 262_144
"""The last bytes of the output that are searched for secrets. Those before ``_LOG_BYTES`` are there to find a secret
whole of which only the end is in the kept part."""
_MASK = "********"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the start-up file is run."""

    is_on: bool
    is_strict: bool
    seconds: float
    variables: Sequence[str] = ()
    """Environment variables that it gets besides the usual ones."""


class Outcome(StrEnum):
    DONE = "done"
    OFF = "off"
    """A setting switches it off."""
    INCOMPLETE = "incomplete"
    """Done except for something, which the detail names."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StepResult:
    outcome: Outcome
    detail: str = ""
    code: int = 0
    """Another exit code than 0 ends the preparation."""


Json = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Preparation:
    """What the steps share, and what they did."""

    client: Client
    workspace: Path
    agent: str
    """Id of the agent."""
    personal: str = "personal"
    """The personal folder, in the workspace."""
    runs: RunSettings
    note: Note
    environment: Mapping[str, str]
    profile_files: PreparedFiles | None = None
    """None: files of the profile are left alone."""
    keeps_profile: bool = True
    """False: files of the profile are only given back."""
    sync_repos: Callable[[], Sequence[Json]] | None = None
    """Syncs the repositories that every machine clones. Returns the results as ``hivelore repo sync`` shows them."""
    results: dict[str, StepResult] = field(default_factory=dict[str, StepResult])
    """By name of the step, in their order."""
    configured: dict[str, str] = field(default_factory=dict[str, str])
    """Variables for the start-up file from the configuration of the agent."""
    start_up_file: FoundFile | None = None
    finished: Finished | None = None
    """None: the start-up file was not run."""

    @property
    def personal_folder(self) -> Path:
        return self.workspace / self.personal

    @property
    def start_up_folder(self) -> Path:
        """The workspace; for one of several agents, its personal folder."""
        return self.workspace if self.personal == "personal" else self.personal_folder

    @property
    def is_complete(self) -> bool:
        """True if no step left anything out."""
        return not any(one.outcome in (Outcome.INCOMPLETE, Outcome.FAILED) for one in self.results.values())


Step = Callable[[Preparation], StepResult]


def create_folders(preparation: Preparation) -> StepResult:
    workspace = Path(os.path.realpath(preparation.workspace))
    folders = (f"{preparation.personal}/memory", "shared/memory", "repos")
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        make_folders(str(workspace), folders)
    except OSError as error:
        raise Unavailable(
            f"The folders in {workspace} cannot be created ({error.strerror}). Links are not followed."
        ) from None
    return StepResult(Outcome.DONE, str(workspace))


def keep_profile(preparation: Preparation) -> StepResult:
    """Puts the profile into its files, which the first session takes over."""
    if preparation.profile_files is None or not preparation.keeps_profile:
        return StepResult(Outcome.OFF, "HIVELORE_PROFILE_FILES is off, or the workspace has several agents.")
    done = preparation.profile_files.put()
    for notice in done.notices:
        preparation.note(notice)
    return StepResult(Outcome.INCOMPLETE if done.notices else Outcome.DONE, ", ".join(done.names))


def sync_repos(preparation: Preparation) -> StepResult:
    if preparation.sync_repos is None:
        return StepResult(Outcome.OFF, "--no-repos leaves them out.")
    found = preparation.sync_repos()
    late = [one for one in found if not one["isInOrder"]]
    for one in late:
        preparation.note(f"{one['name']}: {one['outcome']}. {one['detail']}")
    if late:
        is_in_use = all(one["outcome"] in IN_USE for one in late)
        outcome = Outcome.DONE if is_in_use else Outcome.INCOMPLETE
        return StepResult(outcome, ", ".join(f"{one['name']}: {one['outcome']}" for one in late))
    return StepResult(Outcome.DONE, counted(len(found), "repository", "repositories"))


def read_configuration(preparation: Preparation) -> StepResult:
    """Reads the configuration entries that the start-up file gets, and reports lines that .env files of this workspace
    lack: only the service writes them, into its own workspace."""
    client, runs = preparation.client, preparation.runs
    found: Sequence[Json] = client.call("GET", "/api/config/resolved")["entries"]
    problems: list[str] = []
    wanted = {one["key"] for one in found} & set(runs.variables) if runs.is_on else set[str]()
    for key in sorted(wanted - preparation.environment.keys()):
        answer = client.call("GET", "/api/config/env", query={"key": key})
        preparation.configured |= answer["variables"]
        problems += [f"{one['key']} is left out. {one['reason']}" for one in answer["withheld"]]
    problems += _missing_lines(preparation.workspace, found)
    for problem in problems:
        preparation.note(problem)
    return StepResult(
        Outcome.INCOMPLETE if problems else Outcome.DONE, " ".join(problems) or counted(len(found), "entry", "entries")
    )


def write_start_up_file(preparation: Preparation) -> StepResult:
    folder = preparation.start_up_folder
    found = start_up_files.update(folder, preparation.agent, preparation.client, preparation.note)
    preparation.start_up_file = found
    if found is not None and (ignored := start_up_files.others(folder, found.kind)):
        preparation.note(f"Only {found.path.name} is used, not {', '.join(ignored)}.")
    return StepResult(Outcome.DONE, "none" if found is None else str(found.path))


def run_start_up_file(preparation: Preparation) -> StepResult:
    """Runs the start-up file if the operator turned that on."""
    found, runs = preparation.start_up_file, preparation.runs
    if found is None:
        return StepResult(Outcome.DONE, "no start-up file")
    if not runs.is_on:
        preparation.note(f"{found.path.name} was not run: HIVELORE_RUN_SETUP_SCRIPTS is off.")
        return StepResult(Outcome.OFF, "HIVELORE_RUN_SETUP_SCRIPTS is off.")
    limits, folder = Limits(runs.seconds, output_bytes=_SEARCHED_BYTES), str(preparation.start_up_folder)
    command = [*(command_of(found.content) or _program(found, preparation.environment)), str(found.path)]
    environment = usual_environment({**preparation.configured, **preparation.environment}, runs.variables)
    try:
        done = script_process.run(command, folder, environment, limits)
    except OSError as error:
        raise Conflict(
            f"{command[0]}, which runs {found.path.name}, cannot be run ({error.strerror}). Install it, check its "
            f"permissions, or correct the first line of the file."
        ) from None
    preparation.finished = done
    _keep_output(preparation, done)
    if done.code == 0:
        return StepResult(Outcome.DONE, "exit code 0")
    why = f" {done.why}" if done.why else ""
    log = preparation.personal_folder / LOG
    preparation.note(f"{found.path.name} failed with exit code {done.code}.{why} Its output is in {log}.")
    failed = f"exit code {done.code}.{why}"
    if done.is_stopped:
        return StepResult(Outcome.FAILED, failed, done.code)
    if runs.is_strict:
        preparation.note("STARTUP_SCRIPT_STRICT=0 goes on in spite of it.")
        return StepResult(Outcome.FAILED, failed, done.code)
    return StepResult(Outcome.DONE, f"{failed} STARTUP_SCRIPT_STRICT is off.")


STEPS: Mapping[str, Step] = {
    "folders": create_folders,
    "repositories": sync_repos,
    "configuration": read_configuration,
    "start-up file": write_start_up_file,
    "setup": run_start_up_file,
    "profile": keep_profile,
}
"""By name, in this order."""
_OPTIONAL = frozenset({"profile", "repositories", "configuration"})
"""Steps whose errors do not end the preparation."""


def prepare(preparation: Preparation) -> int:
    """Takes all steps. Returns 0, or the exit code of a start-up file that failed. ``results`` has the step that an
    error ended, too."""
    if preparation.profile_files is not None:  # Those that an earlier preparation put there, and no session used.
        for notice in preparation.profile_files.give_back():
            preparation.note(notice)
    for name, step in STEPS.items():
        try:
            result = step(preparation)
        except (HiveloreError, OSError) as error:
            preparation.results[name] = result = StepResult(Outcome.FAILED, str(error))
            if name not in _OPTIONAL:
                raise
            preparation.note(str(error))
        preparation.results[name] = result
        if result.code:
            return result.code
    return 0


def usual_environment(environment: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """Returns the variables that a start-up file gets: the usual ones and those that are named, and no other secret."""
    found = {
        name: value
        for name, value in environment.items()
        if name in _USUAL_NAMES or name.startswith(_USUAL_PREFIX) or name in more
    }
    user = endpoint.user_folder(environment)
    return found if user is None else {"HOME": user} | found


def readable_output(output: bytes, secrets: Sequence[str], *, is_cut: bool = False) -> str:
    """Returns the last part of what a script printed as text, with these and all other secrets masked.

    ``is_cut``: the output began before these bytes. The first ones may be the end of a secret, and are left out."""
    text = output.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    parts = {one for secret in secrets for one in (secret.strip(), *map(str.strip, secret.splitlines()))}
    for part in sorted((one for one in parts if len(one) >= _LEAST_MASKED), key=len, reverse=True):
        text = text.replace(part, _MASK)
    clean = Redactor(os.urandom(32)).clean(text).encode()
    if is_cut:
        clean = clean[_SEARCHED_BYTES - _LOG_BYTES :]
    kept = clean[-_LOG_BYTES:]
    if is_cut or len(kept) < len(clean):
        _, _, whole_lines = kept.partition(b"\n")
        kept = whole_lines if whole_lines.strip() else kept
    return kept.decode(errors="ignore")


def _missing_lines(workspace: Path, entries: Sequence[Json]) -> Sequence[str]:
    """Returns which entries with an ``envPath`` have no line in their file."""
    files = EnvFiles(workspace, endpoint.home())
    wanted: dict[str, set[str]] = {}
    for one in entries:
        if one["envPath"] is not None:
            wanted.setdefault(one["envPath"], set()).add(one["key"])
    problems: list[str] = []
    for path, keys in sorted(wanted.items()):
        try:
            missing = keys - (files.keys(files.normalize(path)) or frozenset())
        except HiveloreError as error:
            problems.append(f"{path}: {error}")
            continue
        if missing:
            problems.append(
                f"{path} has no line for {', '.join(sorted(missing))}. The service writes only in its own workspace, "
                "which 'hivelore doctor' checks there."
            )
    return problems


def _program(found: FoundFile, environment: Mapping[str, str]) -> Sequence[str]:
    """Returns the program for a file whose first line names none."""
    names = programs(found.kind)
    path = environment.get("PATH")
    program = next((program for name in names if (program := shutil.which(name, path=path)) is not None), None)
    if program is None:
        raise NotFound(f"{found.path.name} needs {' or '.join(names)}, which is not on the PATH. Install it.")
    return (program,)


def _keep_output(preparation: Preparation, done: Finished) -> None:
    known = {**preparation.configured, **preparation.environment}
    given = [value for name in preparation.runs.variables if (value := known.get(name))]
    text = readable_output(done.output, given, is_cut=done.is_cut)
    log = preparation.personal_folder / LOG
    try:
        with private_files.replacing(log) as out:
            out.write(text.encode())
    except OSError as error:
        preparation.note(f"The output cannot be kept in {log} ({error.strerror}).")
    for line in text.splitlines():
        preparation.note(line)
    preparation.note(f"{counted(len(text.encode()), 'byte')} of output, in {log}.")
