"""Summaries without a model."""

from dataclasses import replace

from hivelore.domain.summary import Summary
from hivelore.domain.transcript import Task, Transcript
from hivelore.policies.distilling.extractive import distilled


class Extractive:
    """Implements ``ports.Summarizer``."""

    name = "extractive"

    def summary(self, conversation: Transcript, task: Task | None) -> Summary:
        del task
        return replace(distilled(conversation), by=self.name)
