"""Session summaries made by rules, without a model."""

from hivelore.core.values import replace
from hivelore.sessions.lessons.extractive import extract_summary
from hivelore.sessions.model import Summary, Task, Transcript


class ExtractiveSummarizer:
    """Implements ``sessions.ports.Summarizer``."""

    name = "extractive"

    def summarize(self, conversation: Transcript, task: Task | None) -> Summary:
        del task
        return replace(extract_summary(conversation), by=self.name)
