"""The home folder, its files and keys, and the URL of the service.

Uses the standard library only, and imports pathlib only where it is needed: hooks, bridge and client start here.
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
"""Lock of the process that starts a service."""
LOG = "service.log"
CONFIG_KEYS = "config.keys"
"""File with the keys that encrypt the secrets of the configuration."""
LOCKS = "locks"
"""Folder of locks for short work."""
DATABASE = "hivelore.db"
HOOK = "bin"
"""Folder of the copied hook."""
SET_UP = "integrations"
"""Folder of the receipts of setup."""
SPOOL = "spool"
"""Folder of events that hooks could not deliver."""
SPOOL_LOST = "lost"
"""File in the spool with one byte for each lost event."""
WORKSPACE = "workspace"
"""Default folder for memories as files; a link if another folder was chosen at setup."""
COMMON_WORKSPACE = "/workspace"
TAKEN: tuple[str, str] = ("hivelore", "taken")
"""Header that shows a hook that the service answered, not another program on its port."""
HOOK_WAIT = 0.2
"""Seconds that a hook waits for the service."""
NUDGE, NO_NUDGE = "evidence", "off"
"""Values of HIVELORE_NUDGE."""
ON, OFF = "on", "off"
"""Values of HIVELORE_PROFILE_FILES."""
SESSIONS = {"claude-code": "projects", "codex": "sessions", "gemini": "tmp", "copilot": "session-state"}
"""By program: the folder of sessions in its settings folder."""
IMPORTED = ("claude-code", "codex")
"""Programs whose past sessions and memories can be imported."""
Folder = str | os.PathLike[str]
_LARGEST_KEY = 4_096


def home(environment: "Mapping[str, str]" = os.environ) -> "Path":
    """Return the folder of database, keys and lock: HIVELORE_HOME, else the user's data folder."""
    from pathlib import Path

    return Path(home_folder(environment))


def home_folder(environment: "Mapping[str, str]" = os.environ) -> str:
    """Return ``home`` as text, without importing pathlib."""
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
        raise Broken(f"{path} is not a valid path ({error}). Use an absolute path.") from None


def transcripts(environment: "Mapping[str, str]" = os.environ) -> "tuple[Path, ...]":
    """Return the folders in which agent programs store sessions of this user."""
    return tuple(folder / SESSIONS[program] for program, folder in agent_homes(environment).items())


def user_folder(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """Return the folder of the user: HOME, else that in the user database."""
    if environment.get("HOME"):
        return environment["HOME"]
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir or None
    except KeyError:  # Containers may run as a user without an entry.
        return None


def agent_homes(environment: "Mapping[str, str]" = os.environ) -> "dict[str, Path]":
    """Return the settings folder of each agent program, if it is known."""
    from pathlib import Path

    user = user_folder(environment)
    homes = {
        "claude-code": environment.get("CLAUDE_CONFIG_DIR") or (user and f"{user}/.claude"),
        "codex": environment.get("CODEX_HOME") or (user and f"{user}/.codex"),
        "gemini": (root := environment.get("GEMINI_CLI_HOME") or user) and f"{root}/.gemini",
        "copilot": environment.get("COPILOT_HOME") or (user and f"{user}/.copilot"),
    }
    return {program: Path(folder) for program, folder in homes.items() if folder}


def workspace(home: Folder, given: str | None, environment: "Mapping[str, str]" = os.environ) -> str:
    """Return the folder that contains ``personal`` and ``shared``.

    This is the given folder; else the one in the home folder, if it exists; else /workspace, if it is a folder and not
    a repository; else the one in the home folder.
    """
    if given:
        return _absolute(given, environment)
    from pathlib import Path

    chosen, common = Path(home, WORKSPACE), Path(COMMON_WORKSPACE)
    is_chosen = chosen.is_symlink() or chosen.exists()
    return str(common if not is_chosen and common.is_dir() and not (common / ".git").exists() else chosen)


def given_workspace(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """Return HIVELORE_WORKSPACE, if it is set."""
    return environment.get("HIVELORE_WORKSPACE") or None


def given_capabilities(environment: "Mapping[str, str]" = os.environ) -> list[str]:
    """Return the names in HIVELORE_CAPABILITIES; none if it is unset."""
    return [name.strip() for name in environment.get("HIVELORE_CAPABILITIES", "").split(",") if name.strip()]


def given_url(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """Return HIVELORE_URL, if it is set."""
    return environment.get("HIVELORE_URL") or None


def lasting_url(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """Return HIVELORE_URL if it is the same at every start; port 0 is not."""
    given = given_url(environment)
    return None if given is None or given.rstrip("/").endswith(":0") else given


def url(environment: "Mapping[str, str]" = os.environ) -> str:
    return (environment.get("HIVELORE_URL") or DEFAULT_URL).rstrip("/")


def given_key(environment: "Mapping[str, str]" = os.environ) -> str | None:
    """Return HIVELORE_KEY, if it is set."""
    return environment.get("HIVELORE_KEY") or None


def hooks_are_off(environment: "Mapping[str, str]" = os.environ) -> bool:
    """Return True if HIVELORE_HOOK_DISABLED is set, as in agent programs that the service starts."""
    return environment.get("HIVELORE_HOOK_DISABLED", "0") not in ("", "0", "false")


def nudges(environment: "Mapping[str, str]" = os.environ) -> bool:
    """Return True if HIVELORE_NUDGE is `evidence`; other values count as `off`."""
    return environment.get("HIVELORE_NUDGE") == NUDGE


def keeps_profile_files(environment: "Mapping[str, str]" = os.environ) -> bool:
    """Return True if HIVELORE_PROFILE_FILES is `on`; other values count as `off`."""
    return environment.get("HIVELORE_PROFILE_FILES") == ON


def hook_wait(environment: "Mapping[str, str]" = os.environ) -> float:
    """Return HIVELORE_HOOK_WAIT in seconds; an invalid value counts as unset."""
    try:
        wait = float(environment.get("HIVELORE_HOOK_WAIT") or HOOK_WAIT)
    except ValueError:
        return HOOK_WAIT
    return wait if 0.01 <= wait <= 600.0 else HOOK_WAIT


def task(largest: int, environment: "Mapping[str, str]" = os.environ) -> tuple[str, str]:
    """Return HIVELORE_TASK_ID and the first ``largest`` bytes of HIVELORE_TASK_FILE; empty if unset or unreadable."""
    file = environment.get("HIVELORE_TASK_FILE")
    try:
        text = _read(file, largest).decode() if file else ""
    except (OSError, UnicodeDecodeError, ValueError):
        text = ""
    return environment.get("HIVELORE_TASK_ID", ""), text


def inherited(folder: Folder, environment: "Mapping[str, str]" = os.environ) -> dict[str, str]:
    """Return the environment for a process that uses the home ``folder``."""
    return {**environment, "HIVELORE_HOME": os.fspath(folder)}


def key(name: str, folder: Folder, environment: "Mapping[str, str]" = os.environ) -> str:
    """Return the key of a client: HIVELORE_KEY, else the file ``name`` in the home ``folder``.

    If HIVELORE_KEY is wrong, the service refuses it; the file is not used instead.
    """
    given = given_key(environment)
    if given is not None:
        return given
    file = f"{os.fspath(folder)}/{name}"
    try:
        return _read(file, _LARGEST_KEY).decode("ascii").strip()
    except FileNotFoundError:
        raise Unauthenticated(
            f"The key file {file} does not exist. Start the service once ('hivelore start')."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unauthenticated(f"The key file {file} cannot be read ({error}).") from None


def has_key_file(folder: Folder) -> bool:
    """Return True if a service has used this home folder before."""
    return any(os.path.lexists(f"{os.fspath(folder)}/{name}") for name in (OPERATOR_KEY, AGENT_KEY))


def has_key(name: str, folder: Folder, environment: "Mapping[str, str]" = os.environ) -> bool:
    """Return True if there is a key."""
    return given_key(environment) is not None or os.access(f"{os.fspath(folder)}/{name}", os.R_OK)


def _read(file: str, largest: int) -> bytes:
    # Without blocking: a pipe would wait for a writer.
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(descriptor, largest)
    finally:
        os.close(descriptor)


def make_home(given: Folder) -> "Path":
    """Create the home folder, private to its owner.

    The permissions of an existing folder are changed only if it is the default one.
    """
    from pathlib import Path

    from hivelore.local import private_files

    folder = Path(given)
    try:
        private_files.make_folder(folder)
    except OSError as error:
        raise Broken(f"The folder {folder} cannot be created ({error}). Choose another with HIVELORE_HOME.") from None
    if str(folder) == _default_home(os.environ):
        private_files.tighten(folder)
    return folder
