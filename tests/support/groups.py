"""The expected result of observations in order of time, computed as simply as possible."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.judge import Verdict
from hivelore.observations.confidence import Lifecycle, order_key, replay
from hivelore.observations.groups import CONTRADICTING, Group, Judge, find_group, place_observation
from hivelore.observations.model import Confidence, Held, Observation, ObservationKind, Operational

DEFAULT = Confidence(0.7)


def seen(text: str, at: datetime, actor: str = "ada", session: str | None = None) -> Observation:
    reported = None if session is None else Clean(session)
    return Observation(
        at=at,
        kind=ObservationKind.REINFORCED,
        actor=AgentId(actor),
        interface=Interface.REST,
        session=reported,
        text=Clean(text),
    )


def in_order_of_time(reported: Iterable[Observation], judge: Judge) -> list[Group]:
    groups: list[Group] = []
    for one in sorted({order_key(one): one for one in reported}.values(), key=order_key):
        assert one.text is not None
        judged = [judge(group.text, one.text) for group in groups]
        same = [number for number, found in enumerate(judged) if found.verdict is Verdict.SAME]
        home = min(same, key=lambda number: (-judged[number].certainty, order_key(groups[number].first)), default=None)
        against = replace(one, kind=ObservationKind.CONTRADICTED)
        for number, found in enumerate(judged):
            if found.verdict in CONTRADICTING:
                groups[number] = replace(
                    groups[number], other_observations=(*groups[number].other_observations, against)
                )
        if home is None:
            first = replace(one, kind=ObservationKind.CREATED, to=DEFAULT)
            groups.append(Group(memory=None, text=one.text, project=None, first=first))
        else:
            groups[home] = replace(groups[home], reinforcements=(*groups[home].reinforcements, one))
    return groups


def as_they_arrive(reported: Sequence[Observation], judge: Judge) -> list[Group]:
    groups: list[Group] = []
    for one in reported:
        if find_group(groups, one) is None:
            done = place_observation(groups, one, None, judge, DEFAULT)
            began = {order_key(group.first) for group in done.groups}
            before = [group for group in groups if order_key(group.first) not in began]
            ended = _members(done.groups) - began
            groups = [group for group in before if order_key(group.first) not in ended] + list(done.groups)
    return groups


def _members(groups: Iterable[Group]) -> set[object]:
    return {order_key(one) for group in groups for one in group.supporting}


def stand(groups: Iterable[Group], lifecycle: Lifecycle) -> set[object]:
    """Returns the compared state: the text, observations and confidence of each memory."""
    return {
        (
            group.text,
            order_key(group.first),
            frozenset(map(order_key, group.reinforcements)),
            frozenset(map(order_key, group.other_observations)),
            held(group, lifecycle),
        )
        for group in groups
    }


def held(group: Group, lifecycle: Lifecycle) -> Held:
    known = Operational.of(Held(base=DEFAULT, since=group.first.at))
    *_, last = replay(known, [group.first, *group.reinforcements, *group.other_observations], lifecycle)
    return last.after.held
