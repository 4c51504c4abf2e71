"""The number of memories that a purge may delete without confirmation."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Conflict
from hivelore.maintenance.service import check_purge_size, unconfirmed_purge_limit


@given(memories=st.integers(0, 10**7), hundredths=st.integers(0, 100))
def test_exactly_the_share_may_be_purged(memories: int, hundredths: int) -> None:
    share = hundredths / 100
    limit = int(Fraction(hundredths, 100) * memories)
    assert unconfirmed_purge_limit(memories, share) == limit
    check_purge_size(limit, memories, share, None)
    with pytest.raises(Conflict, match=f"yes-delete {limit + 1}"):
        check_purge_size(limit + 1, memories, share, None)
