"""The encoding of user keys is injective."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoray.keys import length_prefixed

parts = st.lists(st.text(max_size=5), max_size=4).map(tuple)


@given(parts, parts)
def test_different_parts_give_different_bytes(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (length_prefixed(*one) == length_prefixed(*other)) == (one == other)
