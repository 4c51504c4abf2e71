"""Repositories of the swarm: what agents clone, and the instructions that each repository has for them (D30)."""
