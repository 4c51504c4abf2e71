"""Purging, merging, duplicate detection, integrity checks and housekeeping."""
