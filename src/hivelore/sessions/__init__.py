"""Sessions of agent programs: hook events, capture, injection, transcripts, summaries and the spool."""
