"""The reference's own test vectors of ranking: those that hold here, to the digit, and those that differ on purpose.

Each difference has a row in docs/differences.md.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from memoray.entries import Entry, Kind
from memoray.keys import UserKey
from memoray.requests import Filters, SearchRequest
from memoray.retrieval.dedupe import without_repeats
from memoray.retrieval.fusion import Leg, fuse
from memoray.retrieval.search import Found, answer
from memoray.text import jaccard, word_set
from tests.unit.retrieval.hits import NOON, entry, entry_hit

ASKED = SearchRequest(UserKey("app", "user"), "what", limit=10, dedupe=False)
EVEN = {"dense": 1.0, "keyword": 1.0}


def leg(name: str, *ids: str) -> Leg:
    return Leg(name, ids, tuple(0.5 for _ in ids))


def found(entries: list[Entry], *legs: Leg, wider: tuple[Leg, ...] = ()) -> Found:
    return Found(legs=legs, fallback_legs=wider, entries={item.id: item for item in entries})


def ids(request: SearchRequest, what: Found) -> list[str]:
    return [hit.id for hit in answer(request, what).hits]


def apart(**entries: Entry) -> Found:
    """Entries that score the same: each alone in a leg of its own."""
    return found(list(entries.values()), *(leg(f"leg {key}", key) for key in entries))


def test_equal_scores_are_ordered_by_update_then_creation_then_id() -> None:
    old, new = entry("a"), entry("b", minutes=5)
    assert ids(ASKED, apart(a=old, b=new)) == ["b", "a"]
    late = replace(entry("b"), created_at=NOON - timedelta(hours=1))
    later = replace(entry("c"), created_at=NOON - timedelta(minutes=1))
    assert ids(ASKED, apart(b=late, c=later)) == ["c", "b"]
    assert ids(ASKED, apart(c=entry("c"), a=entry("a"), b=entry("b"))) == ["a", "b", "c"]


def test_a_higher_score_comes_first_whatever_is_newer() -> None:
    what = found([entry("old"), entry("new", minutes=9)], leg("dense", "old", "new"))
    assert ids(ASKED, what) == ["old", "new"]


@pytest.mark.parametrize(
    ("first", "second", "score"), [(1, 2, 0.0325224749), (1, 3, 0.0322664585), (2, 2, 0.0322580645)]
)
def test_the_fused_score_is_the_sum_of_reciprocal_ranks(first: int, second: int, score: float) -> None:
    legs = [
        leg(name, *(f"{name} {place}" for place in range(1, rank)), "it")
        for name, rank in (("dense", first), ("keyword", second))
    ]
    assert {item.id: item.score for item in fuse(legs, weights=EVEN)}["it"] == pytest.approx(score, abs=1e-10)


def test_places_of_what_is_not_there_count() -> None:
    what = found([entry("m1"), entry("m3")], leg("dense", "null", "m1", "invalid", "m2"), leg("keyword", "m3", "m1"))
    got = answer(replace(ASKED, limit=2, weights=EVEN), what).hits
    assert [hit.id for hit in got] == ["m1", "m3"]
    assert [hit.score for hit in got] == pytest.approx([2 / 62, 1 / 61])


def test_first_of_one_leg_and_first_of_the_other_are_equal_and_the_newer_comes_first() -> None:
    what = found([entry("a"), entry("b", minutes=1)], leg("dense", "a"), leg("keyword", "b"))
    assert ids(replace(ASKED, weights=EVEN), what) == ["b", "a"]


def kinds(episodes: int, facts: int) -> list[Entry]:
    happened = [entry(f"episode-{n}", kind=Kind.EPISODE, event_time=NOON) for n in range(1, episodes + 1)]
    return happened + [entry(f"fact-{n}", minutes=n) for n in range(1, facts + 1)]


@pytest.mark.parametrize(("episodes", "is_filled_up"), [(0, True), (1, True), (2, True), (3, False)])
def test_fewer_than_three_of_the_kind_are_filled_up(episodes: int, *, is_filled_up: bool) -> None:
    entries = kinds(episodes, 3)
    of_kind = leg("dense", *(item.id for item in entries if item.kind is Kind.EPISODE))
    # Facts are newer and, with equal texts, stand first among all.
    everything = leg("dense", *sorted((item.id for item in entries), reverse=True))
    asked = replace(ASKED, filters=Filters(kind=Kind.EPISODE))
    got = ids(asked, found(entries, of_kind, wider=(everything,)))
    assert got == [*of_kind.ids, *(("fact-3", "fact-2", "fact-1") if is_filled_up else ())]
    assert ids(replace(asked, kind_fallback=False), found(entries, of_kind, wider=(everything,))) == list(of_kind.ids)


def test_texts_without_words_repeat_nothing_and_of_the_same_text_the_better_stays() -> None:
    assert [hit.id for hit in without_repeats([entry_hit("a", "!!!"), entry_hit("b", "???")])] == ["a", "b"]
    assert [hit.id for hit in without_repeats([entry_hit("better", "same"), entry_hit("worse", "same")])] == ["better"]


def test_the_likeness_of_repeats_is_the_references() -> None:
    a = word_set("alpha bravo charlie delta echo foxtrot golf hotel india juliet")
    b = word_set("alpha bravo charlie delta echo foxtrot golf hotel india kilo")
    c = word_set("bravo charlie delta echo foxtrot golf hotel india kilo lima")
    assert [jaccard(a, b), jaccard(b, c), jaccard(a, c)] == pytest.approx([9 / 11, 9 / 11, 8 / 12])
    assert jaccard(frozenset(), frozenset()) == 0


# --- differences, on purpose ---


def test_differs_a_dropped_hit_drops_no_other() -> None:
    shared = "bravo charlie delta echo foxtrot golf hotel india"
    hits = [entry_hit("a", f"alpha {shared} juliet"), entry_hit("b", f"alpha {shared} kilo")]
    hits.append(entry_hit("c", f"{shared} kilo lima"))
    assert [hit.id for hit in without_repeats(hits)] == ["a", "c"]  # there: a


def test_differs_an_id_twice_in_a_leg_counts_once() -> None:
    (only,) = fuse([leg("dense", "a", "a")], weights=EVEN)
    assert only.score == pytest.approx(1 / 61)  # there: 1/61 + 1/62


def test_differs_ordering_by_event_time_orders_what_was_chosen() -> None:
    late = entry("late", kind=Kind.EPISODE, event_time=NOON + timedelta(days=1))
    early = entry("early", kind=Kind.EPISODE, event_time=NOON)
    what = found([late, early], leg("dense", "late", "early"))
    assert ids(replace(ASKED, order_by_event_time=True), what) == ["early", "late"]  # there: only between equal scores


def test_differs_each_keyword_leg_weighs_more_than_a_vector_leg() -> None:
    what = found([entry("a", minutes=1), entry("b")], leg("entry_vector", "a"), leg("entry_keyword", "b"))
    assert ids(ASKED, what) == ["b", "a"]  # there: equal, so the newer


def test_differs_the_score_is_the_fused_one_with_one_leg_too() -> None:
    (hit,) = answer(ASKED, found([entry("a")], leg("entry_vector", "a"))).hits
    assert hit.score == pytest.approx(1 / 61)  # there: the cosine
