"""Migration between stores: source and target, and all kinds of changes to a source during it."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from hivelore.changes.model import Preimage
from hivelore.configuration.model import ConfigChange
from hivelore.core.agents import Agent, AgentId, ApiKey, Interface, KeyId, Role
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.feedback.recalls import Sign
from hivelore.identity.profile import ProfileChange
from hivelore.indexes.ports import KeywordIndex
from hivelore.links.model import LinkKind
from hivelore.memories.model import Action, Memory, Scope
from hivelore.memories.stored import DocumentKey, PassageKey, Stored
from hivelore.observations.model import Confidence, Held
from hivelore.repos.model import RepoChange
from hivelore.runtime.clock import SystemClock
from hivelore.storage.change_recorder import capture_state
from hivelore.storage.ports import MemoryStore, Snapshots, Transaction
from hivelore.transfer.migrate.migrator import Comparison, Migrator
from support.batches import a_batch
from support.clocks import START
from support.configuration import a_line, a_secret, an_entry, config_id
from support.events import a_cooldown, an_event
from support.links import a_link
from support.memories import (
    ADA,
    BOB,
    EVERYTHING,
    a_memory,
    an_observation,
    document,
    evidence,
    instant,
    next_version,
    operational,
)
from support.observed import observed
from support.profiles import a_head, a_version
from support.proposals import a_decision, a_proposal, inbox_of
from support.recalls import a_recall, logged
from support.repos import a_repo, a_report, repo_id
from support.setup_scripts import a_script, a_script_proposal

SETTINGS = ("model.serving",)
MODELS = ("m", "n")
_numbers = count(1)


def moving(source: Snapshots, target: MemoryStore, index: KeywordIndex) -> Migrator:
    return Migrator(source, target, (index,), SystemClock(), settings=SETTINGS)


def moved(source: Snapshots, target: MemoryStore, index: KeywordIndex) -> Comparison:
    """Starts or resumes a migration and completes it."""
    move = moving(source, target, index)
    move.begin()
    compared = move.finish()
    assert compared is not None
    return compared


def everything(store: MemoryStore) -> object:
    """Returns all migrated data except jobs, with the positions of the audit trail."""
    with store.read() as view:
        seen = {name: value for name, value in observed(view, MODELS).items() if name != "jobs"}
        keys = sorted(view.matching_keys(EVERYTHING))
        parts = {key: list(view.chunks(key)) for key in keys}
        passages = [passage for chunks in parts.values() for chunk in chunks for passage in chunk.passages]
        tokens = {
            name: view.token_codes(model, passages)() for name in MODELS if (model := view.model_key(name)) is not None
        }
        settings = {name: view.setting(name) for name in SETTINGS}
        return seen, parts, tokens, view.audit_after(0, 10_000), logged(store), settings


class Deed(NamedTuple):
    """One change to a source. ``which`` selects the memory, a number the rest."""

    what: str
    which: int
    number: int


MADE = ("add", "add", "edit", "promote", "forget", "renew", "read", "embed", "drop", "observe", "use")
KINDS = (
    *MADE,
    "recall",
    "prune",
    "audit",
    "swarm",
    "event",
    "prune events",
    "cooldown",
    "clear",
    "configure",
    "unset",
    "register",
    "report",
    "unregister",
    "script",
    "old scripts",
    "draft",
    "profile",
    "prune profile",
    "propose",
    "decide",
    "keep",
    "let go",
    "judge",
    "reject",
    "unlink",
)
AGENTS = (None, ADA, BOB)
deeds = st.builds(Deed, st.sampled_from(KINDS), st.integers(0, 5), st.integers(0, 3))
PATHS = (None, None, Clean("/a"), None, None, Clean("/b"))
SESSIONS = (None, Clean("s1"), Clean("s2"))
COLOURS = ("green", "red", "blue", "white")
"""Words that only some memories have."""


def do(store: MemoryStore, deed: Deed) -> None:
    """Applies a change. Does nothing if the state of the source does not allow it."""
    with suppress(Conflict):
        store.write(lambda tx: _do(tx, deed))


def _do(tx: Transaction, deed: Deed) -> None:
    keys = sorted(tx.matching_keys(EVERYTHING))
    key = keys[deed.which % len(keys)] if keys else None
    match deed.what:
        case "add":
            _add(tx, deed)
        case "recall":
            memories = tx.memories_of(keys[: deed.which], EVERYTHING).values()
            tx.log_recalls([a_recall(*(one.id for one in memories), at=instant(deed.number))])
        case "decide":
            for one in inbox_of(tx)[: deed.number]:
                tx.put_proposal(replace(one, decided=a_decision()))
        case "audit":
            memory = a_memory().id
            tx.record_audit(AuditEntry(at=START, actor=ADA, interface=Interface.MCP, action=Action.READ, memory=memory))
        case "swarm":
            _join(tx, deed)
        case "drop":
            tx.drop_vectors(tx.register_model(MODELS[deed.number % 2], 2), 1)
        case "prune":
            tx.prune_recalls(instant(deed.number), 3, 2)
        case _:
            _do_more(tx, deed, key)


def _do_more(tx: Transaction, deed: Deed, key: DocumentKey | None) -> None:
    match deed.what:
        case "event":
            subject = [*tx.memories_of([] if key is None else [key], EVERYTHING).values()] if deed.number else []
            tx.log_events([an_event(at=instant(deed.number), memory=one.id) for one in subject] or [an_event()])
        case "prune events":
            tx.prune_events(instant(deed.number), 5, 1)
        case "cooldown":
            tx.put_cooldown(a_cooldown(f"s{deed.which}", until=instant(deed.number), count=1 + deed.number))
        case "clear":
            tx.drop_cooldown(Clean(f"s{deed.which}"), Clean("restart"))
        case "configure" | "unset":
            _configure(tx, deed)
        case "register" | "report" | "unregister":
            _register(tx, deed)
        case "script" | "old scripts" | "draft":
            _script(tx, deed)
        case "profile" | "prune profile":
            _profile(tx, deed)
        case "judge" | "reject" | "unlink" if key is not None:
            _do_to_links(tx, deed, Stored(key, tx.memories_of([key], EVERYTHING)[key]))
        case _ if key is not None:
            _do_to(tx, deed, key, tx.memories_of([key], EVERYTHING)[key])
        case _:
            pass


def _script(tx: Transaction, deed: Deed) -> None:
    match deed.what:
        case "script":
            tx.put_setup_script(a_script(1 + deed.number, AGENTS[deed.which % 3]))
        case "old scripts":
            tx.drop_setup_scripts(AGENTS[deed.which % 3], deed.number)
        case "draft":
            proposal = a_script_proposal(AGENTS[deed.which % 3])
            tx.put_proposal(proposal)
            tx.put_script_draft(proposal.id, Clean(f"echo {deed.number}\n"))
        case _:
            pass


def _profile(tx: Transaction, deed: Deed) -> None:
    match deed.what:
        case "profile":
            agent, batch = (ADA, BOB)[deed.which % 2], a_batch()
            tx.put_profile(a_head(agent, version=1 + deed.number, last=9))
            tx.put_profile_version(a_version(9, agent))
            tx.put_profile_version(a_version(1 + deed.number, agent, soul=f"soul {deed.which}"))
            tx.put_batch(batch)
            tx.put_profile_changes(batch.id, [ProfileChange(agent, 1, 1 + deed.number)])
        case "prune profile":
            tx.drop_profile_versions((ADA, BOB)[deed.which % 2], deed.number, 1 + deed.number % 2)
        case _:
            pass


def _configure(tx: Transaction, deed: Deed) -> None:
    number = 1 + deed.which
    match deed.what:
        case "configure":
            batch = a_batch()
            tx.put_config_entry(an_entry(number, key=f"K{number}", version=deed.number or None))
            tx.put_config_version(a_secret(deed.number, number, replaced_at=instant(deed.number)))
            tx.put_batch(batch)
            tx.put_config_changes(batch.id, [ConfigChange(config_id(number), None, deed.number)])
            tx.put_env_line(a_line(key=f"K{number}", revision=1 + deed.number))
        case "unset":
            tx.drop_env_line("w", ".env", f"K{number}")
            tx.drop_config_entry(config_id(number))
        case _:
            pass


def _register(tx: Transaction, deed: Deed) -> None:
    number = 1 + deed.which
    match deed.what:
        case "register":
            batch = a_batch()
            named = a_repo(number, name=Clean(f"repo-{number + deed.number}"))
            other = tx.repo_named(named.name)
            if other is None or other.id == named.id:
                tx.put_repo(named)
                tx.put_batch(batch)
                tx.put_repo_changes(batch.id, [RepoChange(named.id, None, named)])
        case "report":
            tx.put_repo_report(a_report(number, owner=ADA if deed.number else None, size=deed.number))
        case "unregister":
            tx.drop_repo(repo_id(number))
        case _:
            pass


def _add(tx: Transaction, deed: Deed) -> None:
    content, chunks = document(*_texts(deed), passage=9)
    scope, session = list(Scope)[deed.number % 2], SESSIONS[deed.number % 3]
    path = PATHS[deed.which]
    known = (None, operational("jellyfin"), operational(base=0.1 * deed.which))[(deed.which + deed.number) % 3]
    tags = (Clean("t"),)
    memory = a_memory(content, scope=scope, session=session, source_path=path, tags=tags, operational=known)
    tx.add(memory, chunks)


def _texts(deed: Deed) -> Sequence[str]:
    """Returns as many parts as there are memories for the change, at least one."""
    words = ("a", "b", "c", "d", "e")[: max(deed.which, 1)]
    colour = COLOURS[deed.number]
    return [f"Part {part} of note {next(_numbers)}: the {word} is {colour}." for part, word in enumerate(words)]


def _join(tx: Transaction, deed: Deed) -> None:
    agent = (ADA, BOB, AgentId("carl"), AgentId("dora"))[deed.number]
    tx.put_agent(Agent(id=agent, name=f"{agent}{deed.which}", role=Role.WORKER, created_at=START))
    revoked = instant(1) if deed.which > 2 else None
    tx.put_api_key(
        ApiKey(id=KeyId(agent), agent=agent, role=Role.WORKER, digest=b"\0\xff", created_at=START, revoked_at=revoked)
    )
    state = list(JobState)[deed.number]
    tx.put_job(Job(id=JobId(agent), kind="re-embed", state=state, created_at=START, updated_at=START, total=9))
    tx.set_setting("model.serving", f"m{deed.number}")


def _do_to(tx: Transaction, deed: Deed, key: DocumentKey, memory: Memory) -> None:
    match deed.what:
        case "edit":
            content, chunks = document(*_texts(deed), passage=9)
            tx.change(key, next_version(memory, content, source_path=PATHS[deed.number]), chunks, Action.EDITED)
        case "promote":
            scope = Scope.AGENT if memory.scope is Scope.SWARM else Scope.SWARM
            tx.change(key, next_version(memory, scope=scope), None, Action.PROMOTED)
        case "forget":
            tx.forget(key)
        case "embed":
            model = tx.register_model(MODELS[deed.number % 2], 2)
            passages = [passage for chunk in tx.chunks(key) for passage in chunk.passages][: deed.number + 1]
            vectors = {passage: np.array([1, next(_numbers)], np.float32) for passage in passages}
            tx.put_vectors(model, vectors, {PassageKey(passages[0]): bytes([deed.number + 1])})
        case "observe" if memory.operational is not None:
            held = Held(base=Confidence(0.25 * deed.number), since=instant(deed.which), is_off=deed.which == 3)
            tx.add_observation(key, held, an_observation(at=instant(deed.number), text=f"{next(_numbers)}"))
        case "observe":
            pass
        case "keep":
            was = capture_state(tx, key) if deed.number else None
            tx.put_batch(a_batch(at=instant(deed.number)), [Preimage(key, memory.id, was, "m", memory.owner)])
        case "let go":
            tx.drop_preimages(key)
            tx.prune_batches(instant(deed.number), 1)
        case "propose":
            about = tx.memories_of({key, *sorted(tx.matching_keys(EVERYTHING))[: deed.number]}, EVERYTHING).values()
            tx.put_proposal(a_proposal(*about, at=instant(deed.number)))
        case "use":
            signs = list(Sign)[deed.number :: 3]
            tx.add_evidence({key: [evidence(sign, f"s{deed.which}") for sign in signs]})
        case "read":
            tx.count_reads({key: (1 + deed.number, instant(deed.number))})
        case _:
            tx.set_expiry(key, instant(deed.number))


def _do_to_links(tx: Transaction, deed: Deed, stored: Stored) -> None:
    some = tx.links_of([stored.key])[: deed.number]
    if deed.what == "judge":
        others = tx.memories_of(sorted(tx.matching_keys(EVERYTHING))[: 1 + deed.number], EVERYTHING)
        kind = list(LinkKind)[deed.which % 3]
        for key, memory in others.items():
            if key != stored.key:
                tx.put_link(a_link(stored, Stored(key, memory), kind=kind, at=instant(deed.number)))
    for one in some:
        if deed.what == "reject":
            tx.put_link(replace(one, link=replace(one.link, rejected_at=instant(9))))
        elif deed.what == "unlink":
            tx.drop_link(one.source, one.target, one.link.kind)


def some_deeds(rounds: int) -> list[Deed]:
    """Returns this many changes of every kind, mixed, the same at every call."""
    return [
        Deed(kind, (place + turn) % 6, (place * 3 + turn) % 4)
        for turn in range(rounds)
        for place, kind in enumerate(KINDS)
    ]
