"""Migration of a swarm from one database to another."""
