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

from memoray.text import Guard, fold, guard_of, jaccard, word_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoray.requests import Hit

JACCARD_MIN = 0.80


class _Print(msgspec.Struct, frozen=True):
    """What must be equal. `words` is all of a turn's text; an entry's words are compared by likeness."""

    type: str
    kind: str
    event_time: datetime | None
    people: tuple[str, ...]
    place: str
    guard: Guard
    words: str = ""


def without_repeats(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Hits that repeat no better one; lazily, so a caller that needs few looks at few.

    Args:
        hits: best first.
    """
    kept: dict[_Print, list[frozenset[str]]] = {}
    for hit in hits:
        words = word_set(hit.text)
        same = kept.setdefault(_print_of(hit), [])
        is_known = bool(same) if hit.entry is None else any(jaccard(words, other) >= JACCARD_MIN for other in same)
        if not is_known:
            same.append(words)
            yield hit


def _print_of(hit: Hit) -> _Print:
    entry = hit.entry
    if entry is None:
        speaker = "" if hit.turn is None else hit.turn.speaker
        return _Print(hit.type, "", hit.event_time, (speaker,), "", guard_of(hit.text), fold(hit.text))
    people = tuple(fold(name) for name in entry.participants)
    return _Print(hit.type, entry.kind, hit.event_time, people, fold(entry.location), guard_of(hit.text))
