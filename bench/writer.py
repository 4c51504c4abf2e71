"""A client that writes for a while, in a separate process.

    python -m bench.writer URL KEY TEXTS NAME BATCH SECONDS

TEXTS is a file with a JSON list of contents, NAME makes them unique to this client. Prints ``ready``, begins at the
first line of input, and ends with the milliseconds of each acknowledged call as a JSON list.
"""

import json
import sys
from itertools import count, cycle
from pathlib import Path
from time import perf_counter
from typing import Any

from hivelore.python.client import Client


def main() -> None:
    url, key, file, name, batch, seconds = sys.argv[1:]
    texts = cycle(json.loads(Path(file).read_text(encoding="utf-8")))
    numbers = count()
    client = Client(url, key)

    def item() -> dict[str, Any]:
        content = f"Note {name}-{next(numbers)}.\n{next(texts)}"
        return {"name": f"{name}", "content": content, "scope": "agent", "source": "manual"}

    def write() -> None:
        if int(batch) == 1:
            client.call("POST", "/api/memory/index", body=item())
        else:
            client.call("POST", "/api/memory/batch", body={"memories": [item() for _ in range(int(batch))]})

    write()
    print("ready", flush=True)
    sys.stdin.readline()
    took: list[float] = []
    until = perf_counter() + float(seconds)
    while (began := perf_counter()) < until:
        write()
        took.append((perf_counter() - began) * 1e3)
    print(json.dumps(took))


if __name__ == "__main__":
    main()
