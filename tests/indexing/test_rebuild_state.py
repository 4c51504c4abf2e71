"""A rebuild of the keyword index ends, keeps its kind, and includes later requests."""

from hypothesis import given
from hypothesis import strategies as st

from hivelore.indexing.rebuild import Rebuild, after_request, after_step, parse_rebuild
from hivelore.memories.stored import DocumentKey

keys = st.integers(1, 2**62).map(DocumentKey)
rebuilds = st.builds(Rebuild, below=keys, in_place=st.booleans())


@given(rebuilds)
def test_the_stored_form_of_a_rebuild_is_complete(rebuild: Rebuild) -> None:
    assert parse_rebuild(rebuild.text) == rebuild


def test_no_rebuild_is_stored_as_nothing() -> None:
    assert parse_rebuild(None) is parse_rebuild("") is None


@given(rebuilds, st.none() | keys)
def test_a_request_joins_the_running_rebuild(running: Rebuild, newest: DocumentKey | None) -> None:
    assert after_request(running, newest) is running


@given(keys)
def test_a_request_starts_a_rebuild_of_all_searchable_documents(newest: DocumentKey) -> None:
    begun = after_request(None, newest)
    assert begun is not None
    assert (begun.below > newest, begun.in_place) == (True, True)
    assert after_request(None, None) is None


@given(st.sets(keys, max_size=30), st.booleans(), st.integers(1, 7), st.integers(0, 40))
def test_every_document_is_indexed_once_from_the_newest_to_the_oldest(
    documents: set[DocumentKey], in_place: bool, limit: int, requested_at: int
) -> None:
    running: Rebuild | None = Rebuild(DocumentKey(max(documents, default=0) + 1), in_place)
    indexed: list[DocumentKey] = []
    for step in range(len(documents) + 1):
        if running is None:
            break
        if step == requested_at:
            running = after_request(parse_rebuild(running.text), max(documents, default=None))
        assert running is not None
        found = sorted((key for key in documents if key < running.below), reverse=True)[:limit]
        indexed += found
        running = after_step(running, found, limit)
    assert running is None
    assert indexed == sorted(documents, reverse=True)
