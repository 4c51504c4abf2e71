"""Agents, their API keys, their profiles and system prompts."""
