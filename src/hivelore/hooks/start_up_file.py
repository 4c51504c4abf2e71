"""Proposes what an agent edited in the start-up file of its workspace, at once and when its session ends (D42).

The command line does it, in a process for which the agent program does not wait.
"""

import os
from contextlib import suppress

from hivelore.local import endpoint, launcher

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

NAMES = tuple(f"start-up.{ending}" for ending in ("sh", "bash", "js", "ts", "bun"))
"""The files in the order in which one of them is used."""
MARKER = b">>> hivelore setup script"
"""Begins every section with a setup script."""
LARGEST = 1_000_000
"""Bytes of the largest start-up file."""
_EDITED = "file_path"
"""Field of a tool's input with the file that it changed."""


def propose_edits(payload: "dict[str, Any]", home: str, *, is_end: bool) -> None:
    """Propose edits if the event is the end of a session, or an edit of the start-up file."""
    workspace = os.path.realpath(endpoint.workspace(home, endpoint.given_workspace()))
    folder = workspace if is_end else _folder_of_edit(payload, workspace)
    if folder is not None and _has_section(folder):
        launcher.run_detached(("setup-script", "sync", "--folder", folder), home)


def _folder_of_edit(payload: "dict[str, Any]", workspace: str) -> "str | None":
    """Return the folder of the start-up file that a tool changed; None if it changed none of this workspace."""
    try:
        file: Any = payload["tool_input"][_EDITED]
    except (KeyError, TypeError):
        return None
    if not isinstance(file, str):
        return None
    folder, name = os.path.split(os.path.realpath(file))
    is_here = folder == workspace or folder.rpartition("/")[0] == f"{workspace}/agents"
    return folder if name in NAMES and is_here else None


def _has_section(folder: str) -> bool:
    for name in NAMES:
        with suppress(OSError):
            descriptor = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as opened:
                return MARKER in opened.read(LARGEST)
    return False
