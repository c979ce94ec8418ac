from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoray.requests import Hit
from memoray.retrieval.dedupe import JACCARD_MIN, without_repeats
from memoray.text import guard_of, jaccard, word_set
from tests.unit.retrieval.hits import entry_hit, turn_hit

words = st.lists(st.sampled_from("alpha bravo charlie delta echo foxtrot not 1 2".split()), max_size=8).map(" ".join)
hits = st.lists(st.tuples(words, st.booleans()), max_size=12).map(
    lambda found: [
        turn_hit(str(place), text) if is_turn else entry_hit(str(place), text)
        for place, (text, is_turn) in enumerate(found)
    ]
)


@given(hits)
def test_what_stays_stays_in_order_and_a_second_time(found: list[Hit]) -> None:
    kept = list(without_repeats(found))
    assert [hit.id for hit in found if hit in kept] == [hit.id for hit in kept]
    assert list(without_repeats(kept)) == kept


@given(hits)
def test_whatever_goes_has_a_better_one_standing_for_it(found: list[Hit]) -> None:
    kept = list(without_repeats(found))
    for place, hit in enumerate(found):
        if hit not in kept:
            better = [other for other in found[:place] if other in kept and other.type == hit.type]
            assert any(
                jaccard(word_set(other.text), word_set(hit.text)) >= JACCARD_MIN or other.text == hit.text
                for other in better
                if guard_of(other.text) == guard_of(hit.text)
            )
