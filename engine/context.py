"""Turn legs with context: a turn is scored together with the turn before and the turn after it in its session.

Short answers ("Yes, last week!") say what they are about in the question before them. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.messages import TurnId

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.engine.state import UserState

# Shares of a neighbour's score that a turn gets: by what was measured to find the most evidence of raw conversations.
BEFORE_SHARE = 0.3
AFTER_SHARE = 0.15
# Turns whose own scores are looked at; beyond them a neighbour's share changes no place that counts.
CANDIDATES_COUNT_MAX = 500


def with_context(
    known: UserState, scores: dict[str, float], k: int, is_allowed: Callable[[str], bool]
) -> tuple[list[str], list[float]]:
    """Turns by their own score and their neighbours' shares.

    Args:
        known: the user.
        scores: own scores of turns; one that is not in it scores 0.
        k: most turns to return.
        is_allowed: which turns may be returned; a neighbour gives its share either way.

    Returns:
        Turn ids and scores, highest first, ties by id.
    """
    combined: dict[str, float] = {}
    for key, score in scores.items():
        if is_allowed(key):
            combined[key] = combined.get(key, 0.0) + score
        before, after = _neighbours(known, key)
        for other, share in ((after, BEFORE_SHARE), (before, AFTER_SHARE)):
            if other is not None and is_allowed(other):
                combined[other] = combined.get(other, 0.0) + share * score
    ranked = sorted(combined.items(), key=lambda item: (-item[1], item[0]))[:k]
    return [key for key, _ in ranked], [score for _, score in ranked]


def _neighbours(known: UserState, key: str) -> tuple[str | None, str | None]:
    """The turns before and after one, in its session."""
    turn = known.turns.get(TurnId(key))
    if turn is None:
        return None, None
    ids = known.sessions[turn.session_id].turn_ids
    return ids.get(turn.position - 1), ids.get(turn.position + 1)
