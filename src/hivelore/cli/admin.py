"""Verbs for who looks after an installation: reembed, completion."""

from typing import Annotated, Literal

from cyclopts import Parameter

from hivelore.cli import connection, exits, output
from hivelore.cli.options import AsJson
from hivelore.python import jobs

_JOBS = "/api/memory/re-embed"


def reembed(
    *,
    everything: Annotated[bool, Parameter(help="Also what has a vector of this model already.")] = False,
    detach: Annotated[bool, Parameter(help="Do not wait for the end.")] = False,
    json: AsJson = False,
) -> int:
    """Embed what has no vector of the configured model.

    What failed is tried again. The old vectors serve until the new ones are there. Ctrl-C ends the waiting, not the
    work.

    Example: hivelore reembed --detach
    """
    with connection.operator() as client:
        job = client.call("POST", _JOBS, body={"everything": everything})
        if not detach:
            with output.progress("Embedding", job["total"]) as advance:
                job = jobs.awaited(client, _JOBS, job, advance)
    if json:
        output.as_json(job)
    else:
        error = f" ({job['error']})" if job["error"] else ""
        output.say(f"Re-embedding is {job['state']}: {job['done']} of {job['total']} passages{error}.")
    return exits.UNEXPECTED if job["state"] == "failed" else 0


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="For which shell.")], /) -> None:
    """Print a script that completes verbs and options.

    Where it goes: for bash into ~/.bash_completion, for zsh into a file _hivelore in a folder of your fpath, for fish
    into ~/.config/fish/completions/hivelore.fish.

    Example: hivelore completion bash
    """
    from hivelore.cli.dispatch import build

    print(build().generate_completion(shell=shell))
