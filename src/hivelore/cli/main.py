"""Entry point of the ``hivelore`` command."""

import gc
import os
import sys
from contextlib import suppress

INTERRUPTED = 130
_MANY_OBJECTS = 100_000


def main() -> None:
    argv = sys.argv[1:]
    try:
        if argv[:1] == ["serve"]:
            sys.exit(_run(argv))
        # Other verbs are short: garbage collection and an orderly end would take a fifth of their time.
        gc.set_threshold(_MANY_OBJECTS)
        code = _run(argv)
        with suppress(AttributeError, OSError):  # There is no standard output, or nobody reads it.
            sys.stdout.flush()
        os._exit(code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run(argv: list[str]) -> int:
    if argv[:1] == ["mcp"] and not {"--help", "-h"} & {*argv}:
        # An agent waits until this has started: nothing else is imported.
        from hivelore.mcp.bridge import main as bridge

        return bridge(argv[1:])
    if argv[:1] == ["hook"] and not {"--help", "-h"} & {*argv}:
        from hivelore.hooks.client import main as hook

        hook(argv[1:])
    from hivelore.cli.dispatch import run

    return run(argv)


if __name__ == "__main__":
    main()
