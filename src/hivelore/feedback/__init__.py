"""Use of memories: the recall log, usefulness, implicit feedback and the write-behind buffer."""
