"""A client that sends queries, in a separate process.

    python -m bench.speed.asker URL KEY QUESTIONS

QUESTIONS is a file with a JSON list, of which the first one is not measured. Prints ``ready``, begins at the first line
of input, and ends with the milliseconds of each answer as a JSON list.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

from bench.speed.turns import LIMIT
from hivelore.python.client import Client


def main() -> None:
    url, key, file = sys.argv[1:]
    first, *questions = json.loads(Path(file).read_text(encoding="utf-8"))
    client = Client(url, key)

    def ask(text: str) -> None:
        client.call("POST", "/api/memory/search", body={"query": text, "limit": LIMIT})

    ask(first)
    print("ready", flush=True)
    sys.stdin.readline()
    took: list[float] = []
    for text in questions:
        began = perf_counter()
        ask(text)
        took.append((perf_counter() - began) * 1e3)
    print(json.dumps(took))


if __name__ == "__main__":
    main()
