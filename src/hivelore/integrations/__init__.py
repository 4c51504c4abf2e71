"""Setup of Hivelore in agent programs: its files and settings entries, and their removal."""
