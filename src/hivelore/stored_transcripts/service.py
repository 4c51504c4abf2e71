"""Appends to stored transcripts, and lists, loads, reads and deletes them."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hivelore.configuration.entry_changes import EntryWriter
from hivelore.configuration.keyring import Keyring, Keys, NoKey
from hivelore.configuration.model import Sealed
from hivelore.core.access import visible_to
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.paging import cut_page, position_of
from hivelore.core.redaction import Redactor
from hivelore.core.redaction.excerpts import beginning
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge
from hivelore.local.transcript_entries import (
    MAX_ENTRY_BYTES,
    append_digests,
    digest,
    file_digests,
    parse_entry,
    shorten_entry,
)
from hivelore.memories.model import Action, MemoryId
from hivelore.search.model import Filter
from hivelore.sessions.model import Turn
from hivelore.sessions.programs import storable
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.stored_transcripts import decisions
from hivelore.stored_transcripts.chain import continued_session, follow, forked_session, is_copy_of
from hivelore.stored_transcripts.erasure import erase
from hivelore.stored_transcripts.handover_packet import HandoverPacket, handover_packet
from hivelore.stored_transcripts.keys import check_beginning, is_name
from hivelore.stored_transcripts.model import (
    CHUNK_OVERHEAD,
    DIGEST_BYTES,
    LIST_PAGE,
    MAX_APPENDED,
    MAX_APPENDED_BYTES,
    MAX_CHAIN,
    MAX_SUB_KEYS,
    PAGE_BYTES,
    TRANSCRIPT_BYTES,
    AppendResult,
    FilePosition,
    FoundSession,
    StoredTranscript,
    TranscriptChunk,
    TranscriptId,
    TranscriptItem,
    TranscriptKey,
    TranscriptLimits,
)
from hivelore.stored_transcripts.packing import line_size, pack, split_lines, unpack
from hivelore.stored_transcripts.redacted_copy import redacted_turns
from hivelore.tasks.model import TaskId

_LOG = logging.getLogger("hivelore")
READ_BYTES = 1_000_000
"""Bytes of entries in one page of a redacted copy."""
_FIELD_LENGTH = 500
_PACKET_BYTES = 8_000_000
"""Bytes of entries from the end of a transcript that a hand-over packet is made of."""
_NOTES = 10
_MARKED = 500
"""Most transcripts of all sessions that one transaction marks as being deleted."""
_ERASE_BUDGET = 10.0
"""Seconds for which a request erases transcripts."""
_NAMED = 5
"""Most agents that an error names."""
_READ_CHUNKS = 8
"""Chunks read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where appended entries come from."""

    program: str
    machine: str | None
    file: FilePosition | None
    """None for entries that are not lines of a transcript file."""


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    transcript: StoredTranscript
    lines: Sequence[str]
    next: int | None
    """Number of the last chunk of this page, if another page follows."""


@dataclass(frozen=True, slots=True)
class _Entries:
    lines: list[str]
    digests: Sequence[int | None]
    continues: str | None
    forked_from: str | None
    root: int | None
    version: str | None
    folder: str | None
    shortened: int
    written_at: datetime | None
    """When the newest one was written."""


@dataclass(frozen=True, slots=True)
class _Packed:
    """Lines in compressed parts."""

    lines: Sequence[str]
    parts: Sequence[tuple[int, bytes]]
    """Bytes of the lines, and these compressed."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> "_Packed":
        return cls(lines, [(sum(map(line_size, part)), pack(part)) for part in split_lines(lines)])


class StoredTranscripts:
    def __init__(
        self,
        *,
        store: MemoryStore,
        keyring: Keyring,
        entry_writer: EntryWriter,
        redactor: Redactor,
        lead_sees: LeadSees,
        limits: TranscriptLimits,
        encrypts: bool,
        clock: Clock,
        new_id: Callable[[datetime], TranscriptId],
        random: Callable[[int], bytes],
        purge_log_later: Callable[[], None],
    ) -> None:
        """``encrypts``: whether new entries are encrypted; ``purge_log_later`` is called if a reader of the store does
        not let its log be purged now."""
        self._store = store
        self._keyring = keyring
        self._entry_writer = entry_writer
        self._redactor = redactor
        self._lead_sees = lead_sees
        self._limits = limits
        self._encrypts = encrypts
        self._clock = clock
        self._new_id = new_id
        self._random = random
        self._purge_log_later = purge_log_later

    def append(
        self,
        key: TranscriptKey,
        lines: Sequence[str],
        viewer: Viewer,
        source: Source,
        deadline: float | None = None,
    ) -> AppendResult:
        """Appends entries to a transcript of the viewer's agent, in the order of commits. Entries with a known uuid are
        left out. Raises Invalid for a line that is no JSON object, and Conflict beyond the limits."""
        owner = viewer.agent
        if owner is None:
            raise Invalid("A transcript belongs to an agent. Use its key, or name one (X-Agent-ID).")
        for name, field in ((key.session, "sessionId"), (key.sub_key, "subKey")):
            if self._redactor.clean(name) != name:
                raise Invalid(f"{field} looks like a secret.", field=field)
        entries = _read_entries(lines, key.session, source.file, self._clock.now())
        packed = self._packed(owner, key, entries, viewer, source, deadline)

        def put(tx: Transaction) -> AppendResult:
            tx.claim(f"transcripts {owner}".encode())
            return self._append(tx, owner, key, entries, packed, source)

        try:
            try:
                return self._store.write(put, deadline)
            except NoKey:
                self._keyring.add(only_first=True)
                return self._store.write(put, deadline)
        except Conflict as error:  # A hook shows it to nobody.
            _LOG.warning("The transcript of session %s of agent %s is not stored. %s", key.session, owner, error)
            raise

    def _packed(
        self,
        owner: AgentId,
        key: TranscriptKey,
        entries: _Entries,
        viewer: Viewer,
        source: Source,
        deadline: float | None,
    ) -> _Packed:
        """Returns the lines that are not stored yet, compressed: other writers would wait for that in a transaction."""
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            known, _, _ = _find_known(view, owner, key, source)
            new, _ = _new_entries(view, known, entries)
        return _Packed.of(new)

    def _append(
        self,
        tx: Transaction,
        owner: AgentId,
        key: TranscriptKey,
        entries: _Entries,
        packed: _Packed,
        source: Source,
    ) -> AppendResult:
        known, key, of_session = _find_known(tx, owner, key, source)
        if known is None and of_session > MAX_SUB_KEYS:
            raise Conflict(f"The session has {MAX_SUB_KEYS:,} transcripts. Delete some, or start a new session.")
        restart = source.file is not None and not _has_lines_before(tx, known, source.file)
        new, digests = ([], []) if restart else _new_entries(tx, known, entries)
        if not new:
            return AppendResult(
                id=None if known is None else known.id,
                project_key=key.project_key,
                appended=0,
                known=0 if restart else len(entries.lines),
                shortened=0,
                entries=0 if known is None else known.entries,
                size=0 if known is None else known.size,
                restart=restart,
            )
        now = self._clock.now()
        before = known or self._new_transcript(owner, key, source, now)
        # Another host may have sent some of the lines meanwhile.
        packed = packed if packed.lines == new else _Packed.of(new)
        chunks = list(self._chunks(tx, before, packed))
        after = replace(
            self._rooted(before, entries),
            updated_at=max(now, before.updated_at),
            last_entry_at=max(filter(None, (before.last_entry_at, entries.written_at)), default=None),
            version=self._field(entries.version) or before.version,
            machine=self._field(source.machine) or before.machine,
            folder=before.folder or self._field(entries.folder),
            chunks=before.chunks + len(chunks),
            entries=before.entries + len(new),
            size=before.size + sum(map(line_size, new)),
            stored_size=before.stored_size
            + (TRANSCRIPT_BYTES if known is None else 0)
            + sum(len(one.data) + CHUNK_OVERHEAD for one in chunks)
            + DIGEST_BYTES * len(digests),
        )
        decisions.check_room(before, after, tx.transcript_usage(owner), self._limits)
        tx.put_transcript(after)
        for chunk in chunks:
            tx.put_transcript_chunk(chunk)
        tx.put_transcript_digests(after.id, digests)
        return AppendResult(
            id=after.id,
            project_key=key.project_key,
            appended=len(new),
            known=len(entries.lines) - len(new),
            shortened=entries.shortened,
            entries=after.entries,
            size=after.size,
        )

    def _new_transcript(self, owner: AgentId, key: TranscriptKey, source: Source, now: datetime) -> StoredTranscript:
        return StoredTranscript(
            id=self._new_id(now),
            owner=owner,
            key=key,
            program=self._field(source.program) or "",
            created_at=now,
            updated_at=now,
        )

    def _rooted(self, one: StoredTranscript, entries: _Entries) -> StoredTranscript:
        """Returns a session with its root and the session that it continues, as soon as it has an entry with a uuid."""
        if one.key.sub_key or one.root is not None or entries.root is None:
            return one
        forked_from = self._other_session(entries.forked_from)
        if forked_from is not None:
            return replace(one, root=entries.root, forked_from=forked_from)
        return replace(one, root=entries.root, continues=self._other_session(entries.continues))

    def _other_session(self, name: str | None) -> str | None:
        """Returns the id of a session that an entry names; None for a text that is none, or looks like a secret."""
        return name if name is not None and is_name(name) and self._redactor.clean(name) == name else None

    def _chunks(self, tx: Transaction, of: StoredTranscript, packed: _Packed) -> Iterator[TranscriptChunk]:
        keys = self._entry_writer.usable_keys(tx) if self._encrypts else None
        for number, (size, data) in enumerate(packed.parts, start=of.chunks + 1):
            sealed_with = None
            if keys is not None:
                sealed = keys.seal_bytes(_bound_to(of.id, number), data, self._random)
                data, sealed_with = sealed.data, sealed.key
            yield TranscriptChunk(transcript=of.id, number=number, size=size, data=data, sealed_with=sealed_with)

    def _field(self, text: str | None) -> Clean | None:
        if not text:
            return None
        return Clean(self._redactor.clean(storable(beginning(text, _FIELD_LENGTH)))[:_FIELD_LENGTH].strip()) or None

    def list_sessions(
        self,
        viewer: Viewer,
        *,
        owner: AgentId | None = None,
        project_key: str | None = None,
        session: str | None = None,
        limit: int,
        after: str | None = None,
        deadline: float | None = None,
    ) -> tuple[Sequence[TranscriptItem], str | None]:
        """Returns a page of the sessions that the viewer may see, most recently used first, and the cursor of the
        following page. ``session``: the beginning of an id."""
        seen = visible_to(viewer, self._lead_sees)
        position = position_of(after)
        with self._store.read(deadline, sees=seen) as view:
            found = view.transcripts(
                seen,
                limit + 1,
                owner=owner,
                project_key=project_key,
                session=None if session is None else check_beginning(session),
                after=position,
            )
        page, cursor = cut_page(found, limit, lambda one: (one.updated_at, one.id))
        return [item(one, viewer) for one in page], cursor

    def find_session(
        self,
        session: str,
        viewer: Viewer,
        *,
        owner: AgentId | None = None,
        project_key: str | None = None,
        newest: bool = True,
        deadline: float | None = None,
    ) -> FoundSession:
        """Returns a session by its id or a beginning of it, with the transcripts of its sub-agents. ``newest``: the
        newest session that continues it. Raises NotFound, and Invalid if several ids begin so, or several agents have a
        session with this id."""
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            chain = self._chain(view, session, viewer, owner, project_key, newest=newest)
            last = chain[-1]
            of_session = view.session_transcripts(last.owner, last.key.session, MAX_SUB_KEYS + 1)
        parts = [one for one in of_session if one.key.sub_key and one.key.project_key == last.key.project_key]
        return FoundSession(
            session=item(last, viewer),
            sub_keys=tuple(item(one, viewer) for one in parts),
            chain=tuple(one.key.session for one in chain),
        )

    def load(
        self, key: TranscriptKey, viewer: Viewer, *, after: int = 0, deadline: float | None = None
    ) -> TranscriptPage:
        """Returns a page of the exact lines of a transcript of the viewer's agent. Raises Forbidden without a key of
        this agent, and NotFound."""
        owner = decisions.exact_owner(viewer)
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            found = view.transcript(owner, key)
            if found is None:
                raise NotFound("This agent has no stored transcript with this key. GET /api/transcripts lists them.")
            return self._page(view, found, after, PAGE_BYTES)

    def sub_keys(self, key: TranscriptKey, viewer: Viewer, deadline: float | None = None) -> Sequence[str]:
        """Returns the sub-keys of a session of the viewer's agent."""
        owner = decisions.exact_owner(viewer)
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            found = view.session_transcripts(owner, key.session, MAX_SUB_KEYS + 1)
        return [one.key.sub_key for one in found if one.key.sub_key and one.key.project_key == key.project_key]

    def read(
        self, transcript: TranscriptId, viewer: Viewer, *, after: int = 0, deadline: float | None = None
    ) -> tuple[Sequence[Turn], int | None]:
        """Returns the turns of a page, redacted, and the position of the following page. The audit trail records that
        another agent's transcript was read."""
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            found = self._visible(view, transcript, viewer)
            page = self._page(view, found, after, READ_BYTES)
            start = max(after - _READ_CHUNKS, 0)
            before = self._unpacked(view.transcript_chunks(found.id, start, after - start)) if after else []
        self._record_read(found, viewer, deadline)
        # Results of tools belong to calls, which may be on the page before.
        shown = len(self._redacted(found, before)) if before else 0
        return self._redacted(found, [*before, *page.lines])[shown:], page.next

    def handover(
        self,
        session: str,
        viewer: Viewer,
        *,
        owner: AgentId | None = None,
        newest: bool = True,
        deadline: float | None = None,
    ) -> tuple[StoredTranscript, HandoverPacket]:
        """Returns a session and its hand-over packet. ``newest``: of the newest session that continues it."""
        seen = visible_to(viewer, self._lead_sees)
        with self._store.read(deadline, sees=seen) as view:
            found = self._chain(view, session, viewer, owner, None, newest=newest)[-1]
            first = self._page(view, found, 0, READ_BYTES)
            last = self._last_lines(view, found, first)
            where = Filter(visibility=seen, owner=found.owner, session=Clean(found.key.session))
            notes = [one.name for one in view.page(where, None, _NOTES)]
        self._record_read(found, viewer, deadline)
        return found, handover_packet(self._redacted(found, first.lines), self._redacted(found, last), notes)

    def delete(
        self,
        viewer: Viewer,
        *,
        session: str | None,
        project_key: str | None = None,
        sub_key: str | None = None,
        owner: AgentId | None = None,
        deadline: float | None = None,
    ) -> int:
        """Permanently deletes the transcripts of a session with those of its sub-agents, or only that of one sub-agent;
        without ``session`` those of all sessions. Returns how many. Nobody finds them any more afterwards; if there are
        very many, housekeeping erases the rest of them. Raises Forbidden for those of others."""
        agent = owner or viewer.agent
        if agent is None:
            raise Invalid("Say whose transcripts: name the agent as agentId.", field="agentId")
        if not decisions.may_delete(viewer, agent):
            raise Forbidden("You may delete transcripts of your own agent only. Ask an operator.")

        def mark(tx: Transaction) -> list[TranscriptId]:
            tx.claim(f"transcripts {agent}".encode())
            doomed = [
                one
                for one in tx.session_transcripts(agent, session, _MARKED if session is None else MAX_SUB_KEYS + 1)
                if project_key in (None, one.key.project_key) and sub_key in (None, one.key.sub_key)
            ]
            now = self._clock.now()
            tx.remove_transcripts(doomed, now)
            if decisions.is_audited(viewer, agent):
                for one in doomed:
                    tx.record_audit(_audit_entry(one, viewer, Action.FORGOTTEN, now))
            return [one.id for one in doomed]

        deleted: list[TranscriptId] = []
        while marked := self._store.write(mark, deadline):
            deleted += marked
        until = self._clock.monotonic() + _ERASE_BUDGET
        for one in deleted:
            if not erase(self._store, one, lambda: self._clock.monotonic() >= until):
                break
        if deleted and not self._store.purge_log():
            self._purge_log_later()
        return len(deleted)

    # steps

    def _chain(
        self,
        view: View,
        session: str,
        viewer: Viewer,
        owner: AgentId | None,
        project_key: str | None,
        *,
        newest: bool,
    ) -> list[StoredTranscript]:
        first = self._find(view, check_beginning(session), viewer, owner, project_key)
        if not newest:
            return [first]
        task = _task_of(view, first)

        def successors(one: StoredTranscript) -> Sequence[StoredTranscript]:
            copies = () if one.root is None else view.rooted_transcripts(one.owner, one.root, MAX_CHAIN)
            found = [each for each in copies if is_copy_of(each, one)]
            found += view.continuing_transcripts(one.owner, one.key.session, MAX_CHAIN)
            # The session of a child task begins with a copy of that of its parent.
            return [each for each in found if _task_of(view, each) in (None, task)]

        return follow(first, successors)

    def _find(
        self, view: View, text: str, viewer: Viewer, owner: AgentId | None, project_key: str | None
    ) -> StoredTranscript:
        """Returns the session with an id, else the one whose id alone begins so."""
        whole = self._with_id(view, text, viewer, owner, project_key)
        if whole is not None:
            return whole
        seen = visible_to(viewer, self._lead_sees)
        found = view.transcripts(seen, LIST_PAGE, owner=owner, project_key=project_key, session=text)
        ids = sorted({one.key.session for one in found})
        if len(ids) > 1:
            raise Invalid(f"Several sessions begin with {text!r}: {', '.join(ids[:3])}. Use more characters.")
        whole = self._with_id(view, ids[0], viewer, owner, project_key) if ids else None
        if whole is None:
            raise NotFound("No stored session has this id. 'hivelore session list' (GET /api/transcripts) shows them.")
        return whole

    def _with_id(
        self, view: View, session: str, viewer: Viewer, owner: AgentId | None, project_key: str | None
    ) -> StoredTranscript | None:
        """Returns the session of an agent, of the viewer's own one first. Another agent may have a session with the
        same id, so the owner is never guessed."""
        seen = visible_to(viewer, self._lead_sees)
        owners = view.session_owners(seen, session, _NAMED) if owner is None else [owner]
        if owner is None and viewer.agent is not None:
            owners = [viewer.agent, *(one for one in owners if one != viewer.agent)]
        found: list[StoredTranscript] = []
        for one in owners:
            mains = [
                each
                for each in view.session_transcripts(one, session, MAX_SUB_KEYS + 1)
                if not each.key.sub_key
                and project_key in (None, each.key.project_key)
                and decisions.may_see(seen, each)
            ]
            if mains:
                found.append(max(mains, key=lambda each: (each.updated_at, each.id)))
                if one == viewer.agent:
                    break
        if len(found) > 1:
            names = ", ".join(one.owner for one in found)
            raise Invalid(
                f"Several agents have a session {session}: {names}. Name the agent (agentId, --agent).", field="agentId"
            )
        return found[0] if found else None

    def _visible(self, view: View, transcript: TranscriptId, viewer: Viewer) -> StoredTranscript:
        found = view.transcript_by_id(transcript)
        if found is None or not decisions.may_see(visible_to(viewer, self._lead_sees), found):
            raise NotFound("No stored transcript has this id. GET /api/transcripts lists them.")
        return found

    def _page(self, view: View, of: StoredTranscript, after: int, most: int) -> TranscriptPage:
        lines: list[str] = []
        size, number = 0, after
        for chunk in _chunks_after(view, of.id, after):
            if lines and size + chunk.size > most:
                return TranscriptPage(of, lines, number)
            lines += self._unpacked([chunk])
            size, number = size + chunk.size, chunk.number
        return TranscriptPage(of, lines, None)

    def _last_lines(self, view: View, of: StoredTranscript, first: TranscriptPage) -> Sequence[str]:
        """Returns the last lines of a transcript whose first page is known."""
        if first.next is None:
            return first.lines
        lines: list[str] = []
        size, last = 0, of.chunks
        while last > 0 and size < _PACKET_BYTES:
            start = max(last - _READ_CHUNKS, 0)
            chunks = view.transcript_chunks(of.id, start, last - start)
            lines[:0] = self._unpacked(chunks)
            size, last = size + sum(one.size for one in chunks), start
        return lines

    def _unpacked(self, chunks: Sequence[TranscriptChunk]) -> list[str]:
        keys = self._keyring.load() if any(one.sealed_with is not None for one in chunks) else None
        return [line for one in chunks for line in unpack(_opened(keys, one), one.size)]

    def _redacted(self, of: StoredTranscript, lines: Sequence[str]) -> Sequence[Turn]:
        return redacted_turns(of.program, lines, self._redactor.clean, of_subagent=bool(of.key.sub_key))

    def _record_read(self, of: StoredTranscript, viewer: Viewer, deadline: float | None) -> None:
        if decisions.is_audited(viewer, of.owner):
            entry = _audit_entry(of, viewer, Action.READ, self._clock.now())
            self._store.write(lambda tx: tx.record_audit(entry), deadline)


def item(one: StoredTranscript, viewer: Viewer) -> TranscriptItem:
    """Returns a transcript as a caller sees it."""
    return TranscriptItem(
        id=one.id,
        agent_id=one.owner,
        project_key=one.key.project_key,
        session_id=one.key.session,
        sub_key=one.key.sub_key or None,
        continues=one.continues,
        forked_from=one.forked_from,
        program=one.program,
        version=one.version,
        machine=one.machine,
        folder=one.folder,
        created_at=one.created_at,
        updated_at=one.updated_at,
        entries=one.entries,
        size=one.size,
        is_exact=decisions.may_load(viewer, one),
    )


def _audit_entry(of: StoredTranscript, viewer: Viewer, action: Action, at: datetime) -> AuditEntry:
    by = ", by an operator who acted for the agent" if viewer.acting else ""
    detail = Clean(f"transcript of session {of.key.session}{by}")
    return AuditEntry.by_viewer(viewer, action, MemoryId(of.id), at, detail)


def _task_of(view: View, one: StoredTranscript) -> TaskId | None:
    """Returns the task that a session worked on last; None if it is known of none."""
    task = view.task_of_session(Clean(one.key.session), one.owner)
    return None if task is None else task.id


def _find_known(
    view: View, owner: AgentId, key: TranscriptKey, source: Source
) -> tuple[StoredTranscript | None, TranscriptKey, int]:
    """Returns the transcript to which entries belong, its key, and, unless it is found by that, the number of
    transcripts of the session."""
    known = view.transcript(owner, key)
    if known is not None:
        return known, key, 0
    of_session = view.session_transcripts(owner, key.session, MAX_SUB_KEYS + 1)
    key = decisions.stored_key(key, of_session, from_file=source.file is not None)
    return view.transcript(owner, key), key, len(of_session)


def _has_lines_before(tx: Transaction, known: StoredTranscript | None, file: FilePosition) -> bool:
    anchor = None if file.anchor is None else digest(file.anchor)
    has_anchor = known is not None and anchor is not None and bool(tx.transcript_digests(known.id, [anchor]))
    return decisions.has_lines_before(known, file, has_anchor=has_anchor)


def _read_entries(lines: Sequence[str], session: str, file: FilePosition | None, now: datetime) -> _Entries:
    """Raises Invalid for a line that is no entry, and TooLarge for too many or too long ones."""
    if len(lines) > MAX_APPENDED:
        raise TooLarge(f"One request appends at most {MAX_APPENDED:,} entries. Send them in parts.", field="lines")
    kept: list[str] = []
    entries: list[dict[str, Any]] = []
    shortened = size = 0
    for number, line in enumerate(lines, start=1):
        short = shorten_entry(line)
        if short is None:
            raise TooLarge(
                f"Line {number} has more than {MAX_ENTRY_BYTES:,} bytes, also without its long texts.", field="lines"
            )
        entry = None if "\n" in short else parse_entry(short)
        if entry is None or not _is_unicode(short):
            raise Invalid(f"Line {number} is no JSON object in one line of valid Unicode.", field="lines")
        shortened += short is not line
        size += line_size(short)
        kept.append(short)
        entries.append(entry)
    if size > MAX_APPENDED_BYTES:
        raise TooLarge(f"One request appends at most {MAX_APPENDED_BYTES:,} bytes. Send them in parts.", field="lines")
    return _Entries(
        lines=kept,
        digests=append_digests(entries) if file is None else file_digests(kept, entries, file.anchor, file.distance),
        continues=continued_session(entries, session),
        forked_from=forked_session(entries, session),
        root=next((one for one in append_digests(entries) if one is not None), None),
        version=decisions.described(entries, "version"),
        folder=decisions.described(entries[::-1], "cwd"),
        shortened=shortened,
        written_at=decisions.written_at(entries, now),
    )


def _is_unicode(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def _new_entries(view: View, known: StoredTranscript | None, entries: _Entries) -> tuple[list[str], list[int]]:
    """Returns the lines that are not stored yet, and their digests."""
    given = [one for one in entries.digests if one is not None]
    seen = set(view.transcript_digests(known.id, given)) if known is not None and given else set[int]()
    lines: list[str] = []
    digests: list[int] = []
    for line, identity in zip(entries.lines, entries.digests, strict=True):
        if identity is not None:
            if identity in seen:
                continue
            seen.add(identity)
            digests.append(identity)
        lines.append(line)
    return lines, digests


def _chunks_after(view: View, transcript: TranscriptId, after: int) -> Iterator[TranscriptChunk]:
    while chunks := view.transcript_chunks(transcript, after, _READ_CHUNKS):
        yield from chunks
        after = chunks[-1].number


def _bound_to(transcript: TranscriptId, number: int) -> bytes:
    """Returns the data by which a chunk cannot be moved to another place."""
    return f"hivelore transcript {transcript} {number}".encode()


def _opened(keys: Keys | None, chunk: TranscriptChunk) -> bytes:
    if keys is None or chunk.sealed_with is None:
        return chunk.data
    sealed = Sealed(chunk.data, chunk.sealed_with)
    return keys.open_bytes(_bound_to(chunk.transcript, chunk.number), "The transcript", sealed)
