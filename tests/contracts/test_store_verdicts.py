"""Every store: answers of the pair model about observations, and which memories are judged."""

from collections.abc import Callable, Mapping
from contextlib import closing

from hivelore.core.text import Clean
from hivelore.links.judge import PairScores
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.observations.model import Pair
from hivelore.storage.ports import MemoryStore
from support.memories import a_memory, an_observation, operational
from support.stores import add, forget

MODEL, OTHER_MODEL = Clean("pairs-2"), Clean("pairs-3")
FIRST, SECOND, THIRD = Clean("Listens on port 8096"), Clean("Läuft auf Port 8920"), Clean("")
SCORES = PairScores(same=0.1, conflict=0.25, update=1 / 3, different=1.0)
OTHER_SCORES = PairScores(same=0.0, conflict=1.0, update=0.5, different=0.2)
UNKNOWN = DocumentKey(10**9)


def verdicts(store: MemoryStore, *pairs: Pair, model: Clean = MODEL) -> Mapping[Pair, PairScores]:
    with store.read() as view:
        return view.verdicts(model, pairs)


def put(store: MemoryStore, found: Mapping[Pair, PairScores], model: Clean = MODEL) -> None:
    store.write(lambda tx: tx.put_verdicts(model, found))


def test_an_answer_is_read_by_its_model_and_the_order_of_the_texts(store: MemoryStore) -> None:
    put(store, {(FIRST, SECOND): SCORES, (SECOND, THIRD): OTHER_SCORES})
    asked = [(FIRST, SECOND), (SECOND, FIRST), (SECOND, THIRD)]
    assert verdicts(store, *asked) == {(FIRST, SECOND): SCORES, (SECOND, THIRD): OTHER_SCORES}
    assert verdicts(store, *asked, model=OTHER_MODEL) == {}
    assert verdicts(store) == {}


def test_each_model_has_its_own_answer_and_the_last_one_counts(store: MemoryStore) -> None:
    put(store, {(FIRST, SECOND): SCORES})
    put(store, {(FIRST, SECOND): OTHER_SCORES}, OTHER_MODEL)
    assert verdicts(store, (FIRST, SECOND)) == {(FIRST, SECOND): SCORES}
    put(store, {(FIRST, SECOND): OTHER_SCORES})
    assert verdicts(store, (FIRST, SECOND)) == {(FIRST, SECOND): OTHER_SCORES}
    put(store, {})


def test_answers_are_deleted_with_either_text(store: MemoryStore) -> None:
    pairs = [(FIRST, SECOND), (SECOND, FIRST), (SECOND, THIRD)]
    for model in (MODEL, OTHER_MODEL):
        put(store, dict.fromkeys(pairs, SCORES), model)
    store.write(lambda tx: tx.drop_verdicts([]))
    assert set(verdicts(store, *pairs)) == set(pairs)
    store.write(lambda tx: tx.drop_verdicts([FIRST]))
    for model in (MODEL, OTHER_MODEL):
        assert set(verdicts(store, *pairs, model=model)) == {(SECOND, THIRD)}


def test_answers_are_durable(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        put(store, {(FIRST, SECOND): SCORES})
    with closing(open_durable()) as store:
        assert verdicts(store, (FIRST, SECOND)) == {(FIRST, SECOND): SCORES}


def observed(store: MemoryStore, count: int) -> list[Stored]:
    """Stores operational memories, each of another service."""
    return [add(store, a_memory(operational=operational(f"service{number}"))) for number in range(count)]


def unjudged(store: MemoryStore, mark: Clean = MODEL) -> list[DocumentKey]:
    with store.read() as view:
        return list(view.unjudged(mark))


def judge(store: MemoryStore, *memories: Stored, model: Clean | None = MODEL) -> None:
    store.write(lambda tx: tx.put_judged([one.key for one in memories], model))


def test_operational_memories_wait_until_the_model_judged_them(store: MemoryStore) -> None:
    first, second = observed(store, 2)
    add(store, a_memory())
    assert unjudged(store) == [second.key, first.key]
    judge(store, first, second)
    assert unjudged(store) == []
    assert unjudged(store, OTHER_MODEL) == [second.key, first.key]
    judge(store, first, model=OTHER_MODEL)
    assert unjudged(store) == [first.key]
    judge(store, first)
    judge(store, second, model=None)
    assert unjudged(store) == [second.key]


def test_a_memory_that_is_kept_is_still_judged(store: MemoryStore) -> None:
    first, second, third = observed(store, 3)
    judge(store, first)
    store.write(lambda tx: tx.keep([first.key, second.key, UNKNOWN]))
    assert unjudged(store) == [third.key, second.key]
    judge(store, second, third)
    with store.read() as view:
        assert view.kept([first.key, second.key, third.key, UNKNOWN]) == {first.key, second.key}
        assert view.kept([]) == set()


def test_the_record_is_deleted_with_the_memory(store: MemoryStore) -> None:
    (first,) = observed(store, 1)
    judge(store, first)
    store.write(lambda tx: tx.keep([first.key]))
    forget(store, first.key)
    judge(store, first)
    with store.read() as view:
        assert view.kept([first.key]) == set()


def test_the_latest_memory_of_each_service_and_category_waits(store: MemoryStore) -> None:
    names = [(None, "timing"), (None, "timing"), ("db", "timing"), ("db", "fix")]
    made = [add(store, a_memory(category=Clean(one), operational=operational(service))) for service, one in names]
    assert unjudged(store) == [made[3].key, made[2].key, made[1].key]
    judge(store, made[1], made[2])
    assert unjudged(store) == [made[3].key, made[0].key]


def test_observations_are_counted_by_memory(store: MemoryStore) -> None:
    first, second = observed(store, 2)
    for _ in range(3):
        store.write(lambda tx: tx.add_observation(first.key, operational().held, an_observation()))
    with store.read() as view:
        assert view.observation_counts([first.key, second.key, UNKNOWN]) == {first.key: 3}


def test_answers_of_other_models_are_deleted(store: MemoryStore) -> None:
    for model in (MODEL, OTHER_MODEL):
        put(store, {(FIRST, SECOND): SCORES}, model)
    store.write(lambda tx: tx.drop_other_verdicts(MODEL))
    assert verdicts(store, (FIRST, SECOND)) == {(FIRST, SECOND): SCORES}
    assert verdicts(store, (FIRST, SECOND), model=OTHER_MODEL) == {}
