"""Starts the bridge without ``site`` and package search: ``python -I -S .../hivelore/mcp/bridge/__main__.py``.

Python compiles this file at every start, so it is small.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/hivelore/mcp/bridge/")[0])

    from hivelore.mcp.bridge import main

    sys.exit(main(sys.argv[1:]))
