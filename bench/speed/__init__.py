"""How long a question takes among few memories and among many, beside what else could be asked."""
