from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from memoray.entries import Entry, Kind
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.requests import Filters, SearchRequest
from memoray.retrieval import dedupe
from memoray.retrieval.fusion import Leg
from memoray.retrieval.search import Found, answer, leg_depth
from memoray.text import Guard, words_and_guard
from tests.unit.retrieval.hits import NOON, entry, turn

ASKED = SearchRequest(UserKey("app", "user"), "what")


def leg(name: str, *items: Entry | Turn) -> Leg:
    return Leg(name, tuple(item.id for item in items), tuple(0.5 for _ in items))


def found(*entries: Entry, wider: tuple[Entry | Turn, ...] = ()) -> Found:
    known = [*entries, *(item for item in wider if isinstance(item, Entry))]
    return Found(
        legs=(leg("entry_vector", *entries),),
        fallback_legs=(leg("entry_vector", *wider),) if wider else (),
        entries={item.id: item for item in known},
        turns={item.id: item for item in wider if isinstance(item, Turn)},
        seq=7,
    )


def ids(request: SearchRequest, what: Found) -> list[str]:
    return [hit.id for hit in answer(request, what).hits]


@pytest.mark.parametrize("query", ["", "   ", "\u200b"])
def test_a_blank_query_has_an_empty_answer(query: str) -> None:
    got = answer(replace(ASKED, query=query), found(entry("a")))
    assert (got.hits, got.seq, got.keyword_only) == ((), 7, False)


def test_a_query_without_terms_is_still_answered_by_its_vector() -> None:
    assert ids(replace(ASKED, query="?"), found(entry("a"))) == ["a"]


def test_of_equal_scores_the_newer_stands_first() -> None:
    old, new = entry("a", "old one"), entry("b", "new one", minutes=5)
    what = Found(legs=(leg("x", old), leg("y", new)), entries={"a": old, "b": new})
    assert ids(ASKED, what) == ["b", "a"]


def episodes(count: int) -> list[Entry]:
    return [entry(f"episode {number}", kind=Kind.EPISODE, event_time=NOON) for number in range(count)]


def test_fewer_than_three_of_a_kind_are_filled_up_behind_them() -> None:
    asked = replace(ASKED, filters=Filters(kind=Kind.EPISODE))
    two, other, said = episodes(2), entry("fact"), turn("turn")
    assert ids(asked, found(*two, wider=(other, said, *two))) == ["episode 0", "episode 1", "fact", "turn"]


def test_three_of_a_kind_need_no_filling_up() -> None:
    asked = replace(ASKED, filters=Filters(kind=Kind.EPISODE))
    assert len(ids(asked, found(*episodes(3), wider=(entry("fact"),)))) == 3


def test_the_fallback_can_be_switched_off() -> None:
    asked = replace(ASKED, filters=Filters(kind=Kind.EPISODE), kind_fallback=False)
    assert len(ids(asked, found(*episodes(1), wider=(entry("fact"),)))) == 1


def test_repeats_leave_the_answer_no_shorter() -> None:
    same = [entry(f"same {number}", "User lives in Portland") for number in range(3)]
    other = entry("other", "User plays the cello")
    assert ids(replace(ASKED, limit=2), found(*same, other)) == ["same 0", "other"]


def test_event_time_orders_what_was_chosen_undated_last() -> None:
    late = entry("late", kind=Kind.EPISODE, event_time=NOON + timedelta(days=1))
    early = entry("early", kind=Kind.EPISODE, event_time=NOON)
    what = found(entry("none"), entry("never"), late, early)
    assert ids(replace(ASKED, order_by_event_time=True), what)[:2] == ["early", "late"]


def test_the_score_bound_holds_after_fusion() -> None:
    assert ids(replace(ASKED, min_score=1 / 61.5), found(entry("a"), entry("b"))) == ["a"]


def test_shares_are_shown_only_when_asked_for() -> None:
    assert answer(ASKED, found(entry("a"))).hits[0].shares == ()
    (share,) = answer(replace(ASKED, explain=True), found(entry("a"))).hits[0].shares
    assert (share.leg, share.rank) == ("entry_vector", 1)


def test_an_id_that_is_no_longer_there_is_left_out() -> None:
    assert ids(ASKED, Found(legs=(leg("x", entry("gone")),))) == []


def test_each_leg_is_deeper_than_the_answer() -> None:
    assert [leg_depth(limit) for limit in (1, 10, 100)] == [50, 50, 400]


def joined(*, replaced: bool = False, **options: object) -> list[str]:
    """Ids for an entry, the message that it was drawn from, and another message."""
    drawn, said, other = entry("entry", "Lives in Oslo"), turn("said", "I live in Oslo"), turn("other", "Nice weather")
    links: dict[str, tuple[str, ...]] = {"said": ("entry",)}
    what = Found(
        legs=(leg("turn_vector", said, other), leg("entry_vector", drawn)),
        entries={"entry": drawn},
        turns={"said": said, "other": other},
        superseded=("said",) if replaced else (),
        cited={} if replaced else links,
        replaced=links if replaced else {},
    )
    return ids(replace(ASKED, **options), what)


def test_a_message_that_a_memory_of_the_answer_stands_for_is_not_listed_again() -> None:
    assert joined() == ["entry", "other"]
    assert joined(dedupe=False) == ["entry", "said", "other"]
    assert joined(limit=1) == ["entry"]


def test_a_message_whose_memory_is_not_in_the_answer_is_listed() -> None:
    repeated, drawn, said = entry("first", "Lives in Oslo"), entry("second", "Lives in Oslo"), turn("said", "Oslo, yes")
    what = Found(
        legs=(leg("entry_vector", repeated, drawn), leg("turn_keyword", said)),
        entries={"first": repeated, "second": drawn},
        turns={"said": said},
        cited={"said": ("second",)},
    )
    assert "said" not in ids(replace(ASKED, dedupe=False, limit=1), what)
    got = ids(replace(ASKED, weights={"turn_keyword": 0.0}), what)
    assert got == ["first", "said"]


def test_a_message_whose_value_was_replaced_stands_behind_and_says_so() -> None:
    assert joined(replaced=True) == ["entry", "said", "other"]
    said, drawn = turn("said", "I live in Oslo"), entry("entry", "Lives in Rome")
    what = Found(
        legs=(leg("turn_vector", said), leg("entry_vector", entry("x"), drawn)),
        entries={"entry": drawn},
        turns={"said": said},
        replaced={"said": ("entry",)},
        superseded=("said",),
    )
    first, second = answer(ASKED, what).hits
    assert (first.id, second.id, second.is_superseded) == ("entry", "said", True)
    assert second.score < first.score


def test_a_message_comes_with_the_ones_beside_it_and_a_memory_with_its_sources() -> None:
    before, said, after = turn("before"), turn("said"), turn("after")
    drawn = replace(entry("entry"), sources=(after.id, TurnId("gone")))
    what = Found(
        legs=(leg("turn_vector", said), leg("entry_vector", drawn)),
        entries={"entry": drawn},
        turns={item.id: item for item in (before, said, after)},
        neighbours={"said": ("before", "after")},
    )
    of_entry, of_turn = sorted(answer(ASKED, what).hits, key=lambda hit: hit.type)
    assert [source.turn_id for source in of_entry.sources] == ["after"]
    assert (of_entry.before, of_entry.after) == (None, None)
    assert of_turn.before is not None
    assert of_turn.after is not None
    assert (of_turn.before.turn_id, of_turn.after.turn_id) == ("before", "after")
    alone = answer(ASKED, replace(what, neighbours={"said": ("", "")})).hits
    assert {hit.before for hit in alone} == {None}


def test_several_queries_are_fused_in_one_answer_and_shown_apart() -> None:
    both, first, second = entry("both"), entry("first"), entry("second")
    what = Found(
        legs=(
            leg("entry_vector", first, both),
            Leg("entry_vector", ("second", "both"), (0.5, 0.5), 1),
        ),
        entries={"both": both, "first": first, "second": second},
    )
    got = answer(replace(ASKED, queries=("else",), explain=True), what).hits
    assert [hit.id for hit in got] == ["both", "first", "second"]
    assert [(part.query, part.rank) for part in got[0].shares] == [(0, 2), (1, 2)]


def test_only_what_can_be_in_the_answer_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(text: str) -> tuple[frozenset[str], Guard]:
        looked.append(text)
        return words_and_guard(text)

    monkeypatch.setattr(dedupe, "words_and_guard", look)
    entries = [entry(f"e{number:03}", f"text {number}") for number in range(200)]
    assert len(ids(ASKED, found(*entries))) == 10
    assert len(looked) == 11  # one more, to know whether there is a next page
