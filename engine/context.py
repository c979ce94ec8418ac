"""Turn legs with context: a turn is scored together with the turn before and the turn after it in its session.

Short answers ("Yes, last week!") say what they are about in the question before them. Pure, but for the search that is
passed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.messages import TurnId

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from memoray.engine.state import UserState

    # The best so many turns by their own scores, highest first, among those given or among all: ids and scores.
    Search = Callable[[int, Collection[str] | None], tuple[list[str], list[float]]]

# Shares of a neighbour's score that a turn gets: by what was measured to find the most evidence of raw conversations.
BEFORE_SHARE = 0.3
AFTER_SHARE = 0.15
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

        A turn that the search did not bring, and whose neighbours it did not bring either, has at most what the last
        one that it brought would have between two like itself. Once that is not enough for the k-th place no turn is
        missing; until then more are looked at (Fagin, Lotem and Naor, 2003: the threshold algorithm).

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
            own = {key: score for key, score in zip(found, scores, strict=True) if self.is_live(key)}
            around = self.with_neighbours(own)
            is_all = len(found) < count
            if not is_all:  # those around, and what gives them a share, by their own scores too
                further = self.with_neighbours(around) - own.keys()
                own.update((key, score) for key, score in zip(*search(len(further), further), strict=True))
            shown = around if passes is None else around & passes
            ranked = sorted((-self._combined(key, own), key) for key in shown)[:k]
            if is_all or (len(ranked) == k and -ranked[-1][0] > _most_of_others(scores[-1])):
                return [key for _, key in ranked], [-score for score, _ in ranked]
            count *= 4

    def _combined(self, key: str, own: Mapping[str, float]) -> float:
        before, after = self.beside(key)
        return own.get(key, 0.0) + BEFORE_SHARE * own.get(before, 0.0) + AFTER_SHARE * own.get(after, 0.0)


def _most_of_others(score: float) -> float:
    return (1 + BEFORE_SHARE + AFTER_SHARE) * max(score, 0.0)
