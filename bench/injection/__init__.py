"""Benchmarks of what is injected into prompts and at session starts."""
