"""A client's requests of one session: which comes before which, and what a refusal does to those after it."""

from __future__ import annotations

import pytest

from memoray.engine.ordering import PENDING_SECONDS_MAX, SessionOrder
from memoray.errors import BusyError
from memoray.keys import UserKey

HERE, ELSEWHERE = (UserKey("app", "ana"), "s1"), (UserKey("app", "ana"), "s2")


def test_each_request_comes_after_the_one_before_it_that_is_not_answered() -> None:
    order = SessionOrder()
    assert order.join(HERE, "a", 0) is None
    assert order.join(HERE, "b", 0) == "a"
    assert order.join(HERE, "c", 0) == "b"
    assert order.join(ELSEWHERE, "x", 0) is None
    order.leave(HERE, "b")
    assert order.join(HERE, "c", 1) == "a", "made again, it keeps its place"
    order.leave(HERE, "a")
    assert order.join(HERE, "c", 2) is None


def test_after_a_refusal_the_later_ones_are_refused_until_it_is_made_again() -> None:
    order = SessionOrder()
    order.join(HERE, "a", 0)
    order.refuse(HERE, "a")
    for later in ("b", "c", "b"):
        with pytest.raises(BusyError, match="repeat that one first"):
            order.join(HERE, later, 1)
    assert order.join(HERE, "a", 2) is None
    order.leave(HERE, "a")
    with pytest.raises(BusyError, match="request 'b'"):
        order.join(HERE, "c", 3)
    assert order.join(HERE, "b", 4) is None
    assert order.join(HERE, "c", 5) == "b", "under way again, so the shard is asked"
    assert order.join(ELSEWHERE, "x", 5) is None


def test_a_whole_session_comes_after_nothing_and_ends_every_wait_once_it_is_taken() -> None:
    order = SessionOrder()
    order.join(HERE, "a", 0)
    order.refuse(HERE, "a")
    assert order.join(HERE, "whole", 1, is_whole=True) is None
    assert order.join(HERE, "b", 1) == "whole"
    order.forget(HERE)
    assert order.join(HERE, "c", 2) is None


def test_what_is_not_made_again_for_long_counts_as_given_up() -> None:
    order = SessionOrder()
    order.join(HERE, "a", 0)
    order.refuse(HERE, "a")
    with pytest.raises(BusyError):
        order.join(HERE, "b", PENDING_SECONDS_MAX)
    assert order.join(HERE, "b", PENDING_SECONDS_MAX + 1) is None


def test_no_more_sessions_are_remembered_than_the_bound() -> None:
    order = SessionOrder(sessions_count_max=2)
    sessions = [(UserKey("app", "ana"), f"s{number}") for number in range(3)]
    for session in sessions:
        order.join(session, "a", 0)
    assert [order.join(session, "b", 0) for session in reversed(sessions)] == ["a", "a", None]
