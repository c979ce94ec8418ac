"""A turn is scored with its neighbours; withdrawn and foreign ones give and get what they should."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from random import Random

import pytest
from msgspec.structs import replace

from memoray.engine.context import AFTER_SHARE, BEFORE_SHARE, TurnContext
from memoray.engine.fold import fold_user
from memoray.engine.state import UserState
from memoray.events import DeltaAccepted
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Scores:
    """Own scores that can be searched, and the sizes that were asked for."""

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores = scores
        self.asked: list[int] = []

    def __call__(self, k: int, allowed: Collection[str] | None) -> tuple[list[str], list[float]]:
        self.asked.append(k)
        ranked = sorted((-score, key) for key, score in self.scores.items() if allowed is None or key in allowed)[:k]
        return [key for _, key in ranked], [-score for score, _ in ranked]


def said(counts: dict[str, int]) -> UserState:
    state = UserState()
    for seq, (session, count) in enumerate(counts.items(), 1):
        turns = tuple(
            Turn(TurnId(f"{session}{number + 1}"), session, number, "user", "text", NOON, NOON)
            for number in range(count)
        )
        state = fold_user(state, DeltaAccepted(UserKey("app", "u"), session, turns), seq, NOON)
    return state


@pytest.fixture
def known() -> UserState:
    """Two sessions: a1 a2 a3, and b1."""
    return said({"a": 3, "b": 1})


def test_a_neighbour_gives_three_tenths_forward_and_half_of_that_back(known: UserState) -> None:
    ids, scores = TurnContext(known).best(Scores({"a2": 1.0}), 10)
    assert ids == ["a2", "a3", "a1"]
    assert scores == pytest.approx([1.0, 0.3, 0.15])


def test_shares_add_up_and_stay_in_the_session(known: UserState) -> None:
    ids, scores = TurnContext(known).best(Scores({"a1": 1.0, "a2": 1.0, "b1": 0.5}), 10)
    assert dict(zip(ids, scores, strict=True)) == pytest.approx({"a1": 1.15, "a2": 1.3, "a3": 0.3, "b1": 0.5})


def test_who_may_not_be_returned_still_gives_its_share(known: UserState) -> None:
    ids, scores = TurnContext(known).best(Scores({"a2": 1.0, "b1": 5.0}), 10, ["a3"])
    assert ids == ["a3"]
    assert scores == pytest.approx([0.3])


def test_a_withdrawn_turn_is_not_returned_gives_nothing_and_is_not_shown_beside_another(known: UserState) -> None:
    known = replace(known, withdrawn=known.withdrawn.insert(TurnId("a2"), 9))
    context = TurnContext(known)
    assert context.best(Scores({"a2": 1.0, "a1": 0.5, "gone": 2.0}), 10) == (["a1"], [0.5])
    assert [context.beside(key) for key in ("a1", "a3", "gone")] == [("", ""), ("", ""), ("", "")]


def test_the_best_are_cut_and_equal_ones_ordered_by_id(known: UserState) -> None:
    assert TurnContext(known).best(Scores({"a3": 1.0, "b1": 1.0}), 1)[0] == ["a3"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("low", [-1.0, 0.0, 0.9])
def test_not_looking_at_everything_leaves_nothing_out(seed: int, k: int, low: float) -> None:
    chance = Random(seed)
    known = said({name: chance.randint(1, 60) for name in "abcd"})
    keys = sorted(known.turns)
    search = Scores({key: chance.choice([chance.uniform(low, 1.0), 0.5]) for key in keys if chance.random() < 0.9})
    admitted = None if seed % 2 else [key for key in keys if chance.random() < 0.5]
    context = TurnContext(known)
    expected = []
    for key in keys if admitted is None else admitted:
        before, after = context.beside(key)
        own = [search.scores.get(other) for other in (key, before, after)]
        if any(score is not None for score in own):
            score = (own[0] or 0.0) + BEFORE_SHARE * (own[1] or 0.0) + AFTER_SHARE * (own[2] or 0.0)
            expected.append((-score, key))
    assert context.best(search, k, admitted) == (
        [key for _, key in sorted(expected)[:k]],
        [-score for score, _ in sorted(expected)[:k]],
    )


def test_few_are_looked_at_where_few_are_wanted() -> None:
    known = said({"a": 400})
    search = Scores({f"a{number}": 1 / number for number in range(1, 401)})
    TurnContext(known).best(search, 5)
    assert max(search.asked) < 100
