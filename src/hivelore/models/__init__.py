"""Models: embeddings, language models and the pair model, with their ports, token quota and circuit breaker."""
