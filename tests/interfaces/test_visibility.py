"""Visibility at every route, tool, method and verb: no answer or error shows a memory that the caller may not see.

Every memory contains a unique word. A probe calls one interface in every way that could show a memory, and its output
is searched for these words and for ids. The lists of routes, tools, methods and verbs are read from the program: a new
one without a probe fails here.
"""

import inspect
import json
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from hivelore.api.registry import TOOLS
from hivelore.cli.dispatch import VERBS, build
from hivelore.core.agents import Interface, Role, Viewer
from hivelore.core.ids import proposal_id
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import HiveloreError, Proposed, Unauthenticated
from hivelore.events.model import Level
from hivelore.memories.drafts import Edit
from hivelore.memories.model import MemoryId
from hivelore.python.client import Client
from hivelore.python.hive import Hive, Method
from hivelore.python.remote import RemoteHive
from hivelore.review.model import ProposalKind, Wanted
from hivelore.runtime.app import Application
from hivelore.sessions.programs import PROGRAMS
from support.batches import batches_of
from support.cases import Cases
from support.clocks import START
from support.command_line import CommandLine, short
from support.postgres import DATABASES, service_on
from support.proposals import a_proposal
from support.service import Service

Probe = Callable[["Asker"], list[Any]]

WORDS = {"ada": "quokka", "bob": "numbat", "lea": "bilby", "shared": "kowari", "swarm": "dunnart"}
"""The unique word of each owner's memory; ``shared`` is ada's for all, ``swarm`` has no owner."""
SHARED = {"shared", "swarm"}
GROUPS = ("agent", "events", "cooldowns", "review", "config", "repo", "setup-script", "workspace")
"""Verbs with sub-verbs."""
EVERYTHING = set(WORDS)


@dataclass(frozen=True)
class Asker:
    """The interfaces for one caller, and all ids."""

    client: Client
    hive: Hive
    ids: dict[str, str]
    proposals: dict[str, str]
    batches: dict[str, str]
    entries: list[str]
    command_line: CommandLine

    def verb(self, *words: str, stdin: bytes = b"") -> Any:
        result = self.command_line(*words, stdin=stdin)
        return [result.code, result.out, result.err]

    def rest(self, method: str, path: str, **more: Any) -> Any:
        return _answer_or_error(lambda: self.client.call(method, path, **more))

    def tool(self, name: str, /, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self.rest("POST", "/mcp", body=body)

    def each(self, ask: Callable[[str], Any]) -> list[Any]:
        return [ask(memory) for memory in self.ids.values()]

    def each_proposal(self, ask: Callable[[str], Any]) -> list[Any]:
        """No proposal can be merged, so such a decision changes nothing."""
        return [ask(proposal) for proposal in self.proposals]

    def each_batch(self, ask: Callable[[str], Any]) -> list[Any]:
        return [ask(batch) for batch in self.batches]

    def each_entry(self, ask: Callable[[str], Any]) -> list[Any]:
        return [ask(entry) for entry in self.entries]

    def by_prefix(self, path: str, ids: Mapping[str, str]) -> list[Any]:
        """Asks for each id by its beginning. Also returns the words of whole ids in the answers: an error about an
        ambiguous beginning lists these."""
        answers = [self.rest("GET", f"{path}/{one[:length]}") for one in ids for length in (8, 13)]
        return [*answers, *(WORDS[whose] for one, whose in ids.items() if one in str(answers))]


def _answer_or_error(ask: Callable[[], Any]) -> Any:
    """Returns the answer, or the text of the error."""
    try:
        return ask()
    except HiveloreError as error:
        return {"error": str(error)}


def _page(asker: Asker, **query: Any) -> Any:
    return asker.rest("GET", "/api/memory", query={"limit": 500, **query})


def _search(asker: Asker) -> list[Any]:
    found: list[Any] = []
    for word in WORDS.values():
        for scope in ("all", "agent", "swarm"):
            body = {"query": word, "limit": 50, "scope": scope}
            found.append(asker.rest("POST", "/api/memory/search", body=body))
        bodies = [{"query": word, "agentId": owner} for owner in asker.ids]
        found += [asker.rest("POST", "/api/memory/search", body=body) for body in bodies]
    return found


def _lists(asker: Asker) -> list[Any]:
    filters: list[dict[str, Any]] = [{}, {"scope": "agent"}, {"scope": "swarm"}, {"status": "live"}, {"tag": "marked"}]
    return [_page(asker, **each) for each in filters]


def _at(asker: Asker, suffix: str = "") -> list[Any]:
    return asker.each(lambda memory: asker.rest("GET", f"/api/memory/{memory}{suffix}"))


def _recalls(asker: Asker, page: Callable[..., Any]) -> list[str]:
    """The words of the memories whose ids stand in the log of recalls, to the last page and memory by memory, after a
    recall that gave all there is to see. Questions say words of their own, and so are not looked at."""
    asker.rest("POST", "/api/memory/search", body={"query": "sleeps", "limit": 50})
    asked: list[dict[str, Any]] = [{}, *({"memory": memory} for memory in asker.ids.values())]
    given: set[str] = set()
    for narrowed in asked:
        after = None
        while (found := page(**narrowed, after=after)) is not None:
            given |= {hit["memoryId"] for recall in found["recalls"] for hit in recall["hits"]}
            if (after := found["next"]) is None:
                break
    return [word for whose, word in WORDS.items() if asker.ids[whose] in given]


def _recalls_by_rest(asker: Asker) -> list[Any]:
    def page(**query: Any) -> Any:
        found = asker.rest("GET", "/api/recalls", query={"limit": 100, **query})
        return None if "error" in found else found

    return [_recalls(asker, page)]


def _recalls_by_method(asker: Asker) -> list[Any]:
    def page(**given: Any) -> Any:
        found = _answer_or_error(lambda: asker.hive.recalls(limit=100, **given))
        return None if isinstance(found, dict) else to_builtins(found)

    return [_recalls(asker, page)]


def _recalls_by_verb(asker: Asker) -> list[Any]:
    def page(**given: Any) -> Any:
        options = [f"--{name}={value}" for name, value in given.items() if value is not None]
        result = asker.command_line("recalls", "-n", "100", "--json", *options)
        return None if result.code else result.json

    shown = asker.command_line("recalls", "-n", "100").out
    return [_recalls(asker, page), *(word for whose, word in WORDS.items() if short(asker.ids[whose]) in shown)]


def _hooks(asker: Asker) -> list[Any]:
    """Text injected at the start of a session, and for prompts that ask for each of the memories."""

    def report(program: str, name: str, **payload: str) -> Any:
        payload |= {"session_id": f"{os.urandom(8).hex()}", "hook_event_name": name}
        return asker.rest("POST", f"/api/hooks/{program}", body={"id": os.urandom(8).hex(), "payload": payload})

    asked = [f"the {word} sleeps" for word in WORDS.values()]
    return [
        [report(program, "SessionStart"), *(report(program, "UserPromptSubmit", prompt=text) for text in asked)]
        for program in PROGRAMS
    ]


REPOS = ("kowari", "dunnart")
"""Repositories whose guidelines have the words that all see. Each worker reports its own word about the first one."""
AGENTS_TO_RESOLVE: tuple[dict[str, str], ...] = (
    {},
    {"agentId": "ada"},
    {"agentId": "bob", "repoId": REPOS[0]},
    {"agentId": "lea"},
)
COMMIT = "0" * 40
AGENTS = ("ada", "bob", "lea")
WHOSE = ((), *(("--agent", agent) for agent in AGENTS))
PROFILES = ("me", "ada", "bob", "lea")
"""Whose profiles are read."""
BLANK = {"content": " ", "name": "x", "source": "manual"}

ROUTES: dict[tuple[str, str], Probe] = {
    ("POST", "/api/hooks/{program}"): _hooks,
    ("POST", "/api/memory/search"): _search,
    ("GET", "/api/memory"): _lists,
    ("GET", "/api/memory/{memoryId}"): lambda asker: [
        *_at(asker),
        *asker.by_prefix("/api/memory", {memory: whose for whose, memory in asker.ids.items()}),
    ],
    ("GET", "/api/memory/{memoryId}/chunks"): lambda asker: _at(asker, "/chunks"),
    ("GET", "/api/memory/{memoryId}/history"): lambda asker: _at(asker, "/history"),
    ("GET", "/api/memory/{memoryId}/diff"): lambda asker: _at(asker, "/diff?from=1&to=1"),
    ("PATCH", "/api/memory/{memoryId}"): lambda asker: asker.each(
        # A version that never existed: a permitted caller gets the current one, and nothing changes.
        lambda memory: asker.rest("PATCH", f"/api/memory/{memory}", body={"name": "x"}, version=99)
    ),
    ("DELETE", "/api/memory/{memoryId}"): lambda asker: asker.each(
        lambda memory: asker.rest("DELETE", f"/api/memory/{memory}", version=99)
    ),
    ("GET", "/api/memory/{memoryId}/links"): lambda asker: _at(asker, "/links"),
    ("PUT", "/api/memory/{memoryId}/links/{otherId}/rejected"): lambda asker: asker.each(
        lambda memory: asker.rest("PUT", f"/api/memory/{memory}/links/{memory}/rejected")
    ),
    ("DELETE", "/api/memory/{memoryId}/links/{otherId}/rejected"): lambda asker: asker.each(
        lambda memory: asker.rest("DELETE", f"/api/memory/{memory}/links/{memory}/rejected")
    ),
    ("PUT", "/api/memory/{memoryId}/rating"): lambda asker: asker.each(
        lambda memory: asker.rest("PUT", f"/api/memory/{memory}/rating", body={"useful": True})
    ),
    ("DELETE", "/api/memory/{memoryId}/usefulness"): lambda asker: asker.each(
        lambda memory: asker.rest("DELETE", f"/api/memory/{memory}/usefulness")
    ),
    ("DELETE", "/api/memory"): lambda asker: [
        asker.rest("DELETE", "/api/memory", query={"sourcePath": "/nowhere"}),
    ],
    ("GET", "/api/memory/stats"): lambda asker: [asker.rest("GET", "/api/memory/stats")],
    ("POST", "/api/memory/index"): lambda asker: [
        asker.rest(
            "POST", "/api/memory/index", body={"content": " ", "name": "x", "scope": "swarm", "source": "manual"}
        ),
    ],
    ("POST", "/api/memory/batch"): lambda asker: [
        asker.rest("POST", "/api/memory/batch", body={"memories": [{"content": " "}]}),
    ],
    ("POST", "/api/tasks/complete"): lambda asker: [
        asker.rest("POST", "/api/tasks/complete", body={"taskId": "T-1", "task": " "}),
    ],
    ("POST", "/api/memory/re-embed"): lambda asker: [asker.rest("POST", "/api/memory/re-embed")],
    ("GET", "/api/memory/re-embed/{job}"): lambda asker: [asker.rest("GET", "/api/memory/re-embed/x")],
    ("DELETE", "/api/memory/re-embed/{job}"): lambda asker: [asker.rest("DELETE", "/api/memory/re-embed/x")],
    ("GET", "/api/agents"): lambda asker: [asker.rest("GET", "/api/agents")],
    ("POST", "/api/agents/join"): lambda asker: [asker.rest("POST", "/api/agents/join", body={"name": ""})],
    ("GET", "/api/agents/{agentId}/profile"): lambda asker: [
        asker.rest("GET", f"/api/agents/{who}/profile") for who in PROFILES
    ],
    ("PUT", "/api/agents/{agentId}/profile"): lambda asker: [
        # A version that never existed: nothing changes.
        asker.rest("PUT", f"/api/agents/{who}/profile", body={"soul": "x"}, version=99)
        for who in PROFILES
    ],
    ("GET", "/api/agents/{agentId}/profile/history"): lambda asker: [
        asker.rest("GET", f"/api/agents/{who}/profile/history") for who in PROFILES
    ],
    ("GET", "/api/agents/{agentId}/profile/diff"): lambda asker: [
        asker.rest("GET", f"/api/agents/{who}/profile/diff") for who in PROFILES
    ],
    ("POST", "/api/agents/{agentId}/profile/restore"): lambda asker: [
        asker.rest("POST", f"/api/agents/{who}/profile/restore", body={"version": 99}) for who in PROFILES
    ],
    ("POST", "/api/agents/{agentId}/reset"): lambda asker: [asker.rest("POST", f"/api/agents/{NOWHERE}/reset")],
    ("GET", "/api/agents/{agentId}/prompt"): lambda asker: [
        asker.rest("GET", f"/api/agents/{who}/prompt") for who in PROFILES
    ],
    ("POST", "/api/agents"): lambda asker: [asker.rest("POST", "/api/agents", body={"name": ""})],
    ("DELETE", "/api/agents/{agent}"): lambda asker: [asker.rest("DELETE", "/api/agents/nobody")],
    ("GET", "/memories"): lambda asker: [
        asker.rest("GET", "/memories", query={"limit": 500, "status": status}) for status in ("all", "inactive")
    ],
    ("POST", "/memories"): lambda asker: [
        asker.rest("POST", "/memories", body={"observation": " ", "category": "timing"}),
    ],
    ("POST", "/memories/decay"): lambda asker: [asker.rest("POST", "/memories/decay")],
    ("DELETE", "/memories/bulk"): lambda asker: [
        asker.rest("DELETE", "/memories/bulk", body={"ids": list(asker.ids.values())}),
    ],
    ("GET", "/memories/{memory}"): lambda asker: asker.each(lambda memory: asker.rest("GET", f"/memories/{memory}")),
    ("GET", "/memories/{memory}/observations"): lambda asker: asker.each(
        lambda memory: asker.rest("GET", f"/memories/{memory}/observations")
    ),
    ("PUT", "/memories/{memory}"): lambda asker: asker.each(
        lambda memory: asker.rest("PUT", f"/memories/{memory}", body={"confidence": 1.0}, version=99)
    ),
    ("DELETE", "/memories/{memory}"): lambda asker: asker.each(
        lambda memory: asker.rest("DELETE", f"/memories/{memory}")
    ),
    ("GET", "/api/operational-context"): lambda asker: [asker.rest("GET", "/api/operational-context")],
    ("GET", "/api/recalls"): _recalls_by_rest,
    ("GET", "/api/events"): lambda asker: [
        asker.rest("GET", "/api/events", query={"limit": 500, **narrowed}) for narrowed in ({}, {"service": "general"})
    ],
    ("POST", "/api/events"): lambda asker: [asker.rest("POST", "/api/events", body={"text": " "})],
    ("DELETE", "/api/events/{event}"): lambda asker: [asker.rest("DELETE", f"/api/events/{NOWHERE}")],
    ("GET", "/api/cooldowns"): lambda asker: [asker.rest("GET", "/api/cooldowns")],
    ("PUT", "/api/cooldowns"): lambda asker: [
        asker.rest("PUT", "/api/cooldowns", body={"service": "", "action": "x", "minutes": 1}),
    ],
    ("DELETE", "/api/cooldowns"): lambda asker: [
        asker.rest("DELETE", "/api/cooldowns", query={"service": "nothing"}),
    ],
    ("GET", "/api/review"): lambda asker: [
        asker.rest("GET", "/api/review", query={"status": status}) for status in ("open", "all")
    ],
    ("GET", "/api/review/{proposal}"): lambda asker: [
        *asker.each_proposal(lambda proposal: asker.rest("GET", f"/api/review/{proposal}")),
        *asker.by_prefix("/api/review", asker.proposals),
    ],
    ("POST", "/api/review/{proposal}/{decision}"): lambda asker: asker.each_proposal(
        lambda proposal: asker.rest("POST", f"/api/review/{proposal}/merge")
    ),
    ("GET", "/api/batches"): lambda asker: [
        asker.rest("GET", "/api/batches", query={"memory": memory}) for memory in (None, *asker.ids.values())
    ],
    ("GET", "/api/batches/{batch}"): lambda asker: [
        *asker.each_batch(lambda batch: asker.rest("GET", f"/api/batches/{batch}")),
        *asker.by_prefix("/api/batches", asker.batches),
    ],
    ("DELETE", "/api/batches/{batch}"): lambda asker: [asker.rest("DELETE", f"/api/batches/{NOWHERE}")],
    ("GET", "/api/config"): lambda asker: [
        asker.rest("GET", "/api/config", query=query)
        for query in ({}, {"scope": "agent"}, {"scope": "agent", "scopeId": "ada"}, {"scope": "global"})
    ],
    ("PUT", "/api/config"): lambda asker: [asker.rest("PUT", "/api/config", body={"key": "", "value": "x"})],
    ("DELETE", "/api/config/{id}"): lambda asker: [asker.rest("DELETE", f"/api/config/{NOWHERE}")],
    ("GET", "/api/config/resolved"): lambda asker: [
        asker.rest("GET", "/api/config/resolved", query=query) for query in AGENTS_TO_RESOLVE
    ],
    ("GET", "/api/config/env"): lambda asker: [
        asker.rest("GET", "/api/config/env", query=query) for query in AGENTS_TO_RESOLVE
    ],
    ("GET", "/api/config/{id}/reveal"): lambda asker: asker.each_entry(
        lambda entry: asker.rest("GET", f"/api/config/{entry}/reveal")
    ),
    ("GET", "/api/config/{id}/history"): lambda asker: asker.each_entry(
        lambda entry: asker.rest("GET", f"/api/config/{entry}/history")
    ),
    ("GET", "/api/config/check"): lambda asker: [asker.rest("GET", "/api/config/check")],
    ("POST", "/api/config/rotate-key"): lambda asker: [asker.rest("POST", "/api/config/rotate-key")],
    ("GET", "/api/repos"): lambda asker: [asker.rest("GET", "/api/repos")],
    ("POST", "/api/repos"): lambda asker: [asker.rest("POST", "/api/repos", body={"url": "ext::x"})],
    ("GET", "/api/repos/{id}"): lambda asker: [asker.rest("GET", f"/api/repos/{repo}") for repo in REPOS],
    ("PUT", "/api/repos/{id}"): lambda asker: [asker.rest("PUT", f"/api/repos/{NOWHERE}", body={"name": "x"})],
    ("DELETE", "/api/repos/{id}"): lambda asker: [asker.rest("DELETE", f"/api/repos/{NOWHERE}")],
    ("GET", "/api/repos/{id}/section"): lambda asker: [
        asker.rest("GET", f"/api/repos/{repo}/section") for repo in REPOS
    ],
    ("PUT", "/api/repos/{id}/synced"): lambda asker: [
        asker.rest("PUT", f"/api/repos/{NOWHERE}/synced", body=_clone("x"))
    ],
    ("GET", "/api/agents/{agent}/setup-script"): lambda asker: [
        asker.rest("GET", f"/api/agents/{agent}/setup-script") for agent in AGENTS
    ],
    ("PUT", "/api/agents/{agent}/setup-script"): lambda asker: [
        asker.rest("PUT", f"/api/agents/{agent}/setup-script", body={"setupScript": "x", "version": 99})
        for agent in AGENTS
    ],
    ("GET", "/api/setup-script"): lambda asker: [asker.rest("GET", "/api/setup-script")],
    ("PUT", "/api/setup-script"): lambda asker: [
        asker.rest("PUT", "/api/setup-script", body={"setupScript": "x", "version": 99})
    ],
    ("GET", "/api/setup-script/history"): lambda asker: [
        asker.rest("GET", "/api/setup-script/history", query=query)
        for query in ({}, *({"agent": agent} for agent in AGENTS))
    ],
    ("GET", "/api/setup-script/diff"): lambda asker: [
        asker.rest("GET", "/api/setup-script/diff", query={"older": 1, "newer": 2, **query})
        for query in ({}, *({"agent": agent} for agent in AGENTS))
    ],
    ("POST", "/api/setup-script/restore"): lambda asker: [
        asker.rest("POST", "/api/setup-script/restore", body={"version": 99, **query})
        for query in ({}, *({"agent": agent} for agent in AGENTS))
    ],
    ("POST", "/api/undo"): lambda asker: [asker.rest("POST", "/api/undo", body={"id": NOWHERE})],
    ("GET", "/api/maintenance/{job}"): lambda asker: [asker.rest("GET", f"/api/maintenance/{NOWHERE}")],
    ("DELETE", "/api/maintenance/{job}"): lambda asker: [asker.rest("DELETE", f"/api/maintenance/{NOWHERE}")],
    ("POST", "/api/maintenance"): lambda asker: [
        asker.rest("POST", "/api/maintenance", body={"purgeExpired": True, "merge": True})
    ],
    ("GET", "/api/check"): lambda asker: [asker.rest("GET", "/api/check")],
    ("GET", "/api/me"): lambda asker: [asker.rest("GET", "/api/me")],
    ("GET", "/api/status"): lambda asker: [asker.rest("GET", "/api/status")],
    ("GET", "/health"): lambda asker: [asker.rest("GET", "/health")],
    ("GET", "/health/live"): lambda asker: [asker.rest("GET", "/health/live")],
    ("GET", "/health/ready"): lambda asker: [asker.rest("GET", "/health/ready")],
    ("GET", "/metrics"): lambda asker: [_answer_or_error(lambda: asker.client.call("GET", "/api/status"))],
}

CALLS: dict[str, Probe] = {
    "memory-search": lambda asker: [asker.tool("memory-search", query=word, limit=50) for word in WORDS.values()],
    "memory-get": lambda asker: asker.each(lambda memory: asker.tool("memory-get", memoryId=memory, history=True)),
    "memory-rate": lambda asker: asker.each(lambda memory: asker.tool("memory-rate", memoryId=memory, useful=True)),
    "memory-store": lambda asker: [asker.tool("memory-store", content=" ")],
    "memory-edit": lambda asker: asker.each(
        lambda memory: asker.tool("memory-edit", memoryId=memory, category="x", version=99)
    ),
    "memory-delete": lambda asker: [asker.tool("memory-delete", memoryId="nothing")],
    "inject-learning": lambda asker: [
        asker.tool("inject-learning", agentId="nobody", learning="x", category="preference")
    ],
    "task-complete": lambda asker: [asker.tool("task-complete", taskId="T-1", task=" ")],
    "list-agents": lambda asker: [asker.tool("list-agents")],
    "join-swarm": lambda asker: [asker.tool("join-swarm", name="")],
    "update-profile": lambda asker: [
        asker.tool("update-profile", agentId=who, soul="x", version=99) for who in PROFILES
    ],
    "memory-observe": lambda asker: [asker.tool("memory-observe", observation=" ", category="timing")],
    "list-repos": lambda asker: [asker.tool("list-repos")],
    "memory-context": lambda asker: [asker.tool("memory-context")],
    "get-config": lambda asker: [asker.tool("get-config"), asker.tool("get-config", repoId=REPOS[0])],
    "set-config": lambda asker: [asker.tool("set-config", key="", value="x")],
    "update-setup-script": lambda asker: [asker.tool("update-setup-script")],
    "memory-review": lambda asker: [
        asker.tool("memory-review"),
        *asker.each_proposal(lambda proposal: asker.tool("memory-review", proposalId=proposal)),
        *asker.each_proposal(lambda proposal: asker.tool("memory-review", proposalId=proposal, decision="merge")),
    ],
}

METHODS: dict[str, Probe] = {
    "recall": lambda asker: [
        _answer_or_error(lambda word=word: list(asker.hive.recall(word, limit=50))) for word in WORDS.values()
    ],
    "get": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.get(memory))),
    "history": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.history(memory))),
    "links": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.links(memory))),
    "reject_link": lambda asker: asker.each(
        lambda memory: _answer_or_error(lambda: asker.hive.reject_link(memory, memory))
    ),
    "restore_link": lambda asker: asker.each(
        lambda memory: _answer_or_error(lambda: asker.hive.restore_link(memory, memory))
    ),
    "chunks": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.chunks(memory))),
    "forget_path": lambda asker: [_answer_or_error(lambda: asker.hive.forget_path("/nowhere"))],
    "diff": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.diff(memory))),
    "list": lambda asker: [_answer_or_error(lambda: asker.hive.list(limit=500))],
    "edit": lambda asker: asker.each(
        lambda memory: _answer_or_error(lambda: asker.hive.edit(memory, name="x", version=99))
    ),
    "forget": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.forget(memory, version=99))),
    "rate": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.rate(memory, useful=True))),
    "usefulness": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.usefulness(memory))),
    "reset_usefulness": lambda asker: asker.each(
        lambda memory: _answer_or_error(lambda: asker.hive.reset_usefulness(memory))
    ),
    "stats": lambda asker: [_answer_or_error(lambda: asker.hive.stats())],
    "complete_task": lambda asker: [_answer_or_error(lambda: asker.hive.complete_task(task_id="T-1", task=" "))],
    "recalls": _recalls_by_method,
    "events": lambda asker: [_answer_or_error(lambda: asker.hive.events(limit=500))],
    "record_event": lambda asker: [_answer_or_error(lambda: asker.hive.record_event(" "))],
    "forget_event": lambda asker: [_answer_or_error(lambda: asker.hive.forget_event(NOWHERE))],
    "cooldowns": lambda asker: [_answer_or_error(lambda: asker.hive.cooldowns())],
    "set_cooldown": lambda asker: [_answer_or_error(lambda: asker.hive.set_cooldown("", "x", minutes=1))],
    "clear_cooldowns": lambda asker: [_answer_or_error(lambda: asker.hive.clear_cooldowns("nothing"))],
    "review": lambda asker: [_answer_or_error(lambda: asker.hive.review(status="all"))],
    "proposal": lambda asker: asker.each_proposal(
        lambda proposal: _answer_or_error(lambda: asker.hive.proposal(proposal))
    ),
    "decide": lambda asker: asker.each_proposal(
        lambda proposal: _answer_or_error(lambda: asker.hive.decide(proposal, "merge"))
    ),
    "config": lambda asker: [_answer_or_error(lambda: asker.hive.config())],
    "set_config": lambda asker: [_answer_or_error(lambda: asker.hive.set_config("", "x"))],
    "delete_config": lambda asker: [_answer_or_error(lambda: asker.hive.delete_config(NOWHERE))],
    "resolved_config": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.resolved_config(agent=who, repo=REPOS[0]))
        for who in (None, "ada", "bob", "lea")
    ],
    "config_env": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.config_env(agent=who, repo=REPOS[0]))
        for who in (None, "ada", "bob", "lea")
    ],
    "reveal_config": lambda asker: asker.each_entry(
        lambda entry: _answer_or_error(lambda: asker.hive.reveal_config(entry))
    ),
    "config_history": lambda asker: asker.each_entry(
        lambda entry: _answer_or_error(lambda: asker.hive.config_history(entry))
    ),
    "check_config": lambda asker: [_answer_or_error(lambda: asker.hive.check_config())],
    "rotate_config_key": lambda asker: [_answer_or_error(lambda: asker.hive.rotate_config_key())],
    "repos": lambda asker: [_answer_or_error(lambda: asker.hive.repos())],
    "repo": lambda asker: [_answer_or_error(lambda repo=repo: asker.hive.repo(repo)) for repo in REPOS],
    "repo_section": lambda asker: [_answer_or_error(lambda repo=repo: asker.hive.repo_section(repo)) for repo in REPOS],
    "add_repo": lambda asker: [_answer_or_error(lambda: asker.hive.add_repo("ext::x"))],
    "update_repo": lambda asker: [_answer_or_error(lambda: asker.hive.update_repo(NOWHERE, "x"))],
    "remove_repo": lambda asker: [_answer_or_error(lambda: asker.hive.remove_repo(NOWHERE))],
    "report_clone": lambda asker: [
        _answer_or_error(
            lambda: asker.hive.report_clone(
                NOWHERE,
                url="https://example.com/x",
                clone_path="/x",
                branch="main",
                commit=COMMIT,
                committed_at=START,
                clone_commit=COMMIT,
            )
        )
    ],
    "setup_script": lambda asker: [_answer_or_error(lambda who=who: asker.hive.setup_script(who)) for who in AGENTS],
    "set_setup_script": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.set_setup_script(who, "x", version=99)) for who in AGENTS
    ],
    "global_setup_script": lambda asker: [_answer_or_error(lambda: asker.hive.global_setup_script())],
    "set_global_setup_script": lambda asker: [
        _answer_or_error(lambda: asker.hive.set_global_setup_script("x", version=99))
    ],
    "setup_script_history": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.setup_script_history(agent=who)) for who in (None, *AGENTS)
    ],
    "diff_setup_script": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.diff_setup_script(1, 2, agent=who)) for who in (None, *AGENTS)
    ],
    "restore_setup_script": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.restore_setup_script(99, agent=who)) for who in (None, *AGENTS)
    ],
    "batches": lambda asker: [_answer_or_error(lambda: asker.hive.batches(limit=100))],
    "batch": lambda asker: asker.each_batch(lambda batch: _answer_or_error(lambda: asker.hive.batch(batch))),
    "drop_batch": lambda asker: [_answer_or_error(lambda: asker.hive.drop_batch(NOWHERE))],
    "undo": lambda asker: [_answer_or_error(lambda: asker.hive.undo(NOWHERE))],
    "observe": lambda asker: [_answer_or_error(lambda: asker.hive.observe(" ", "timing"))],
    "context": lambda asker: [_answer_or_error(lambda: asker.hive.context())],
    "operational_memories": lambda asker: [_answer_or_error(lambda: asker.hive.operational_memories(limit=500))],
    "operational_memory": lambda asker: asker.each(
        lambda memory: _answer_or_error(lambda: asker.hive.operational_memory(memory))
    ),
    "observations": lambda asker: asker.each(lambda memory: _answer_or_error(lambda: asker.hive.observations(memory))),
    "change_operational_memory": lambda asker: asker.each(
        lambda memory: _answer_or_error(lambda: asker.hive.change_operational_memory(memory=memory, version=99))
    ),
    "forget_operational_memory": lambda asker: asker.each(
        lambda memory: _answer_or_error(lambda: asker.hive.forget_operational_memory(memory))
    ),
    "forget_operational_memories": lambda asker: [
        _answer_or_error(lambda: asker.hive.forget_operational_memories((NOWHERE,)))
    ],
    "count_decayed": lambda asker: [_answer_or_error(lambda: asker.hive.count_decayed())],
    "maintain": lambda asker: [_answer_or_error(lambda: asker.hive.maintain(purge_expired=True, merge=True))],
    "maintenance_job": lambda asker: [_answer_or_error(lambda: asker.hive.maintenance_job(NOWHERE))],
    "cancel_maintenance": lambda asker: [_answer_or_error(lambda: asker.hive.cancel_maintenance(NOWHERE))],
    "check": lambda asker: [_answer_or_error(lambda: asker.hive.check())],
    "reembed": lambda asker: [_answer_or_error(lambda: asker.hive.reembed())],
    "reembed_job": lambda asker: [_answer_or_error(lambda: asker.hive.reembed_job(NOWHERE))],
    "cancel_reembed": lambda asker: [_answer_or_error(lambda: asker.hive.cancel_reembed(NOWHERE))],
    "me": lambda asker: [_answer_or_error(lambda: asker.hive.me())],
    "agents": lambda asker: [_answer_or_error(lambda: asker.hive.agents())],
    "add_agent": lambda asker: [_answer_or_error(lambda: asker.hive.add_agent(""))],
    "join": lambda asker: [_answer_or_error(lambda: asker.hive.join(name=""))],
    "profile": lambda asker: [_answer_or_error(lambda who=who: asker.hive.profile(who)) for who in PROFILES],
    "update_profile": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.update_profile(who, soul="x", version=99)) for who in PROFILES
    ],
    "profile_history": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.profile_history(who)) for who in PROFILES
    ],
    "profile_diff": lambda asker: [_answer_or_error(lambda who=who: asker.hive.profile_diff(who)) for who in PROFILES],
    "reset_agent": lambda asker: [_answer_or_error(lambda: asker.hive.reset_agent(NOWHERE))],
    "restore_profile": lambda asker: [
        _answer_or_error(lambda who=who: asker.hive.restore_profile(who, 99)) for who in PROFILES
    ],
    "prompt": lambda asker: [_answer_or_error(lambda who=who: asker.hive.prompt(who)) for who in PROFILES],
    "revoke_keys": lambda asker: [_answer_or_error(lambda: asker.hive.revoke_keys("nobody"))],
    "status": lambda asker: [_answer_or_error(lambda: asker.hive.status())],
    "remember": lambda asker: [_answer_or_error(lambda: asker.hive.remember(" "))],
    "remember_many": lambda asker: [_answer_or_error(lambda: asker.hive.remember_many([" "]))],
    "index": lambda asker: [_answer_or_error(lambda: asker.hive.index("/nowhere"))],
    "wait_until_indexed": lambda asker: [_answer_or_error(lambda: asker.hive.wait_until_indexed(0.1))],
    "close": lambda _: [],
}

# With one unknown id among several, nothing is deleted.
NOWHERE = "01a00000-0000-7000-8000-000000000000"

COMMANDS: dict[str, Probe] = {
    "hivelore remember": lambda asker: [asker.verb("remember", " ")],
    "hivelore recall": lambda asker: [asker.verb("recall", word, "-n", "50", "--json") for word in WORDS.values()],
    "hivelore get": lambda asker: asker.each(
        lambda memory: [asker.verb("get", memory, *how) for how in ((), ("--json",), ("--chunks",))]
    ),
    "hivelore history": lambda asker: asker.each(lambda memory: asker.verb("history", memory)),
    "hivelore links": lambda asker: asker.each(lambda memory: asker.verb("links", memory)),
    "hivelore diff": lambda asker: asker.each(lambda memory: asker.verb("diff", memory)),
    "hivelore list": lambda asker: [
        asker.verb("list", "--limit", "500", *how) for how in ((), ("--json",), ("--all",), ("--scope", "agent"))
    ],
    "hivelore edit": lambda asker: asker.each(
        lambda memory: asker.verb("edit", memory, "--name", "x", "--if-version", "99")
    ),
    "hivelore forget": lambda asker: [
        *asker.each(lambda memory: asker.verb("forget", memory, NOWHERE, "--yes")),
        asker.verb("forget", "--path", "/nowhere", "--yes"),
    ],
    "hivelore rate": lambda asker: asker.each(
        lambda memory: [asker.verb("rate", memory, "useful"), asker.verb("rate", memory, "--reset")]
    ),
    "hivelore recalls": _recalls_by_verb,
    "hivelore events list": lambda asker: [
        asker.verb("events", "list", "-n", "500", *how) for how in ((), ("--json",), ("--service", "general"))
    ],
    "hivelore events add": lambda asker: [asker.verb("events", "add", " ")],
    "hivelore events forget": lambda asker: [asker.verb("events", "forget", NOWHERE)],
    "hivelore cooldowns list": lambda asker: [asker.verb("cooldowns", "list")],
    "hivelore cooldowns set": lambda asker: [asker.verb("cooldowns", "set", "", "x", "--until", "30m")],
    "hivelore cooldowns clear": lambda asker: [asker.verb("cooldowns", "clear", "nothing")],
    "hivelore stats": lambda asker: [asker.verb("stats")],
    "hivelore task-done": lambda asker: [asker.verb("task-done", "T-1", " ")],
    "hivelore observe": lambda asker: [asker.verb("observe", " ", "--category", "timing")],
    "hivelore observations": lambda asker: [
        asker.verb("observations"),
        *asker.each(lambda memory: asker.verb("observations", "--of", memory)),
    ],
    "hivelore curate": lambda asker: asker.each(lambda memory: asker.verb("curate", memory, "--inactive")),
    "hivelore context": lambda asker: [asker.verb("context")],
    "hivelore ingest-stream": lambda asker: [asker.verb("ingest-stream", stdin=b"[MEMORY:timing]")],
    "hivelore index": lambda asker: [asker.verb("index", "/nowhere")],
    "hivelore import": lambda asker: [asker.verb("import", "-", stdin=b"{}")],
    "hivelore export": lambda asker: [asker.verb("export"), asker.verb("export", "--hash")],
    "hivelore start": lambda asker: [asker.verb("start")],
    "hivelore status": lambda asker: [asker.verb("status")],
    "hivelore doctor": lambda asker: [asker.verb("doctor")],
    "hivelore reembed": lambda asker: [asker.verb("reembed")],
    "hivelore completion": lambda asker: [asker.verb("completion", "bash")],
    "hivelore review list": lambda asker: [asker.verb("review", "list"), asker.verb("review", "list", "--json")],
    "hivelore review show": lambda asker: asker.each_proposal(
        lambda proposal: [asker.verb("review", "show", proposal, *how) for how in ((), ("--json",))]
    ),
    "hivelore review accept": lambda asker: [asker.verb("review", "accept", NOWHERE)],
    "hivelore review reject": lambda asker: [asker.verb("review", "reject", NOWHERE)],
    "hivelore review merge": lambda asker: asker.each_proposal(
        lambda proposal: asker.verb("review", "merge", proposal)
    ),
    "hivelore undo": lambda asker: [asker.verb("undo", NOWHERE)],
    "hivelore batches": lambda asker: [
        asker.verb("batches"),
        *asker.each_batch(lambda batch: [asker.verb("batches", batch, *how) for how in ((), ("--json",))]),
    ],
    "hivelore config list": lambda asker: [asker.verb("config", "list"), asker.verb("config", "list", "--json")],
    "hivelore config set": lambda asker: [asker.verb("config", "set", "PATH", "x")],
    "hivelore config delete": lambda asker: [asker.verb("config", "delete", NOWHERE)],
    "hivelore config resolved": lambda asker: [asker.verb("config", "resolved", "--repo", REPOS[0])],
    "hivelore config reveal": lambda asker: asker.each_entry(lambda entry: asker.verb("config", "reveal", entry)),
    "hivelore config history": lambda asker: asker.each_entry(lambda entry: asker.verb("config", "history", entry)),
    "hivelore config env": lambda asker: [asker.verb("config", "env", "--repo", REPOS[0])],
    "hivelore config rotate-key": lambda asker: [asker.verb("config", "rotate-key")],
    "hivelore repo list": lambda asker: [asker.verb("repo", "list"), asker.verb("repo", "list", "--json")],
    "hivelore repo show": lambda asker: [
        asker.verb("repo", "show", repo, *how) for repo in REPOS for how in ((), ("--json",), ("--section",))
    ],
    "hivelore repo add": lambda asker: [asker.verb("repo", "add", "ext::x")],
    "hivelore repo update": lambda asker: [asker.verb("repo", "update", NOWHERE, "--name", "x")],
    "hivelore repo remove": lambda asker: [asker.verb("repo", "remove", NOWHERE)],
    "hivelore repo sync": lambda asker: [asker.verb("repo", "sync", NOWHERE)],
    "hivelore setup-script show": lambda asker: [
        asker.verb("setup-script", "show"),
        *(asker.verb("setup-script", "show", "--agent", agent) for agent in AGENTS),
    ],
    "hivelore setup-script set": lambda asker: [
        asker.verb("setup-script", "set", "-", "--version", "99", *whose, stdin=b"x") for whose in WHOSE
    ],
    "hivelore setup-script history": lambda asker: [asker.verb("setup-script", "history", *whose) for whose in WHOSE],
    "hivelore setup-script diff": lambda asker: [
        asker.verb("setup-script", "diff", "1", "2", *whose) for whose in WHOSE
    ],
    "hivelore setup-script restore": lambda asker: [
        asker.verb("setup-script", "restore", "99", *whose) for whose in WHOSE
    ],
    "hivelore maintain": lambda asker: [asker.verb("maintain"), asker.verb("maintain", "--json")],
    "hivelore agent add": lambda asker: [asker.verb("agent", "add", " ")],
    "hivelore agent list": lambda asker: [asker.verb("agent", "list")],
    "hivelore prompt": lambda asker: [asker.verb("prompt", "--agent", who) for who in PROFILES],
    "hivelore agent join": lambda asker: [asker.verb("agent", "join", "--name", "")],
    "hivelore agent show": lambda asker: [
        asker.verb("agent", "show", who, *how) for who in PROFILES for how in ((), ("--json",))
    ],
    "hivelore agent edit": lambda asker: [
        asker.verb("agent", "edit", who, "--role", "x", "--if-version", "99") for who in PROFILES
    ],
    "hivelore agent history": lambda asker: [asker.verb("agent", "history", who) for who in PROFILES],
    "hivelore agent diff": lambda asker: [asker.verb("agent", "diff", who) for who in PROFILES],
    "hivelore agent reset": lambda asker: [asker.verb("agent", "reset", NOWHERE)],
    "hivelore agent restore": lambda asker: [asker.verb("agent", "restore", who, "99") for who in PROFILES],
    "hivelore agent revoke": lambda asker: [asker.verb("agent", "revoke", "nobody")],
}
WITHOUT_A_KEY = {
    "hivelore serve": "it is the service",
    "hivelore stop": "it sends a signal, here to the very process of the tests",
    "hivelore move": "it reads and writes databases directly, for users who may open them",
    "hivelore hook": "it passes on the answer of the hook route, which has a probe",
    "hivelore setup": "it writes into the settings of agent programs; what it tries out is its own",
    "hivelore unsetup": "it takes that out again",
    "hivelore workspace prepare": "it writes the scripts that the route returns, which has a probe, into a file",
    "hivelore setup-script sync": "it sends what it finds in a file",
    "hivelore teach": "it shows the names of tools and folders, no memory",
    "hivelore mcp": "it carries what the tools answer, which have probes of their own",
}
"""Verbs that read no memory, with the reason."""

SHOWS_ALL = {"recall", "list", "get", "history", "memory-get", "memory-search"} | {
    "hivelore recall",
    "hivelore get",
    "hivelore history",
    "hivelore list",
    "hivelore export",
    ("POST", "/api/memory/search"),
    ("GET", "/api/memory"),
    ("GET", "/api/memory/{memoryId}"),
    ("GET", "/api/memory/{memoryId}/chunks"),
    ("GET", "/api/memory/{memoryId}/history"),
    "recalls",
    "hivelore recalls",
    ("GET", "/api/recalls"),
    "events",
    "hivelore events list",
    ("GET", "/api/events"),
    "config",
    "hivelore config list",
    ("GET", "/api/config"),
    ("GET", "/api/config/{id}/reveal"),
    ("GET", "/api/config/{id}/history"),
    "setup_script",
    "hivelore setup-script show",
    ("GET", "/api/agents/{agent}/setup-script"),
    ("GET", "/api/setup-script/diff"),
}
SHOWS_PROFILES = {
    "prompt",
    "hivelore prompt",
    ("GET", "/api/agents/{agentId}/prompt"),
    "profile",
    "hivelore agent show",
    ("GET", "/api/agents/{agentId}/profile"),
    ("GET", "/api/agents/{agentId}/profile/diff"),
}
"""Probes that must show everything the asker may see: silence would pass the rest of this test."""


@dataclass(frozen=True)
class World:
    service: Service
    ids: dict[str, str]
    """The id of each one's memory."""
    proposals: dict[str, str]
    """One proposal about each memory, with whose it is."""
    batches: dict[str, str]
    """The batches that made memories private, with whose they are."""
    entries: list[str]
    """A configuration entry with the word of each, as visible as the memory."""
    keys: dict[str, str]


CallerOf = Callable[[str], Asker]


@pytest.fixture
def caller_of(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CallerOf:
    """Returns the interfaces of a caller by name."""
    for name in [name for name in os.environ if name.startswith(("HIVELORE_", "MEMORY_"))]:
        monkeypatch.delenv(name)

    def asker(who: str) -> Asker:
        monkeypatch.setenv("HIVELORE_HOME", str(world.service.home))
        monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
        monkeypatch.setenv("HIVELORE_KEY", world.keys[who])
        client = world.service.client(world.keys[who])
        command_line = CommandLine(monkeypatch, capsys)
        return Asker(client, RemoteHive(client), world.ids, world.proposals, world.batches, world.entries, command_line)

    return asker


def _world(home: Path, lead_sees: str, database: str) -> Generator[World]:
    every_tool = tuple({tool.capability for tool in TOOLS})
    with Service(home, lead_sees=lead_sees, capabilities=every_tool, **service_on(database)) as service:
        keys = {
            "ada": service.add("ada"),
            "bob": service.add("bob"),
            "lea": service.add("lea", Role.LEAD),
            "operator": service.operator_key,
            "revoked": service.add("rex"),
        }
        service.client(keys["operator"]).call("DELETE", "/api/agents/rex")
        ids: dict[str, str] = {}
        for whose, word in WORDS.items():
            key = keys["operator" if whose == "swarm" else "ada" if whose == "shared" else whose]
            body = {
                "content": f"the {word} sleeps",
                "name": word,
                "scope": "swarm",
                "source": "manual",
                "tags": ["marked"],
            }
            ids[whose] = service.client(key).call("POST", "/api/memory/index", body=body)["memoryIds"][0]
            _record_event(service.app, MemoryId(ids[whose]), word)
        # Everybody is given everything once, before most of it becomes private.
        for who in ("ada", "bob", "lea", "operator"):
            found = service.client(keys[who]).call("POST", "/api/memory/search", body={"query": "sleeps", "limit": 50})
            assert {hit["memory"]["id"] for hit in found["results"]} == set(ids.values())
        batches: dict[str, str] = {}
        for whose in EVERYTHING - SHARED:
            service.client(keys[whose]).call("PATCH", f"/api/memory/{ids[whose]}", body={"scope": "agent"})
            batches = {str(batch.id): whose for batch in batches_of(service.app.store)} | batches
        proposals = {_proposed(service, ids[whose], word): whose for whose, word in WORDS.items()}
        for repo in REPOS:
            body = {"url": f"https://example.com/{repo}", "guidelines": f"the {repo} sleeps"}
            service.client(keys["operator"]).call("POST", "/api/repos", body=body)
        entries = [_configured(service, whose, word) for whose, word in WORDS.items()]
        for whose in ("ada", "bob"):
            body = _clone(f"the {WORDS[whose]} sleeps")
            service.client(keys[whose]).call("PUT", f"/api/repos/{REPOS[0]}/synced", body=body)
        _set_scripts(service)
        _propose_scripts(service, keys)
        for whose, word in WORDS.items():
            if whose not in SHARED:
                body = {"soul": f"the {word} sleeps"}
                service.client(keys[whose]).call("PUT", "/api/agents/me/profile", body=body)
        yield World(service, ids, proposals, batches, entries, keys)


def _configured(service: Service, whose: str, word: str) -> str:
    place = {"shared": {"scope": "repo", "scopeId": REPOS[0]}, "swarm": {"scope": "global"}}
    body = {"key": f"KEY_OF_{whose}", "value": f"the {word} sleeps", "scope": "agent", "scopeId": whose}
    body |= place.get(whose, {})
    if whose == "swarm":
        del body["scopeId"]
    return service.client(service.operator_key).call("PUT", "/api/config", body=body)["id"]


def _clone(content: str) -> dict[str, Any]:
    """Returns a report about a clone whose instructions and folder have this text."""
    return {
        "url": f"https://example.com/{REPOS[0]}",
        "clonePath": f"/home/{content}/repos",
        "branch": "main",
        "commit": COMMIT,
        "committedAt": "2026-03-01T12:00:00Z",
        "cloneCommit": COMMIT,
        "file": "CLAUDE.md",
        "content": content,
        "size": len(content),
    }


def _set_scripts(service: Service) -> None:
    """Makes two versions of every setup script. The global one has the words of all that is shared."""
    words = {f"/api/agents/{whose}/setup-script": WORDS[whose] for whose in AGENTS}
    words["/api/setup-script"] = " and ".join(WORDS[whose] for whose in sorted(SHARED))
    for place, word in words.items():
        for number in (1, 2):
            body = {"setupScript": f"echo the {word} sleeps {number}"}
            service.client(service.operator_key).call("PUT", place, body=body)


def _propose_scripts(service: Service, keys: Mapping[str, str]) -> None:
    for who in ("ada", "bob"):
        body = {"setupScript": f"echo the {WORDS[who]} wakes"}
        with pytest.raises(Proposed):
            service.client(keys[who]).call("PUT", f"/api/agents/{who}/setup-script", body=body)


def _proposed(service: Service, memory: str, word: str) -> str:
    with service.app.store.read() as view:
        stored = view.get(MemoryId(memory))
    assert stored is not None
    wanted = Wanted(edit=Edit(content=f"the {word} wakes"))
    proposal = a_proposal(
        stored.memory, kind=ProposalKind.OPERATIONAL, actor=stored.memory.owner, wanted=wanted, why=Clean(word)
    )
    proposal = replace(proposal, id=proposal_id(datetime.now(UTC)))
    service.app.store.write(lambda tx: tx.put_proposal(proposal))
    return proposal.id


@pytest.fixture(scope="module", params=product(["all", "shared"], DATABASES), ids="-".join)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    lead_sees, database = request.param
    yield from _world(tmp_path_factory.mktemp(lead_sees), lead_sees, database)


def _record_event(app: Application, memory: MemoryId, word: str) -> None:
    """Records an event with the text of a memory."""
    operator = Viewer(role=Role.OPERATOR, agent=None, interface=Interface.SERVICE)
    event = app.events.build(Level.INFO, f"New: the {word} sleeps", operator, memory=memory)
    app.store.write(lambda tx: tx.log_events([event]))


def _may_see(who: str, world: World) -> set[str]:
    match who:
        case "ada" | "bob":
            return SHARED | {who}
        case "lea":
            wide = world.service.app.settings.lead_sees == "all"
            return EVERYTHING if wide else SHARED | {"lea"}
        case "operator":
            return EVERYTHING
        case _:
            return set()


def _seen(answers: list[Any]) -> set[str]:
    text = " ".join(json.dumps(answer, default=repr) for answer in answers)
    assert "unexpected error" not in text
    return {whose for whose, word in WORDS.items() if word in text}


ALL: dict[Any, Probe] = {**ROUTES, **CALLS, **METHODS, **COMMANDS}


@pytest.mark.parametrize("who", ["ada", "bob", "lea", "operator", "revoked"])
def test_no_interface_shows_hidden_memories(world: World, caller_of: CallerOf, who: str) -> None:
    asker, may_see, cases = caller_of(who), _may_see(who, world), Cases()
    # What leads see changes nothing for others: for them, the routes show that.
    changes = world.service.app.settings.lead_sees == "all" or who == "lea"
    for interface, probe in (ALL if changes else ROUTES).items():
        with cases.case(interface):
            seen = _seen(probe(asker))
            assert seen <= may_see
            if interface in SHOWS_ALL and not (who == "operator" and interface in CALLS):
                assert seen == may_see
            if interface in SHOWS_PROFILES:
                assert seen == may_see - SHARED
    cases.report()


@pytest.mark.parametrize("who", ["ada", "bob", "lea", "operator"])
def test_counts_include_only_visible_memories(world: World, caller_of: CallerOf, who: str) -> None:
    asker = caller_of(who)
    assert asker.rest("GET", "/api/memory/stats")["total"] == len(_may_see(who, world))
    assert asker.command_line.json("stats")["total"] == len(_may_see(who, world))


@pytest.mark.parametrize("who", ["ada", "bob", "lea", "operator"])
def test_the_inbox_shows_workers_their_own_proposals_and_others_visible_memories(
    world: World, caller_of: CallerOf, who: str
) -> None:
    own = {"ada": {"ada", "shared"}, "bob": {"bob"}}
    for interface in (("GET", "/api/review"), ("GET", "/api/review/{proposal}"), "hivelore review list", "proposal"):
        assert _seen(ALL[interface](caller_of(who))) == own.get(who, _may_see(who, world))


@pytest.mark.parametrize("who", ["ada", "bob", "lea", "operator"])
def test_batches_of_private_memories_are_visible_to_those_who_see_them_all(
    world: World, caller_of: CallerOf, who: str
) -> None:
    seen = EVERYTHING - SHARED if _may_see(who, world) == EVERYTHING else set[str]()
    for interface in (("GET", "/api/batches/{batch}"), "batch", "hivelore batches"):
        assert _seen(ALL[interface](caller_of(who))) == seen


@pytest.mark.parametrize("suffix", ["", "/chunks", "/history"])
def test_a_hidden_id_and_an_unknown_one_get_the_same_answer(world: World, caller_of: CallerOf, suffix: str) -> None:
    asker, hidden = caller_of("bob"), world.ids["ada"]
    answers = [str(asker.rest("GET", f"/api/memory/{one}{suffix}")).replace(one, "ID") for one in (hidden, NOWHERE)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("verb", ["get", "edit", "forget"])
def test_a_verb_gives_the_same_answer_for_a_hidden_id_and_an_unknown_one(
    world: World, caller_of: CallerOf, verb: str
) -> None:
    asker, hidden, change = caller_of("bob"), world.ids["ada"], ("--name", "x") if verb == "edit" else ()
    answers = [asker.verb(verb, one, *change) for one in (hidden, NOWHERE)]
    assert str(answers[0]).replace(hidden, NOWHERE) == str(answers[1])


CHANGES: dict[tuple[str, str], dict[str, int]] = {
    ("agent", "all"): {"ada": 0, "bob": 3, "lea": 4, "operator": 0, "revoked": 4},
    ("agent", "shared"): {"ada": 0, "bob": 3, "lea": 3, "operator": 0, "revoked": 4},
    ("swarm", "all"): {"ada": 0, "bob": 4, "lea": 0, "operator": 0, "revoked": 4},
    ("swarm", "shared"): {"ada": 0, "bob": 4, "lea": 0, "operator": 0, "revoked": 4},
}
"""By scope of a memory of ada's and by what leads see: with which exit code a verb that changes it ends."""


@pytest.mark.parametrize(
    "words", [("edit", "--name", "Another name"), ("edit", "--scope", "swarm"), ("forget", "--yes")]
)
@pytest.mark.parametrize("who", ["ada", "bob", "lea", "operator", "revoked"])
@pytest.mark.parametrize("scope", ["agent", "swarm"])
def test_a_verb_changes_only_permitted_memories(
    world: World, caller_of: CallerOf, scope: str, who: str, words: tuple[str, ...]
) -> None:
    verb, *options = words
    owner = world.service.client(world.keys["ada"])
    body = {"memories": [{"content": f"{who} tries to {' '.join(words)}", "scope": scope}]}
    memory = owner.call("POST", "/api/memory/batch", body=body)["results"][0]["memory"]
    code, *_ = caller_of(who).verb(verb, memory["id"], *options)
    assert code == CHANGES[scope, world.service.app.settings.lead_sees][who]
    left = _answer_or_error(lambda: owner.call("GET", f"/api/memory/{memory['id']}"))
    assert (code == 0 and words != ("edit", "--scope", scope)) is (left.get("version") != 1)
    _answer_or_error(lambda: owner.call("DELETE", f"/api/memory/{memory['id']}"))


def test_a_revoked_key_is_refused_everywhere(world: World) -> None:
    client = world.service.client(world.keys["revoked"])
    for method, path in ROUTES:
        if not path.startswith("/health"):
            with pytest.raises(Unauthenticated):
                client.call(
                    method, path.replace("{memoryId}", world.ids["shared"]).replace("{memory}", world.ids["shared"])
                )


def test_every_route_has_a_probe(world: World) -> None:
    paths = world.service.client(None).call("GET", "/openapi.json")["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert routes == set(ROUTES)


def test_every_verb_has_a_probe_or_a_reason() -> None:
    app = build()
    verbs = {name for group in VERBS.values() for name in group}
    commands = {f"hivelore {name}" for name in verbs if name not in GROUPS}
    commands |= {f"hivelore {name} {each}" for name in GROUPS for each in app[name] if not each.startswith("-")}
    assert commands == COMMANDS.keys() | WITHOUT_A_KEY.keys()


def test_every_tool_has_a_probe() -> None:
    assert {tool.name for tool in TOOLS} == set(CALLS)


def test_every_method_has_a_probe() -> None:
    methods = {name for name, one in inspect.getmembers(Hive) if inspect.isfunction(one) or isinstance(one, Method)}
    methods = {name for name in methods if not name.startswith("_")} - {"call"}
    assert methods == set(METHODS)
