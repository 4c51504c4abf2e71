"""A store in memory, the reference for the contract tests."""
