"""Which observations of running things are one memory, and what contradicts it, whatever order they arrive in (X8).

In the order of time, each observation joins the memory whose first words say the same (the likeliest, then the oldest),
or begins one of its own. It contradicts every memory that began before it and whose first words say the opposite. One
that arrives late finds its place among those that are there: what came after it is placed anew as far as that changes
anything, which is where it begins a memory. The result is as if all had arrived in the order of time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import MemoryId
from hivelore.observations.confidence import Order, order_of
from hivelore.observations.contradiction.judging import Judgement, Verdict
from hivelore.observations.model import Confidence, Observation, ObservationKind

Judge = Callable[[Clean, Clean], Judgement]
"""How two texts stand to each other, whichever comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A memory about running things, by what was observed of it."""

    memory: MemoryId | None
    """None: it is new."""
    text: Clean
    """The words that others are compared with: those of ``first``, unless somebody edited them."""
    project: Clean | None
    first: Observation
    """That it was created."""
    again: tuple[Observation, ...] = ()
    """Where it was seen again."""
    others: tuple[Observation, ...] = ()
    """Where the opposite was seen, and what was decided."""
    is_fixed: bool = False
    """Somebody who may decide it has a part in it: it stays as it is, whatever was seen before."""

    @property
    def seen(self) -> tuple[Observation, ...]:
        return self.first, *self.again

    def takes(self, project: Clean | None) -> bool:
        """Whether what is seen in a project (None: for all of them) says something of it."""
        return self.project in (None, project)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What becomes of the groups with one more observation."""

    home: Group
    """The group that it belongs to."""
    groups: tuple[Group, ...]
    """Those that are new or differ from before, ``home`` among them."""
    gone: tuple[tuple[MemoryId, Group], ...] = ()
    """Memories that became a part of another group."""
    against: tuple[Group, ...] = ()
    """Those that it contradicts, as they were before."""


def is_known(groups: Sequence[Group], seen: Observation) -> Group | None:
    """The group that has this very observation already."""
    order = order_of(seen)
    return next((group for group in groups if any(order_of(one) == order for one in group.seen)), None)


def placed(
    groups: Sequence[Group], seen: Observation, project: Clean | None, judge: Judge, default: Confidence
) -> Placed:
    """Find the place of an observation that is not known. ``default``: how sure a memory is at its beginning."""
    return _Placing(groups, judge, default).place(seen, project)


@dataclass(slots=True, eq=False)
class _Open:
    """A group while observations are placed."""

    before: Group | None
    """None: it is new."""
    memory: MemoryId | None
    text: Clean
    project: Clean | None
    first: Observation
    again: list[Observation] = field(default_factory=list[Observation])
    others: list[Observation] = field(default_factory=list[Observation])
    is_fixed: bool = False
    joined: "_Open | None" = None
    """The group that it became a part of."""

    @classmethod
    def of(cls, group: Group) -> "_Open":
        again, others = list(group.again), list(group.others)
        return cls(group, group.memory, group.text, group.project, group.first, again, others, group.is_fixed)

    def takes(self, project: Clean | None) -> bool:
        return self.project in (None, project)

    def closed(self) -> Group:
        again, others = tuple(self.again), tuple(self.others)
        if self.before is not None:
            # The order in which they were noted is no difference.
            again = self.before.again if set(again) == set(self.before.again) else again
            others = self.before.others if set(others) == set(self.before.others) else others
        return Group(
            memory=self.memory,
            text=self.text,
            project=self.project,
            first=self.first,
            again=again,
            others=others,
            is_fixed=self.is_fixed,
        )


class _Placing:
    def __init__(self, groups: Sequence[Group], judge: Judge, default: Confidence) -> None:
        self._judge = judge
        self._default = default
        self._groups = [_Open.of(one) for one in groups]
        self._begun: list[_Open] = []
        self._orders = {order_of(one) for group in groups for one in group.seen}

    def place(self, seen: Observation, project: Clean | None) -> Placed:
        order = order_of(seen)
        home = self._home(seen, project, self._groups)
        later = [] if home is not None else sorted(self._later(order), key=lambda one: order_of(one[0]))
        against = [one for one in self._groups if one is not home and self._clashes(seen, project, one)]
        for one in against:
            one.others.append(_as(ObservationKind.CONTRADICTED, seen))
        if home is not None:
            home.again.append(_as(ObservationKind.REINFORCED, seen))
        else:
            home = self._begin(seen, project)
            self._place_again(later)
            self._contradict()
        return self._placed(home, against)

    def _placed(self, home: _Open, against: Sequence[_Open]) -> Placed:
        is_at: dict[int, Group] = {id(one): one.closed() for one in self._groups if one.joined is None}
        changed = [is_at[id(one)] for one in self._groups if one.joined is None and is_at[id(one)] != one.before]
        gone = [
            (one.memory, is_at[id(one.joined)])
            for one in self._groups
            if one.joined is not None and one.memory is not None and one.joined.memory != one.memory
        ]
        was = tuple(one.before for one in against if one.before is not None)
        return Placed(home=is_at[id(home)], groups=tuple(changed), gone=tuple(gone), against=was)

    # placing

    def _begin(self, seen: Observation, project: Clean | None) -> _Open:
        assert seen.text is not None
        begun = _Open(None, None, seen.text, project, _as(ObservationKind.CREATED, seen, self._default))
        self._groups.append(begun)
        self._begun.append(begun)
        return begun

    def _later(self, order: Order) -> Iterator[tuple[Observation, _Open]]:
        for group in self._groups:
            for one in (group.first, *group.again):
                if order_of(one) > order:
                    yield one, group

    def _place_again(self, later: Sequence[tuple[Observation, _Open]]) -> None:
        """What was seen later joins what begins now where it would have, had that been there at its time."""
        for one, group in later:
            if one is group.first:
                if not group.is_fixed and (home := self._home(one, group.project, self._begun)) is not None:
                    self._join(group, home)
            elif group.joined is not None:
                home = self._home(one, group.project, self._groups)
                if home is None:
                    self._begin(one, group.project)
                else:
                    home.again.append(one)
            elif (home := self._better(one, group)) is not None:
                group.again.remove(one)
                home.again.append(one)

    def _join(self, group: _Open, home: _Open) -> None:
        """The first of a group joins another one; the rest is placed anew in its turn, but for what came before it."""
        order = order_of(group.first)
        early = [one for one in group.again if order_of(one) < order]
        home.again += [_as(ObservationKind.REINFORCED, group.first), *early]
        home.others += [one for one in group.others if not self._follows(one)]
        group.joined = home
        if home.memory is None:
            home.memory = group.memory

    def _follows(self, one: Observation) -> bool:
        """Whether a contradiction follows from what was seen, so that it is found anew. Else it was decided, or what
        contradicted it is forgotten."""
        return one.kind is ObservationKind.CONTRADICTED and order_of(one) in self._orders

    def _better(self, one: Observation, group: _Open) -> _Open | None:
        """The new group that one of another group is likelier to belong to, unless it was put there by a decision."""
        home = self._home(one, group.project, self._begun)
        if home is None or group.is_fixed:
            return None
        here, there = self._rank(one, group), self._rank(one, home)
        return home if here is not None and there is not None and there < here else None

    def _home(self, seen: Observation, project: Clean | None, among: Sequence[_Open]) -> _Open | None:
        order = order_of(seen)
        found = [
            (rank, group)
            for group in among
            if group.joined is None
            and group.takes(project)
            and (group.is_fixed or order_of(group.first) < order)
            and (rank := self._rank(seen, group)) is not None
        ]
        return min(found, key=lambda one: one[0])[1] if found else None

    def _rank(self, seen: Observation, group: _Open) -> tuple[float, Order] | None:
        """The likeliest to be the same first, then the oldest; None: it is not the same."""
        if seen.text is None:
            return None
        judgement = self._judge(group.text, seen.text)
        return (-judgement.confidence, order_of(group.first)) if judgement.verdict is Verdict.SAME else None

    # contradictions

    def _clashes(self, seen: Observation, project: Clean | None, group: _Open) -> bool:
        return (
            seen.text is not None
            and group.takes(project)
            and order_of(group.first) < order_of(seen)
            and self._judge(group.text, seen.text).verdict is Verdict.CONFLICT
        )

    def _contradict(self) -> None:
        """What was seen after a group that begins now, and says the opposite."""
        for begun in self._begun:
            for group in self._groups:
                if group is begun or group.joined is not None:
                    continue
                clashing = (one for one in (group.first, *group.again) if self._clashes(one, group.project, begun))
                begun.others += [_as(ObservationKind.CONTRADICTED, one) for one in clashing]


def _as(kind: ObservationKind, seen: Observation, to: Confidence | None = None) -> Observation:
    return replace(seen, kind=kind, to=to)
