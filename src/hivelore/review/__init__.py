"""Proposals and the review inbox."""
