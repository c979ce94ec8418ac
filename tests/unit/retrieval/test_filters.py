from __future__ import annotations

from datetime import timedelta

import pytest

from memoray.entries import Kind
from memoray.requests import Filters
from memoray.retrieval.filters import admits_entry, admits_turn
from tests.unit.retrieval.hits import NOON, entry, turn

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("filters", "is_admitted"),
    [
        (Filters(), True),
        (Filters(event_after=NOON), True),
        (Filters(event_before=NOON), False),
        (Filters(event_after=NOON - HOUR, event_before=NOON + HOUR), True),
        (Filters(kind=Kind.EPISODE), True),
        (Filters(kind=Kind.FACT), False),
        (Filters(recorded_after=NOON + HOUR), False),
        (Filters(recorded_before=NOON), False),
    ],
)
def test_a_dated_entry(filters: Filters, *, is_admitted: bool) -> None:
    assert admits_entry(entry("a", kind=Kind.EPISODE, event_time=NOON), filters) is is_admitted


def test_an_undated_entry_passes_unless_only_dated_ones_are_asked_for() -> None:
    assert admits_entry(entry("a"), Filters(event_after=NOON + HOUR))
    assert not admits_entry(entry("a"), Filters(dated_only=True))


def test_a_turn_has_no_kind_and_happened_when_it_was_said() -> None:
    said = turn("t")
    assert admits_turn(said, Filters(dated_only=True, event_after=NOON))
    assert not admits_turn(said, Filters(event_before=NOON))
    assert not admits_turn(said, Filters(kind=Kind.FACT))
