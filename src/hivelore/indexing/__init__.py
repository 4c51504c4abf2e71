"""Keeps chunks, keywords and vectors in step with memories, and rebuilds the keyword index."""
