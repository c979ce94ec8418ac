"""Entries: what is remembered, and the identity that makes a repeated add idempotent."""

from __future__ import annotations

import enum
import functools
import hashlib
from datetime import UTC, datetime, timedelta, timezone
from typing import NewType

import msgspec

from memoray.keys import length_prefixed
from memoray.messages import TurnId

EntryId = NewType("EntryId", str)


class Kind(enum.StrEnum):
    """`fact`: stable. `episode`: happened at a time."""

    FACT = "fact"
    EPISODE = "episode"


class Precision(enum.StrEnum):
    """How exactly an event time is known. The event time is the start of the span that the precision names."""

    INSTANT = "instant"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One memory, at one version.

    Attributes:
        id: assigned once, never reused; an update keeps it.
        text: the memory itself; never blank.
        kind: fact or episode.
        topics: labels, in the order they were given, without case-insensitive repeats.
        event_time: when it happened in the world; aware, UTC, or None.
        event_precision: how exactly `event_time` is known.
        utc_offset_minutes: of the zone in which `event_time` is the start of its day, week, month or year.
        participants: who took part, normalised by `memoray.validation.normalise_participants`.
        location: where; "" when unknown.
        version: 1 when added, one higher with each update.
        sources: turns that it was drawn from, oldest first.
        current_from: sources from this position on are those of what it says now; earlier ones said something that has
            been replaced.
        related: entries that a guard kept apart from this one although they are similar.
        created_at: when version 1 was recorded; aware, UTC.
        updated_at: when this version was recorded; aware, UTC.
        seq: seq of the event that gave it this version.
    """

    id: EntryId
    text: str
    created_at: datetime
    updated_at: datetime
    seq: int
    kind: Kind = Kind.FACT
    topics: tuple[str, ...] = ()
    event_time: datetime | None = None
    event_precision: Precision = Precision.INSTANT
    utc_offset_minutes: int = 0
    participants: tuple[str, ...] = ()
    location: str = ""
    version: int = 1
    sources: tuple[TurnId, ...] = ()
    current_from: int = 0
    related: tuple[EntryId, ...] = ()

    @property
    def local_event_time(self) -> datetime | None:
        """The event time in its own zone, where it reads as the date that was meant."""
        if self.event_time is None:
            return None
        return self.event_time.astimezone(timezone(timedelta(minutes=self.utc_offset_minutes)))


@functools.lru_cache(1024)  # a new entry's is asked for when it is decided, and again when it is folded
def identity_of(
    text: str, kind: Kind, event_time: datetime | None, participants: tuple[str, ...], location: str
) -> bytes:
    """Canonical identity of a memory within one user: 16 bytes, equal if and only if the parts are.

    Text is taken as it is, the event time to the microsecond in UTC, participants and location as normalised at the
    door. Every part is length-prefixed, so no choice of text can imitate another split. Topics and sources don't count.
    """
    when = "" if event_time is None else event_time.astimezone(UTC).isoformat(timespec="microseconds")
    encoded = length_prefixed(text, kind.value, when, location, *participants)
    return hashlib.blake2b(encoded, digest_size=16).digest()


def identity_of_entry(entry: Entry) -> bytes:
    """`identity_of` the current version of an entry."""
    return identity_of(entry.text, entry.kind, entry.event_time, entry.participants, entry.location)
