"""The quickest way to start the bridge: ``python -I -S .../hivelore/mcp/bridge/__main__.py``, wherever it is installed.

Neither ``site`` nor a search for packages is needed; only this file is compiled anew each time, so it stays small.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/hivelore/mcp/bridge/")[0])

    from hivelore.mcp.bridge import main

    sys.exit(main(sys.argv[1:]))
