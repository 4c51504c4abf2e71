"""The contradiction judge: compares two notes as same, conflicting, different or uncertain."""
