"""Vector arithmetic: cosine, unit length, and the stored form of a vector (A09)."""

import numpy as np

from hivelore.errors import Invalid
from hivelore.indexing.model import Vector

LITTLE_ENDIAN_FLOAT32 = np.dtype("<f4")


def cosine(a: Vector, b: Vector) -> float:
    """Returns -1 (opposite) to 1 (same direction); 0 if they are orthogonal or one is zero.

    Raises Invalid if the dimensions differ: such vectors come from different models.
    """
    if a.shape != b.shape:
        raise Invalid(f"Vectors of {a.size} and {b.size} numbers cannot be compared; embed both with one model.")
    # The squares of float32 numbers neither overflow nor vanish in float64, so no scaling is needed.
    left, right = a.astype(np.float64), b.astype(np.float64)
    lengths = float(np.sqrt(left.dot(left) * right.dot(right)))
    if lengths == 0.0:
        return 0.0
    return min(1.0, max(-1.0, float(left.dot(right)) / lengths))


def normalize(vectors: Vector) -> Vector:
    """Returns the vector, or each row of a matrix, at length one.

    Raises Invalid for a zero vector or a number that is not finite.
    """
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=-1, keepdims=True))
    if not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise Invalid("A vector of zeros, or with a number that is not finite, has no direction.")
    return (wide / lengths).astype(np.float32)


def check_vector(vector: Vector, dimension: int) -> None:
    """Raises Invalid for a vector of another dimension, a zero vector, or a number that is not finite."""
    if vector.shape != (dimension,):
        raise Invalid(f"A vector of this model has {dimension} numbers, not the shape {vector.shape}.")
    if not np.isfinite(vector).all() or not vector.any():
        raise Invalid("A vector of zeros, or with a number that is not finite, has no direction.")


def to_blob(vector: Vector) -> bytes:
    """Returns little-endian float32 numbers."""
    return vector.astype(LITTLE_ENDIAN_FLOAT32, copy=False).tobytes()
