"""Known entries and adds for the tests of this folder."""

from __future__ import annotations

from datetime import UTC, datetime

from memoray.config import ALL_OPERATIONS, UpdatePolicy
from memoray.entries import Entry, EntryId, Kind
from memoray.extraction.reconcile import Candidate, Keep, Repeat, Revise, reconcile
from memoray.operations import Add

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KNOWN = EntryId("known")


def entry(
    text: str,
    *,
    key: str = KNOWN,
    kind: Kind = Kind.FACT,
    topics: tuple[str, ...] = (),
    event_time: datetime | None = None,
    participants: tuple[str, ...] = (),
    location: str = "",
) -> Entry:
    return Entry(
        EntryId(key),
        text,
        NOON,
        NOON,
        1,
        kind=kind,
        topics=topics,
        event_time=event_time,
        participants=participants,
        location=location,
    )


def verdict(
    old: Entry | str,
    new: Add | str,
    *,
    score: float = 0.95,
    policy: UpdatePolicy = UpdatePolicy.SUPERSEDE,
    enabled: frozenset[str] = ALL_OPERATIONS,
) -> Keep | Repeat | Revise:
    known = entry(old) if isinstance(old, str) else old
    add = Add(new) if isinstance(new, str) else new
    return reconcile(add, [Candidate(known, score)], policy=policy, enabled=enabled)
