"""Import of agents, repositories, setup scripts and configuration from a database of Agent Swarm."""
