"""The embedding queue, the active embedding model and re-embedding."""
