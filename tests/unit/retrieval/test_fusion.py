from __future__ import annotations

import pytest

from memoray.retrieval.fusion import Leg, fuse

EVEN = {"vector": 1.0, "keyword": 1.0}


def leg(name: str, *ids: str) -> Leg:
    return Leg(name, ids, tuple(1.0 / (1 + place) for place in range(len(ids))))


def test_ranks_count_from_one() -> None:
    found = fuse([leg("vector", "fuji", "hike", "alice"), leg("keyword", "both", "fuji")], weights=EVEN)
    assert [item.id for item in found] == ["fuji", "both", "hike", "alice"]
    assert [item.score for item in found] == pytest.approx([0.0325224749, 0.0163934426, 0.0161290323, 0.0158730159])


def test_an_id_twice_in_a_leg_counts_once_at_its_better_rank() -> None:
    (only,) = fuse([leg("vector", "a", "a")], weights=EVEN)
    assert only.score == pytest.approx(1 / 61)


def test_equal_scores_are_ordered_by_id() -> None:
    assert [item.id for item in fuse([leg("vector", "b"), leg("keyword", "a")], weights=EVEN)] == ["a", "b"]


def test_a_weight_of_zero_takes_a_leg_out_of_the_score() -> None:
    best = fuse([leg("vector", "a"), leg("keyword", "b")], weights={"vector": 0.0, "keyword": 2.0}, k=10)[0]
    assert best.id == "b"
    assert best.score == pytest.approx(2 / 11)


def test_shares_add_up_to_the_score() -> None:
    for item in fuse([leg("entry_vector", "a", "b"), leg("entry_keyword", "b", "a")]):
        assert sum(share.share for share in item.shares) == pytest.approx(item.score)
