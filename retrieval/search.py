"""From the legs that a shard found to an answer. Pure: fuse → join → kind fallback → threshold → sort → dedupe → cut.

Ids are ranked; hits are made of them one by one, until the answer is full.
"""

from __future__ import annotations

import math
from itertools import groupby, islice
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from memoray.entries import Entry
from memoray.messages import Turn
from memoray.requests import Hit, SearchAnswer, SearchRequest, source_of
from memoray.retrieval.dedupe import without_repeats
from memoray.retrieval.fusion import Fused, Leg, by_score, fuse
from memoray.retrieval.paging import page_of, start_of
from memoray.retrieval.provenance import joined
from memoray.validation import queries_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memoray.requests import LegShare, Source

FALLBACK_UNDER = 3
LEG_DEPTH_MIN = 50


class Found(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one shard contributes to a search, at one moment.

    Attributes:
        legs: filtered as asked; one of a kind for each query.
        fallback_legs: the same without the kind filter; empty unless the answer `falls_back` on them.
        entries: every entry that a leg names.
        turns: every turn that a leg names, that one of the entries cites, or that stands beside one in its session.
        neighbours: ids of the turns before and after each turn that a leg names; "" where there is none to be shown.
        cited: by turn, the entries of the legs that stand for it: what they say now was drawn from it.
        replaced: by turn, the entries of the legs that once said what it says, and say something else now.
        superseded: turns of the legs that every entry drawn from them has left behind so.
        changed_seq: seq of the latest version of any of the entries.
        keyword_only: there was no vector for the query.
        seq: seq of the log that it was read at.
    """

    legs: tuple[Leg, ...] = ()
    fallback_legs: tuple[Leg, ...] = ()
    entries: dict[str, Entry] = {}
    turns: dict[str, Turn] = {}
    neighbours: dict[str, tuple[str, str]] = {}
    cited: dict[str, tuple[str, ...]] = {}
    replaced: dict[str, tuple[str, ...]] = {}
    superseded: tuple[str, ...] = ()
    changed_seq: int = 0
    keyword_only: bool = False
    seq: int = 0


def leg_depth(limit: int) -> int:
    """How many hits each leg brings: more than the answer takes, so that dropped repeats leave it no shorter."""
    return max(LEG_DEPTH_MIN, 4 * limit)


def falls_back(request: SearchRequest, entries_count: int) -> bool:
    """Whether other kinds fill up behind so many entries of the kind that was asked for."""
    is_wanted = request.filters.kind is not None and request.kind_fallback is not False
    return is_wanted and entries_count < FALLBACK_UNDER


def answer(request: SearchRequest, found: Found) -> SearchAnswer:
    """Make an answer of what a shard found; a search without a query has an empty one, whatever was found.

    Raises:
        InvalidRequestError: `request.page` is not the next page of this search.
    """
    if not queries_of(request):
        return SearchAnswer(seq=found.seq)
    ranking = _ranking_of(found)
    start = start_of(request, ranking, found.seq)
    window = list(islice(_listed(request, found), start, start + request.limit + 1))
    best = window[: request.limit]
    is_more = len(window) > request.limit
    next_page = page_of(request, ranking, found.seq, start + request.limit) if is_more else ""
    if request.order_by_event_time:
        best.sort(key=lambda hit: (hit.event_time is None, hit.event_time and hit.event_time.timestamp()))
    return SearchAnswer(tuple(best), found.keyword_only, found.seq, next_page)


def _ranking_of(found: Found) -> object:
    """All that decides which hits an answer has and where: legs to the last bit, versions, and links."""
    links = sorted(found.cited.items()), sorted(found.replaced.items())
    return found.legs, found.fallback_legs, links, found.changed_seq, found.keyword_only


def _listed(request: SearchRequest, found: Found) -> Iterator[Hit]:
    """Hits as they are asked for; with dedupe no repeats, and no turn that an entry which was given stands for."""
    given: set[str] = set()
    hits = _hits(_ranked(request, found), request, found, given)
    if not request.dedupe:
        yield from hits
        return
    for hit in without_repeats(hits):
        given.add(hit.id)  # before the next is made
        yield hit


def _ranked(request: SearchRequest, found: Found) -> Iterable[Fused]:
    """Ids by their place in an answer, best first, from all of the legs that count."""
    ranked = _fused(found.legs, request, found)
    kind = request.filters.kind
    if not falls_back(request, sum(1 for item in ranked if item.id in found.entries)):
        return _newest_first(ranked, found)
    known = {item.id for item in ranked}
    wider = [item for item in _fused(found.fallback_legs, request, found) if item.id not in known]
    # The kind that was asked for stands first, even where another scores higher.
    of_kind = [item for item in wider if item.id in found.entries and found.entries[item.id].kind == kind]
    of_others = [item for item in wider if item.id not in found.entries or found.entries[item.id].kind != kind]
    return [item for part in (ranked, of_kind, of_others) for item in _newest_first(part, found)]


def _fused(legs: Sequence[Leg], request: SearchRequest, found: Found) -> list[Fused]:
    fused = fuse(legs, k=request.rrf_k, weights=request.weights)
    known = [item for item in fused if item.id in found.entries or item.id in found.turns]
    return _behind_what_replaced_them(joined(known, found.cited) if found.cited else known, found)


def _behind_what_replaced_them(ranked: list[Fused], found: Found) -> list[Fused]:
    """The ranking, but a turn no higher than an entry that says what holds now instead of what the turn says.

    Of a turn that says several things it is the entry that fits the query best which counts: replaced or not.
    """
    if not found.replaced:
        return ranked
    scores = {item.id: item.score for item in ranked}

    def best(entry_ids: tuple[str, ...]) -> float:
        return max((scores.get(entry_id, 0.0) for entry_id in entry_ids), default=0.0)

    placed: list[Fused] = []
    for item in ranked:
        ceiling = best(found.replaced.get(item.id, ()))
        is_behind = ceiling > best(found.cited.get(item.id, ())) and item.score >= ceiling
        placed.append(replace(item, score=math.nextafter(ceiling, 0.0)) if is_behind else item)
    return by_score(placed)


def _newest_first(ranked: Iterable[Fused], found: Found) -> Iterator[Fused]:
    """The same, equal scores by the most recently updated, then the most recently created, then by id."""
    for _, same in groupby(ranked, key=lambda item: item.score):
        tied = list(same)
        if len(tied) > 1:
            tied.sort(key=lambda item: _recency(item.id, found))
        yield from tied


def _recency(key: str, found: Found) -> tuple[float, float, str]:
    entry = found.entries.get(key)
    if entry is not None:
        return -entry.updated_at.timestamp(), -entry.created_at.timestamp(), key
    said = -found.turns[key].recorded_at.timestamp()
    return said, said, key


def _hits(ranked: Iterable[Fused], request: SearchRequest, found: Found, given: set[str]) -> Iterator[Hit]:
    for item in ranked:
        entry = found.entries.get(item.id)
        if item.score < request.min_score or not (request.turns if entry is None else request.entries):
            continue
        if not given.isdisjoint(found.cited.get(item.id, ())):
            continue
        shares = item.shares if request.explain else ()
        if entry is not None:
            sources = tuple(source_of(found.turns[key]) for key in entry.sources if key in found.turns)
            yield Hit("entry", item.id, entry.text, item.score, entry.event_time, sources, entry=entry, shares=shares)
        else:
            yield _turn_hit(item, found, shares=shares)


def _turn_hit(item: Fused, found: Found, *, shares: tuple[LegShare, ...]) -> Hit:
    turn = found.turns[item.id]
    before, after = found.neighbours.get(item.id, ("", ""))
    return Hit(
        "turn",
        item.id,
        turn.text,
        item.score,
        turn.timestamp,
        (source_of(turn),),
        turn=turn,
        shares=shares,
        before=_source(before, found),
        after=_source(after, found),
        is_superseded=item.id in found.superseded,
    )


def _source(key: str, found: Found) -> Source | None:
    turn = found.turns.get(key)
    return None if turn is None else source_of(turn)
