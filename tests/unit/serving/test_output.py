"""How answers are shown."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from memoray.entries import Entry, EntryId, Kind, Precision
from memoray.messages import TurnId
from memoray.operations import Outcome, OutcomeStatus
from memoray.requests import EntryChange, HistoryAnswer, Hit, LegShare, ReadAnswer, ShardStatus, Source
from memoray.serving.output import (
    entries_table,
    explanation,
    history_table,
    hit_as_json,
    hit_time,
    hits_table,
    outcomes_table,
    plain,
    shown_source,
    shown_text,
    shown_time,
    status_table,
)

NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "precision", "shown"),
    [
        (None, Precision.DAY, ""),
        (NOON, Precision.INSTANT, "2026-03-09 12:00"),
        (MIDNIGHT, Precision.INSTANT, "2026-03-09"),
        (MIDNIGHT, Precision.DAY, "2026-03-09"),
        (MIDNIGHT, Precision.WEEK, "week of 2026-03-09"),
        (MIDNIGHT, Precision.MONTH, "2026-03"),
        (MIDNIGHT, Precision.YEAR, "2026"),
    ],
)
def test_a_date_is_as_exact_as_it_is_known(moment: datetime | None, precision: Precision, shown: str) -> None:
    assert shown_time(moment, precision) == shown


def an_entry(**more: object) -> Entry:
    fields: dict[str, object] = {"event_precision": Precision.DAY, "kind": Kind.EPISODE, **more}
    return Entry(EntryId("m1"), "Went to Oslo", NOON, NOON, 1, **fields)  # type: ignore[arg-type]  # fields of an Entry


def test_a_day_is_shown_in_the_zone_that_it_was_told_in() -> None:
    told = datetime(2026, 3, 8, 10, tzinfo=UTC)  # midnight in UTC+14
    entry = an_entry(event_time=told, utc_offset_minutes=14 * 60)
    assert hit_time(Hit("entry", "m1", "x", 1.0, entry=entry)) == "2026-03-09"


def test_a_source_says_who_when_and_where() -> None:
    source = Source(TurnId("t1"), "s1", "hello", "Kim", NOON, "D1:3", 60)
    assert shown_source(source) == "Kim, 2026-03-09 13:00, s1 (D1:3)"


def test_what_was_said_does_not_steer_the_terminal() -> None:
    assert shown_text("a\x1b[31mb\x07\x9bc\n\td") == "a\ufffd[31mb\ufffd\ufffdc\n\td"
    source = Source(TurnId("t1"), "s\x1b1", "hello", "Kim", NOON)
    assert "\x1b" not in shown_source(source)


def rendered(table: Table) -> str:
    console = Console(width=200, file=io.StringIO())
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_no_table_lets_through_what_steers_the_terminal() -> None:
    entry = replace(an_entry(sources=(TurnId("t1"),)), text="a\x1bb")
    sources = {"t1": Source(TurnId("t1"), "s\x1b1", "hello", "Kim", NOON)}
    change = EntryChange("added", NOON, 1, entry, reason="why\x1b", model="m\x1b", operation="add", job_id="j1")
    tables = (
        entries_table(ReadAnswer((entry,), sources)),
        history_table(HistoryAnswer((change,), sources)),
        outcomes_table([Outcome(OutcomeStatus.REFUSED, "why\x1b", entry_id=entry.id)]),
        status_table([ShardStatus(0, "stopped", error="broken\x1b")]),
        hits_table([Hit("entry", "m1", "a\x1bb", 1.0, entry=entry)], explain=False),
    )
    for table in tables:
        assert "\x1b" not in rendered(table)
        assert "\ufffd" in rendered(table)
    assert "add j1" in rendered(tables[1])


def test_json_has_every_field_so_that_a_script_need_not_ask_which_are_there() -> None:
    shown = plain({"entry": an_entry(), "rest": (Kind.FACT, None, NOON)})
    assert shown == {
        "entry": {**shown["entry"], "topics": [], "location": "", "version": 1, "kind": "episode"},  # type: ignore[index]  # a dict
        "rest": ["fact", None, "2026-03-09T12:00:00Z"],
    }


def test_a_hit_as_json_and_its_arithmetic() -> None:
    shares = (LegShare("entry_vector", 2, 0.5, 1.0, 1 / 62),)
    hit = Hit("entry", "m1", "Went to Oslo", 1 / 62, MIDNIGHT, entry=an_entry(event_time=MIDNIGHT), shares=shares)
    shown = hit_as_json(hit, explain=False)
    assert set(shown) == {"type", "id", "text", "score", "event_time", "sources", "kind"}
    assert shown["event_time"] == "2026-03-09T00:00:00+00:00"
    assert "entry_vector rank 2 (weight 1, raw 0.500)" in explanation(hit)
    assert hit_as_json(hit, explain=True)["shares"][0]["rank"] == 2
