"""Keyword search over postings: which chunks have a term, as arrays in ordinary tables."""
