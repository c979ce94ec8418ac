from __future__ import annotations

import pytest

from memoray.retrieval.fusion import Fused, Leg, fuse
from memoray.retrieval.provenance import ECHO_SHARE, joined

WEIGHTS = {"entry_vector": 1.0, "entry_keyword": 1.0, "turn_vector": 1.0, "turn_keyword": 1.0}


def leg(name: str, *ids: str, query: int = 0) -> Leg:
    return Leg(name, ids, tuple(0.5 for _ in ids), query)


def ranked(*legs: Leg, **cited: tuple[str, ...]) -> dict[str, Fused]:
    return {item.id: item for item in joined(fuse(legs, weights=WEIGHTS), cited)}


def test_of_a_kind_of_leg_the_better_rank_counts_whole_and_the_other_a_quarter() -> None:
    found = ranked(leg("entry_vector", "x", "e"), leg("turn_vector", "t"), t=("e",))
    assert found["e"].score == pytest.approx(1 / 61 + ECHO_SHARE / 62)
    assert found["t"].score == pytest.approx(1 / 61)
    assert [(part.leg, part.rank, part.weight) for part in found["e"].shares] == [
        ("entry_vector", 2, ECHO_SHARE),
        ("turn_vector", 1, 1.0),
    ]


def test_legs_of_another_kind_or_query_count_whole() -> None:
    found = ranked(leg("entry_vector", "e"), leg("turn_keyword", "t"), t=("e",))
    assert found["e"].score == pytest.approx(2 / 61)
    found = ranked(leg("entry_vector", "e"), leg("turn_vector", "t", query=1), t=("e",))
    assert found["e"].score == pytest.approx(2 / 61)


def test_a_message_counts_for_the_one_memory_that_fits_best() -> None:
    found = ranked(leg("entry_vector", "e", "f"), leg("turn_vector", "t"), t=("f", "e"))
    assert found["e"].score == pytest.approx((1 + ECHO_SHARE) / 61)
    assert found["f"].score == pytest.approx(1 / 62)


def test_of_several_messages_the_best_of_each_kind_of_leg_counts() -> None:
    found = ranked(
        leg("entry_vector", "x", "y", "e"),
        leg("turn_vector", "s", "t"),
        leg("turn_keyword", "t", "s"),
        s=("e",),
        t=("e",),
    )
    assert found["e"].score == pytest.approx(1 / 61 + ECHO_SHARE / 63 + 1 / 61)


def test_what_no_leg_found_neither_gives_nor_gets() -> None:
    legs = (leg("entry_vector", "e"), leg("turn_vector", "t"))
    assert list(ranked(*legs, gone=("e",), t=("other",)).values()) == fuse(legs, weights=WEIGHTS)


def test_shares_add_up_and_the_order_is_by_score_then_id() -> None:
    legs = (leg("entry_keyword", "e", "f"), leg("turn_keyword", "u", "t"), leg("turn_vector", "t", "u"))
    found = joined(fuse(legs, weights=WEIGHTS), {"t": ("e", "f"), "u": ("f",)})
    assert found == sorted(found, key=lambda item: (-item.score, item.id))
    for item in found:
        assert item.score == pytest.approx(sum(part.share for part in item.shares))
        assert all(part.share == pytest.approx(part.weight / (60 + part.rank)) for part in item.shares)
