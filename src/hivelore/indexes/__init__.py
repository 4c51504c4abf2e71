"""Ports of the keyword and vector indexes, and their engines."""
