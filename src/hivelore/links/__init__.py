"""Links between memories: which say the same, which contradict each other, and which one updates another (X23)."""
