"""Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009), with a weight for each leg. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from memoray.requests import LegShare

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RRF_K = 60.0

# Keyword legs weigh more than vector legs: over raw turns BM25 alone finds far more evidence than the embedder alone,
# and equal weights hurt where one leg is much the better one.
DEFAULT_WEIGHTS: Mapping[str, float] = {
    "entry_keyword": 1.5,
    "entry_vector": 1.0,
    "turn_keyword": 1.5,
    "turn_vector": 1.0,
}


class Leg(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ranked list: ids best first, and the leg's own score of each, for `explain` only.

    Attributes:
        name: what is ranked and by what, such as `turn_keyword`.
        ids: best first.
        scores: the leg's own.
        query: number of the query that it answers, from 0.
    """

    name: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    query: int = 0


class Fused(msgspec.Struct, frozen=True):
    """An id with its fused score, and each leg's share in it, by leg name, then query."""

    id: str
    score: float
    shares: tuple[LegShare, ...]


def fuse(legs: Sequence[Leg], *, k: float = RRF_K, weights: Mapping[str, float] | None = None) -> list[Fused]:
    """Sum `weight / (k + rank)` over the legs that have an id; ranks count from 1.

    An id that a leg holds twice counts at its better rank only. The order of the legs changes nothing, down to the last
    bit of every score.

    Args:
        legs: any number; no two with the same name and query.
        k: how little the top of a leg counts for more than its middle; not below 0.
        weights: by leg name, whatever the query; a leg without one weighs as in `DEFAULT_WEIGHTS`, or 1.

    Returns:
        Every id of every leg, by score, best first, then by id.
    """
    chosen = {**DEFAULT_WEIGHTS, **(weights or {})}
    shares: dict[str, tuple[LegShare, ...]] = {}
    for leg in sorted(legs, key=lambda leg: (leg.name, leg.query)):
        name, query, weight = leg.name, leg.query, chosen.get(leg.name, 1.0)
        ranked: set[str] = set()
        for rank, (key, raw) in enumerate(zip(leg.ids, leg.scores, strict=True), 1):
            if key in ranked:
                continue
            ranked.add(key)
            share = (LegShare(name, rank, raw, weight, weight / (k + rank), query),)
            known = shares.get(key)
            shares[key] = share if known is None else known + share
    return by_score([fused_of(key, parts) for key, parts in shares.items()])


def fused_of(key: str, shares: Iterable[LegShare]) -> Fused:
    """An id with the sum of its shares, rounded once, so that their order changes no bit of it."""
    parts = tuple(shares)
    return Fused(key, parts[0].share if len(parts) == 1 else math.fsum([part.share for part in parts]), parts)


def by_score(found: Iterable[Fused]) -> list[Fused]:
    """Best first, then by id."""
    # Decorated, as this is where much of a search's time goes; no two have the same id.
    decorated = [(-item.score, item.id, item) for item in found]
    decorated.sort()
    return [item for _, _, item in decorated]
