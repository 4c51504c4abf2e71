"""Methods of a hive for the recall log and usefulness."""

from hivelore.feedback import operations
from hivelore.feedback.model import Usefulness
from hivelore.memories import operations as memories
from hivelore.python.methods import Method, method


class FeedbackMethods:
    recalls = method(operations.LIST_RECALLS)
    rate = method(operations.RATE_MEMORY)
    usefulness = Method(memories.GET_MEMORY, lambda found: found.usefulness or Usefulness())
    reset_usefulness = method(operations.RESET_USEFULNESS)
