"""Cosine, unit length and the stored bytes, by example and by law."""

import struct

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hivelore.core.vectors import cosine, normalize, to_blob
from hivelore.errors import Invalid
from hivelore.indexing.model import Vector

LARGEST = float(np.finfo(np.float32).max)


def vector(*numbers: float) -> Vector:
    return np.array(numbers, dtype=np.float32)


def vectors(size: int = 8, largest: float = LARGEST) -> st.SearchStrategy[Vector]:
    numbers = st.floats(min_value=-largest, max_value=largest, width=32)
    return arrays.arrays(np.float32, size, elements=numbers)


def test_orthogonal_vectors_have_cosine_zero() -> None:
    assert cosine(vector(1, 0), vector(0, 5)) == 0.0


def test_identical_vectors_have_cosine_one() -> None:
    assert cosine(vector(0.1, 0.2, 0.3), vector(0.1, 0.2, 0.3)) == pytest.approx(1.0, abs=1e-12)


def test_opposite_vectors_have_cosine_minus_one() -> None:
    assert cosine(vector(1, 2), vector(-1, -2)) == pytest.approx(-1.0, abs=1e-12)


def test_rounding_does_not_lift_a_cosine_above_one() -> None:
    v = vector(1 / 10, 20 / 7, 0.3)
    assert cosine(v, v * np.float32(3)) == 1.0  # 1.0000000000000002 by the formula alone


def test_a_known_angle_has_its_cosine() -> None:
    assert cosine(vector(1, 0), vector(1, 1)) == pytest.approx(0.5**0.5)


def test_a_zero_vector_has_cosine_zero_with_everything() -> None:
    assert cosine(vector(0, 0), vector(1, 2)) == 0.0
    assert cosine(vector(0, 0), vector(0, 0)) == 0.0


def test_vectors_of_different_lengths_are_not_compared() -> None:
    with pytest.raises(Invalid, match="2 and 3 numbers"):
        cosine(vector(1, 2), vector(1, 2, 3))


@given(vectors(), vectors())
def test_cosine_does_not_depend_on_the_order_and_stays_in_range(a: Vector, b: Vector) -> None:
    assert cosine(a, b) == cosine(b, a)
    assert -1.0 <= cosine(a, b) <= 1.0


@given(vectors(), vectors())
def test_turning_one_vector_around_turns_the_sign(a: Vector, b: Vector) -> None:
    assert cosine(a, -b) == -cosine(a, b)


@given(vectors(largest=1e6), vectors(largest=1e6), st.integers(min_value=-20, max_value=20))
def test_cosine_does_not_depend_on_length(a: Vector, b: Vector, exponent: int) -> None:
    scaled = np.ldexp(b, exponent)
    assume((np.ldexp(scaled, -exponent) == b).all())  # not where the smallest numbers lost bits
    assert cosine(a, scaled) == pytest.approx(cosine(a, b), abs=1e-12)


@given(vectors())
def test_a_normalized_vector_has_length_one_and_the_same_direction(v: Vector) -> None:
    assume(v.any())
    unit = normalize(v)
    assert unit.dtype == np.float32
    assert np.linalg.norm(unit.astype(np.float64)) == pytest.approx(1.0, abs=1e-6)
    assert cosine(unit, v) == pytest.approx(1.0, abs=1e-6)


@given(vectors())
def test_normalizing_twice_changes_nothing(v: Vector) -> None:
    assume(v.any())
    once = normalize(v)
    np.testing.assert_allclose(normalize(once), once, rtol=0, atol=1e-7)


def test_each_row_of_a_matrix_is_normalized() -> None:
    np.testing.assert_allclose(normalize(np.array([[3, 4], [0, 2]], np.float32)), [[0.6, 0.8], [0, 1]], rtol=1e-6)


def test_normalizing_does_not_change_its_argument() -> None:
    given_vector = vector(3, 4)
    normalize(given_vector)
    assert given_vector.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("bad", [vector(0, 0), vector(1, float("nan")), vector(float("inf"), 1)])
def test_a_vector_without_direction_is_refused(bad: Vector) -> None:
    with pytest.raises(Invalid, match="no direction"):
        normalize(bad)
    with pytest.raises(Invalid, match="no direction"):
        normalize(np.stack([vector(1, 2), bad]))


def test_512_dimensions_are_2048_bytes() -> None:
    assert len(to_blob(np.ones(512, np.float32))) == 2_048


def test_a_blob_is_little_endian_float32() -> None:
    assert to_blob(vector(1.5, -2)) == struct.pack("<2f", 1.5, -2.0)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=64))
def test_a_blob_has_every_bit_of_the_vector(bits: list[int]) -> None:
    stored = np.array(bits, dtype=np.uint32).view(np.float32)  # NaN payloads, minus zero and subnormals included
    assert np.frombuffer(to_blob(stored), "<u4").tolist() == bits
