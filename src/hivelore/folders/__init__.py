"""Memory folders: files of agents that become memories and follow their changes."""
