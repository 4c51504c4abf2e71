"""The health of a running service: problems, worker records and the monitor."""
