"""Where the service is and how to come in: the home folder, its keys, the URL.

Standard library only, and pathlib only for those who use it already: hooks, bridge, client and settings all
start here.
"""

import os

from hivelore.errors import Broken, Unauthenticated

TYPE_CHECKING = False
"""Written out, because importing typing takes time too."""

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_URL = "http://127.0.0.1:4483"
OPERATOR_KEY = "operator.key"
AGENT_KEY = "agent.key"
LOCK = "hivelore.lock"
STARTING = "starting.lock"
"""The lock of whoever starts a service."""
LOG = "service.log"
DATABASE = "hivelore.db"
HOOK = "bin"
"""The folder of the hook's copy."""
SET_UP = "integrations"
"""The folder of what was set up where."""
SPOOL = "spool"
"""The folder of events that hooks could not hand over."""
SPOOL_LOST = "lost"
"""The file in it that has a byte for each event that was lost."""
WORKSPACE = "workspace"
"""The folder of agents' files where no other one was chosen; a link to the one that was chosen at setup."""
COMMON_WORKSPACE = "/workspace"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names under which a machine reaches itself."""
TAKEN: tuple[str, str] = ("hivelore", "taken")
"""A header, by which a hook knows that the service has answered and nobody else at its port."""
HOOK_WAIT = 0.2
"""Seconds that a hook waits for the service."""
SESSIONS = {"claude-code": "projects", "codex": "sessions", "gemini": "tmp", "copilot": "session-state"}
"""By program: the folder of sessions in its home."""
IMPORTED = ("claude-code", "codex")
"""Programs whose sessions and notes of before can be taken over."""
Folder = str | os.PathLike[str]
_LARGEST_KEY = 4_096


def home(environment: "Mapping[str, str]" = os.environ) -> "Path":
    """The folder with database, keys and lock: HIVELORE_HOME, else the user's data folder."""
    from pathlib import Path

    return Path(home_folder(environment))


def home_folder(environment: "Mapping[str, str]" = os.environ) -> str:
    """``home`` as a text, for who is in a hurry."""
    chosen = environment.get("HIVELORE_HOME")
    if chosen:
        return _absolute(chosen, environment)
    return _default_home(environment)


def _default_home(environment: "Mapping[str, str]") -> str:
    data = environment.get("XDG_DATA_HOME") or _absolute("~/.local/share", environment)
    return f"{data.rstrip('/')}/hivelore"


def _absolute(path: str, environment: "Mapping[str, str]") -> str:
    user = environment.get("HOME")
    if user and path.startswith("~/"):
        return user + path[1:]
    if path.startswith("/"):
        return path
    from pathlib import Path

    try:
        return str(Path(path).expanduser().absolute())
    except (RuntimeError, OSError) as error:
        raise Broken(f"{path} leads nowhere ({error}). Name a whole path.") from None


def transcripts(environment: "Mapping[str, str]" = os.environ) -> "tuple[Path, ...]":
    """The folders in which agent programs keep their sessions, where this user has any."""
    return tuple(folder / SESSIONS[program] for program, folder in agent_homes(environment).items())


def agent_homes(environment: "Mapping[str, str]" = os.environ) -> "dict[str, Path]":
    """By program: the folder in which it keeps what is this user's, as far as it is known."""
    from pathlib import Path

    user = environment.get("HOME")
    homes = {
        "claude-code": environment.get("CLAUDE_CONFIG_DIR") or (user and f"{user}/.claude"),
        "codex": environment.get("CODEX_HOME") or (user and f"{user}/.codex"),
        "gemini": (root := environment.get("GEMINI_CLI_HOME") or user) and f"{root}/.gemini",
        "copilot": environment.get("COPILOT_HOME") or (user and f"{user}/.copilot"),
    }
    return {program: Path(folder) for program, folder in homes.items() if folder}


def workspace(home: Folder, given: str | None, environment: "Mapping[str, str]" = os.environ) -> str:
    """The folder with ``personal`` and ``shared``: the given one, else the one in the home folder where there is one,
    else /workspace where that is a folder and no repository, else the one in the home folder all the same."""
    if given:
        return _absolute(given, environment)
    from pathlib import Path

    chosen, common = Path(home, WORKSPACE), Path(COMMON_WORKSPACE)
    is_chosen = chosen.is_symlink() or chosen.exists()
    return str(common if not is_chosen and common.is_dir() and not (common / ".git").exists() else chosen)


def given_workspace(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """HIVELORE_WORKSPACE, where somebody set it."""
    return environment.get("HIVELORE_WORKSPACE") or None


def given_url(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """HIVELORE_URL, where somebody set it."""
    return environment.get("HIVELORE_URL") or None


def url(environment: "Mapping[str, str]" = os.environ) -> str:
    return (environment.get("HIVELORE_URL") or DEFAULT_URL).rstrip("/")


def is_same(one: str, other: str) -> bool:
    """Whether two URLs lead to the same service."""
    return _place(one) == _place(other)


def _place(url: str) -> tuple[str, ...]:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return (url,)
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    return parts.scheme, LOOPBACK[0] if host in LOOPBACK else host, str(port), parts.path.rstrip("/")


def given_key(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """HIVELORE_KEY, where somebody set it."""
    return environment.get("HIVELORE_KEY") or None


def hooks_are_off(environment: "Mapping[str, str]" = os.environ) -> bool:
    """HIVELORE_HOOK_DISABLED: for agent programs that the service itself starts, and for who wants none of it."""
    return environment.get("HIVELORE_HOOK_DISABLED", "0") not in ("", "0", "false")


def hook_wait(environment: "Mapping[str, str]" = os.environ) -> float:
    """HIVELORE_HOOK_WAIT, in seconds; what is no such number counts as unset."""
    try:
        wait = float(environment.get("HIVELORE_HOOK_WAIT") or HOOK_WAIT)
    except ValueError:
        return HOOK_WAIT
    return wait if 0.01 <= wait <= 600.0 else HOOK_WAIT


def task(largest: int, environment: "Mapping[str, str]" = os.environ) -> tuple[str, str]:
    """What the current task is called, HIVELORE_TASK_ID, and the beginning of what stands in HIVELORE_TASK_FILE; empty
    where that is not set, gone or no text."""
    file = environment.get("HIVELORE_TASK_FILE")
    try:
        told = _beginning(file, largest).decode() if file else ""
    except (OSError, UnicodeDecodeError, ValueError):
        told = ""
    return environment.get("HIVELORE_TASK_ID", ""), told


def inherited(folder: Folder, environment: "Mapping[str, str]" = os.environ) -> dict[str, str]:
    """The environment of a process that is to work on the home ``folder``."""
    return {**environment, "HIVELORE_HOME": os.fspath(folder)}


def key(name: str, folder: Folder, environment: "Mapping[str, str]" = os.environ) -> str:
    """The key to come in with: HIVELORE_KEY, else the file ``name`` in the home ``folder``.

    A key that is given and wrong is an error later, never a reason to fall back to the file.
    """
    given = given_key(environment)
    if given is not None:
        return given
    file = f"{os.fspath(folder)}/{name}"
    try:
        return _text(file).strip()
    except FileNotFoundError:
        raise Unauthenticated(f"No key: there is no {file}. Start the service once ('hivelore start').") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unauthenticated(f"The key file {file} cannot be read ({error}).") from None


def has_key_file(folder: Folder) -> bool:
    """Whether a service has worked in this home folder before."""
    return any(os.path.lexists(f"{os.fspath(folder)}/{name}") for name in (OPERATOR_KEY, AGENT_KEY))


def has_key(name: str, folder: Folder, environment: "Mapping[str, str]" = os.environ) -> bool:
    """Whether there is anything to come in with."""
    return given_key(environment) is not None or os.access(f"{os.fspath(folder)}/{name}", os.R_OK)


def _text(file: str) -> str:
    return _beginning(file, _LARGEST_KEY).decode("ascii")


def _beginning(file: str, largest: int) -> bytes:
    # Not to wait for somebody to write where it is a pipe.
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(descriptor, largest)
    finally:
        os.close(descriptor)


def make_home(given: Folder) -> "Path":
    """Create the home folder, open to its owner alone. One that is there stays as it is, except the default one: that
    is nobody's but ours."""
    from pathlib import Path

    from hivelore.local import private_files

    folder = Path(given)
    try:
        private_files.make_folder(folder)
    except OSError as error:
        raise Broken(f"The folder {folder} cannot be made ({error}). Choose another with HIVELORE_HOME.") from None
    if str(folder) == _default_home(os.environ):
        private_files.tighten(folder)
    return folder
