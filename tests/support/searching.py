"""Searches to compare: a searcher over a shard, a shard's users by themselves, and the legs by their definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import numpy as np
from msgspec.structs import replace

from memoray.engine.context import AFTER_SHARE, BEFORE_SHARE
from memoray.engine.finder import find_legs
from memoray.engine.fold import fold
from memoray.engine.projections import Projections, entry_terms, turn_terms, turn_text
from memoray.engine.searcher import Searcher
from memoray.engine.shard import Shard
from memoray.engine.state import ShardState, UserState, empty_state
from memoray.engine.vector_bytes import to_bytes
from memoray.entries import Entry
from memoray.events import Batch
from memoray.keys import UserKey
from memoray.messages import Turn
from memoray.protocols import Embedder
from memoray.requests import Filters, SearchRequest
from memoray.retrieval.search import Found
from memoray.text import fold as fold_text
from memoray.text import index_terms
from tests.support.naive_indexes import NaiveKeywords
from tests.support.shards import ShardBench

LANGUAGE = "english"


def searcher_of(bench: ShardBench, embedder: Embedder | None = None) -> Searcher:
    """What a retrieval actor has, over the shard that is open now."""

    def shard() -> Shard:
        return bench.shard

    return Searcher(
        embedder or bench.embedder,
        lambda request, vectors: shard().find(request, vectors),
        lambda request: shard().read(request),
    )


def vector_of(embedder: Embedder, *queries: str) -> bytes:
    """Queries' vectors as a shard takes them."""
    return to_bytes(embedder.embed(list(queries), is_query=True))


class Alone:
    """Some users of a log on a shard of their own, rebuilt from their events."""

    def __init__(self, batches: Iterable[Batch], users: Sequence[UserKey], dimension: int) -> None:
        self.state: ShardState = empty_state("log", requests_count_max=10, requests_age_seconds_max=1e9)
        self.projections = Projections(dimension, LANGUAGE)
        for batch in batches:
            events = tuple(event for event in batch.events if event.user in users)
            if events:
                renumbered = replace(batch, first_seq=self.state.last_seq + 1, events=events)
                self.state = fold(self.state, renumbered)
                self.projections.apply(renumbered, self.state)

    def find(self, request: SearchRequest, query_vector: bytes | None) -> Found:
        """As the shard's owner answers."""
        return find_legs(self.state, self.projections, request, query_vector, LANGUAGE)


def admits(item: Entry | Turn, known: UserState, filters: Filters) -> bool:
    """The filters by their definition."""
    people, topics = names(filters.participants), names(filters.topics)
    if isinstance(item, Turn):
        moment: datetime | None = item.timestamp
        recorded, sessions = item.recorded_at, {item.session_id}
        is_about = not topics and not filters.location and filters.kind is None
        is_about = is_about and (not people or bool(names([item.speaker]) & people))
    else:
        moment, recorded = item.event_time, item.updated_at
        sessions = {known.turns[key].session_id for key in item.sources}
        is_about = filters.kind in {None, item.kind} and people <= names(item.participants)
        is_about = is_about and (not topics or bool(names(item.topics) & topics))
        is_about = is_about and (not filters.location or names([filters.location]) == names([item.location]))
    is_undated = moment is None and not filters.dated_only
    is_then = is_undated or (moment is not None and within(moment, filters.event_after, filters.event_before))
    is_then = is_then and within(recorded, filters.recorded_after, filters.recorded_before)
    return is_about and is_then and (not filters.sessions or bool(sessions & set(filters.sessions)))


def names(given: Iterable[str]) -> set[str]:
    return {fold_text(name).strip() for name in given}


def within(moment: datetime, after: datetime | None, before: datetime | None) -> bool:
    return not (after is not None and moment < after) and not (before is not None and moment >= before)


def naive_legs(
    known: UserState, embedder: Embedder, query: str, filters: Filters, depth: int
) -> dict[str, list[tuple[float, str]]]:
    """Each leg as a look at everything: (score, id), best first, no two orders of equal scores told apart."""
    turns = {key: turn for key, turn in known.turns.items() if key not in known.withdrawn}

    def own(items: dict[str, list[str]], texts: dict[str, str]) -> dict[str, dict[str, float]]:
        keywords = NaiveKeywords()
        for key, terms in items.items():
            keywords.add("all", key, terms)
        vector = embedder.embed([query])[0]
        by_words = dict(zip(*keywords.search("all", index_terms(query, LANGUAGE), len(items)), strict=True))
        by_meaning = {key: float(np.dot(embedder.embed([text])[0], vector)) for key, text in texts.items()}
        return {"keyword": by_words, "vector": by_meaning}

    def best(scores: dict[str, float], is_admitted: Callable[[str], bool]) -> list[tuple[float, str]]:
        return sorted(((score, key) for key, score in scores.items() if is_admitted(key)), reverse=True)[:depth]

    legs: dict[str, list[tuple[float, str]]] = {}
    entries = own(
        {key: entry_terms(entry, LANGUAGE) for key, entry in known.entries.items()},
        {key: entry.text for key, entry in known.entries.items()},
    )
    said = own(
        {key: turn_terms(turn, LANGUAGE) for key, turn in turns.items()},
        {key: turn_text(turn) for key, turn in turns.items()},
    )
    for name in ("keyword", "vector"):
        legs[f"entry_{name}"] = best(
            entries[name],
            lambda key: admits(known.entries[key], known, filters),  # type: ignore[index]
        )
        combined: dict[str, float] = {}
        for key, turn in turns.items():
            ids = known.sessions[turn.session_id].turn_ids
            parts = [
                (share, said[name][other])
                for share, other in (
                    (1.0, key),
                    (BEFORE_SHARE, ids.get(turn.position - 1)),
                    (AFTER_SHARE, ids.get(turn.position + 1)),
                )
                if other in said[name]
            ]
            if parts:
                combined[key] = sum(share * score for share, score in parts)
        legs[f"turn_{name}"] = best(combined, lambda key: admits(turns[key], known, filters))  # type: ignore[index]
    return legs
