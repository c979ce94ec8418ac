"""A turn is scored with its neighbours; withdrawn and foreign ones give and get what they should."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoray.engine.context import with_context
from memoray.engine.fold import fold_user
from memoray.engine.state import UserState
from memoray.events import DeltaAccepted
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def known() -> UserState:
    """Two sessions: a1 a2 a3, and b1."""
    state = UserState()
    for seq, (session, count) in enumerate((("a", 3), ("b", 1)), 1):
        turns = tuple(
            Turn(TurnId(f"{session}{number + 1}"), session, number, "user", "text", NOON, NOON)
            for number in range(count)
        )
        state = fold_user(state, DeltaAccepted(UserKey("app", "u"), session, turns), seq, NOON)
    return state


def test_a_neighbour_gives_three_tenths_forward_and_half_of_that_back(known: UserState) -> None:
    ids, scores = with_context(known, {"a2": 1.0}, 10, lambda _key: True)
    assert ids == ["a2", "a3", "a1"]
    assert scores == pytest.approx([1.0, 0.3, 0.15])


def test_shares_add_up_and_stay_in_the_session(known: UserState) -> None:
    ids, scores = with_context(known, {"a1": 1.0, "a2": 1.0, "b1": 0.5}, 10, lambda _key: True)
    assert dict(zip(ids, scores, strict=True)) == pytest.approx({"a1": 1.15, "a2": 1.3, "a3": 0.3, "b1": 0.5})


def test_who_may_not_be_returned_still_gives_its_share(known: UserState) -> None:
    ids, scores = with_context(known, {"a2": 1.0}, 10, lambda key: key == "a3")
    assert ids == ["a3"]
    assert scores == pytest.approx([0.3])


def test_the_best_are_cut_and_equal_ones_ordered_by_id(known: UserState) -> None:
    assert with_context(known, {"a3": 1.0, "b1": 1.0}, 1, lambda _key: True)[0] == ["a3"]
    assert with_context(known, {"gone": 1.0}, 5, lambda key: key != "gone") == ([], [])
