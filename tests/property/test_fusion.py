from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoray.retrieval.fusion import Leg, fuse

NAMES = ["entry_vector", "entry_keyword", "turn_vector", "turn_keyword", "other"]
ids = st.lists(st.sampled_from("abcdefgh"), max_size=12)
legs = st.dictionaries(st.sampled_from(NAMES), ids).map(
    lambda lists: [Leg(name, tuple(keys), tuple(0.5 for _ in keys)) for name, keys in lists.items()]
)


@given(legs, st.randoms(use_true_random=False), st.floats(0, 100))
def test_the_order_of_legs_changes_no_bit(found: list[Leg], chance: Random, k: float) -> None:
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert fuse(shuffled, k=k) == fuse(found, k=k)


@given(legs)
def test_every_id_comes_once_best_first_with_shares_that_add_up(found: list[Leg]) -> None:
    fused = fuse(found)
    assert {item.id for item in fused} == {key for leg in found for key in leg.ids}
    assert len({item.id for item in fused}) == len(fused)
    assert fused == sorted(fused, key=lambda item: (-item.score, item.id))
    for item in fused:
        assert item.score == pytest.approx(sum(share.share for share in item.shares))


@given(legs)
def test_repeating_an_id_further_down_changes_no_score(found: list[Leg]) -> None:
    longer = [Leg(leg.name, leg.ids + leg.ids, leg.scores + leg.scores) for leg in found]
    assert fuse(longer) == fuse(found)
