"""Creates agents with their profiles and setup scripts, repositories and configuration from tables of Agent Swarm.

Everything goes through the operations that operators use. Nothing that exists is changed, so an import can be repeated.
"""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from hivelore.configuration import decisions
from hivelore.configuration.model import DESCRIPTION_BYTES, ConfigItem, ConfigScope
from hivelore.configuration.names import check_key, may_be_secret
from hivelore.core.agents import AgentId, Role
from hivelore.core.redaction import KEY_BYTES, Redactor
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from hivelore.identity.profile import Profile, ProfileField
from hivelore.identity.profile_limits import check_capabilities, check_text
from hivelore.memories.normalizer import clean_line
from hivelore.python.hive import Hive
from hivelore.repos import rules
from hivelore.repos.model import RepoItem
from hivelore.setup_scripts import script_text
from hivelore.transfer.agent_swarm import rows
from hivelore.transfer.agent_swarm.model import (
    Kind,
    Outcome,
    Result,
    Row,
    SourceAgent,
    SourceEntry,
    SourceRepo,
    SourceScript,
    Table,
    TableName,
    agent_id,
)

_T = TypeVar("_T")
_REASON = "Imported from a database of Agent Swarm."
_MASK = re.compile(r"\[([a-z0-9-]{2,24}):[0-9a-f]{4}\]")
_NAME_LENGTH = 80
"""Most characters of a name in the report."""
_REASON_LENGTH = 400
_CARD = (ProfileField.NAME, ProfileField.ROLE, ProfileField.DESCRIPTION, ProfileField.CAPABILITIES)
"""Fields from which default texts are made."""
_GENERATED = (ProfileField.SOUL, ProfileField.IDENTITY, ProfileField.NOTES)
"""Fields with default texts."""


class _DiffersError(Exception):
    """There is another one here. Conflicts of the service have other causes, too, such as a limit."""


@dataclass(frozen=True, slots=True)
class _Done:
    result: Result
    reason: str | None = None


_CREATED = _Done(Result.CREATED)
_UNCHANGED = _Done(Result.UNCHANGED)
_HERE = (Result.CREATED, Result.UNCHANGED)
_NO_AGENT = "Its agent was not imported."


class SwarmImporter:
    def __init__(
        self, hive: Hive, acting_as: Callable[[AgentId], AbstractContextManager[Hive]], *, dry_run: bool
    ) -> None:
        """``hive``: that of an operator. ``acting_as`` opens one that acts for an agent, which is added if it is
        missing, named by its id. ``dry_run``: changes nothing, and finds what the service's own settings do not
        decide.

        Raises Forbidden for others than operators."""
        if hive.me().role is not Role.OPERATOR:
            raise Forbidden("Only an operator may import a database of Agent Swarm. Use an operator's key.")
        self._hive = hive
        self._acting_as = acting_as
        self._dry_run = dry_run
        # Only the digits of a mask depend on the key, and they are not compared.
        self._redactor = Redactor(secrets.token_bytes(KEY_BYTES))
        self._agents: dict[AgentId, str] = {one.id: one.name for one in hive.agents()}
        """Names of the agents that are here, or would be after a dry run."""
        self._present = set(self._agents)
        """The agents that are here."""
        self._imported: set[AgentId] = set()
        """The agents that are here as in the file. Only they get scripts and entries, so that those of one agent never
        reach another one with the same id."""
        self._repos: dict[str, str] = {}
        """Names of the repositories that are here as in the file, by their ids there."""
        self._new_repos: set[str] = set()
        """Names of the repositories that were not here."""
        self._entries: dict[tuple[ConfigScope, str], dict[str, ConfigItem]] = {}
        self._seen: set[tuple[object, ...]] = set()
        """Keys of the rows so far."""

    def run(self, tables: Mapping[TableName, Table]) -> Iterator[Outcome]:
        """Yields the outcome of each row, as soon as it is durable. Errors of the connection end the import, which can
        be repeated."""
        kinds = {TableName.AGENTS: Kind.AGENT, TableName.REPOS: Kind.REPO, TableName.CONFIG: Kind.CONFIG}
        for name, table in tables.items():
            if table.problem is not None:
                yield Outcome(kinds[name], name, Result.REFUSED, table.problem)
        for row in tables.get(TableName.AGENTS, Table(())).rows:
            label = self._agent_label(row)
            agent = self._outcome(Kind.AGENT, label, row, rows.parse_agent, self._import_agent)
            yield agent
            if rows.has_script(row):
                # Not by the id: this row may be the second one with it.
                store = self._import_script if agent.result in _HERE else _refuse_script
                yield self._outcome(Kind.SETUP_SCRIPT, label, row, rows.parse_script, store)
        for row in tables.get(TableName.REPOS, Table(())).rows:
            label = rows.label_of(row, "name") or rows.label_of(row, "id")
            yield self._outcome(Kind.REPO, label, row, rows.parse_repo, self._import_repo)
        for row in tables.get(TableName.CONFIG, Table(())).rows:
            yield self._outcome(Kind.CONFIG, self._entry_label(row), row, rows.parse_entry, self._import_entry)

    def _outcome(
        self, kind: Kind, label: str, row: Row, parse: Callable[[Row], _T], store: Callable[[_T], _Done]
    ) -> Outcome:
        try:
            done = store(parse(row))
        except Stale:
            done = _Done(Result.CONFLICT, "Somebody else changed it at the same time.")
        except _DiffersError as error:
            done = _Done(Result.CONFLICT, str(error))
        except (Conflict, Invalid, Forbidden, NotFound) as error:
            done = _Done(Result.REFUSED, str(error))
        reason = None if done.reason is None else self._shown(done.reason, _REASON_LENGTH)
        return Outcome(kind, self._shown(label, _NAME_LENGTH) or "(without a name)", done.result, reason)

    # agents

    def _import_agent(self, source: SourceAgent) -> _Done:
        done = self._put_agent(source)
        self._imported.add(source.id)
        return done

    def _put_agent(self, source: SourceAgent) -> _Done:
        self._check_first("agent", source.id)
        given = self._profile_fields(source)
        named = next((agent for agent, name in self._agents.items() if name == source.name), source.id)
        if named != source.id:
            raise _DiffersError(f"Another agent has this name: {named}. Rename one of them.")
        known = self._agents.get(source.id)
        if known not in (None, source.id, source.name):
            raise _DiffersError(f"The agent with this id has another name here: {known}.")
        profile = None if known is None else self._hive.profile(source.id)
        is_new = profile is None or profile.version == 0
        if is_new and not self._dry_run:
            profile, is_new = self._join(source.id, given)
        if profile is not None and self._complete(profile, given):
            is_new = True
        self._agents[source.id] = source.name
        return _CREATED if is_new else _UNCHANGED

    def _join(self, agent: AgentId, given: Mapping[ProfileField, Any]) -> tuple[Profile, bool]:
        """Creates the profile of an agent as the agent itself does, so that its default texts tell who it is. Returns
        the profile, and False if somebody else created it meanwhile."""
        self._present.add(agent)
        self._agents.setdefault(agent, agent)
        with self._acting_as(agent) as hive:
            joined = hive.join(**{str(field): given[field] for field in _CARD if field in given})
        return joined.profile, joined.is_new

    def _complete(self, profile: Profile, given: Mapping[ProfileField, Any]) -> bool:
        """Stores the fields that the profile lacks. Returns True if there are any. Raises _DiffersError if it has
        other ones."""
        missing = {field: value for field, value in given.items() if not self._is_same(profile, field, value)}
        if taken := [str(field) for field in missing if self._is_taken(profile, field)]:
            raise _DiffersError(f"The agent has another text here: {', '.join(taken)}.")
        if missing and not self._dry_run:
            fields = {str(field): value for field, value in missing.items()}
            self._hive.update_profile(profile.agent, **fields, version=profile.version)
        return bool(missing)

    def _profile_fields(self, source: SourceAgent) -> dict[ProfileField, Any]:
        """Returns the fields of a profile. Raises Invalid for a text that the service would refuse."""
        given: dict[ProfileField, Any] = {ProfileField.NAME: source.name}
        for name, text in source.texts.items():
            field = ProfileField(name)
            check_text(field, text)
            check_text(field, self._redactor.clean(text, field=name))
            given[field] = text
        if source.capabilities:
            check_capabilities(source.capabilities)
            for one in source.capabilities:  # JSON can contain halves of surrogate pairs, which cannot be sent.
                self._redactor.clean(one, field=ProfileField.CAPABILITIES.value)
            given[ProfileField.CAPABILITIES] = source.capabilities
        return given

    def _is_same(self, profile: Profile, field: ProfileField, value: Any) -> bool:
        current = getattr(profile, field.value)
        if field is ProfileField.CAPABILITIES:
            return [*map(self._comparable, current)] == [*map(self._comparable, value)]
        return self._comparable(current) == self._comparable(value)

    def _is_taken(self, profile: Profile, field: ProfileField) -> bool:
        """Returns True if somebody wrote this field. Default texts, and a name that is the id, are nobody's."""
        if field is ProfileField.NAME:
            return profile.name != profile.agent
        if field not in _GENERATED:
            return bool(getattr(profile, field.value))
        if profile.version <= 1:
            return False
        try:
            changed = self._hive.profile_diff(profile.agent, older=1, newer=profile.version).fields
        except NotFound:  # The first version is not kept any more.
            return True
        return field.value in changed

    # setup scripts

    def _import_script(self, source: SourceScript) -> _Done:
        script = script_text.check(source.text)
        if self._redactor.clean(script, field="setupScript") != script:
            raise Invalid("The setup script seems to have a secret. Read it from the environment instead.")
        if source.agent not in self._present:
            return _CREATED
        current = self._hive.setup_script(source.agent)
        if (current.setup_script or "") == script:
            return _UNCHANGED
        if current.setup_script:
            raise _DiffersError("The agent has another setup script here.")
        if self._dry_run:
            return _CREATED
        done = self._hive.set_setup_script(source.agent, script, version=current.version, reason=_REASON)
        return _CREATED if done.changed else _UNCHANGED

    # repositories

    def _import_repo(self, source: SourceRepo) -> _Done:
        self._check_first("repo", rules.name_key(source.name))
        self._check_first("repo id", source.source_id)
        known = self._repo_named(source.name) or (None if self._dry_run else self._add_repo(source))
        if known is not None:
            branch = None if known.detects_branch else known.default_branch
            if (known.url, branch, known.auto_clone) != (source.url, source.default_branch, source.auto_clone):
                raise _DiffersError("There is a repository of this name with another URL, branch or autoClone.")
        self._repos[source.source_id] = source.name if known is None else known.name
        if known is None:
            self._new_repos.add(source.name)
        return _CREATED if known is None else _UNCHANGED

    def _add_repo(self, source: SourceRepo) -> RepoItem | None:
        """Adds a repository. Returns the one that somebody else added under its name meanwhile. Raises Conflict."""
        try:
            self._hive.add_repo(
                source.url, name=source.name, default_branch=source.default_branch, auto_clone=source.auto_clone
            )
        except Conflict:
            known = self._repo_named(source.name)
            if known is None:
                raise
            return known
        return None

    def _repo_named(self, name: str) -> RepoItem | None:
        try:
            found = self._hive.repo(name)
        except NotFound:
            return None
        return found if rules.name_key(found.name) == rules.name_key(name) else None  # Not one whose id begins so.

    # configuration

    def _import_entry(self, source: SourceEntry) -> _Done:
        scope_id = self._scope_id(source)
        self._check_first("entry", source.scope, scope_id, source.key)
        check_key(source.key)
        decisions.check_value(source.value)
        description = clean_line(self._redactor, source.description, "description", DESCRIPTION_BYTES)
        known = self._entries_of(source.scope, scope_id).get(source.key)
        # Stored paths are relative to the workspace of the service.
        is_elsewhere = known is not None and known.env_path is not None and (source.env_path or "").startswith("/")
        if known is not None:
            is_same = (
                known.is_secret == source.is_secret
                and (source.is_secret or known.value == source.value)
                and (is_elsewhere or known.env_path == source.env_path)
                and self._comparable(known.description or "") == self._comparable(description or "")
            )
            if not is_same:
                raise _DiffersError("There is an entry with this key and another content.")
            if not source.is_secret and not is_elsewhere:
                return _UNCHANGED
            if self._dry_run:
                what = "Its value" if source.is_secret else "Its envPath"
                return _Done(Result.UNCHANGED, f"There is an entry with this key. {what} is compared by the import.")
        note = None
        if not self._dry_run:
            # The service compares a secret with the stored one, which does not leave it. It knows its workspace.
            entry = self._hive.set_config(
                source.key,
                source.value,
                scope=source.scope,
                scope_id=scope_id,
                is_secret=source.is_secret,
                env_path=source.env_path,
                description=source.description,
                version=0,
            )
            note = entry.warning
        return _Done(Result.UNCHANGED if known is not None else Result.CREATED, note)

    def _scope_id(self, source: SourceEntry) -> str | None:
        """Returns the scope id here. Raises NotFound if its agent or repository is not here."""
        if source.scope is ConfigScope.GLOBAL:
            return None
        if source.scope is ConfigScope.AGENT:
            agent = agent_id(source.source_scope_id)
            if agent not in self._imported:
                raise NotFound(_NO_AGENT)
            return agent
        name = self._repos.get(source.source_scope_id)
        if name is None:
            raise NotFound("Its repository was not imported.")
        return name

    def _entries_of(self, scope: ConfigScope, scope_id: str | None) -> dict[str, ConfigItem]:
        """Returns the entries of a place by key, as they were when the import first needed them."""
        place = (scope, scope_id or "")
        if place not in self._entries:
            found = () if self._is_new(scope, scope_id) else self._hive.config(scope=scope, scope_id=scope_id).entries
            self._entries[place] = {one.key: one for one in found}
        return self._entries[place]

    def _is_new(self, scope: ConfigScope, scope_id: str | None) -> bool:
        """Returns True for a place that was not here, and is not here yet in a dry run."""
        match scope:
            case ConfigScope.GLOBAL:
                return False
            case ConfigScope.AGENT:
                return scope_id not in self._present
            case ConfigScope.REPO:
                return scope_id in self._new_repos

    # steps

    def _check_first(self, *key: object) -> None:
        if key in self._seen:
            raise Invalid("The file has it twice. The first one counts.")
        self._seen.add(key)

    def _comparable(self, text: str) -> str:
        """Returns a text as it is stored, with masks that do not depend on the service."""
        return _MASK.sub(r"[\1]", self._redactor.clean(text))

    def _shown(self, text: str, length: int) -> str:
        """Returns a text for the report, without secrets."""
        # Redaction would not recognize a part of a secret, so the text is cut last.
        valid = text.replace("\0", " ").encode(errors="replace").decode()
        line = " ".join(self._redactor.clean(valid).split())
        return line if len(line) <= length else f"{line[: length - 1]}…"

    def _agent_label(self, row: Row) -> str:
        return rows.label_of(row, "name") or rows.label_of(row, "id")

    def _entry_label(self, row: Row) -> str:
        scope, scope_id = rows.label_of(row, "scope"), rows.label_of(row, "scopeId")
        if scope == ConfigScope.AGENT:
            scope_id = self._agents.get(agent_id(scope_id), scope_id)
        elif scope == ConfigScope.REPO:
            scope_id = self._repos.get(scope_id, scope_id)
        key = rows.label_of(row, "key")
        shown = "(a key that looks like a secret)" if may_be_secret(key) else key
        return " ".join(part for part in (scope, scope_id, shown) if part)


def _refuse_script(_: SourceScript) -> _Done:
    raise NotFound(_NO_AGENT)
