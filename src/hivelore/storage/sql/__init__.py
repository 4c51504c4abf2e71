"""SQL statements, row conversion, views and transactions that SQLite and PostgreSQL share."""
