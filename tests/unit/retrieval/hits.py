"""Entries, turns and hits for the tests of this folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoray.entries import Entry, EntryId, Kind
from memoray.messages import Turn, TurnId
from memoray.requests import Hit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def entry(
    key: str, text: str = "", *, kind: Kind = Kind.FACT, event_time: datetime | None = None, minutes: int = 0
) -> Entry:
    at = NOON + timedelta(minutes=minutes)
    return Entry(EntryId(key), text or key, at, at, 1, kind=kind, event_time=event_time)


def turn(key: str, text: str = "", *, minutes: int = 0) -> Turn:
    at = NOON + timedelta(minutes=minutes)
    return Turn(TurnId(key), "session", 0, "user", text or key, at, at)


def entry_hit(key: str, text: str, *, kind: Kind = Kind.FACT, event_time: datetime | None = None) -> Hit:
    return Hit("entry", key, text, 1.0, event_time, entry=entry(key, text, kind=kind, event_time=event_time))


def turn_hit(key: str, text: str, *, minutes: int = 0) -> Hit:
    said = turn(key, text, minutes=minutes)
    return Hit("turn", key, text, 1.0, said.timestamp, turn=said)
