"""Groups observations into memories and finds contradictions, independent of the order of arrival (X8).

In order of time, an observation joins the group whose first observation says the same: the most similar one, then the
oldest. Otherwise it starts a group. It contradicts every earlier group whose first observation says the opposite. If a
late observation starts a group, later observations are placed again. The result is the same as if all observations had
arrived in order of time.

An observation is compared with the ``NEAREST`` groups whose texts have most words in common with it, of those that it
could join or contradict. So the number of comparisons grows with the number of observations, not with its square.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.judge import Judgement, Verdict
from hivelore.memories.model import MemoryId
from hivelore.observations.confidence import Order, order_key
from hivelore.observations.model import Confidence, Observation, ObservationKind, Pair
from hivelore.observations.nearest import NearestTexts, Terms

NEAREST = 16
"""Groups that an observation is compared with."""
CONTRADICTING = (Verdict.CONFLICT, Verdict.UPDATE)
"""Verdicts by which a later observation lowers the confidence of an earlier one."""
SUPPORTING = (ObservationKind.CREATED, ObservationKind.REINFORCED)
"""Kinds of observations that say what their memory says."""
Judge = Callable[[Clean, Clean], Judgement]
"""Compares the earlier and the later of two texts."""
Prepare = Callable[[Sequence[Pair]], None]
"""Receives the pairs of texts that are judged next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An operational memory as the observations that belong to it."""

    memory: MemoryId | None
    """None for a new group."""
    text: Clean
    """The text to compare with: that of ``first``, unless it was edited."""
    project: Clean | None
    first: Observation
    """The creation."""
    reinforcements: tuple[Observation, ...] = ()
    other_observations: tuple[Observation, ...] = ()
    """Contradictions and decisions."""
    is_fixed: bool = False
    """True if an operator or a reviewer took part in it: earlier observations do not change its beginning."""
    is_kept: bool = False
    """True if it was edited or restored: what is known already contradicts it no more and no less."""
    is_reported: bool = True
    """False if an operator stored it: its beginning is compared with nothing."""

    @property
    def supporting(self) -> tuple[Observation, ...]:
        return self.first, *self.reinforcements

    def applies_to(self, project: Clean | None) -> bool:
        """Returns True if an observation in ``project`` (None: in all projects) concerns this group."""
        return self.project in (None, project)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The groups after one more observation."""

    target: Group
    """The group of the observation."""
    groups: tuple[Group, ...]
    """New and changed groups, including ``target``."""
    merged: tuple[tuple[MemoryId, Group], ...] = ()
    """Memories that became part of another group."""
    contradicted: tuple[Group, ...] = ()
    """Contradicted groups in their previous state."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A group that may contradict an earlier one."""

    later: Group
    earlier: Group
    judgement: Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """The groups after all observations were placed again in order of time."""

    groups: tuple[Group, ...]
    """New and changed groups."""
    merged: tuple[tuple[MemoryId, Group], ...]
    """Memories that became part of another group."""
    doubts: tuple[Doubt, ...]
    """Doubts about groups that contradict nothing."""


def doubt_order(judgement: Judgement, group: Group) -> tuple[float, Order]:
    """Returns the sort key of a doubt about an earlier group: the most certain one first, then the oldest group."""
    return -judgement.certainty, order_key(group.first)


def find_group(groups: Sequence[Group], seen: Observation) -> Group | None:
    """Returns the group that already contains this observation."""
    order = order_key(seen)
    return next((group for group in groups if any(order_key(one) == order for one in group.supporting)), None)


def place_observation(
    groups: Sequence[Group],
    seen: Observation,
    project: Clean | None,
    judge: Judge,
    default: Confidence,
    terms: Terms | None = None,
) -> Placement:
    """Places an observation that no group contains. ``default``: confidence of a new memory. ``terms``: the terms by
    which texts are near each other; None: observations are compared with all groups."""
    return _Placer(groups, judge, default, terms).place(seen, project)


def arrange_groups(
    groups: Sequence[Group],
    judge: Judge,
    default: Confidence,
    terms: Terms | None = None,
    prepare: Prepare | None = None,
) -> Arrangement:
    """Places all observations again in order of time. Those of fixed groups stay where they are. ``prepare`` may raise
    to give up."""
    return _Arranger(groups, judge, default, terms, prepare).arrange()


@dataclass(slots=True, eq=False)
class _OpenGroup:
    """A group during placement."""

    before: Group | None
    """None for a new group."""
    memory: MemoryId | None
    text: Clean
    project: Clean | None
    first: Observation
    reinforcements: list[Observation] = field(default_factory=list[Observation])
    other_observations: list[Observation] = field(default_factory=list[Observation])
    is_fixed: bool = False
    is_kept: bool = False
    is_reported: bool = True
    merged_into: "_OpenGroup | None" = None
    """The group that this one became part of."""

    @classmethod
    def open(cls, group: Group) -> "_OpenGroup":
        return cls(
            before=group,
            memory=group.memory,
            text=group.text,
            project=group.project,
            first=group.first,
            reinforcements=list(group.reinforcements),
            other_observations=list(group.other_observations),
            is_fixed=group.is_fixed,
            is_kept=group.is_kept,
            is_reported=group.is_reported,
        )

    def applies_to(self, project: Clean | None) -> bool:
        return self.project in (None, project)

    def close(self) -> Group:
        again, others = tuple(self.reinforcements), tuple(self.other_observations)
        if self.before is not None:
            # A different order is not a change.
            again = self.before.reinforcements if set(again) == set(self.before.reinforcements) else again
            others = self.before.other_observations if set(others) == set(self.before.other_observations) else others
        return Group(
            memory=self.memory,
            text=self.text,
            project=self.project,
            first=self.first,
            reinforcements=again,
            other_observations=others,
            is_fixed=self.is_fixed,
            is_kept=self.is_kept,
            is_reported=self.is_reported,
        )

    @property
    def reported(self) -> Sequence[Observation]:
        """The observations that are compared with other groups."""
        return [self.first, *self.reinforcements] if self.is_reported else self.reinforcements


class _Placer:
    def __init__(self, groups: Sequence[Group], judge: Judge, default: Confidence, terms: Terms | None) -> None:
        self._judge = judge
        self._default = default
        self._terms = terms
        self._groups = [_OpenGroup.open(one) for one in groups]
        self._nearest = self._index_groups()
        self._new_groups: list[_OpenGroup] = []
        self._orders = {order_key(one) for group in groups for one in group.supporting}

    def place(self, seen: Observation, project: Clean | None) -> Placement:
        order = order_key(seen)
        near = self._find_nearest(seen, project)
        home = self._find_group(seen, project, near)
        later = [] if home is not None else sorted(self._later_observations(order), key=lambda one: order_key(one[0]))
        against = [one for one in near if one is not home and self._contradicts(seen, project, one)]
        for one in against:
            one.other_observations.append(_with_kind(ObservationKind.CONTRADICTED, seen))
        if home is not None:
            home.reinforcements.append(_with_kind(ObservationKind.REINFORCED, seen))
        else:
            home = self._start_group(seen, project)
            self._place_again(later)
            self._add_contradictions()
        return self._result(home, against)

    def _result(self, home: _OpenGroup, against: Sequence[_OpenGroup]) -> Placement:
        is_at: dict[int, Group] = {id(one): one.close() for one in self._groups if one.merged_into is None}
        changed = [is_at[id(one)] for one in self._groups if one.merged_into is None and is_at[id(one)] != one.before]
        gone = [
            (one.memory, is_at[id(one.merged_into)])
            for one in self._groups
            if one.merged_into is not None and one.memory is not None and one.merged_into.memory != one.memory
        ]
        was = tuple(one.before for one in against if one.before is not None)
        return Placement(target=is_at[id(home)], groups=tuple(changed), merged=tuple(gone), contradicted=was)

    # placing

    def _index_groups(self) -> NearestTexts[_OpenGroup] | None:
        if self._terms is None:
            return None
        index = NearestTexts[_OpenGroup](self._terms)
        for group in self._groups:
            index.add(group.text, group)
        return index

    def _find_nearest(self, seen: Observation, project: Clean | None) -> Sequence[_OpenGroup]:
        """Returns the groups that an observation is compared with."""
        order = order_key(seen)

        def fits(group: _OpenGroup) -> bool:
            return (
                group.merged_into is None
                and group.applies_to(project)
                and (group.is_fixed or order_key(group.first) < order)
            )

        if self._nearest is None or seen.text is None:
            return [group for group in self._groups if fits(group)]
        return self._nearest.find(seen.text, NEAREST, fits)

    def _start_group(self, seen: Observation, project: Clean | None) -> _OpenGroup:
        assert seen.text is not None
        begun = _OpenGroup(None, None, seen.text, project, _with_kind(ObservationKind.CREATED, seen, self._default))
        self._groups.append(begun)
        self._new_groups.append(begun)
        if self._nearest is not None:
            self._nearest.add(begun.text, begun)
        return begun

    def _later_observations(self, order: Order) -> Iterator[tuple[Observation, _OpenGroup]]:
        for group in self._groups:
            for one in (group.first, *group.reinforcements):
                if order_key(one) > order:
                    yield one, group

    def _place_again(self, later: Sequence[tuple[Observation, _OpenGroup]]) -> None:
        """Moves later observations to the new groups that they would have joined in order of time."""
        for one, group in later:
            if one is group.first:
                if not group.is_fixed and (home := self._find_group(one, group.project, self._new_groups)) is not None:
                    self._merge(group, home)
            elif group.merged_into is not None:
                home = self._find_group(one, group.project, self._find_nearest(one, group.project))
                if home is None:
                    self._start_group(one, group.project)
                else:
                    home.reinforcements.append(one)
            elif (home := self._better_group(one, group)) is not None:
                group.reinforcements.remove(one)
                home.reinforcements.append(one)

    def _merge(self, group: _OpenGroup, home: _OpenGroup) -> None:
        """Moves the first observation of a group, and earlier ones, to another group. The rest is placed later."""
        order = order_key(group.first)
        early = [one for one in group.reinforcements if order_key(one) < order]
        home.reinforcements += [_with_kind(ObservationKind.REINFORCED, group.first), *early]
        home.other_observations += [one for one in group.other_observations if not self._is_derived(one)]
        group.merged_into = home
        if home.memory is None:
            home.memory = group.memory

    def _is_derived(self, one: Observation) -> bool:
        """Returns True if a contradiction follows from a known observation, so that placement finds it again. Otherwise
        it was decided, or the contradicting memory was forgotten."""
        return one.kind is ObservationKind.CONTRADICTED and order_key(one) in self._orders

    def _better_group(self, one: Observation, group: _OpenGroup) -> _OpenGroup | None:
        """Returns a new group that fits an observation better than its current group, unless a decision placed it."""
        home = self._find_group(one, group.project, self._new_groups)
        if home is None or group.is_fixed:
            return None
        here, there = self._rank(one, group), self._rank(one, home)
        return home if here is not None and there is not None and there < here else None

    def _find_group(self, seen: Observation, project: Clean | None, among: Sequence[_OpenGroup]) -> _OpenGroup | None:
        order = order_key(seen)
        found = [
            (rank, group)
            for group in among
            if group.merged_into is None
            and group.applies_to(project)
            and (group.is_fixed or order_key(group.first) < order)
            and (rank := self._rank(seen, group)) is not None
        ]
        return min(found, key=lambda one: one[0])[1] if found else None

    def _rank(self, seen: Observation, group: _OpenGroup) -> tuple[float, Order] | None:
        """Returns the sort key of a group: most similar first, then oldest. None if the texts differ."""
        if seen.text is None:
            return None
        judgement = self._judge(*self._pair(seen, seen.text, group))
        return (-judgement.certainty, order_key(group.first)) if judgement.verdict is Verdict.SAME else None

    def _pair(self, seen: Observation, text: Clean, group: _OpenGroup) -> Pair:
        """Returns the texts of an observation and of a group in their order."""
        return (group.text, text) if order_key(group.first) < order_key(seen) else (text, group.text)

    # contradictions

    def _contradicts(self, seen: Observation, project: Clean | None, group: _OpenGroup) -> bool:
        return (
            seen.text is not None
            and group.applies_to(project)
            and order_key(group.first) < order_key(seen)
            and self._judge(group.text, seen.text).verdict in CONTRADICTING
        )

    def _add_contradictions(self) -> None:
        """Adds later observations that contradict the new groups."""
        for begun in self._new_groups:
            for group in self._groups:
                if group is begun or group.merged_into is not None:
                    continue
                clashing = (one for one in group.reported if self._contradicts(one, group.project, begun))
                begun.other_observations += [_with_kind(ObservationKind.CONTRADICTED, one) for one in clashing]


class _Arranger(_Placer):
    def __init__(
        self, groups: Sequence[Group], judge: Judge, default: Confidence, terms: Terms | None, prepare: Prepare | None
    ) -> None:
        super().__init__(groups, judge, default, terms)
        self._prepare = prepare
        self._movable = [one for one in self._groups if not one.is_fixed]
        self._fixed = [one for one in self._groups if one.is_fixed]
        for one in self._fixed:
            if not one.is_kept:
                one.other_observations = [each for each in one.other_observations if not self._is_derived(each)]
        self._groups = list(self._fixed)
        self._nearest = self._index_groups()
        self._homes: dict[int, _OpenGroup] = {}
        """By former group, which ``id`` names: the group of its first observation."""

    def arrange(self) -> Arrangement:
        known = [(one, group) for group in self._movable for one in (group.first, *group.reinforcements)]
        known += [(one, group) for group in self._fixed for one in group.reported]
        doubts: list[tuple[_OpenGroup, _OpenGroup, Judgement]] = []
        for seen, group in sorted(known, key=lambda one: order_key(one[0])):
            if seen.text is not None:
                doubts += self._place_in_order(seen, seen.text, group)
        merged = self._take_memories()
        closed = {id(one): one.close() for one in self._groups}
        return Arrangement(
            groups=tuple(closed[id(one)] for one in self._groups if closed[id(one)] != one.before),
            merged=tuple((memory, closed[id(home)]) for memory, home in merged),
            doubts=tuple(Doubt(closed[id(one)], closed[id(other)], judged) for one, other, judged in doubts),
        )

    def _place_in_order(
        self, seen: Observation, text: Clean, group: _OpenGroup
    ) -> Sequence[tuple[_OpenGroup, _OpenGroup, Judgement]]:
        """Places an observation, and returns the doubts if it starts a group. ``group``: where it was."""
        near = self._find_nearest(seen, group.project)
        if self._prepare is not None:
            self._prepare([self._pair(seen, text, one) for one in near])
        home = group if group.is_fixed else self._find_group(seen, group.project, near)
        against = [one for one in near if one is not home and self._contradicts(seen, group.project, one)]
        for one in against:
            if not one.is_kept:
                one.other_observations.append(_with_kind(ObservationKind.CONTRADICTED, seen))
        doubts: Sequence[tuple[_OpenGroup, _OpenGroup, Judgement]] = ()
        if home is None:
            home = self._start_group(seen, group.project)
            doubts = [] if against else list(self._doubts(home, near))
        elif home is not group:
            home.reinforcements.append(_with_kind(ObservationKind.REINFORCED, seen))
        if seen is group.first:
            self._homes[id(group)] = home
        return doubts

    def _doubts(
        self, begun: _OpenGroup, near: Sequence[_OpenGroup]
    ) -> Iterator[tuple[_OpenGroup, _OpenGroup, Judgement]]:
        for other in near:
            if order_key(other.first) < order_key(begun.first):
                judged = self._judge(other.text, begun.text)
                if judged.verdict is Verdict.UNCERTAIN:
                    yield begun, other, judged

    def _take_memories(self) -> Sequence[tuple[MemoryId, _OpenGroup]]:
        """Gives the groups the memories that their observations had, that of the first one before others, and what
        cannot be placed. Returns the memories that are left over, with the groups that took their observations."""
        merged: list[tuple[MemoryId, _OpenGroup]] = []

        def claim(was: _OpenGroup) -> tuple[bool, Order]:
            order = order_key(was.first)
            return order_key(self._homes[id(was)].first) != order, order

        for was in sorted(self._movable, key=claim):
            home, (is_later, _) = self._homes[id(was)], claim(was)
            if home.memory is None:
                home.memory, home.before = was.memory, was.before
                home.first = home.first if is_later else was.first
            elif was.memory is not None:
                merged.append((was.memory, home))
            home.reinforcements += [one for one in was.reinforcements if one.text is None]
            home.other_observations += [one for one in was.other_observations if not self._is_derived(one)]
        return merged


def _with_kind(kind: ObservationKind, seen: Observation, to: Confidence | None = None) -> Observation:
    return replace(seen, kind=kind, to=to)
