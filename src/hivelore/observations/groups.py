"""Groups observations into memories and finds contradictions, independent of the order of arrival (X8).

In order of time, an observation joins the group whose first observation says the same: the most similar one, then the
oldest. Otherwise it starts a group. It contradicts every earlier group whose first observation says the opposite. If a
late observation starts a group, later observations are placed again. The result is the same as if all observations had
arrived in order of time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.judge import Judgement, Verdict
from hivelore.memories.model import MemoryId
from hivelore.observations.confidence import Order, order_key
from hivelore.observations.model import Confidence, Observation, ObservationKind

CONTRADICTING = (Verdict.CONFLICT, Verdict.UPDATE)
"""Verdicts by which a later observation lowers the confidence of an earlier one."""
Judge = Callable[[Clean, Clean], Judgement]
"""Compares the earlier and the later of two texts."""


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


def find_group(groups: Sequence[Group], seen: Observation) -> Group | None:
    """Returns the group that already contains this observation."""
    order = order_key(seen)
    return next((group for group in groups if any(order_key(one) == order for one in group.supporting)), None)


def place_observation(
    groups: Sequence[Group], seen: Observation, project: Clean | None, judge: Judge, default: Confidence
) -> Placement:
    """Places an observation that no group contains. ``default``: confidence of a new memory."""
    return _Placer(groups, judge, default).place(seen, project)


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
    merged_into: "_OpenGroup | None" = None
    """The group that this one became part of."""

    @classmethod
    def open(cls, group: Group) -> "_OpenGroup":
        again, others = list(group.reinforcements), list(group.other_observations)
        return cls(group, group.memory, group.text, group.project, group.first, again, others, group.is_fixed)

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
        )


class _Placer:
    def __init__(self, groups: Sequence[Group], judge: Judge, default: Confidence) -> None:
        self._judge = judge
        self._default = default
        self._groups = [_OpenGroup.open(one) for one in groups]
        self._new_groups: list[_OpenGroup] = []
        self._orders = {order_key(one) for group in groups for one in group.supporting}

    def place(self, seen: Observation, project: Clean | None) -> Placement:
        order = order_key(seen)
        home = self._find_group(seen, project, self._groups)
        later = [] if home is not None else sorted(self._later_observations(order), key=lambda one: order_key(one[0]))
        against = [one for one in self._groups if one is not home and self._contradicts(seen, project, one)]
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

    def _start_group(self, seen: Observation, project: Clean | None) -> _OpenGroup:
        assert seen.text is not None
        begun = _OpenGroup(None, None, seen.text, project, _with_kind(ObservationKind.CREATED, seen, self._default))
        self._groups.append(begun)
        self._new_groups.append(begun)
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
                home = self._find_group(one, group.project, self._groups)
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
        is_later = order_key(group.first) < order_key(seen)
        judgement = self._judge(*((group.text, seen.text) if is_later else (seen.text, group.text)))
        return (-judgement.certainty, order_key(group.first)) if judgement.verdict is Verdict.SAME else None

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
                clashing = (
                    one for one in (group.first, *group.reinforcements) if self._contradicts(one, group.project, begun)
                )
                begun.other_observations += [_with_kind(ObservationKind.CONTRADICTED, one) for one in clashing]


def _with_kind(kind: ObservationKind, seen: Observation, to: Confidence | None = None) -> Observation:
    return replace(seen, kind=kind, to=to)
