"""The test embedder, and the one that fails on demand."""

import numpy as np
import pytest

from hivelore.core.text import Clean
from hivelore.core.vectors import cosine
from hivelore.errors import Invalid, Unavailable
from support.embedders import FaultyEmbedder, clean
from support.hashing_embedder import HashingEmbedder


def test_shared_words_and_spellings_bring_texts_together() -> None:
    embedder = HashingEmbedder()
    deploy, deploys, other = embedder.embed_documents(clean("the deploy failed", "a failed deployment", "yellow fruit"))
    assert cosine(deploy, deploys) > 0.3
    assert abs(cosine(deploy, other)) < 0.2


def test_upper_and_lower_case_are_the_same() -> None:
    embedder = HashingEmbedder()
    assert embedder.embed_query(Clean("Deploy")).tobytes() == embedder.embed_query(Clean("dEPLOY")).tobytes()


def test_vectors_do_not_change_between_releases() -> None:
    vector = HashingEmbedder(6).embed_query(Clean("deploy"))
    np.testing.assert_allclose(vector, [0.159223, 0, 0, -0.159223, -0.477670, -0.849192], atol=1e-5)


def test_a_text_without_words_has_a_vector() -> None:
    assert HashingEmbedder().embed_query(Clean("?!")).any()


def test_salts_stand_for_models_whose_vectors_have_nothing_in_common() -> None:
    text = Clean("the deploy of the billing service failed on friday")
    one, other = HashingEmbedder(salt="one"), HashingEmbedder(salt="other")
    assert one.fingerprint != other.fingerprint
    assert abs(cosine(one.embed_query(text), other.embed_query(text))) < 0.3


def test_one_dimension_is_too_few() -> None:
    with pytest.raises(Invalid):
        HashingEmbedder(1)


def test_a_faulty_embedder_is_down_for_a_number_of_calls() -> None:
    embedder = FaultyEmbedder(HashingEmbedder(), down_for=2)
    for _ in range(2):
        with pytest.raises(Unavailable):
            embedder.embed_query(Clean("one"))
    embedder.embed_documents(clean("one", "two"))
    assert embedder.calls == 3
    assert embedder.embedded == ["one", "two"]


def test_a_faulty_embedder_stays_down_until_it_is_repaired() -> None:
    embedder = FaultyEmbedder(HashingEmbedder(), down_for=None)
    for _ in range(3):
        with pytest.raises(Unavailable):
            embedder.embed_query(Clean("one"))
    embedder.down_for = 0
    assert embedder.embed_query(Clean("one")).any()


def test_a_faulty_embedder_refuses_poison_by_position() -> None:
    embedder = FaultyEmbedder(HashingEmbedder(), poison=["bad"])
    with pytest.raises(Invalid) as caught:
        embedder.embed_documents(clean("good", "a bad one"))
    assert caught.value.field == "1"
    assert embedder.embedded == []
