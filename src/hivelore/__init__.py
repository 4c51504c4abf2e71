"""Hivelore."""
