"""Turn legs with context: a turn is scored together with the turn before and the turn after it in its session.

Short answers ("Yes, last week!") say what they are about in the question before them. Pure, but for the search that is
passed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.messages import TurnId

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from memoray.engine.state import UserState

    # The best so many turns by their own scores, highest first, among those given or among all: ids and scores.
    Search = Callable[[int, Collection[str] | None], tuple[list[str], list[float]]]

# Shares of a neighbour's score that a turn gets: by what was measured to find the most evidence of raw conversations.
BEFORE_SHARE = 0.3
AFTER_SHARE = 0.15
WHOLE = 1 + BEFORE_SHARE + AFTER_SHARE
# Bounds and scores are added up in another order.
ROUNDING = 1e-9
# The first look takes so many times the turns that are wanted; it decides nothing but how often there is a second.
FIRST_LOOK = 4


class TurnContext:
    """What stands beside the turns of one user, at one moment; for one search, which remembers what it looked up."""

    def __init__(self, known: UserState) -> None:
        self._known = known
        self._beside: dict[str, tuple[str, str]] = {}

    def is_live(self, key: str) -> bool:
        """Whether the state holds a turn that may be shown; an index may be a moment ahead of it, or behind."""
        turn_id = TurnId(key)
        return turn_id in self._known.turns and turn_id not in self._known.withdrawn

    def beside(self, key: str) -> tuple[str, str]:
        """The turns before and after one in its session; "" where there is none, or one that was withdrawn."""
        known = self._beside.get(key)
        if known is None:
            known = self._beside[key] = self._look_beside(key)
        return known

    def _look_beside(self, key: str) -> tuple[str, str]:
        turn = self._known.turns.get(TurnId(key))
        if turn is None:
            return "", ""
        ids, withdrawn = self._known.sessions[turn.session_id].turn_ids, self._known.withdrawn
        before, after = ids.get(turn.position - 1), ids.get(turn.position + 1)
        return (
            "" if before is None or before in withdrawn else before,
            "" if after is None or after in withdrawn else after,
        )

    def with_neighbours(self, keys: Collection[str]) -> set[str]:
        """Turns and those beside them."""
        return set(keys).union(*map(self.beside, keys)) - {""}

    def best(self, search: Search, k: int, admitted: Collection[str] | None = None) -> tuple[list[str], list[float]]:
        """Turns by their own score and their neighbours' shares; exactly the best of all there are.

        What the search did not bring has at most the last score that it brought. So there is a bound for every turn,
        and the true scores are looked up in the order of the bounds, until the k-th is above all bounds that are left
        (Fagin, Lotem and Naor, 2003: the threshold algorithm). If the search brought too little for that, it is asked
        for more.

        Args:
            search: own scores; a turn that it does not know has none, and counts 0.
            k: most turns to return.
            admitted: which turns may be returned; None: all. A neighbour gives its share either way.

        Returns:
            Ids and scores of turns that have a score or a neighbour with one, highest first, ties by id.
        """
        scope = None if admitted is None else self.with_neighbours(admitted)
        passes = None if admitted is None else frozenset(admitted)
        count = FIRST_LOOK * k
        while True:
            found, scores = search(count, scope)
            is_all = len(found) < count
            rest = 0.0 if is_all else max(scores[-1], 0.0)
            own = {key: score for key, score in zip(found, scores, strict=True) if self.is_live(key)}
            bounds = self._bounds(own, rest, passes)
            ranked = self._ranked(bounds, own, None if is_all else search, k)[:k]
            if is_all or (len(ranked) == k and -ranked[-1][0] > WHOLE * rest):
                return [key for _, key in ranked], [-score for score, _ in ranked]
            count *= 4

    def _bounds(self, own: Mapping[str, float], rest: float, passes: frozenset[str] | None) -> list[tuple[float, str]]:
        """Turns with a score, or beside one, by the most that each can have, where others have at most `rest`."""
        parts: dict[str, float] = {}

        def add(key: str, share: float, score: float) -> None:
            if key and (passes is None or key in passes):
                parts[key] = parts.get(key, WHOLE * rest) + share * (score - rest)

        for key, score in own.items():
            before, after = self.beside(key)
            add(key, 1.0, score)
            add(after, BEFORE_SHARE, score)
            add(before, AFTER_SHARE, score)
        return sorted(((bound, key) for key, bound in parts.items()), reverse=True)

    def _ranked(
        self, bounds: Sequence[tuple[float, str]], own: dict[str, float], search: Search | None, k: int
    ) -> list[tuple[float, str]]:
        """The first k, and perhaps more, as (-score, id); scores that `own` lacks are searched for and put into it."""
        ranked: list[tuple[float, str]] = []
        taken = 0
        while taken < len(bounds):
            keys = [key for _, key in bounds[taken : taken + k]]
            taken += len(keys)
            if search is not None:
                unknown = self.with_neighbours(keys) - own.keys()
                own.update(zip(*search(len(unknown), unknown), strict=True))
            ranked = sorted([*ranked, *((-self._combined(key, own), key) for key in keys)])
            if len(ranked) >= k and taken < len(bounds) and -ranked[k - 1][0] > bounds[taken][0] + ROUNDING:
                break
        return ranked

    def _combined(self, key: str, own: Mapping[str, float]) -> float:
        before, after = self.beside(key)
        return own.get(key, 0.0) + BEFORE_SHARE * own.get(before, 0.0) + AFTER_SHARE * own.get(after, 0.0)
