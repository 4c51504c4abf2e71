"""Measurements of speed and quality; ``python -m bench``."""

import os

# Before numpy is imported: its threads wait for each other whole slices of the scheduler where anything else runs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
