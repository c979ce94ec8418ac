"""What a shard contributes to a search: ranked legs with all that is needed to fuse and show them elsewhere."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoray.engine.context import CANDIDATES_COUNT_MAX, with_context
from memoray.engine.projections import entries_of, from_bytes, turns_of
from memoray.entries import EntryId
from memoray.messages import TurnId
from memoray.requests import Filters, ReadAnswer, Source
from memoray.retrieval.filters import admits_entry, admits_turn
from memoray.retrieval.fusion import Leg
from memoray.retrieval.search import Found, leg_depth
from memoray.text import index_terms
from memoray.validation import is_blank

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from memoray.engine.projections import Projections, Space
    from memoray.engine.state import ShardState, UserState
    from memoray.entries import Entry
    from memoray.keys import UserKey
    from memoray.messages import Turn
    from memoray.requests import SearchRequest


def recent(state: ShardState, user: UserKey, limit: int | None) -> ReadAnswer:
    """A user's entries, most recently updated first, then most recently created, then by id."""
    known = state.user(user)
    ordered = known.entries.values()
    entries = sorted(ordered, key=_recency) if limit is None else heapq.nsmallest(limit, ordered, key=_recency)
    return ReadAnswer(tuple(entries), sources_of(known, entries, ()), state.last_seq)


def _recency(entry: Entry) -> tuple[float, float, str]:
    return -entry.updated_at.timestamp(), -entry.created_at.timestamp(), entry.id


def find_legs(
    state: ShardState,
    projections: Projections,
    request: SearchRequest,
    query_vector: bytes | None,
    language: str,
) -> Found:
    """Run the legs of a search for one user, on one moment of the shard.

    Args:
        state: the moment.
        projections: as far along as `state`, or a moment ahead.
        request: what is asked; a blank query finds nothing.
        query_vector: of the query; None: keyword legs only.
        language: of the stemmer.
    """
    known = state.user(request.user)
    if is_blank(request.query):
        return Found(seq=state.last_seq)
    search = _Search(known, projections, request, query_vector, index_terms(request.query, language))
    legs = search.legs(request.filters)
    falls_back = request.filters.kind is not None and request.kind_fallback is not False
    wider = search.legs(_any_kind(request.filters)) if falls_back else ()
    ids = {key for leg in (*legs, *wider) for key in leg.ids}
    entries = {key: entry for key in ids if (entry := known.entries.get(EntryId(key))) is not None}
    turns = {key: turn for key in ids if (turn := known.turns.get(TurnId(key))) is not None}
    return Found(
        legs=legs,
        fallback_legs=wider,
        entries=entries,
        turns=turns,
        sources=sources_of(known, entries.values(), turns.values()),
        keyword_only=query_vector is None,
        seq=state.last_seq,
    )


def _any_kind(filters: Filters) -> Filters:
    return replace(filters, kind=None)


class _Search:
    def __init__(
        self,
        known: UserState,
        projections: Projections,
        request: SearchRequest,
        query_vector: bytes | None,
        terms: list[str],
    ) -> None:
        self._known = known
        self._projections = projections
        self._request = request
        self._query = None if query_vector is None else from_bytes(query_vector)
        self._terms = terms
        self._depth = leg_depth(request.limit)

    def legs(self, filters: Filters) -> tuple[Leg, ...]:
        is_open = filters == Filters()
        legs: list[Leg] = []
        if self._request.entries:
            live = self._known.entries
            entry_ids = None if is_open else self._admitted(filters)
            legs += self._pair("entry", entries_of(self._request.user), entry_ids, live.__contains__)
        if self._request.turns:
            legs += self._turn_legs(filters, is_open=is_open)
        return tuple(legs)

    def _turn_legs(self, filters: Filters, *, is_open: bool) -> list[Leg]:
        """As `_pair`, but each turn with its neighbours; these count whether the filters admit them or not."""
        known, space = self._known, turns_of(self._request.user)

        def is_allowed(key: str) -> bool:
            turn = known.turns.get(TurnId(key))
            return turn is not None and key not in known.withdrawn and (is_open or admits_turn(turn, filters))

        legs: list[Leg] = []
        for leg in self._pair("turn", space, None, lambda key: key not in known.withdrawn, CANDIDATES_COUNT_MAX):
            ids, scores = with_context(known, dict(zip(leg.ids, leg.scores, strict=True)), self._depth, is_allowed)
            legs.append(Leg(leg.name, tuple(ids), tuple(scores)))
        return legs

    def _admitted(self, filters: Filters) -> list[EntryId]:
        turns = self._known.turns
        admitted: list[EntryId] = []
        for key, entry in self._known.entries.items():
            sessions = [turns[turn_id].session_id for turn_id in entry.sources] if filters.sessions else ()
            if admits_entry(entry, filters, sessions):
                admitted.append(key)
        return admitted

    def _pair(
        self,
        name: str,
        space: Space,
        allowed: Collection[str] | None,
        is_live: Callable[[str], bool],
        depth: int | None = None,
    ) -> list[Leg]:
        depth = depth or self._depth
        legs: list[Leg] = []
        if self._query is not None:
            found = self._projections.vectors.search(space, self._query, depth, allowed)
            legs.append(_leg(f"{name}_vector", found, is_live))
        if self._terms and (self._request.hybrid or self._query is None):
            found = self._projections.keywords.search(space, self._terms, depth, allowed)
            legs.append(_leg(f"{name}_keyword", found, is_live))
        return legs


def _leg(name: str, found: tuple[list[str], list[float]], is_live: Callable[[str], bool]) -> Leg:
    pairs = [(key, score) for key, score in zip(*found, strict=True) if is_live(key)]
    return Leg(name, tuple(key for key, _ in pairs), tuple(score for _, score in pairs))


def sources_of(known: UserState, entries: Iterable[Entry], turns: Iterable[Turn]) -> dict[str, Source]:
    """The messages that entries cite, and turns themselves, by turn id."""
    wanted = {turn_id: known.turns[turn_id] for entry in entries for turn_id in entry.sources}
    wanted.update({turn.id: turn for turn in turns})
    return {
        turn_id: Source(
            turn_id,
            turn.session_id,
            turn.text,
            turn.speaker,
            turn.timestamp,
            turn.message_id,
            turn.utc_offset_minutes,
        )
        for turn_id, turn in wanted.items()
    }
