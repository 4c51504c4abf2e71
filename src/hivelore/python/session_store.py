"""The SessionStore of the Claude Agent SDK over a hive: another host continues the sessions of an agent."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hivelore.errors import NotFound
from hivelore.local.transcript_entries import shorten_entry
from hivelore.python.async_hive import AsyncHive
from hivelore.stored_transcripts.model import CHUNK_BYTES, LIST_PAGE

_BATCH = 500
"""Most entries in one request."""


class HiveSessionStore:
    """Stores the sessions of the agent whose key the hive has. Implements ``claude_agent_sdk.SessionStore`` without
    importing it, except for ``list_session_summaries``, which is optional.

    Example: ``ClaudeAgentOptions(session_store=HiveSessionStore(hive), resume=session_id)``
    """

    def __init__(self, hive: AsyncHive, *, machine: str | None = None) -> None:
        """``machine``: name of this host, which lists of sessions show."""
        self._hive = hive
        self._machine = machine
        self._agent: str | None = None

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Appends entries. Those with a known uuid are left out; very long texts in entries over 4 MB, too."""
        for lines in _batches(entries):
            await self._hive.append_transcript(
                project_key=key["project_key"],
                session=key["session_id"],
                sub_key=key.get("subpath"),
                lines=lines,
                machine=self._machine,
            )

    async def load(self, key: Mapping[str, Any]) -> list[Any] | None:
        """Returns all entries; None for a key that was never written."""
        entries: list[Any] = []
        after: int | None = 0
        while after is not None:
            try:
                page = await self._hive.load_transcript(
                    project_key=key["project_key"],
                    session=key["session_id"],
                    sub_key=key.get("subpath"),
                    after=after,
                )
            except NotFound:
                return None
            entries += map(json.loads, page.lines)
            after = page.next
        return entries

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Returns the sessions of a project with the times of their last change in milliseconds."""
        if self._agent is None:
            self._agent = (await self._hive.me()).agent
        found: list[Any] = []
        after: str | None = None
        while True:
            page = await self._hive.transcripts(
                agent=self._agent, project_key=project_key, limit=LIST_PAGE, after=after
            )
            found += (
                {"session_id": one.session_id, "mtime": int(one.updated_at.timestamp() * 1_000)}
                for one in page.sessions
            )
            after = page.next
            if after is None:
                return found

    async def delete(self, key: Mapping[str, Any]) -> None:
        """Deletes a session with the transcripts of its sub-agents, or only the one of ``subpath``."""
        await self._hive.delete_transcripts(
            project_key=key["project_key"], session=key["session_id"], sub_key=key.get("subpath")
        )

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        """Returns the sub-paths of a session."""
        found = await self._hive.transcript_sub_keys(project_key=key["project_key"], session=key["session_id"])
        return list(found)


def _batches(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    lines: list[str] = []
    size = 0
    for entry in entries:
        line = json.dumps(entry, separators=(",", ":"))
        line = shorten_entry(line) or line  # The service would refuse the request.
        if lines and (len(lines) >= _BATCH or size + len(line) > CHUNK_BYTES):
            yield tuple(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield tuple(lines)
