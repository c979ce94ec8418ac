"""Operations that an extractor or a caller proposes, and the outcome that each of them gets."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from memoray.entries import EntryId, Kind, Precision
from memoray.messages import TurnId


class Add(msgspec.Struct, frozen=True, omit_defaults=True, tag="add", tag_field="op", gc=False):
    """Remember something new. Fields as in `Entry`."""

    text: str
    kind: Kind = Kind.FACT
    topics: tuple[str, ...] = ()
    event_time: datetime | None = None
    event_precision: Precision = Precision.INSTANT
    utc_offset_minutes: int = 0
    participants: tuple[str, ...] = ()
    location: str = ""
    sources: tuple[TurnId, ...] = ()


class Update(msgspec.Struct, frozen=True, omit_defaults=True, tag="update", tag_field="op", gc=False):
    """Give an entry new contents. None means: leave as it is.

    Attributes:
        seen_version: version that the proposer saw; an entry that has moved on since is checked again.
    """

    entry_id: EntryId
    text: str | None = None
    kind: Kind | None = None
    topics: tuple[str, ...] | None = None
    event_time: datetime | None = None
    event_precision: Precision | None = None
    utc_offset_minutes: int | None = None
    participants: tuple[str, ...] | None = None
    location: str | None = None
    sources: tuple[TurnId, ...] = ()
    seen_version: int | None = None


class Delete(msgspec.Struct, frozen=True, omit_defaults=True, tag="delete", tag_field="op", gc=False):
    """Take an entry out of every current read; history keeps it."""

    entry_id: EntryId
    sources: tuple[TurnId, ...] = ()
    seen_version: int | None = None


class Clear(msgspec.Struct, frozen=True, omit_defaults=True, tag="clear", tag_field="op", gc=False):
    """Take all of a user's entries and turns out of every current read; history keeps them."""

    reason: str = ""
    sources: tuple[TurnId, ...] = ()


Operation = Add | Update | Delete | Clear


class OutcomeStatus(enum.StrEnum):
    """What became of an operation."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"
    REFUSED = "refused"
    FAILED = "failed"


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What became of one operation. Every operation has exactly one, and it is in the log.

    Attributes:
        status: applied, duplicate, refused or failed.
        reason: why, in one clause that a person can read.
        action: what was done when applied: `add`, `update`, `delete`, `clear`, or `restore` by an undo; an add may have
            become an update.
        entry_id: the entry that was added, changed, deleted or repeated.
        version: its version afterwards.
        count: number of entries that a clear took away, or that an undo has too many of to list one by one.
    """

    status: OutcomeStatus
    reason: str
    action: str | None = None
    entry_id: EntryId | None = None
    version: int | None = None
    count: int | None = None


# Reasons that are given in more than one place; a caller may compare with them.
NOT_FOUND = "not_found: no live entry has this id"
TARGET_DELETED = "target deleted"


def moved_on(seen: int, current: int) -> str:
    """Reason for a change that was proposed on an older version of its entry."""
    return f"the entry has moved on from version {seen} to {current}"
