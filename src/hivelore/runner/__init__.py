"""Runs tasks of the swarm with an agent program on this machine, as a client of the service."""
