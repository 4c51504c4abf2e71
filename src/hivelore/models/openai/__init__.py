"""Models served over the OpenAI protocol."""
