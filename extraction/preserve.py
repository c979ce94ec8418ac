"""The `preserve_history` policy: an add may only enrich an entry, keeping every detail of it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from memoray.extraction.guards import is_subsequence
from memoray.extraction.occasions import local_time, times_conflict
from memoray.text import fold, folded

if TYPE_CHECKING:
    from memoray.entries import Entry
    from memoray.extraction.guards import Facets
    from memoray.operations import Add

OLD_COVERAGE_MIN = 0.95
NEW_COVERAGE_MIN = 0.70

_CHANGE = re.compile(
    r"\b(?:now|currently|no longer|instead|changed?|used to)\b|现在|目前|不再|改为|变成|而是|曾经", re.IGNORECASE
)


def is_safe_enrichment(add: Add, entry: Entry, new: Facets, old: Facets) -> bool:
    """Whether the add is the entry with detail added: nothing dropped, reordered, denied or marked as a change."""
    new_time = local_time(add.event_time, add.utc_offset_minutes)
    if add.kind != entry.kind or times_conflict(new_time, entry.local_event_time):
        return False
    if add.participants and entry.participants and not folded(entry.participants) <= folded(add.participants):
        return False
    if add.location and entry.location and fold(add.location).strip() != fold(entry.location).strip():
        return False
    if (
        new.negations != old.negations
        or not old.material <= new.material
        or Counter(old.numbers) - Counter(new.numbers)
    ):
        return False
    if _CHANGE.search(add.text) and not _CHANGE.search(entry.text):
        return False
    old_words, new_words = _counted(old), _counted(new)
    shared = len(old_words & new_words)
    if not shared or shared / len(old_words) < OLD_COVERAGE_MIN or shared / len(new_words) < NEW_COVERAGE_MIN:
        return False
    return is_subsequence(old.order, new.order)


def _counted(text: Facets) -> frozenset[str]:
    """What coverage is counted over: a single letter or digit must be kept, but is too short to count as detail."""
    return frozenset(word for word in text.material if len(word.encode()) > 1)
