"""Benchmarks of facts that change: verdicts on pairs of notes, current facts in a store, and cost."""
