"""The verbs ``task`` and ``tasks``."""

from hivelore.cli.connection import call
from support.command_line import CommandLine
from support.service import Service


def test_a_task_is_sent_shown_completed_and_listed(cli: CommandLine, me: str) -> None:
    cli("agent", "add", me)
    tag = f"t{me}"
    sent = cli(
        "task", "send", "Renew", "the", "certificate", "--to", me, "--tag", tag, "--priority", "100", "--json"
    ).json
    task = sent["id"]
    assert "Renew the certificate" in cli("task", "list", "--tag", tag).out
    assert call("POST", "/api/tasks/claim", agent=me, operator=True, body={})["task"]["id"] == task
    body = {"text": "Began.", "usage": {"sessionId": "s", "inputTokens": 1_200, "costUsd": 0.5}}
    call("POST", f"/api/tasks/{task}/progress", agent=me, operator=True, body=body)
    cli("task", "progress", task, "Asked", "the", "CA.")
    assert cli("task", "complete", task, "-", stdin=b"Valid until June.\n").out == f"Task {task} is completed.\n"
    shown = cli("task", "show", task[:13]).out
    for text in ("completed", "Renew the certificate", "Valid until June.", "Asked the CA.", "1,200 tokens, $0.50"):
        assert text in shown
    assert cli("task", "list", "--tag", tag).out != cli("task", "list", "--tag", tag, "--all").out
    row = next(one for one in cli("tasks", "--limit", "200").out.splitlines() if one.startswith(task[:8]))
    assert "1,200" in row
    assert "$0.50" in row
    assert "Together: " in cli("tasks").err
    assert cli.json("tasks", "--costs", "agent")["total"]["costMicros"] >= 500_000


def test_tags_and_dependencies_are_replaced_and_removed(cli: CommandLine, me: str) -> None:
    first = cli.json("task", "send", f"Order the parts for {me}")["id"]
    second = cli.json("task", "send", f"Assemble it for {me}", "--after", first, "--tag", "one")["id"]
    refused = cli("task", "edit", second, "--tag", "two", "--no-tag")
    assert (refused.code != 0, "--no-tag" in refused.err) == (True, True)
    edited = cli.json("task", "edit", second, "--tag", "two", "--tag", "three")
    assert (edited["tags"], edited["dependsOn"], edited["state"]) == (["two", "three"], [first], "waiting")
    assert cli.json("task", "edit", second, "--no-tag")["dependsOn"] == [first]
    edited = cli.json("task", "edit", second, "--no-after")
    assert (edited["tags"], edited["dependsOn"], edited["state"]) == ([], [], "open")


def test_a_cancelled_task_is_restored_by_an_undo(cli: CommandLine, me: str) -> None:
    task = cli.json("task", "send", f"Renew the certificate of {me}")["id"]
    assert cli("task", "edit", task, "--priority", "7").code == 0
    assert cli("task", "cancel", task).out == f"Task {task} is cancelled.\n"
    batch = next(one for one in cli.json("batches")["batches"] if one["kind"] == "assigned")["id"]
    assert cli("undo", batch).out.startswith("Restored: ")
    found = cli.json("task", "show", task)["task"]
    assert (found["state"], found["priority"]) == ("open", 7)
    assert cli("task", "pause", task).code == cli("task", "resume", task).code == 0
    assert cli("task", "fail", task, "No", "access").out == f"Task {task} is failed.\n"
    assert cli("task", "show", "nothing").code != 0
    assert cli("task", "drop-costs", task).out == f"Deleted the costs of: {task}\n"
    assert cli("task", "delete", task).out == f"Deleted: {task}\n"


def test_costs_by_agent_have_its_name(cli: CommandLine, service: Service, me: str) -> None:
    worker = service.client(service.add(me))
    task = cli.json("task", "send", f"Renew the certificate of {me}", "--to", me, "--priority", "100")["id"]
    worker.call("POST", "/api/tasks/claim", body={})
    worker.call("POST", f"/api/tasks/{task}/complete", body={"output": "Done.", "usage": {"costUsd": 0.25}})
    lines = cli("tasks", "--costs", "agent").out.splitlines()
    assert [line.split()[-1] for line in lines if me in line] == ["$0.25"]
    cli("task", "drop-costs", task)
