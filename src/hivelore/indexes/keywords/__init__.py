"""Keyword engines."""
