"""The SQLite store: one writer thread, a pool of readers, checkpoints and migrations."""
