"""The `preserve_history` policy: an add may only enrich an entry, keeping every detail of it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.extraction.guards import times_conflict
from memoray.text import fold

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
    if add.kind != entry.kind or times_conflict(add.event_time, entry.event_time):
        return False
    if add.participants and entry.participants and not _folded(entry.participants) <= _folded(add.participants):
        return False
    if add.location and entry.location and fold(add.location).strip() != fold(entry.location).strip():
        return False
    if new.negations != old.negations or not old.material <= new.material or old.numbers - new.numbers:
        return False
    if _CHANGE.search(add.text) and not _CHANGE.search(entry.text):
        return False
    shared = len(old.material & new.material)
    if not shared or shared / len(old.material) < OLD_COVERAGE_MIN or shared / len(new.material) < NEW_COVERAGE_MIN:
        return False
    return _is_subsequence(old.order, new.order)


def _folded(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(fold(name).strip() for name in names)


def _is_subsequence(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    left = iter(new)
    return all(word in left for word in old)
