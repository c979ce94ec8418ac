"""Whether an extractor's own update stands, or is an add in truth. Pure.

An update was proposed on what the extractor was shown. Where its target has gone or moved on since, or where the policy
keeps every version apart, what it says is put to `reconcile` as an add, so that it is neither lost nor written over
something that the extractor never saw.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from memoray.config import ALL_OPERATIONS, UpdatePolicy
from memoray.entries import Entry, Precision
from memoray.extraction.guards import facets
from memoray.extraction.preserve import is_safe_enrichment
from memoray.extraction.reconcile import is_repeat
from memoray.operations import NOT_FOUND, Add, moved_on

if TYPE_CHECKING:
    from memoray.operations import Update


class Stand(msgspec.Struct, frozen=True):
    """The update is made as proposed."""


class Recheck(msgspec.Struct, frozen=True):
    """What the update says is an add, which reconcile has yet to see."""

    add: Add
    reason: str


class Refuse(msgspec.Struct, frozen=True):
    """Nothing is made of it."""

    reason: str


def check_update(
    update: Update,
    entry: Entry | None,
    *,
    seen_version: int | None = None,
    policy: UpdatePolicy = UpdatePolicy.SUPERSEDE,
    enabled: frozenset[str] = ALL_OPERATIONS,
) -> Stand | Recheck | Refuse:
    """Decide what an extractor's update becomes.

    Args:
        update: as proposed.
        entry: the live entry that it names; None: there is none. A deleted one is the caller's to refuse.
        seen_version: the version that the extractor was shown, where the update itself does not say.
        policy: what may become of entries.
        enabled: operations that are switched on.
    """
    if "update" not in enabled:
        return Refuse("update is switched off")
    seen = update.seen_version or seen_version
    if entry is None:
        reason = NOT_FOUND
    elif seen is not None and seen != entry.version:
        reason = moved_on(seen, entry.version)
    elif policy is UpdatePolicy.APPEND_ONLY:
        reason = "updates are not made under append_only"
    elif policy is UpdatePolicy.PRESERVE_HISTORY and not _keeps_history(as_add(update, entry), entry):
        reason = "the update would drop or change what the entry says"
    else:
        return Stand()
    if update.text is None or "add" not in enabled:
        return Refuse(reason)
    return Recheck(as_add(update, entry), reason)


_NEVER = datetime.min.replace(tzinfo=UTC)


def as_add(update: Update, entry: Entry | None) -> Add:
    """The add that an update amounts to; what it leaves open is taken from the entry."""
    known = entry or Entry(update.entry_id, "", _NEVER, _NEVER, 0)
    is_dated = update.event_time is not None
    precision = update.event_precision if is_dated else known.event_precision
    offset = update.utc_offset_minutes if is_dated else known.utc_offset_minutes
    return Add(
        text=update.text or known.text,
        kind=update.kind or known.kind,
        topics=known.topics if update.topics is None else update.topics,
        event_time=update.event_time or known.event_time,
        event_precision=precision or Precision.INSTANT,
        utc_offset_minutes=offset or 0,
        participants=known.participants if update.participants is None else update.participants,
        location=known.location if update.location is None else update.location,
        sources=update.sources,
    )


def _keeps_history(add: Add, entry: Entry) -> bool:
    if is_repeat(add, entry):
        return True
    names = (*add.participants, *entry.participants, add.location, entry.location)
    return is_safe_enrichment(add, entry, facets(add.text, names), facets(entry.text, names))
