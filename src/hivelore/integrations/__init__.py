"""Putting Hivelore into agent programs, and taking it out again: what goes where, and what is put there."""
