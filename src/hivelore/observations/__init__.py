"""Operational memory: what agents observe about running services, with a confidence that changes over time."""
