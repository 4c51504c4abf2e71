"""The Python API: embedded in this process, or remote through a service."""
