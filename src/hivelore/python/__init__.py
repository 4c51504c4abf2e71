"""The Python API: one way to remember and recall, embedded in this process or through a service."""
