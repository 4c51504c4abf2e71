"""Tasks of a swarm: their states, leases, results, costs, and what agents learn from them."""
