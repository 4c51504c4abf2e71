"""SQL, rows and transactions that SQLite and PostgreSQL share."""
