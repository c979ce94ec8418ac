"""Which entries and turns may answer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.text import fold, folded

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from memoray.entries import Entry
    from memoray.messages import Turn
    from memoray.requests import Filters


def admits_entry(entry: Entry, filters: Filters, sessions: Collection[str] = ()) -> bool:
    """Whether an entry passes every filter; undated ones pass the event times unless `dated_only`.

    Args:
        entry: to look at.
        filters: as asked.
        sessions: that the entry was drawn from; needed only where `filters.sessions` are.
    """
    if filters.kind is not None and entry.kind != filters.kind:
        return False
    if entry.event_time is None:
        if filters.dated_only:
            return False
    elif not _is_within(entry.event_time, filters.event_after, filters.event_before):
        return False
    if filters.sessions and not set(filters.sessions) & set(sessions):
        return False
    return _is_about(entry, filters) and _is_within(entry.updated_at, filters.recorded_after, filters.recorded_before)


def _is_about(entry: Entry, filters: Filters) -> bool:
    if filters.participants and not folded(filters.participants) <= folded(entry.participants):
        return False
    if filters.location and fold(filters.location).strip() != fold(entry.location).strip():
        return False
    return not filters.topics or bool(folded(filters.topics) & folded(entry.topics))


def admits_turns(filters: Filters) -> bool:
    """Whether any turn could pass: none has a kind, a place or topics."""
    return filters.kind is None and not filters.location and not filters.topics


def admits_turn(turn: Turn, filters: Filters) -> bool:
    """Whether a turn passes: it has no kind, place or topics; its event time is when it was said."""
    if not admits_turns(filters):
        return False
    if filters.participants and fold(turn.speaker).strip() not in folded(filters.participants):
        return False
    if filters.sessions and turn.session_id not in filters.sessions:
        return False
    return _is_within(turn.timestamp, filters.event_after, filters.event_before) and _is_within(
        turn.recorded_at, filters.recorded_after, filters.recorded_before
    )


def _is_within(moment: datetime, after: datetime | None, before: datetime | None) -> bool:
    """Start inclusive, end exclusive."""
    return (after is None or moment >= after) and (before is None or moment < before)
