"""Memories and the messages they were drawn from say the same thing twice; fused, they count as one. Pure.

A message's legs count for the memory that fits the query best of those drawn from it: of the same kind of leg (words,
meaning) the better of the two ranks counts whole and the other a quarter, so that agreement counts, but a message
from which nothing was drawn is not outnumbered. Measured on two LoCoMo conversations: the sum of all legs pushes such
messages out of the answer altogether; the better rank alone finds less.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from memoray.requests import LegShare
from memoray.retrieval.fusion import by_score, fused_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoray.retrieval.fusion import Fused

ECHO_SHARE = 0.25


def joined(fused: Sequence[Fused], cited: Mapping[str, tuple[str, ...]]) -> list[Fused]:
    """Ranked ids, each memory with the legs of the messages that it stands for; messages keep their own scores.

    Args:
        fused: memories and messages with their own legs.
        cited: the memories that stand for a message, by message; ones that are not in `fused` don't count.

    Returns:
        The same ids, by score, best first, then by id.
    """
    known = {item.id: item for item in fused}
    lifted: dict[str, list[LegShare]] = {}
    for turn_id, entry_ids in cited.items():
        turn = known.get(turn_id)
        drawn = [known[key] for key in entry_ids if key in known]
        if turn is not None and drawn:
            best = min(drawn, key=lambda item: (-item.score, item.id))
            lifted.setdefault(best.id, []).extend(turn.shares)
    return by_score(_lifted(item, lifted[item.id]) if item.id in lifted else item for item in fused)


def _lifted(entry: Fused, of_turns: list[LegShare]) -> Fused:
    others: dict[tuple[int, str], LegShare] = {}
    for part in of_turns:
        signal = part.query, _signal(part.leg)
        known = others.get(signal)
        if known is None or part.share > known.share:
            others[signal] = part
    shares: list[LegShare] = []
    for part in entry.shares:
        other = others.pop((part.query, _signal(part.leg)), None)
        if other is None:
            shares.append(part)
        elif other.share > part.share:
            shares += _echo(part), other
        else:
            shares += part, _echo(other)
    shares += others.values()
    shares.sort(key=_leg_and_query)
    return fused_of(entry.id, shares)


@functools.lru_cache(64)
def _signal(leg: str) -> str:
    """What a leg goes by, whatever it ranks: words or meaning."""
    return leg.rpartition("_")[2]


def _leg_and_query(part: LegShare) -> tuple[str, int]:
    return part.leg, part.query


def _echo(part: LegShare) -> LegShare:
    return LegShare(part.leg, part.rank, part.raw, part.weight * ECHO_SHARE, part.share * ECHO_SHARE, part.query)
