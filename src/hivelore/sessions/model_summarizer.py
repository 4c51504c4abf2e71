"""Summarising with a language model, within what may be spent on it."""

from collections.abc import Callable
from dataclasses import replace

from hivelore.models.ports import LanguageModel
from hivelore.models.quota import TokenQuota
from hivelore.sessions.lessons.extractive import MIN_CONVERSATION
from hivelore.sessions.lessons.prompt import SCHEMA, build_prompt, parse_summary
from hivelore.sessions.model import Summary, Task, Transcript
from hivelore.sessions.ports import Summarizer


class ModelSummarizer:
    """Implements ``storage.ports.Summarizer``. Where the tokens of the day do not suffice, ``otherwise`` is asked."""

    def __init__(
        self, model: LanguageModel, token_quota: TokenQuota, otherwise: Summarizer, nonce: Callable[[], str]
    ) -> None:
        """``nonce``: see ``asking.prompt``."""
        self._model = model
        self._token_quota = token_quota
        self._fallback = otherwise
        self._nonce = nonce

    @property
    def name(self) -> str:
        return self._model.name

    def summary(self, conversation: Transcript, task: Task | None) -> Summary:
        if conversation.size <= MIN_CONVERSATION:
            return self._fallback.summary(conversation, task)
        prompt = build_prompt(conversation, task, self._nonce())
        reserved = self._token_quota.reserve(self._model.most(prompt))
        if reserved is None:
            return self._fallback.summary(conversation, task)
        answer = self._model.answer(prompt, SCHEMA, lambda tokens: self._token_quota.settle(reserved, tokens))
        return replace(parse_summary(answer, conversation), by=self.name)
