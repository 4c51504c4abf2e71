"""``hivelore review``: open proposals and decisions."""

import re
import shlex

import pytest

from hivelore.memories.model import Memory
from hivelore.observations.outcomes import ObservationInput
from support.command_line import CommandLine, short
from support.proposals import a_proposal
from support.service import Service
from support.world import AS_OPERATOR


def known(service: Service, text: str) -> Memory:
    """Stores an operational memory as an operator."""
    seen = ObservationInput(text, "timing", "jellyfin", confidence=0.8)
    return service.app.curation.create(seen, AS_OPERATOR).memory


def asked(cli: CommandLine, memory: Memory, *edit: str) -> str:
    """Returns the proposal that results from an edit by the local agent."""
    result = cli("edit", memory.id, *edit, "--json")
    assert (result.code, result.error["code"]) == (4, "proposed")
    return str(result.error["proposal"])


def doubt(service: Service, older: str, newer: str) -> str:
    """Judge that is uncertain about every pair of memories."""
    proposal = a_proposal(known(service, older), known(service, newer), actor=None)
    service.app.store.write(lambda tx: tx.put_proposal(proposal))
    return proposal.id


def test_a_proposal_is_listed_shown_and_accepted(cli: CommandLine, service: Service) -> None:
    memory = known(service, "The walrus takes 60 s.")
    proposal = asked(cli, memory, "--content", "The walrus takes 70 s.", "--reason", "timed it")
    assert [line for line in cli("review", "list").out.splitlines() if line.startswith(short(proposal))]
    shown = cli("review", "show", proposal).out
    for part in (f"operational {proposal}", "timed it", "content: The walrus takes 70 s.", "The walrus takes 60 s."):
        assert part in shown
    done = cli("review", "accept", proposal, "--reason", "so it is")
    assert (done.code, done.out) == (0, f"Accepted: {short(proposal)}\n")
    assert cli.json("get", memory.id)["content"] == "The walrus takes 70 s."
    assert short(proposal) not in cli("review", "list").out
    shown = cli("review", "show", proposal).out
    assert "accepted now by the operator (cli): so it is" in shown
    assert "changed since" not in shown


def test_a_proposal_about_a_changed_memory_can_only_be_rejected(cli: CommandLine, service: Service) -> None:
    memory = known(service, "The dugong takes 60 s.")
    first, second = (asked(cli, memory, "--content", f"The dugong takes {number} s.") for number in (70, 80))
    assert cli("review", "accept", first).code == 0
    assert "changed since: it was version 1" in cli("review", "show", second).out
    refused = cli("review", "accept", second)
    assert refused.code == 5
    assert "Reject" in refused.err
    assert cli("review", "reject", second).out == f"Rejected: {short(second)}\n"
    again = cli("review", "reject", second)
    assert (again.code, "rejected at" in again.err) == (5, True)


def test_two_memories_are_merged(cli: CommandLine, service: Service) -> None:
    proposal = doubt(service, "The narwhal takes 60 s.", "The narwhal takes a minute or more.")
    older, newer = cli.json("review", "show", proposal)["memories"]
    assert cli("review", "merge", proposal).out == f"Merged: {short(proposal)}\n"
    assert cli("get", newer["id"]).code == 3
    assert cli.json("get", older["id"])["operational"]["confidence"] == pytest.approx(0.9)


def test_a_named_agent_has_its_own_permissions(cli: CommandLine, service: Service, me: str) -> None:
    memory = known(service, "The beluga takes 60 s.")
    mine = cli("edit", memory.id, "--content", "x", "--agent", me, "--json").error["proposal"]
    other = asked(cli, memory, "--content", "y")
    assert [one["id"] for one in cli.json("review", "list", "--agent", me)["proposals"]] == [mine]
    assert cli("review", "show", other, "--agent", me).code == 3
    assert cli("review", "accept", mine, "--agent", me).code == 4
    assert cli("review", "accept", mine, "--agent", "local").code == 4


def test_open_proposals_about_one_memory_stand_under_one_heading(cli: CommandLine, service: Service) -> None:
    older, newer, other = (known(service, f"The {fish} takes 60 s.") for fish in ("tench", "roach", "perch"))
    doubtful = a_proposal(older, newer, actor=None)
    service.app.store.write(lambda tx: tx.put_proposal(doubtful))
    first, wish = asked(cli, older, "--content", "x"), asked(cli, other, "--content", "y")
    lines = cli("review", "list", "--limit", "100").out.splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("The tench"))
    assert lines[place] == f"The tench takes 60 s. ({short(older.id)}, 2 proposals)"
    assert [lines[place + row].split()[0] for row in (1, 2)] == [short(first), doubtful.id]
    assert lines[place + 2].endswith("The roach takes 60 s.")
    alone = next(place for place, line in enumerate(lines) if line.startswith("The perch"))
    assert lines[alone] == f"The perch takes 60 s. ({short(other.id)}, 1 proposal)"
    assert lines[alone + 1].startswith(short(wish))
    newest = cli("review", "list", "--limit", "100", "--order", "newest").out.splitlines()
    assert [line.split()[0] for line in newest[1:3]] == [short(wish), short(first)]
    (line,) = (line for line in newest if line.startswith(doubtful.id))
    assert line.endswith("The tench takes 60 s. / The roach takes 60 s.")


def test_a_list_has_pages_and_filters(cli: CommandLine, service: Service) -> None:
    proposal = doubt(service, "The orca takes 60 s.", "The orca takes 61 s or so.")
    page = cli.json("review", "list", "--kind", "contradiction", "--limit", "1")
    assert page["proposals"][0]["id"] == proposal or page["next"] is not None
    assert len(page["names"]) == 2
    asked(cli, known(service, "The porpoise takes 60 s."), "--content", "x")
    result = cli("review", "list", "--limit", "1")
    assert "--after continues" in result.err
    everything = cli.json("review", "list", "--status", "all", "--limit", "100")["proposals"]
    pages, after = [], ""
    while after is not None:
        page = cli.json("review", "list", "--status", "all", "--limit", "2", *(("--after", after) if after else ()))
        pages += page["proposals"]
        after = page["next"]
    assert pages == everything


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "nothing"), 3),
        (("accept", "Розы"), 3),
        (("merge", ""), 3),
        (("list", "--limit", "0"), 2),
        (("list", "--after", "yesterday"), 2),
        (("list", "--kind", "quarrel"), 2),
        (("reject", "nothing", "--reason", "x" * 20_000), 2),
    ],
)
def test_invalid_decisions_are_refused(cli: CommandLine, words: tuple[str, ...], code: int) -> None:
    result = cli("review", *words)
    assert (result.code, result.out) == (code, "")
    assert result.err.endswith(".\n")


@pytest.mark.parametrize("verb", ["list", "show", "accept", "reject", "merge"])
def test_the_example_in_the_help_runs(cli: CommandLine, service: Service, verb: str) -> None:
    (example,) = re.findall(r"^Example: hivelore (.+)$", cli("review", verb, "--help").out, re.MULTILINE)
    proposal = doubt(service, f"The seal takes 60 s to {verb}.", f"The seal takes a minute to {verb}.")
    result = cli(*(proposal if word == "ID" else word for word in shlex.split(example)))
    assert result.code == 0, result.err
