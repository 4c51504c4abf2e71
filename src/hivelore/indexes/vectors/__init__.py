"""Vector engines."""
