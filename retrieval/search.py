"""From the legs that a shard found to an answer. Pure: fuse → kind fallback → threshold → sort → dedupe → cut."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from memoray.entries import Entry
from memoray.messages import Turn
from memoray.requests import Hit, SearchAnswer, SearchRequest, Source
from memoray.retrieval.dedupe import without_repeats
from memoray.retrieval.fusion import Fused, Leg, fuse
from memoray.validation import is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable

FALLBACK_UNDER = 3
LEG_DEPTH_MIN = 50


class Found(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one shard contributes to a search, at one moment.

    Attributes:
        legs: filtered as asked.
        fallback_legs: the same without the kind filter; empty unless a kind was asked for with fallback.
        entries: every entry that a leg names.
        turns: every turn that a leg names.
        sources: messages that those come from, by turn id.
        keyword_only: there was no vector for the query.
        seq: seq of the log that it was read at.
    """

    legs: tuple[Leg, ...] = ()
    fallback_legs: tuple[Leg, ...] = ()
    entries: dict[str, Entry] = {}
    turns: dict[str, Turn] = {}
    sources: dict[str, Source] = {}
    keyword_only: bool = False
    seq: int = 0


def leg_depth(limit: int) -> int:
    """How many hits each leg brings: more than the answer takes, so that dropped repeats leave it no shorter."""
    return max(LEG_DEPTH_MIN, 4 * limit)


def answer(request: SearchRequest, found: Found) -> SearchAnswer:
    """Make an answer of what a shard found; a blank query has an empty one, whatever was found."""
    if is_blank(request.query):
        return SearchAnswer(seq=found.seq)
    hits = _hits(fuse(found.legs, k=request.rrf_k, weights=request.weights), found, request)
    hits = _behind_what_replaced_them(hits)
    kind = request.filters.kind
    if kind is not None and request.kind_fallback is not False and len(hits) < FALLBACK_UNDER:
        wider = _hits(fuse(found.fallback_legs, k=request.rrf_k, weights=request.weights), found, request)
        known = {hit.id for hit in hits}
        others = [hit for hit in wider if hit.id not in known]
        # The kind that was asked for stands first, even where the other scores higher.
        others.sort(key=lambda hit: (hit.entry is None or hit.entry.kind != kind, _relevance(hit)))
        hits += others
    passed = (hit for hit in hits if hit.score >= request.min_score)
    best = list(islice(without_repeats(passed) if request.dedupe else passed, request.limit))
    if request.order_by_event_time:
        best.sort(key=lambda hit: (hit.event_time is None, hit.event_time and hit.event_time.timestamp()))
    return SearchAnswer(tuple(best), found.keyword_only, found.seq)


def _behind_what_replaced_them(hits: list[Hit]) -> list[Hit]:
    """Hits by relevance, but a turn no higher than an entry that says what holds now instead of what the turn says.

    Of a turn that says several things it is the entry that fits the query best which counts: replaced or not.
    """
    replaced: dict[str, float] = {}
    current: dict[str, float] = {}
    for hit in hits:
        if hit.entry is not None:
            now = hit.entry.sources[hit.entry.current_from :]
            for turn_id in hit.entry.sources:
                best = current if turn_id in now else replaced
                best[turn_id] = max(hit.score, best.get(turn_id, 0.0))
    placed: list[Hit] = []
    for hit in hits:
        ceiling = replaced.get(hit.id, 0.0)
        is_behind = ceiling > current.get(hit.id, 0.0) and hit.score >= ceiling
        placed.append(replace(hit, score=math.nextafter(ceiling, 0.0)) if is_behind else hit)
    return sorted(placed, key=_relevance)


def _relevance(hit: Hit) -> tuple[float, float, float, str]:
    """By score, then most recently updated, then most recently created, then by id."""
    if hit.entry is not None:
        return -hit.score, -hit.entry.updated_at.timestamp(), -hit.entry.created_at.timestamp(), hit.id
    said = 0.0 if hit.turn is None else -hit.turn.recorded_at.timestamp()
    return -hit.score, said, said, hit.id


def _hits(fused: Iterable[Fused], found: Found, request: SearchRequest) -> list[Hit]:
    hits: list[Hit] = []
    for item in fused:
        shares = item.shares if request.explain else ()
        entry, turn = found.entries.get(item.id), found.turns.get(item.id)
        if entry is not None:
            sources = tuple(found.sources[turn_id] for turn_id in entry.sources if turn_id in found.sources)
            hits.append(
                Hit("entry", item.id, entry.text, item.score, entry.event_time, sources, entry=entry, shares=shares)
            )
        elif turn is not None:
            sources = (found.sources[turn.id],) if turn.id in found.sources else ()
            hits.append(Hit("turn", item.id, turn.text, item.score, turn.timestamp, sources, turn=turn, shares=shares))
    return hits
