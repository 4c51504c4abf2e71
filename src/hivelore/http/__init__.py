"""The HTTP service: authentication, request guard, thread pools, metrics and the REST interface."""
