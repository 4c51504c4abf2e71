"""Git commands that run unattended: without questions, hooks and submodules, for a limited time.

Only https and ssh are spoken, and local paths where the caller allows them. Programs that the configuration of the
repository names may run: the caller gives repositories with a configuration of its own.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from hivelore.errors import Unavailable

_OPTIONS = (
    "advice.graftFileDeprecated=false",
    "core.attributesFile=/dev/null",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "merge.autoStash=false",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
)
_SET = {
    "GIT_ASKPASS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_COMMITTER_EMAIL": "hivelore@localhost",
    "GIT_COMMITTER_NAME": "hivelore",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "SSH_ASKPASS_REQUIRE": "never",
}
_KEPT = ("GIT_CONFIG_", "GIT_HTTP_", "GIT_PROXY_", "GIT_SSH", "GIT_SSL_")
"""Prefixes of variables that say how this machine reaches other ones. Any other variable of git is removed: it could
name another repository, or print what git sends."""
_MOST_ERRORS = 4_096
_PAUSE = 0.05
"""Seconds between looks whether git has ended, for programs that keep its output open."""
_GRACE = 3.0
"""Seconds in which git removes its lock files after SIGTERM."""
_C = ctypes.CDLL(None)
_DEATH_SIGNAL = 1
"""The option of prctl on Linux for a signal when the parent process ends."""


@dataclass(frozen=True, slots=True)
class GitAnswer:
    code: int | None
    """The exit status; None: the time was up."""
    output: bytes
    errors: str
    """The end of what git wrote about errors and progress."""

    @property
    def is_done(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        return self.output.decode(errors="replace").strip()


class Git:
    """Runs git for a limited time, all commands together."""

    def __init__(
        self,
        seconds: float,
        ceiling: "str | os.PathLike[str]",
        *,
        allows_local: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """``ceiling``: folder above which no repository is looked for."""
        self._deadline = time.monotonic() + seconds
        options = (*_OPTIONS, f"protocol.file.allow={'always' if allows_local else 'never'}")
        self._command = ("git", *(word for one in options for word in ("-c", one)))
        self._environment = _cleared(environment) | _SET | {"GIT_CEILING_DIRECTORIES": os.fspath(ceiling)}

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self._deadline

    @property
    def seconds_left(self) -> float:
        return self._deadline - time.monotonic()

    def run(
        self,
        folder: "str | os.PathLike[str]",
        words: Sequence[str],
        most: int = 65_536,
        *,
        settings: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> GitAnswer:
        """Runs a command in a folder and returns its answer, with at most the first ``most`` bytes of its output.
        ``settings``: further ones, as NAME=VALUE; ``variables``: further ones of the environment.

        What the command has started ends with it, and with an exception of this process. A process that is killed
        cannot end it: then git gets SIGTERM on Linux, if the process had one thread, and otherwise goes on. Raises
        Unavailable if git cannot be started."""
        if self.is_late:
            return GitAnswer(None, b"", "")
        try:
            process = subprocess.Popen(
                [*self._command, *(word for one in settings for word in ("-c", one)), *words],
                cwd=folder,
                env={**self._environment, **(variables or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                # Code between fork and exec may wait forever for a lock that another thread holds.
                preexec_fn=_end_with_parent if sys.platform == "linux" and threading.active_count() == 1 else None,
            )
        except OSError as error:
            raise Unavailable(f"Git cannot be started ({error.strerror}). Install git, and try again.") from None
        with process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                output, errors, is_in_time = self._read(process, process.stdout, process.stderr, most)
            finally:
                _end_group(process)
            code = process.wait()
        is_cut = len(output) >= most
        return GitAnswer(0 if is_cut else code if is_in_time else None, output[:most], errors.decode(errors="replace"))

    def _read(
        self, process: "subprocess.Popen[bytes]", out: IO[bytes], err: IO[bytes], most: int
    ) -> tuple[bytes, bytes, bool]:
        """Reads until the process ends, enough was read or the time is up."""
        output, errors = b"", b""
        with selectors.DefaultSelector() as selector:
            for pipe in (out, err):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ)
            has_ended = False
            while True:
                ready = selector.select(0 if has_ended else _PAUSE) if selector.get_map() else []
                for key, _ in ready:
                    piece = os.read(key.fd, 65_536)
                    if not piece:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is out:
                        output += piece
                    else:
                        errors = (errors + piece)[-_MOST_ERRORS:]
                if len(output) >= most or (has_ended and not ready):
                    return output, errors, True
                if self.is_late:
                    return output, errors, has_ended
                if not ready:
                    has_ended = _has_ended(process)
                    if not has_ended and not selector.get_map():
                        time.sleep(_PAUSE)


def _end_with_parent() -> None:
    _C.prctl(_DEATH_SIGNAL, signal.SIGTERM)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Ends the process and its group. The group of a process that was not yet waited for cannot be that of another."""
    try:
        if not _has_ended(process):
            _signal_group(process, signal.SIGTERM)
            limit = time.monotonic() + _GRACE
            while not _has_ended(process) and time.monotonic() < limit:
                time.sleep(_PAUSE)
    finally:
        _signal_group(process, signal.SIGKILL)


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Returns True if the process has ended, without removing it from the table of processes."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _cleared(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name not in ("SSH_ASKPASS", "LANGUAGE") and (not name.startswith("GIT_") or name.startswith(_KEPT))
    }
