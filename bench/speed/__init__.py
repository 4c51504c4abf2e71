"""Search time with few and many memories, compared with other engines."""
