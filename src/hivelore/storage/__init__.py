"""Stores: their ports, the code all stores share, and the SQLite and PostgreSQL stores."""
