"""Setup scripts for tests."""

from itertools import count
from typing import Any

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.review.model import Proposal, ProposalId, ProposalKind, ScriptSubject
from hivelore.setup_scripts.model import ScriptVersion
from hivelore.storage.ports import MemoryStore
from support.memories import ADA, instant

DIGEST = "0" * 64
_numbers = count(1)


def a_script(number: int = 1, agent: AgentId | None = ADA, **more: Any) -> ScriptVersion:
    default: dict[str, Any] = {
        "at": instant(number),
        "actor": None,
        "interface": Interface.CLI,
        "text": Clean(f"echo {number}\n"),
    }
    return ScriptVersion(agent=agent, number=number, **(default | more))


def a_script_proposal(agent: AgentId | None = ADA, version: int = 0, **more: Any) -> Proposal:
    plain = Proposal(
        id=ProposalId(f"s{next(_numbers):06}"),
        kind=ProposalKind.SETUP_SCRIPT,
        memories=(),
        actor=ADA,
        interface=Interface.MCP,
        at=instant(0),
        script=ScriptSubject(agent=agent, version=version, digest=DIGEST),
    )
    return replace(plain, **more)


def put_scripts(store: MemoryStore, *versions: ScriptVersion) -> None:
    for one in versions:
        store.write(lambda tx, one=one: tx.put_setup_script(one))


def put_drafts(store: MemoryStore, *proposals: Proposal) -> None:
    """Stores proposals, each with a text of its own."""
    for one in proposals:
        store.write(lambda tx, one=one: (tx.put_proposal(one), tx.put_script_draft(one.id, Clean(f"echo {one.id}\n"))))
