"""Configuration of the swarm: entries of global, agent and repository scope, and their secrets (D50)."""
