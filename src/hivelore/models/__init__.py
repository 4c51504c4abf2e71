"""Embedding models, language models and the pair model, with their ports, quota and circuit breaker."""
