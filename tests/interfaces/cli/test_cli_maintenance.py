"""``hivelore undo``, ``batches`` and ``maintain``."""

import re
import shlex

import pytest

from hivelore.core.jobs import JobState
from hivelore.maintenance.model import MaintenancePlan
from support.command_line import CommandLine, short
from support.held_maintenance import held
from support.service import Service
from support.waiting import until
from support.world import AS_OPERATOR


def remembered(cli: CommandLine, content: str, *more: str) -> str:
    return str(cli.json("remember", content, *more)["memory"]["id"])


def test_an_edit_is_listed_shown_and_undone(cli: CommandLine) -> None:
    memory = remembered(cli, "The walrus sleeps.")
    assert cli("edit", memory, "--content", "The walrus swims.", "--reason", "saw it").code == 0
    (batch,) = cli.json("batches", "--memory", memory)["batches"]
    shown = cli("batches", batch["id"])
    assert all(part in shown.out for part in (batch["id"], "edited", "saw it", short(memory)))
    assert cli.json("batches", batch["id"])["memories"][0]["id"] == memory
    done = cli("undo", batch["id"], "--reason", "it did not")
    assert (done.code, done.out) == (0, f"Restored: {short(memory)}\n")
    assert cli.json("get", memory)["content"] == "The walrus sleeps."
    assert f"edited: batch {batch['id']}" in cli("history", memory).out
    again = cli("undo", batch["id"])
    assert again.code == 5
    assert "already" in again.err
    by = cli.json("batches", "--memory", memory)["batches"][0]["id"]
    assert cli.json("undo", by)["memories"] == [memory]
    assert cli.json("get", memory)["content"] == "The walrus swims."


def test_stored_previous_states_can_be_dropped(cli: CommandLine) -> None:
    memory = remembered(cli, "The dugong sleeps.")
    cli("edit", memory, "--content", "The dugong swims.")
    (batch,) = cli.json("batches", "--memory", memory)["batches"]
    assert cli("batches", batch["id"], "--drop").out == f"Dropped: {batch['id']}\n"
    assert cli.json("batches", "--memory", memory)["batches"] == []
    assert cli("batches", "--drop").code == 2


def test_maintenance_is_previewed_by_default(cli: CommandLine, service: Service) -> None:
    gone = service.remember_expired("local", "The manatee left.")
    shown = cli("maintain")
    assert shown.code == 0
    assert short(gone) in shown.out
    plan = cli.json("maintain", "--purge-expired", "--dry-run")
    assert (plan["applied"], plan["purged"]) == (False, 0)
    count = str(plan["expired"])
    refused = cli("maintain", "--purge-expired", "--apply", "--yes-delete", str(plan["expired"] + 7))
    assert refused.code == 5
    assert f"--yes-delete {count}" in refused.err
    assert cli("get", gone).code == 0
    done = cli.json("maintain", "--purge-expired", "--apply", "--yes-delete", count)
    assert done["purged"] == plan["expired"]
    assert cli("get", gone).code == 3
    assert cli("undo", done["batch"]).code == 0
    assert cli("get", gone).code == 0
    assert cli("forget", gone, "--yes").code == 0


def test_a_purged_memory_can_be_forgotten_alone(cli: CommandLine, service: Service) -> None:
    gone, other = (service.remember_expired("local", f"The {name} left.") for name in ("sea", "cow"))
    count = str(cli.json("maintain", "--purge-expired", "--dry-run")["expired"])
    batch = cli.json("maintain", "--purge-expired", "--apply", "--yes-delete", count)["batch"]
    assert cli("forget", gone, other, "--yes").code == 3
    assert len(cli.json("batches", "--memory", gone)["batches"]) == 1
    assert cli("forget", gone).out == "Forgotten: 1 memory.\n"
    assert cli("forget", gone, "--yes").code == 3
    done = cli("undo", batch)
    assert (done.code, "Forgotten since, and not restored: 1." in done.err) == (0, True)
    assert (cli("get", gone).code, cli("get", other).code) == (3, 0)
    assert cli("forget", other, "--yes").code == 0


def test_ctrl_c_cancels_a_long_job(cli: CommandLine, service: Service) -> None:
    with held() as barrier, pytest.MonkeyPatch.context() as patch:

        def interrupt(_: float) -> None:
            assert barrier.reached.wait(10)
            raise KeyboardInterrupt

        patch.setattr("hivelore.cli.maintenance.time.sleep", interrupt)
        stopped = cli("maintain", "--merge")
    assert stopped.code == 130
    assert "Cancelled" in stopped.err
    until(lambda: not service.app.maintenance_jobs._running)
    with service.app.store.read() as view:
        assert view.jobs("maintenance")[0].state is JobState.CANCELLED
    assert cli("maintain", "--merge").code == 0


def test_a_second_job_is_refused_while_one_runs(cli: CommandLine, service: Service) -> None:
    with held() as barrier:
        job = service.app.maintenance_jobs.begin(MaintenancePlan(merge=True), AS_OPERATOR)
        assert barrier.reached.wait(10)
        refused = cli("maintain", "--vacuum", "--apply")
        assert refused.code == 5
        assert job.id in refused.err
    service.app.maintenance_jobs.wait(job.id, AS_OPERATOR)


def test_duplicates_are_proposed_for_review(cli: CommandLine) -> None:
    for content in ("The narwhal sings.", "the narwhal  sings."):
        remembered(cli, content, "--session", content)
    done = cli("maintain", "--merge", "--reindex", "--vacuum", "--apply")
    assert done.code == 0
    assert done.out.startswith("Merges proposed: ")
    (proposal,) = [
        one["id"]
        for one in cli.json("review", "list", "--kind", "duplicate", "--limit", "100")["proposals"]
        if "narwhal" in cli("review", "show", one["id"]).out
    ]
    assert cli("review", "accept", proposal).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("undo",),
        ("undo", ""),
        ("undo", "nonsense"),
        ("undo", "猫"),
        ("undo", "x" * 5_000),
        ("undo", "a\0b"),
        ("batches", "nonsense"),
        ("batches", "nonsense", "--drop"),
        ("batches", "--limit", "0"),
        ("batches", "--limit", "many"),
        ("batches", "--after", "nonsense"),
        ("maintain", "--apply"),
        ("maintain", "--apply", "--dry-run"),
        ("maintain", "--merge", "--apply", "--yes-delete", "3"),
        ("maintain", "--purge-expired", "--apply", "--yes-delete", "-1"),
        ("maintain", "--purge-expired", "--apply", "--yes-delete", "1e3"),
        ("maintain", "--purge-expired", "--apply", "--yes-delete", "9" * 40),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_contradicting_options_are_refused(cli: CommandLine, words: tuple[str, ...]) -> None:
    before = cli.json("export", "--hash")
    result = cli(*words)
    assert result.code in (2, 3, 5), result.out
    assert result.err
    assert cli.json("export", "--hash") == before


def test_the_example_of_undo_runs(cli: CommandLine) -> None:
    memory = remembered(cli, "The beluga hums.")
    cli("edit", memory, "--content", "The beluga whistles.")
    (example,) = re.findall(r"^Example: (.+)$", cli("undo", "--help").out, re.MULTILINE)
    _, *words = shlex.split(example.replace("ID", memory))
    assert cli(*words).code == 0
