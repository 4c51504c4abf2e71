"""Builds the application from its settings and runs its background workers."""
