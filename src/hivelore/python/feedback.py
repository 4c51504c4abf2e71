"""What a hive offers to look back: what was asked, and whether what was given was of use."""

from abc import ABC, abstractmethod

from hivelore.feedback import operations
from hivelore.feedback.model import Usefulness
from hivelore.python.methods import method


class FeedbackMethods(ABC):
    recalls = method(operations.LIST_RECALLS)

    @abstractmethod
    def rate(self, memory: str, *, useful: bool, session: str | None = None) -> Usefulness:
        """Say whether a memory was of use, in the place of what was said in the same session (else: day) before."""

    @abstractmethod
    def usefulness(self, memory: str) -> Usefulness:
        """What is known of the use of a memory, and the factor that its score is multiplied by for that."""

    @abstractmethod
    def reset_usefulness(self, memory: str) -> None:
        """Let nothing be known of the use of a memory any more; only for operators."""
