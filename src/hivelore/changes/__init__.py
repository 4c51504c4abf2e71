"""The change journal: previous states of memories, batches and undo."""
