"""The kinds of import rule that import-linter lacks; the rules themselves are in pyproject.toml.

Both pass over modules that do not exist, so that a rule may be written before the last module it speaks of.
"""

import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

Chain = tuple[str, ...]
"""Modules, each of which imports the next one."""


class ChainContract(Contract):
    """A rule that is broken by chains of imports."""

    modules = fields.ListField(subfield=fields.StringField())

    @abstractmethod
    def forbidden_chains(self, graph: ImportGraph) -> Iterator[Chain]: ...

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = [_described(graph, chain) for chain in self.forbidden_chains(graph)]
        output.verbose_print(verbose, f"Found {len(found)} forbidden chains of imports.")
        return ContractCheck(kept=not found, metadata={"chains": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for chain in check.metadata["chains"]:
            output.print_error(f"- {chain}", bold=False)
            output.new_line()


class StandsOnlyOn(ChainContract):
    """The ``modules`` reach nothing, directly or through others, but each other, the ``grounds`` and the
    standard library. Whatever starts in a hurry or runs without our dependencies is bound by this."""

    type_name = "stands_only_on"
    grounds = fields.ListField(subfield=fields.StringField(), default=[])

    def forbidden_chains(self, graph: ImportGraph) -> Iterator[Chain]:
        modules = cast(list[str], self.modules)
        allowed = [*modules, *cast(list[str], self.grounds), *sys.stdlib_module_names]
        for module in sorted(_with_descendants(graph, modules)):
            for reached in sorted(graph.find_upstream_modules(module)):
                chain = graph.find_shortest_chain(importer=module, imported=reached)
                # Only the first forbidden import is reported, not the imports behind it.
                if chain and not _lies_in(reached, allowed) and all(_lies_in(step, allowed) for step in chain[:-1]):
                    yield chain


class ImportedOnlyBy(ChainContract):
    """The ``modules`` are imported by each other and the ``importers``, and by nothing else."""

    type_name = "imported_only_by"
    importers = fields.ListField(subfield=fields.StringField())

    def forbidden_chains(self, graph: ImportGraph) -> Iterator[Chain]:
        modules = cast(list[str], self.modules)
        allowed = [*modules, *cast(list[str], self.importers)]
        for module in sorted(_with_descendants(graph, modules)):
            for importer in sorted(graph.find_modules_that_directly_import(module)):
                if not _lies_in(importer, allowed):
                    yield importer, module


class PureDecisions(ChainContract):
    """Modules of ``capabilities``, except the ``services``, reach no module of ``technology``, directly or through
    others."""

    type_name = "pure_decisions"
    modules = fields.ListField(subfield=fields.StringField(), default=[])
    capabilities = fields.ListField(subfield=fields.StringField())
    technology = fields.ListField(subfield=fields.StringField())
    services = fields.ListField(subfield=fields.StringField())

    def forbidden_chains(self, graph: ImportGraph) -> Iterator[Chain]:
        capabilities = [f"hivelore.{name}" for name in cast(list[str], self.capabilities)]
        technology = [f"hivelore.{name}" for name in cast(list[str], self.technology)]
        services = [f"hivelore.{name}" for name in cast(list[str], self.services)]
        unknown = [name for name in services if name not in graph.modules]
        if unknown:
            raise ValueError(f"These services do not exist: {', '.join(unknown)}")
        for module in sorted(_with_descendants(graph, capabilities)):
            if _lies_in(module, services):
                continue
            for reached in sorted(graph.find_upstream_modules(module)):
                if _lies_in(reached, technology):
                    chain = graph.find_shortest_chain(importer=module, imported=reached)
                    if chain:
                        yield chain
                        break


class AcyclicModules(ChainContract):
    """No module reaches itself, whether imports stand at the top of a file or inside a function."""

    type_name = "acyclic_modules"
    modules = fields.ListField(subfield=fields.StringField(), default=[])

    def forbidden_chains(self, graph: ImportGraph) -> Iterator[Chain]:
        for module in sorted(graph.modules):
            if not module.startswith("hivelore"):
                continue
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                chain = graph.find_shortest_chain(importer=imported, imported=module)
                if chain:
                    yield (module, *chain)
                    break


def _with_descendants(graph: ImportGraph, modules: Iterable[str]) -> set[str]:
    present = [module for module in modules if module in graph.modules]
    return {*present, *(inner for module in present for inner in graph.find_descendants(module))}


def _lies_in(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _described(graph: ImportGraph, chain: Chain) -> str:
    steps: list[str] = []
    for importer, imported in pairwise(chain):
        details = graph.get_import_details(importer=importer, imported=imported)
        lines = ", ".join(str(detail["line_number"]) for detail in details)
        steps.append(f"{importer} -> {imported} (l.{lines})")
    return ", ".join(steps)
