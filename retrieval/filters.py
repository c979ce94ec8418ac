"""Which entries and turns may answer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from memoray.entries import Entry
    from memoray.messages import Turn
    from memoray.requests import Filters


def admits_entry(entry: Entry, filters: Filters) -> bool:
    """Whether an entry passes: its kind, its event time (undated passes unless `dated_only`), its recorded time."""
    if filters.kind is not None and entry.kind != filters.kind:
        return False
    if entry.event_time is None:
        if filters.dated_only:
            return False
    elif not _is_within(entry.event_time, filters.event_after, filters.event_before):
        return False
    return _is_within(entry.updated_at, filters.recorded_after, filters.recorded_before)


def admits_turn(turn: Turn, filters: Filters) -> bool:
    """Whether a turn passes: it has no kind, so a kind keeps it out; its event time is when it was said."""
    if filters.kind is not None:
        return False
    return _is_within(turn.timestamp, filters.event_after, filters.event_before) and _is_within(
        turn.recorded_at, filters.recorded_after, filters.recorded_before
    )


def _is_within(moment: datetime, after: datetime | None, before: datetime | None) -> bool:
    """Start inclusive, end exclusive."""
    return (after is None or moment >= after) and (before is None or moment < before)
