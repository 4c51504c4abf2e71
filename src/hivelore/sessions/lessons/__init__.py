"""Decisions that turn a transcript into the points of a session summary."""
