"""Comparison of observations: which pairs of texts the model reads, and which of its answers are known (X8).

An observation is compared with the earlier memories nearest to it (``observations.groups``). A pair is read if the
texts share a word. What the model answered is stored, so no pair is read twice. A pair without an answer, because the
model failed or had read enough for one observation, counts as different until the observations are judged again
(``observations.rejudger``).
"""

from collections.abc import Mapping, Sequence, Set
from hashlib import sha256

from hivelore.core.text import Clean, in_one_line
from hivelore.core.values import replace
from hivelore.links.comparer import Comparer, judge_without_model
from hivelore.links.judge import NOT_READ, Judgement, PairScores, Verdict, judge
from hivelore.links.quantities import without_quantities
from hivelore.observations.groups import CONTRADICTING
from hivelore.observations.model import MatchingMode, Pair
from hivelore.observations.naming import Naming
from hivelore.observations.nearest import Terms
from hivelore.search.tokenizer import STOP_TERMS, distinct_terms
from hivelore.storage.ports import MemoryStore, Transaction

_SAME = Judgement(Verdict.SAME, 1.0, "the same service and category")
SETTLED = Judgement(Verdict.DIFFERENT, 0.0, "a reviewer decided")
"""For pairs of texts that a reviewer decided about."""


class Verdicts:
    """Verdicts for placing observations, each computed once."""

    def __init__(self, matching: MatchingMode, *, has_model: bool) -> None:
        self._matching = matching
        self._has_model = has_model
        self._known: dict[Pair, Judgement] = {}
        self._for_model: set[Pair] = set()
        """Pairs that only the model can judge."""
        self._missing: dict[Pair, None] = {}
        self._left_over: set[Pair] = set()
        self._words: dict[Clean, frozenset[str]] = {}
        self._terms: dict[Clean, frozenset[str]] = {}
        self.settled: Set[frozenset[Clean]] = frozenset()
        """Pairs of texts that a reviewer decided about, which no verdict overrules."""
        self.looked_up: set[Pair] = set()
        """Pairs that were looked up in the store."""
        self.unstored: dict[Pair, PairScores] = {}
        """Answers of the model that the store does not have yet."""

    def __call__(self, older: Clean, newer: Clean) -> Judgement:
        """Returns the verdict, or ``NOT_READ`` and notes that it is missing."""
        if self._matching is MatchingMode.STRUCTURAL:
            return _SAME
        if frozenset((older, newer)) in self.settled:
            return SETTLED
        pair = older, newer
        known = self._known.get(pair)
        if known is None and pair not in self._for_model:
            known = judge_without_model(older, newer)
            if known is None and not (self._has_model and self._is_read(pair)):
                known = NOT_READ
            if known is None:
                self._for_model.add(pair)
            else:
                self._known[pair] = known
        if known is None:
            self._missing[pair] = None
        return known or NOT_READ

    def known(self, older: Clean, newer: Clean) -> Judgement:
        """Returns the verdict on a pair, as known, or ``NOT_READ``; it does not become missing."""
        if self._matching is MatchingMode.STRUCTURAL:
            return _SAME
        is_settled = frozenset((older, newer)) in self.settled
        return SETTLED if is_settled else self._known.get((older, newer), NOT_READ)

    @property
    def terms(self) -> Terms | None:
        """The terms by which texts are near each other; None if all texts are the same."""
        return None if self._matching is MatchingMode.STRUCTURAL else self._terms_of

    def _terms_of(self, text: Clean) -> frozenset[str]:
        """Returns the words, and what texts have in common that are equal, or equal but for quantities."""
        terms = self._terms.get(text)
        if terms is None:
            equal, but_for = in_one_line(text).casefold(), without_quantities(text)[0]
            terms = self._terms[text] = self._words_of(text) | {f"={equal}", f"~{but_for}"}
        return terms

    def _is_read(self, pair: Pair) -> bool:
        """Returns True if the model reads a pair: 93 % of the rewordings of docs/decisions/0028-facts-that-change.md
        share a word other than stop words, and 7 % of unrelated notes about one subject."""
        older, newer = pair
        return not self._words_of(older).isdisjoint(self._words_of(newer))

    def shared_words(self, pair: Pair) -> float:
        """Returns the share of words other than stop words that two texts have in common, 0 to 1."""
        words, others = (self._words_of(text) for text in pair)
        return len(words & others) / max(len(words | others), 1)

    def _words_of(self, text: Clean) -> frozenset[str]:
        words = self._words.get(text)
        if words is None:
            words = self._words[text] = distinct_terms(text) - STOP_TERMS
        return words

    def start(self) -> None:
        """Begins a placement, which is asked for its verdicts again."""
        self._missing.clear()

    @property
    def missing(self) -> Sequence[Pair]:
        """The pairs that were asked for since ``start`` and have no verdict."""
        return [pair for pair in self._missing if pair not in self._known]

    def leave_over(self) -> None:
        """Accepts that the missing verdicts stay missing."""
        self._left_over.update(self.missing)

    @property
    def is_unprepared(self) -> bool:
        """True if a verdict is missing that was not left over."""
        return not self._left_over.issuperset(self.missing)

    def learn(self, answers: Mapping[Pair, PairScores]) -> None:
        for (older, newer), scores in answers.items():
            judged = judge(older, newer, scores)
            self._known[older, newer] = _cautious(judged) if self._matching is MatchingMode.CAUTIOUS else judged


class ObservationComparison:
    def __init__(self, store: MemoryStore, matching: MatchingMode, comparer: Comparer, naming: Naming) -> None:
        self._store = store
        self._matching = matching
        self._comparer = comparer
        self._naming = naming

    @property
    def model(self) -> Clean | None:
        """Name of the model; None if none compares."""
        return None if self._matching is MatchingMode.STRUCTURAL else self._comparer.model

    @property
    def mark(self) -> Clean | None:
        """Names everything that placements depend on besides the texts: the model, the matching mode and the aliases.
        None without a model."""
        if self.model is None:
            return None
        parts = self.model, self._matching, self._naming.digest
        return Clean(sha256("\0".join(parts).encode()).hexdigest())

    def verdicts(self) -> Verdicts:
        return Verdicts(self._matching, has_model=self.model is not None)

    def complete(self, verdicts: Verdicts, reads: int, deadline: float | None = None) -> bool:
        """Adds missing verdicts: those that are stored, or else up to ``reads`` answers of the model, pairs with most
        words in common first. Returns False if it found none. Raises Unavailable or Broken if the model fails."""
        if self.model is None:
            return False
        unknown = [pair for pair in verdicts.missing if pair not in verdicts.looked_up]
        if unknown:
            with self._store.read(deadline) as view:
                stored = view.verdicts(self.model, unknown)
            verdicts.looked_up.update(unknown)
            verdicts.learn(stored)
            if stored:
                return True
        nearest = sorted(verdicts.missing, key=lambda pair: (-verdicts.shared_words(pair), pair))
        for pair in nearest[:reads]:
            answer = {pair: self._comparer.scores(*pair)}
            verdicts.unstored |= answer
            verdicts.learn(answer)
        return bool(nearest[:reads])

    def store_answers(self, tx: Transaction, verdicts: Verdicts, present: Set[Clean]) -> None:
        """Stores the answers of the model that are not stored yet, and drops those about texts that are not present any
        more: they were forgotten while the model read them."""
        answers = {pair: one for pair, one in verdicts.unstored.items() if pair[0] in present and pair[1] in present}
        if self.model is not None and answers:
            tx.put_verdicts(self.model, answers)

    def drop_other_answers(self, tx: Transaction) -> None:
        """Deletes what other models answered."""
        if self.model is not None:
            tx.drop_other_verdicts(self.model)


def _cautious(judged: Judgement) -> Judgement:
    """Returns a judgement in which only quantities contradict."""
    return replace(judged, verdict=Verdict.UNCERTAIN) if judged.verdict in CONTRADICTING else judged
