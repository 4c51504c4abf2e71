"""Time to add one memory to small and large stores."""

import shutil
from itertools import count
from time import perf_counter

from bench.material import Bench
from bench.report import Section, Table, judged, median, spread
from bench.running import Service, processor_seconds

SMALL, LARGE = 1_000, 100_000
ADDS = 300
WARM_UP = 20
MOST = 1.2
TEXT = """
Single durable adds over REST, one after the other, alternating between two services. One has {small:,} memories, the
other {large:,}, of 200 to 500 characters with vectors. The installation is the default, so each add is embedded in
the background.
"""


def run(bench: Bench) -> Section:
    sizes = [bench.count(size, 20) for size in (SMALL, LARGE)]
    homes = [shutil.copytree(bench.filled(size).home, bench.place(), dirs_exist_ok=True) for size in sizes]
    texts = bench.texts(2 * (WARM_UP + bench.count(ADDS, 10)), seed=1)
    took: list[list[float]] = [[], []]
    with Service(homes[0]) as small, Service(homes[1]) as large:
        services = [small, large]
        for service in services:
            service.until_ready()
        clients = [service.client() for service in services]
        before = [0.0, 0.0]
        for number in count():
            if number == WARM_UP:
                before = [processor_seconds(service.pid) for service in services]
            for which, client in enumerate(clients):
                text = next(texts, None)
                if text is None:
                    break
                body = {"name": f"add {number}", "content": text, "scope": "agent", "source": "manual"}
                began = perf_counter()
                client.call("POST", "/api/memory/index", body=body)
                if number >= WARM_UP:
                    took[which].append((perf_counter() - began) * 1e3)
            else:
                continue
            break
        used = [processor_seconds(service.pid) - start for service, start in zip(services, before, strict=True)]
    ratio = median(took[1]) / median(took[0])
    rows = [
        [f"{size:,} memories", *spread(each), f"{processor * 1e3 / len(each):.1f}", ""]
        for size, each, processor in zip(sizes, took, used, strict=True)
    ]
    rows[1][-1] = f"{judged(ratio <= MOST, f'at most {MOST:g} times the p50 above')} ({ratio:.2f})"
    table = Table(
        f"{len(took[0])} adds per store, in milliseconds",
        ["", "p50", "p95", "p99", "processor, embedding included", "target"],
        rows,
    )
    return Section("Adds by store size", TEXT.format(small=sizes[0], large=sizes[1]), [table])
