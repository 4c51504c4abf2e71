"""The command line: every verb talks to the service, which it starts on demand."""
