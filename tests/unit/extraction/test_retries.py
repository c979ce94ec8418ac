"""When a service is asked again, and what it may ask for itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoray.extraction.retries import RetryRule, is_passing, retry_after_seconds

NOW = datetime(2026, 3, 18, 9, 0, tzinfo=UTC)


@given(st.integers(1, 50), st.floats(0, 1))
def test_waits_grow_to_their_bound_and_never_vanish(failures: int, draw: float) -> None:
    rule = RetryRule(wait_seconds=0.5, wait_seconds_max=8.0)
    longest = min(8.0, 0.5 * 2 ** (failures - 1))
    assert longest / 2 <= rule.wait(failures, None, draw) <= longest


@given(st.integers(1, 50), st.floats(0, 1000), st.floats(0, 1))
def test_nobody_comes_back_before_the_service_said(failures: int, asked: float, draw: float) -> None:
    assert RetryRule().wait(failures, asked, draw) >= asked


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Wed, 18 Mar 2026 09:00:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 18 Mar 2026 08:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_what_a_service_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


def test_only_what_may_pass_is_asked_again() -> None:
    assert [status for status in (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503) if is_passing(status)] == [
        408,
        409,
        429,
        500,
        503,
    ]
