"""Remembered requests are bounded by count and by age, and the bound survives replay because it is part of the fold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoray.engine.fold import fold
from memoray.engine.state import empty_state
from memoray.events import Batch, RequestAnswered
from memoray.keys import UserKey

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def remembered(count_max: int, age_seconds_max: float, times: list[int]) -> list[bytes]:
    state = empty_state("log", requests_count_max=count_max, requests_age_seconds_max=age_seconds_max)
    for number, seconds in enumerate(times, 1):
        event = RequestAnswered(UserKey("a", "u"), bytes([number]), b"body")
        state = fold(state, Batch(1, number, NOON + timedelta(seconds=seconds), (event,)))
    return sorted(state.window.answers)


def test_the_oldest_leave_when_there_are_too_many() -> None:
    assert remembered(2, 1e9, [0, 1, 2, 3]) == [b"\3", b"\4"]


def test_the_old_leave_when_they_are_too_old() -> None:
    assert remembered(100, 10, [0, 5, 16]) == [b"\3"]
    assert remembered(100, 10, [0, 5, 10]) == [b"\1", b"\2", b"\3"]
