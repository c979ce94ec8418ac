"""What a shard contributes to a search: ranked legs with all that is needed to fuse and show them elsewhere."""

from __future__ import annotations

import heapq
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from memoray.engine.context import TurnContext
from memoray.engine.links import links_of
from memoray.engine.projections import entries_of, turns_of
from memoray.engine.vector_bytes import from_bytes
from memoray.entries import EntryId
from memoray.messages import Turn, TurnId
from memoray.requests import Filters, ReadAnswer, Source, source_of
from memoray.retrieval.filters import admits_entry, admits_turn, admits_turns
from memoray.retrieval.fusion import Leg
from memoray.retrieval.search import Found, falls_back, leg_depth
from memoray.text import index_terms
from memoray.validation import queries_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from memoray.engine.context import Search
    from memoray.engine.projections import Projections, Space
    from memoray.engine.state import ShardState, UserState
    from memoray.entries import Entry
    from memoray.keys import UserKey
    from memoray.requests import SearchRequest
    from memoray.storage.vectors import VectorIndex

    Vector = npt.NDArray[np.float32]


Item = TypeVar("Item", "Entry", "Turn")


def recent(state: ShardState, user: UserKey, limit: int | None) -> ReadAnswer:
    """A user's entries, most recently updated first, then most recently created, then by id."""
    known = state.user(user)
    ordered = known.entries.values()
    entries = sorted(ordered, key=_recency) if limit is None else heapq.nsmallest(limit, ordered, key=_recency)
    return ReadAnswer(tuple(entries), sources_of(known, entries, ()), state.last_seq)


def _recency(entry: Entry) -> tuple[float, float, str]:
    return -entry.updated_at.timestamp(), -entry.created_at.timestamp(), entry.id


_ID = attrgetter("id")
_ENTRY_TIMES = attrgetter("updated_at", "created_at")
_TURN_TIME = attrgetter("recorded_at")


def _newest_first(tied: list[Item], times_of: Callable[[Item], object]) -> list[Item]:
    """The most recent first, equally recent ones by id."""
    return sorted(sorted(tied, key=_ID), key=times_of, reverse=True)  # type: ignore[arg-type]  # reversed, yet stable


def find_legs(
    state: ShardState,
    projections: Projections,
    request: SearchRequest,
    query_vectors: bytes | None,
    language: str,
) -> Found:
    """Run the legs of a search for one user, on one moment of the shard.

    Args:
        state: the moment.
        projections: as far along as `state`, or a moment ahead.
        request: what is asked; no query that is not blank finds nothing.
        query_vectors: little-endian float32, shape (queries, dimension), of those in `queries_of`; None: keyword legs
            only.
        language: of the stemmer.
    """
    known = state.user(request.user)
    queries = queries_of(request)
    if not queries:
        return Found(seq=state.last_seq)
    vectors = _vectors_of(query_vectors, len(queries), projections.vectors)
    asked = [(index_terms(query, language), vector) for query, vector in zip(queries, vectors, strict=True)]
    search = _Search(known, projections, request, asked)
    legs = search.legs(request.filters)
    # Of one kind, where it counts: entries.
    wider = search.legs(replace(request.filters, kind=None)) if falls_back(request, len(search.entries)) else ()
    entries, ranked_turns = search.entries, search.turns.keys()
    neighbours = {key: search.context.beside(key) for key in ranked_turns}
    shown = {*ranked_turns}.union(*neighbours.values(), *(entry.sources for entry in entries.values())) - {""}
    links = links_of(known, ranked_turns, entries)
    return Found(
        legs=legs,
        fallback_legs=wider,
        entries=entries,
        turns={key: search.turns.get(key) or known.turns[TurnId(key)] for key in shown},
        neighbours=neighbours,
        cited=links.cited,
        replaced=links.replaced,
        superseded=links.superseded,
        changed_seq=max((entry.seq for entry in entries.values()), default=0),
        keyword_only=all(vector is None for vector in vectors),
        seq=state.last_seq,
    )


def _vectors_of(matrix: bytes | None, count: int, index: VectorIndex) -> list[Vector | None]:
    """The vector of each query; None for one that no search can use, which is then asked by its words alone."""
    if matrix is None or len(matrix) != 4 * count * index.dimension:
        return [None] * count
    vectors = from_bytes(matrix).reshape(count, index.dimension)
    return [vector if index.is_usable(vector) else None for vector in vectors]


class _Search:
    """The legs of one search.

    Attributes:
        entries: those in the legs so far, by id.
        turns: likewise.
    """

    def __init__(
        self,
        known: UserState,
        projections: Projections,
        request: SearchRequest,
        asked: Sequence[tuple[list[str], Vector | None]],
    ) -> None:
        self.context = TurnContext(known)
        self.entries: dict[str, Entry] = {}
        self.turns: dict[str, Turn] = {}
        self._known = known
        self._projections = projections
        self._request = request
        self._asked = asked
        self._depth = leg_depth(request.limit)

    def legs(self, filters: Filters) -> tuple[Leg, ...]:
        """Legs of entries and turns that the filters admit, for each query; filtered inside the search."""
        is_open = filters == Filters()
        legs: list[Leg] = []
        if self._request.entries:
            space, entries = entries_of(self._request.user), None if is_open else self._admitted_entries(filters)
            for name, number, search in self._searches("entry", space):
                legs.append(_leg(name, number, search(self._depth, entries), self._entry, _ENTRY_TIMES, self.entries))
        if self._request.turns and admits_turns(filters):
            space, turns = turns_of(self._request.user), None if is_open else self._admitted_turns(filters)
            for name, number, search in self._searches("turn", space):
                found = self.context.best(search, self._depth, turns)
                legs.append(_leg(name, number, found, self._turn, _TURN_TIME, self.turns))
        return tuple(legs)

    def _entry(self, key: str) -> Entry | None:
        return self._known.entries.get(EntryId(key))

    def _turn(self, key: str) -> Turn | None:
        return self._known.turns.get(TurnId(key)) if self.context.is_live(key) else None

    def _searches(self, what: str, space: Space) -> Iterator[tuple[str, int, Search]]:
        vectors, keywords = self._projections.vectors, self._projections.keywords
        for number, (terms, vector) in enumerate(self._asked):
            if vector is not None:
                yield f"{what}_vector", number, partial(vectors.search, space, vector)
            if terms and (self._request.hybrid or vector is None):
                yield f"{what}_keyword", number, partial(keywords.search, space, terms)

    def _admitted_entries(self, filters: Filters) -> list[str]:
        turns = self._known.turns
        admitted: list[str] = []
        for key, entry in self._known.entries.items():
            sessions = [turns[turn_id].session_id for turn_id in entry.sources] if filters.sessions else ()
            if admits_entry(entry, filters, sessions):
                admitted.append(key)
        return admitted

    def _admitted_turns(self, filters: Filters) -> list[str]:
        withdrawn = self._known.withdrawn
        return [key for key, turn in self._known.turns.items() if key not in withdrawn and admits_turn(turn, filters)]


def _leg(
    name: str,
    query: int,
    found: tuple[list[str], list[float]],
    item_of: Callable[[str], Item | None],
    times_of: Callable[[Item], object],
    seen: dict[str, Item],
) -> Leg:
    """A leg of what is live, equal scores by the most recent; what it holds is put into `seen`."""
    ids, scores = found
    items = [item_of(key) for key in ids]
    if None in items:
        pairs = [(item, score) for item, score in zip(items, scores, strict=True) if item is not None]
        live, scores = [item for item, _ in pairs], [score for _, score in pairs]
    else:
        live = [item for item in items if item is not None]
    start = 0
    for end in range(1, len(live) + 1):
        if end == len(live) or scores[end] != scores[start]:
            if end - start > 1:
                live[start:end] = _newest_first(live[start:end], times_of)
            start = end
    ids = [item.id for item in live]
    seen.update(zip(ids, live, strict=True))
    return Leg(name, tuple(ids), tuple(scores), query)


def sources_of(known: UserState, entries: Iterable[Entry], turns: Iterable[Turn]) -> dict[str, Source]:
    """The messages that entries cite, and turns themselves, by turn id."""
    wanted = {turn_id: known.turns[turn_id] for entry in entries for turn_id in entry.sources}
    wanted.update({turn.id: turn for turn in turns})
    return {turn_id: source_of(turn) for turn_id, turn in wanted.items()}
