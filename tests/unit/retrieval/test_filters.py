from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

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


@pytest.mark.parametrize(
    ("filters", "is_admitted"),
    [
        (Filters(participants=("ana",)), True),
        (Filters(participants=("BEN", "Ana ")), True),
        (Filters(participants=("Ana", "Cleo")), False),
        (Filters(location=" oslo"), True),
        (Filters(location="Bergen"), False),
        (Filters(topics=("sport", "SAILING")), True),
        (Filters(topics=("sport",)), False),
        (Filters(sessions=("s1", "s9")), True),
        (Filters(sessions=("s9",)), False),
        (Filters(participants=("Ana",), location="Bergen"), False),
    ],
)
def test_who_where_what_about_and_from_which_session(filters: Filters, *, is_admitted: bool) -> None:
    told = replace(entry("a"), participants=("Ana", "Ben"), location="Oslo", topics=("sailing",))
    assert admits_entry(told, filters, ["s1", "s2"]) is is_admitted


def test_a_turn_is_of_its_speaker_and_session_and_has_no_place_or_topic() -> None:
    said = replace(turn("t"), name="Ana", session_id="s1")
    assert admits_turn(said, Filters(participants=("ana", "ben")))
    assert not admits_turn(said, Filters(participants=("ben",)))
    assert admits_turn(said, Filters(sessions=("s1",)))
    assert not admits_turn(said, Filters(sessions=("s2",)))
    assert not admits_turn(said, Filters(location="Oslo"))
    assert not admits_turn(said, Filters(topics=("sailing",)))
