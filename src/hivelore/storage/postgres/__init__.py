"""The PostgreSQL store: a pool of connections, notifications, row-level security and migrations."""
