"""Dropping hits that repeat a better one. Pure.

Two hits repeat each other when their word sets have a Jaccard index of 0.80 or more and nothing tells them apart: same
kind, event time, participants, location, numbers and negations. Two yearly races that differ in one date are two. A
turn is evidence, so it repeats only a turn with the very same words, said by the same speaker at the same time, and
never an entry. Only hits that stay can push others out, so no hit disappears without a better one standing for it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from memoray.text import Guard, fold, jaccard, words_and_guard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoray.entries import Entry
    from memoray.requests import Hit

JACCARD_MIN = 0.80


class _Print(msgspec.Struct, frozen=True):
    """What must be equal of two entries before their words are compared."""

    kind: str
    event_time: datetime | None
    people: tuple[str, ...]
    place: str
    guard: Guard


def without_repeats(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Hits that repeat no better one; lazily, so a caller that needs few looks at few.

    Args:
        hits: best first.
    """
    entries: dict[_Print, list[frozenset[str]]] = {}
    turns: set[tuple[str, datetime | None, str]] = set()
    for hit in hits:
        if hit.entry is None:
            said = "" if hit.turn is None else hit.turn.speaker, hit.event_time, fold(hit.text)
            is_known = said in turns
            turns.add(said)
        else:
            words, guard = words_and_guard(hit.text)
            same = entries.setdefault(_print_of(hit.entry, guard), [])
            is_known = any(jaccard(words, other) >= JACCARD_MIN for other in same)
            if not is_known:
                same.append(words)
        if not is_known:
            yield hit


def _print_of(entry: Entry, guard: Guard) -> _Print:
    people = tuple(fold(name) for name in entry.participants)
    return _Print(entry.kind, entry.event_time, people, fold(entry.location), guard)
