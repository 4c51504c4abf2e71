"""Both benchmarks of injection: into prompts, and at the start of sessions."""

from bench.injection import starts, stores
from bench.material import Bench
from bench.report import Section
from hivelore.core.values import replace


def run(bench: Bench) -> Section:
    return joined(stores.run(bench), starts.run(bench))


def joined(prompts: Section, begun: Section) -> Section:
    """Returns one section; the text of the second one stands above its tables."""
    tables = list(begun.tables)
    if tables:
        tables[0] = replace(tables[0], title=f"### {begun.title}\n\n{begun.text}\n\n{tables[0].title}")
    return replace(prompts, tables=[*prompts.tables, *tables])
