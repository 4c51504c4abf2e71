"""The command line: every verb talks to the service and starts it when needed."""
