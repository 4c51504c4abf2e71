"""The verb about whether memories are of use: rate."""

from typing import Annotated, Literal

from cyclopts import Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import AsJson, Speaker
from hivelore.errors import Invalid
from hivelore.feedback.model import Usefulness
from hivelore.memories import codec
from hivelore.python.remote import RemoteHive


def rate(
    memory: Annotated[str, Parameter(name="id", help="Which memory.")],
    verdict: Annotated[Literal["useful", "useless"] | None, Parameter(help="useful, or useless.")] = None,
    /,
    *,
    session_id: Annotated[str | None, Parameter(name="--session", help="In which it was so. Else: today.")] = None,
    reset: Annotated[bool, Parameter(help="Let nothing be known of its use any more; for operators.")] = False,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Say whether a memory was of use.

    It ranks higher or lower then. What is said later of the same session counts instead.

    Example: hivelore rate ID useful
    """
    if (verdict is None) is not reset:
        raise Invalid("Say useful or useless, or --reset alone.", field="verdict")
    if verdict is None:
        with connection.operator() as client:
            RemoteHive(client).reset_usefulness(memory)
            known = RemoteHive(client).usefulness(memory)
    else:
        with connection.hive(agent) as hive:
            known = hive.rate(memory, useful=verdict == "useful", session=session_id)
    if json:
        output.as_json(codec.usefulness(known))
    else:
        output.say("Usefulness: ", in_words(known))


def in_words(known: Usefulness) -> str:
    """Like ``1.10 (applied 1, useful 2)``."""
    seen = ", ".join(f"{name} {count}" for name, count in known.use._asdict().items() if count)
    return f"{known.factor:.2f} ({seen or 'nothing is known'})"
