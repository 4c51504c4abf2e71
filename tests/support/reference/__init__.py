"""The reference store: an independent in-memory implementation that the contract suite compares the others with."""
