"""Real repositories of git on this machine."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_CLOCK = 1_780_000_000
"""The time of the first commit, in seconds since 1970."""


def git(folder: Path, *words: str, at: int = _CLOCK) -> str:
    """Runs git as a developer of a repository does, with a fixed time, and returns what it prints."""
    person = {"NAME": "Ada", "EMAIL": "ada@example.com", "DATE": f"{at} +0000"}
    people = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in person.items()}
    environment = {**os.environ, **people, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


class Remote:
    """A bare repository, and the work tree from which its developer pushes."""

    def __init__(self, folder: Path, branch: str = "main") -> None:
        self.bare, self.work, self.branch = folder / "remote.git", folder / "work", branch
        for path, options in ((self.bare, ["--bare"]), (self.work, [])):
            path.mkdir(parents=True)
            git(path, "init", "-q", f"--initial-branch={branch}", *options, ".")
        self._commits = 0

    @property
    def url(self) -> str:
        return str(self.bare)

    def commit(self, files: Mapping[str, str | bytes | None] | None = None, branch: str | None = None) -> str:
        """Commits files (None: removes one) and pushes them. A text that begins with ``-> `` is a link."""
        self._commits += 1
        for name, content in (files or {"README.md": f"Version {self._commits}.\n"}).items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif content is not None and content.startswith("-> "):
                path.symlink_to(content.removeprefix("-> "))
            elif content is not None:
                path.write_text(content)
        git(self.work, "add", "-A")
        git(self.work, "commit", "-q", "--allow-empty", "-m", "Change", at=_CLOCK + self._commits)
        return self.push(branch)

    def push(self, branch: str | None = None) -> str:
        git(self.work, "push", "-q", "--force", self.url, f"HEAD:refs/heads/{branch or self.branch}")
        return git(self.work, "rev-parse", "HEAD")
