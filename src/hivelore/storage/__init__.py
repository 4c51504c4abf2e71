"""Ports of the stores and what every store shares."""
