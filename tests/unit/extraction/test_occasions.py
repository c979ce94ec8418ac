from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoray.entries import Precision
from memoray.extraction.occasions import (
    DATE_MARK,
    Date,
    date_of,
    dates_conflict,
    local_time,
    take_dates,
    times_conflict,
)

DAY = datetime(2024, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("on 2024-05-06", Date(2024, 5, 6)),
        ("on 6 May 2024", Date(2024, 5, 6)),
        ("on the 6th of May", Date(0, 5, 6)),
        ("on May 6th, 2024", Date(2024, 5, 6)),
        ("on Sept 6", Date(0, 9, 6)),
        ("on 25/12/2024", Date(2024, 12, 25)),
        ("on 12/25/24", Date(2024, 12, 25)),
        ("on 5/6/2024", Date(2024, 0, 506)),
        ("\u57282024-05-06\u53bb", Date(2024, 5, 6)),
        ("2024\u5e745\u67086\u65e5", Date(2024, 5, 6)),
    ],
)
def test_a_date_is_read(text: str, date: Date) -> None:
    dates, rest = take_dates(text)
    assert dates == {date}
    assert DATE_MARK in rest


@pytest.mark.parametrize(
    "text", ["ran marathon 42", "decided 3 times", "Go 1.24.3", "2024-13-40", "may 5pm suit", "30/30/2024", "45 May"]
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert take_dates(text) == (frozenset(), text)


def test_dates_with_the_same_digits_differ() -> None:
    assert dates_conflict({Date(2024, 5, 6)}, {Date(2024, 6, 5)})
    assert dates_conflict({Date(2024, 5, 5)}, {Date(2024, 5, 7)})


def test_a_date_without_a_year_agrees_with_that_day_of_any() -> None:
    assert not dates_conflict({Date(0, 5, 6)}, {Date(2024, 5, 6)})
    assert not dates_conflict(set(), {Date(2024, 5, 6)})


@pytest.mark.parametrize(
    ("later", "is_conflict"),
    [
        (timedelta(0), False),
        (timedelta(hours=16), False),
        (timedelta(days=1), True),
        (timedelta(days=1, hours=16), True),
    ],
)
def test_a_moment_is_finer_than_its_day(later: timedelta, *, is_conflict: bool) -> None:
    assert times_conflict(DAY, DAY + later) is is_conflict
    assert times_conflict(DAY + later, DAY) is is_conflict


def test_two_moments_of_a_day_are_two_and_unknown_agrees_with_all() -> None:
    assert times_conflict(DAY + timedelta(hours=9), DAY + timedelta(hours=10))
    assert not times_conflict(None, DAY)


def test_a_day_is_a_day_of_its_own_zone() -> None:
    local = local_time(DAY - timedelta(hours=2), 120)
    assert not times_conflict(local, DAY + timedelta(hours=21))
    assert times_conflict(local, DAY + timedelta(hours=23))
    assert date_of(local, Precision.DAY) == {Date(2024, 5, 6)}


def test_only_an_exact_event_time_is_a_date() -> None:
    assert date_of(DAY, Precision.DAY) == {Date(2024, 5, 6)}
    assert date_of(DAY, Precision.MONTH) == frozenset()
    assert date_of(None, Precision.DAY) == frozenset()
