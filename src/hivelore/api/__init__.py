"""Requests that several interfaces share."""
