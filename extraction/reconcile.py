"""What becomes of a proposed add beside what is already known. Pure; in doubt an entry is added, never lost.

Guards first, by class of token (see `guards`), then the tiers of the reference: two signals joined by OR, cosine
similarity and word-set Jaccard. The guards have the last word over the tiers.

1. Equal after normalisation, kind, event time, participants and location included → repeat.
2. Different event times, or different full dates in the texts → two entries.
3. Both facts, different only in numbers or negations → the new value replaces the old one, which stays in history;
   but two entries, linked, where both were said in the same delta.
4. The old one has a name that the new one lacks, or it was with other people or elsewhere → two entries, linked.
5. Otherwise: a repeat, if the new one says nothing that the old one doesn't; an update, if it keeps all that the old
   one says, about the same subject; else two entries, linked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from memoray.config import ALL_OPERATIONS, UpdatePolicy
from memoray.entries import Entry, EntryId
from memoray.extraction.guards import (
    Facets,
    differ_only_in_values,
    facets,
    is_reordered,
    keeps_everything,
    names_conflict,
    says_nothing_beyond,
)
from memoray.extraction.occasions import date_of, dates_conflict, local_time, times_conflict
from memoray.extraction.preserve import is_safe_enrichment
from memoray.operations import Add, Update
from memoray.text import fold, folded, jaccard, word_set
from memoray.validation import PARTICIPANTS_COUNT_MAX, merge_topics, normalise_participants

if TYPE_CHECKING:
    from collections.abc import Sequence

SKIP_SCORE_MIN = 0.90
UPDATE_SCORE_MIN = 0.60
SKIP_JACCARD_MIN = 0.70
UPDATE_JACCARD_MIN = 0.40


class Candidate(msgspec.Struct, frozen=True):
    """A known entry that may say the same.

    Attributes:
        entry: as it is now.
        score: cosine similarity, -1 to 1; 0 when unknown.
        is_same_delta: drawn from the same delta as the add. A value changes from one conversation to the next; two
            values in one breath ("room 101 has a projector, room 102 has a projector") are two statements.
    """

    entry: Entry
    score: float
    is_same_delta: bool = False


class Keep(msgspec.Struct, frozen=True):
    """Add it; `related` are the entries that it was kept apart from."""

    related: tuple[EntryId, ...] = ()


class Repeat(msgspec.Struct, frozen=True):
    """It is known; its messages become sources of that entry."""

    entry_id: EntryId
    reason: str


class Revise(msgspec.Struct, frozen=True):
    """It is a new version of an entry. `replaces`: what the old one said no longer holds."""

    entry_id: EntryId
    update: Update
    reason: str
    replaces: bool = False


Verdict = Keep | Repeat | Revise


def tier(score: float, overlap: float) -> int:
    """2: as good as the same; 1: about the same; 0: something else. Bounds included."""
    if score >= SKIP_SCORE_MIN or overlap >= SKIP_JACCARD_MIN:
        return 2
    return int(score >= UPDATE_SCORE_MIN or overlap >= UPDATE_JACCARD_MIN)


class _Match:
    """A candidate beside the add."""

    def __init__(self, add: Add, candidate: Candidate) -> None:
        entry = candidate.entry
        known = (*add.participants, *entry.participants, add.location, entry.location)
        # What is a name in one text is one in the other, even where it opens the sentence.
        names = {*known, *facets(add.text, known).names, *facets(entry.text, known).names}
        self.entry = entry
        self.is_same_delta = candidate.is_same_delta
        self.new: Facets = facets(add.text, names)
        self.old: Facets = facets(entry.text, names)
        self.overlap = jaccard(word_set(add.text), word_set(entry.text))
        self.tier = tier(candidate.score, self.overlap)
        self.rank = (-self.tier, -candidate.score, -self.overlap, entry.id)
        new_time = local_time(add.event_time, add.utc_offset_minutes)
        old_time = entry.local_event_time
        self.is_other_occasion = times_conflict(new_time, old_time) or dates_conflict(
            self.new.dates or date_of(new_time, add.event_precision),
            self.old.dates or date_of(old_time, entry.event_precision),
        )
        self.is_elsewhere = _circumstances_conflict(add, entry)
        self.is_opposed = self.new.negations != self.old.negations or is_reordered(self.new, self.old)
        is_comparable = add.kind == entry.kind and not self.is_elsewhere
        self.adds_nothing = is_comparable and says_nothing_beyond(self.new, self.old)
        self.keeps_all = is_comparable and not self.is_opposed and keeps_everything(self.new, self.old)


def _circumstances_conflict(add: Add, entry: Entry) -> bool:
    """Whether the two happened elsewhere or with other people; unknown agrees with anything."""
    new, old = folded(add.participants), folded(entry.participants)
    if new and old and not (new <= old or old <= new):
        return True
    return bool(add.location and entry.location) and fold(add.location) != fold(entry.location)


def reconcile(
    add: Add,
    candidates: Sequence[Candidate],
    *,
    policy: UpdatePolicy = UpdatePolicy.SUPERSEDE,
    enabled: frozenset[str] = ALL_OPERATIONS,
) -> Verdict:
    """Decide what an add becomes.

    Args:
        add: as proposed.
        candidates: similar live entries, in any order.
        policy: what an add may be turned into.
        enabled: operations that are switched on; without `update` nothing is revised.
    """
    for candidate in candidates:
        if is_repeat(add, candidate.entry):
            return Repeat(candidate.entry.id, "already known")
    if policy is UpdatePolicy.APPEND_ONLY:
        return Keep()
    matches = sorted((_Match(add, candidate) for candidate in candidates), key=lambda match: match.rank)
    verdict = _first(add, matches, policy)
    if isinstance(verdict, Revise) and "update" not in enabled:
        return Keep((verdict.entry_id,))
    return verdict


def _first(add: Add, matches: Sequence[_Match], policy: UpdatePolicy) -> Verdict:
    if policy is not UpdatePolicy.PRESERVE_HISTORY:
        for match in matches:
            both_facts = add.kind == match.entry.kind == "fact"
            is_apart = match.is_other_occasion or match.is_elsewhere or match.is_same_delta
            if both_facts and not is_apart and differ_only_in_values(match.new, match.old):
                return replace(_revise(add, match, "a new value of the same statement"), replaces=True)
    related: list[EntryId] = []
    for match in matches:
        if not match.tier or match.is_other_occasion:
            continue
        verdict = _by_tier(add, match, policy)
        if verdict is not None:
            return verdict
        related.append(match.entry.id)
    return Keep(tuple(related))


def _by_tier(add: Add, match: _Match, policy: UpdatePolicy) -> Verdict | None:
    """Verdict on one similar entry; None: keep them apart."""
    if policy is UpdatePolicy.PRESERVE_HISTORY:
        if is_safe_enrichment(add, match.entry, match.new, match.old):
            return _revise(add, match, "added detail")
        return None
    if match.adds_nothing and (match.tier == 2 or match.keeps_all):  # noqa: PLR2004 - the upper tier
        return _with_topics(add, match)
    if names_conflict(match.new, match.old) or match.is_opposed or match.is_elsewhere:
        return None
    if match.keeps_all:
        return _revise(add, match, "added detail")
    if policy is UpdatePolicy.MERGE_SIMILAR and add.kind == match.entry.kind:
        return _revise(add, match, "about the same") if match.new.numbers == match.old.numbers else None
    return None


def _with_topics(add: Add, match: _Match) -> Verdict:
    """A repeat that brings something beside its text, such as a topic or a place, adds just that."""
    entry = match.entry
    topics = merge_topics(entry.topics, add.topics)
    gains_time = add.event_time is not None and entry.event_time is None
    gains_people = bool(folded(add.participants) - folded(entry.participants))
    gains_place = bool(add.location) and not entry.location
    if topics == entry.topics and not (gains_time or gains_people or gains_place):
        return Repeat(entry.id, "already known in other words")
    update = Update(
        entry.id,
        topics=topics,
        event_time=add.event_time if gains_time else None,
        event_precision=add.event_precision if gains_time else None,
        utc_offset_minutes=add.utc_offset_minutes if gains_time else None,
        participants=_all_people(add, entry) if gains_people else None,
        location=add.location if gains_place else None,
    )
    return Revise(entry.id, update, "already known; new topics or circumstances")


def _revise(add: Add, match: _Match, reason: str) -> Revise:
    entry = match.entry
    update = Update(
        entry.id,
        text=add.text,
        kind=add.kind,
        topics=merge_topics(entry.topics, add.topics),
        event_time=add.event_time,
        event_precision=None if add.event_time is None else add.event_precision,
        utc_offset_minutes=None if add.event_time is None else add.utc_offset_minutes,
        participants=_all_people(add, entry) if add.participants else None,
        location=add.location or None,
    )
    return Revise(entry.id, update, reason)


def _all_people(add: Add, entry: Entry) -> tuple[str, ...]:
    """Participants of both, as an entry holds them; where they are too many for one, those of the add."""
    together = {*entry.participants, *add.participants}
    return normalise_participants(together if len(together) <= PARTICIPANTS_COUNT_MAX else add.participants)


_ENDS = ".!?\u3002\uff01\uff1f \t"


def normal_text(text: str) -> str:
    """Text as repeats are compared: folded, white space collapsed, without closing punctuation."""
    collapsed = re.sub(r"\s+", " ", fold(text)).strip()
    # Text that is closing punctuation only would be nothing without it, and "!!!" is not "???".
    return collapsed.rstrip(_ENDS).strip() or collapsed


def is_repeat(add: Add, entry: Entry) -> bool:
    """Guard 1: the same text after normalisation, and the same kind, event time, participants and location."""
    return (
        normal_text(add.text) == normal_text(entry.text)
        and add.kind == entry.kind
        and add.event_time == entry.event_time
        and folded(add.participants) == folded(entry.participants)
        and fold(add.location).strip() == fold(entry.location).strip()
    )
