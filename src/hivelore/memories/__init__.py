"""The life of a memory: writing, editing, forgetting, versions, valid time and expiry."""
