"""Agents and their keys: who may come in, and as whom."""

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hivelore.core.agents import Agent, AgentId, ApiKey, Interface, KeyId, Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import find
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from hivelore.memories.model import NAME_LENGTH
from hivelore.storage.ports import MemoryStore, Transaction, View

LOCAL_AGENT = "local"
"""The name of the agent a machine starts with."""
_KEY = re.compile(r"^hl_(\d+)_([0-9a-f]{10})_([0-9a-f]{64})$")
_KEY_ID = re.compile(r"^hl_(\d+)_([0-9a-f]{10})$")
_UUID = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_HINT = "Send it as 'Authorization: Bearer hl_...'; 'hivelore agent add NAME' makes one."


@dataclass(frozen=True, slots=True)
class IdSource:
    """Where ids and secrets come from."""

    agent_id: Callable[[datetime], AgentId]
    key_id: Callable[[], KeyId]
    secret: Callable[[], str]


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key as its holder gets it, the only time the secret is seen."""

    agent: Agent | None
    key: ApiKey
    text: str


class Agents:
    def __init__(
        self,
        store: MemoryStore,
        namespace: int,
        clock: Clock,
        random: IdSource,
        tell: Callable[[], None] = lambda: None,
    ) -> None:
        """``tell`` lets other processes know that keys or agents have changed."""
        self._tell = tell
        self._store = store
        self._namespace = namespace
        self._clock = clock
        self._random = random
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after keys or agents have changed."""
        self._listeners.append(listener)

    def notify_listeners(self) -> None:
        """Keys or agents have changed, or may have."""
        for listener in self._listeners:
            listener()

    def _changed(self) -> None:
        self.notify_listeners()
        self._tell()

    def viewer(self, key: str | None, interface: Interface, acting_for: str | None = None) -> Viewer:
        """Who holds this key. ``acting_for`` (X-Agent-ID, an id or a name) is for operators' keys only.

        Raises Unauthenticated for no key or a bad one, Forbidden for speaking for somebody else.
        """
        with self._store.read() as view:
            held = self._verify_key(view, key)
            agent = None if held.agent is None else view.agent(held.agent)
            if held.agent is not None and agent is None:
                raise Unauthenticated("The agent of this key is gone. Ask an operator for a new key.")
            if acting_for is None or (agent is not None and acting_for in (agent.id, agent.name)):
                role = Role.OPERATOR if agent is None else agent.role
                return Viewer(role=role, agent=None if agent is None else agent.id, interface=interface)
            if held.role is not Role.OPERATOR:
                raise Forbidden("Only an operator's key may act for another agent. Leave X-Agent-ID out.")
            other = view.agent(AgentId(acting_for)) or view.agent_named(acting_for)
        if other is None:
            other = self._add_worker_by_uuid(acting_for)
        return Viewer(role=other.role, agent=other.id, interface=interface, acting=True)

    def viewer_of_key_id(self, key: str, interface: Interface) -> Viewer:
        """Who holds a key that is given without its secret, like ``hl_1_0123456789``: for what nobody but the owner of
        this machine can have written. Raises Unauthenticated where that key does not let anybody in."""
        match = _KEY_ID.match(key)
        with self._store.read() as view:
            held = view.api_key(KeyId(match[2])) if match and int(match[1]) == self._namespace else None
            agent = None if held is None or held.agent is None else view.agent(held.agent)
        if held is None or held.refusal(self._clock.now()) is not None or agent is None:
            raise Unauthenticated(f"The key {key[:20]} lets no agent in.")
        return Viewer(role=agent.role, agent=agent.id, interface=interface)

    def add(self, name: str, role: Role, expires_at: datetime | None = None) -> IssuedKey:
        """A new agent with a key of its own. One of this name that has no good key any more gets a new one, and the
        role that is asked for: what it remembered stays its own. Raises Conflict where it has a good key."""
        clean = name.strip()
        if not 1 <= len(clean) <= NAME_LENGTH or not clean.isprintable():
            raise Invalid(f"An agent's name has 1 to {NAME_LENGTH} printable characters.", field="name")
        if find(clean):
            raise Invalid(
                "An agent's name must not hold a secret, because it is stored as it is. Choose another.", field="name"
            )
        if role is Role.OPERATOR:
            raise Invalid("An agent is a worker or a lead.", field="role")
        now = self._clock.now()
        if expires_at is not None and expires_at <= now:
            raise Invalid("The key would have expired already: choose a later time.", field="expiresAt")
        new = Agent(id=self._random.agent_id(now), name=clean, role=role, created_at=now)
        issued = self._new_key(new, role, now, expires_at)

        def work(tx: Transaction) -> IssuedKey:
            known = tx.agent_named(clean)
            if known is not None and any(key.agent == known.id and not key.refusal(now) for key in tx.api_keys()):
                raise Conflict(
                    f"There is an agent {clean!r} already, with a key that works. Choose another name; for a new key "
                    f"first take the old one away with 'hivelore agent revoke'."
                )
            agent = new if known is None else replace(known, role=role)
            key = replace(issued.key, agent=agent.id)
            tx.put_agent(agent)
            tx.put_api_key(key)
            return replace(issued, agent=agent, key=key)

        done = self._store.write(work)
        self._changed()
        return done

    def issue(self, agent: AgentId | None, expires_at: datetime | None = None) -> IssuedKey:
        """One more key, for an agent or (None) for an operator."""
        known = None if agent is None else self.agent(agent)
        role = Role.OPERATOR if known is None else known.role
        issued = self._new_key(known, role, self._clock.now(), expires_at)
        self._store.write(lambda tx: tx.put_api_key(issued.key))
        return issued

    def revoke(self, key_or_agent: str) -> int:
        """Revoke one key by its id, or all keys of an agent by its name or id. Answers how many."""
        now = self._clock.now()

        def work(tx: Transaction) -> int:
            agent = tx.agent(AgentId(key_or_agent)) or tx.agent_named(key_or_agent)
            keys = [key.id for key in tx.api_keys() if agent is not None and key.agent == agent.id]
            if agent is None and tx.api_key(KeyId(key_or_agent)) is not None:
                keys = [KeyId(key_or_agent)]
            if not keys:
                raise NotFound(f"No agent or key {key_or_agent!r}. 'hivelore agent list' shows them.")
            return sum(tx.revoke_api_key(key, now) for key in keys)

        revoked = self._store.write(work)
        self._changed()
        return revoked

    def agent(self, agent: AgentId) -> Agent:
        with self._store.read() as view:
            found = view.agent(agent) or view.agent_named(agent)
        if found is None:
            raise NotFound(f"No agent {agent!r}. 'hivelore agent list' shows them.")
        return found

    def list_agents(self) -> Sequence[tuple[Agent, Sequence[ApiKey]]]:
        """Every agent with its keys, by name."""
        with self._store.read() as view:
            keys = view.api_keys()
            return [(agent, [key for key in keys if key.agent == agent.id]) for agent in view.agents()]

    def local_agent(self) -> Agent:
        """The agent a machine starts with, made on first use; a lead."""
        with self._store.read() as view:
            known = view.agent_named(LOCAL_AGENT)
        if known is not None:
            return known
        now = self._clock.now()
        agent = Agent(id=self._random.agent_id(now), name=LOCAL_AGENT, role=Role.LEAD, created_at=now)
        self._store.write(lambda tx: None if tx.agent_named(LOCAL_AGENT) else tx.put_agent(agent))
        with self._store.read() as view:
            return view.agent_named(LOCAL_AGENT) or agent

    def _verify_key(self, view: View, key: str | None) -> ApiKey:
        if not key:
            raise Unauthenticated(f"No key was given. {_HINT}")
        match = _KEY.match(key.strip())
        held = view.api_key(KeyId(match[2])) if match and int(match[1]) == self._namespace else None
        if match is None or held is None or not hmac.compare_digest(held.digest, digest(match[3])):
            raise Unauthenticated(f"This key is not known here. {_HINT}")
        refusal = held.refusal(self._clock.now())
        if refusal is not None:
            raise Unauthenticated(f"This key {refusal}. Ask an operator for a new one.")
        return held

    def _add_worker_by_uuid(self, name: str) -> Agent:
        """An operator may bring in an agent that is named by a UUID, as runners do."""
        if not _UUID.match(name.lower()):
            raise NotFound(f"No agent {name!r}. Add it with 'hivelore agent add', or use its id.")
        agent = Agent(id=AgentId(name.lower()), name=name.lower(), role=Role.WORKER, created_at=self._clock.now())
        self._store.write(lambda tx: None if tx.agent(agent.id) else tx.put_agent(agent))
        return agent

    def _new_key(self, agent: Agent | None, role: Role, now: datetime, expires_at: datetime | None) -> IssuedKey:
        secret = self._random.secret()
        key = ApiKey(
            id=self._random.key_id(),
            agent=None if agent is None else agent.id,
            role=role,
            digest=digest(secret),
            created_at=now,
            expires_at=expires_at,
        )
        return IssuedKey(agent, key, f"hl_{self._namespace}_{key.id}_{secret}")


def digest(secret: str) -> bytes:
    """SHA-256; a secret of 256 random bits needs no slow hash."""
    return hashlib.sha256(secret.encode()).digest()
