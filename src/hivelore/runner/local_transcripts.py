"""Conversations of agent programs in the files of this host."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from hivelore.local import endpoint
from hivelore.local.claude_code_files import SUFFIX, project_folder_name
from hivelore.runner.json_line import as_object, parse_object
from hivelore.runner.model import NO_USAGE, Program, Usage
from hivelore.runner.stream_events import as_count, as_session
from hivelore.runner.stream_lines import StreamLine

_TAIL = 1_000_000
"""Bytes at the end of a file of Codex that are searched for its usage."""


class LocalTranscripts:
    """Implements ``TranscriptSource``."""

    def __init__(self, kind: Program, environment: Mapping[str, str]) -> None:
        self._kind = kind
        name = "claude-code" if kind is Program.CLAUDE else "codex"
        home = endpoint.agent_homes(environment).get(name)
        self._sessions = None if home is None else home / endpoint.SESSIONS[name]

    def has(self, session: str, folder: Path, _stopping: Callable[[], bool]) -> bool:
        return self._file(session, folder) is not None

    def storing(self, _session: Callable[[], str | None], _folder: Path) -> AbstractContextManager[None]:
        return nullcontext()

    def usage_before(self, session: str) -> Usage:
        file = self._file(session, Path())
        if self._kind is Program.CLAUDE or file is None:
            return NO_USAGE
        try:
            with file.open("rb") as data:
                data.seek(max(file.stat().st_size - _TAIL, 0))
                lines = data.read(_TAIL).splitlines()
        except OSError:
            return NO_USAGE
        for line in reversed(lines):
            if b'"total_token_usage"' in line:
                payload = as_object((parse_object(StreamLine(line)) or {}).get("payload"))
                total = as_object(as_object(payload.get("info")).get("total_token_usage"))
                cached = as_count(total.get("cached_input_tokens"))
                written = as_count(total.get("cache_write_input_tokens"))
                read = max(as_count(total.get("input_tokens")) - cached - written, 0)
                return Usage(read, as_count(total.get("output_tokens")), cached, written)
        return NO_USAGE

    def _file(self, session: str, folder: Path) -> Path | None:
        """Returns the file of a session. Claude Code keeps them by working folder, Codex by day."""
        if self._sessions is None or as_session(session) is None:
            return None
        if self._kind is Program.CLAUDE:
            file = self._sessions / project_folder_name(folder) / f"{session}{SUFFIX}"
            return file if file.is_file() else None
        return next(self._sessions.glob(f"*/*/*/rollout-*-{session}.jsonl"), None)
