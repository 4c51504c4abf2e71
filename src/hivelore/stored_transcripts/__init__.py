"""Stored transcripts: exact copies of sessions, from which another host continues them (N09)."""
