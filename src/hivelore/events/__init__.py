"""The event log and cooldowns of running services."""
