"""Values and rules that every capability uses: agents, access, clean text, redaction, ids and supervision."""
