"""Setup scripts, global and by agent, and their sections in the start-up file of a workspace (D40, X15)."""
