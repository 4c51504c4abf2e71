"""Agents and API keys: authentication, creation and revocation."""

import hashlib
import hmac
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hivelore.core.agents import Agent, AgentId, ApiKey, Interface, KeyId, Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import canonical_id, match_prefix, means, resolve_id
from hivelore.core.redaction import find
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from hivelore.identity.profile import OWN
from hivelore.memories.model import NAME_LENGTH
from hivelore.storage.ports import MemoryStore, Transaction, View

LOCAL_AGENT = "local"
"""Name of the agent that exists on a new machine."""
_KEY = re.compile(r"^hl_(\d+)_([0-9a-f]{10})_([0-9a-f]{64})$")
_KEY_ID = re.compile(r"^hl_(\d+)_([0-9a-f]{10})$")
_UUID = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_HINT = "Send it as 'Authorization: Bearer hl_...'; 'hivelore agent add NAME' creates one."


@dataclass(frozen=True, slots=True)
class IdSource:
    """Generates ids and secrets."""

    agent_id: Callable[[datetime], AgentId]
    key_id: Callable[[], KeyId]
    secret: Callable[[], str]


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. Only here is its secret visible."""

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
        publish: Callable[[], None] = lambda: None,
    ) -> None:
        """``publish`` notifies other processes of changes to keys or agents."""
        self._publish = publish
        self._store = store
        self._namespace = namespace
        self._clock = clock
        self._random = random
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Registers a listener that is called after keys or agents change."""
        self._listeners.append(listener)

    def notify_listeners(self) -> None:
        """Reports a change of keys or agents, also by another process."""
        for listener in self._listeners:
            listener()

    def report_change(self) -> None:
        """Reports a change of keys or agents to listeners and other processes."""
        self.notify_listeners()
        self._publish()

    def viewer(self, key: str | None, interface: Interface, acting_for: str | None = None) -> Viewer:
        """Returns the viewer for a key. ``acting_for`` (X-Agent-ID, an id or a name) requires an operator's key.

        Raises Unauthenticated for a missing or invalid key, Forbidden for acting for another agent without permission.
        """
        with self._store.read() as view:
            held = self._verify_key(view, key)
            agent = None if held.agent is None else view.agent(held.agent)
            if held.agent is not None and agent is None:
                raise Unauthenticated("The agent of this key was removed. Ask an operator for a new key.")
            if acting_for is None or (agent is not None and (acting_for == agent.name or means(acting_for, agent.id))):
                role = Role.OPERATOR if agent is None else agent.role
                return Viewer(role=role, agent=None if agent is None else agent.id, interface=interface)
            if held.role is not Role.OPERATOR:
                raise Forbidden("Only an operator's key may act for another agent. Leave X-Agent-ID out.")
            other = _find_agent(view, acting_for)
        if other is None:
            other = self._add_worker_by_uuid(acting_for)
        return Viewer(role=other.role, agent=other.id, interface=interface, acting=True)

    def viewer_of_key_id(self, key: str, interface: Interface) -> Viewer:
        """Returns the viewer for a key without its secret, such as ``hl_1_0123456789``. Only for input that the owner
        of this machine must have written. Raises Unauthenticated if the key is not valid."""
        match = _KEY_ID.match(key)
        with self._store.read() as view:
            held = view.api_key(KeyId(match[2])) if match and int(match[1]) == self._namespace else None
            agent = None if held is None or held.agent is None else view.agent(held.agent)
        if held is None or held.refusal(self._clock.now()) is not None or agent is None:
            raise Unauthenticated(f"The key {key[:20]} is not valid for an agent.")
        return Viewer(role=agent.role, agent=agent.id, interface=interface)

    def add(self, name: str, role: Role, expires_at: datetime | None = None) -> IssuedKey:
        """Adds an agent with a key. An existing agent without a valid key gets a new key and the given role, and keeps
        its memories. Raises Conflict if it has a valid key."""
        clean = clean_name(name)
        if role is Role.OPERATOR:
            raise Invalid("An agent is a worker or a lead.", field="role")
        now = self._clock.now()
        if expires_at is not None and expires_at <= now:
            raise Invalid("The key would have expired already: choose a later time.", field="expiresAt")
        new = Agent(id=self._random.agent_id(now), name=clean, role=role, created_at=now)
        issued = self._new_key(new, role, now, expires_at)

        def put_agent_and_key(tx: Transaction) -> IssuedKey:
            known = tx.agent_named(clean)
            if known is not None and any(key.agent == known.id and not key.refusal(now) for key in tx.api_keys()):
                raise Conflict(
                    f"Agent {clean!r} already exists and has a valid key. Choose another name, or revoke the old key "
                    "first with 'hivelore agent revoke'."
                )
            agent = new if known is None else replace(known, role=role)
            key = replace(issued.key, agent=agent.id)
            tx.put_agent(agent)
            tx.put_api_key(key)
            return replace(issued, agent=agent, key=key)

        done = self._store.write(put_agent_and_key)
        self.report_change()
        return done

    def issue(self, agent: AgentId | None, expires_at: datetime | None = None) -> IssuedKey:
        """Issues another key for an agent, or for an operator (None)."""
        known = None if agent is None else self.agent(agent)
        role = Role.OPERATOR if known is None else known.role
        issued = self._new_key(known, role, self._clock.now(), expires_at)
        self._store.write(lambda tx: tx.put_api_key(issued.key))
        return issued

    def revoke(self, key_or_agent: str) -> int:
        """Revokes one key by its id, or all keys of an agent by its name or id. Returns their number."""
        now = self._clock.now()

        def revoke_keys(tx: Transaction) -> int:
            is_key = tx.api_key(KeyId(key_or_agent)) is not None and tx.agent_named(key_or_agent) is None
            agent = None if is_key else _find_agent(tx, key_or_agent)
            keys = [key.id for key in tx.api_keys() if agent is not None and key.agent == agent.id]
            if is_key:
                keys = [KeyId(key_or_agent)]
            if not keys:
                raise NotFound(f"No agent or key {key_or_agent!r}. 'hivelore agent list' shows them.")
            return sum(tx.revoke_api_key(key, now) for key in keys)

        revoked = self._store.write(revoke_keys)
        self.report_change()
        return revoked

    def resolve(self, text: str) -> AgentId:
        """Returns the id of the agent that a caller means: the whole id, or at least eight characters of its beginning.
        Raises Invalid if several ids begin with them."""

        def find_ids(prefix: str, limit: int) -> list[AgentId]:
            with self._store.read() as view:
                return _ids_from(view, prefix, limit)

        return AgentId(resolve_id(text, find_ids, "agent"))

    def find(self, text: str, viewer: Viewer, field: str = "agentId") -> Agent:
        """Returns the agent that a caller names: ``me``, a name, an id, or its beginning. Raises NotFound, and Invalid
        for ``me`` with a key of no agent. ``field``: where the caller named it."""
        if text != OWN:
            return self.agent(AgentId(text))
        if viewer.agent is None:
            raise Invalid(
                "An operator's key belongs to no agent. Name an agent, or act for one (X-Agent-ID, --agent).",
                field=field,
            )
        return self.agent(viewer.agent)

    def agent(self, agent: AgentId) -> Agent:
        with self._store.read() as view:
            found = _find_agent(view, agent)
        if found is None:
            raise NotFound(f"No agent {agent!r}. 'hivelore agent list' shows them.")
        return found

    def names(self, agents: Collection[AgentId]) -> Mapping[AgentId, str]:
        """Returns the names of agents; those that do not exist are omitted."""
        if not agents:
            return {}
        with self._store.read() as view:
            found = [view.agent(one) for one in set(agents)]
        return {one.id: one.name for one in found if one is not None}

    def list_agents(self) -> Sequence[tuple[Agent, Sequence[ApiKey]]]:
        """Returns every agent with its keys, by name."""
        with self._store.read() as view:
            keys = view.api_keys()
            return [(agent, [key for key in keys if key.agent == agent.id]) for agent in view.agents()]

    def local_agent(self) -> Agent:
        """Returns the default agent of this machine, a lead; creates it on first use."""
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
        """Adds a worker named by a UUID, so that runners can act for new agents."""
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


def clean_name(name: str) -> str:
    """Returns the name of an agent without surrounding blanks. Raises Invalid."""
    clean = name.strip()
    if not 1 <= len(clean) <= NAME_LENGTH or not clean.isprintable():
        raise Invalid(f"An agent's name has 1 to {NAME_LENGTH} printable characters.", field="name")
    if clean == OWN:
        raise Invalid(f"{OWN!r} stands for the calling agent. Choose another name.", field="name")
    if find(clean):
        raise Invalid("An agent's name is stored unmasked and must not contain a secret. Choose another.", field="name")
    return clean


def digest(secret: str) -> bytes:
    """Returns the SHA-256; a random secret of 256 bits needs no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def _find_agent(view: View, text: str) -> Agent | None:
    """Returns the agent with an id or a name, or the only one whose id begins with the text."""
    known = view.agent(AgentId(canonical_id(text))) or view.agent_named(text)
    if known is not None:
        return known
    whole = match_prefix(text, lambda prefix, limit: _ids_from(view, prefix, limit), "agent")
    return None if whole is None else view.agent(AgentId(whole))


def _ids_from(view: View, prefix: str, limit: int) -> list[AgentId]:
    return sorted(agent.id for agent in view.agents() if agent.id.startswith(prefix))[:limit]
