"""What was recalled and whether it was used: recall log, usefulness and the write-behind buffer."""
