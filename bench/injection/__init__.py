"""Benchmarks of what is injected into prompts."""
