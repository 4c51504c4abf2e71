"""Import, export, indexing of files, backfill and migration between databases."""
