"""Entry point of the ``hivelore`` command."""

import sys

INTERRUPTED = 130


def main() -> None:
    try:
        sys.exit(_run(sys.argv[1:]))
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
