from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from memoray.entries import Kind
from memoray.requests import Hit
from memoray.retrieval.dedupe import without_repeats
from tests.unit.retrieval.hits import NOON, entry_hit, turn_hit

SHARED = "alpha bravo charlie delta echo foxtrot golf hotel india"


def kept(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in without_repeats(hits)]


def test_only_hits_that_stay_push_others_out() -> None:
    hits = [
        entry_hit("a", f"{SHARED} juliet"),
        entry_hit("b", f"{SHARED} kilo"),
        entry_hit("c", f"{SHARED.removeprefix('alpha ')} kilo lima"),
    ]
    assert kept(hits) == ["a", "c"]


def test_texts_without_words_repeat_nothing() -> None:
    assert kept([entry_hit("a", "!!!"), entry_hit("b", "???")]) == ["a", "b"]


def test_two_yearly_races_are_two() -> None:
    text = "Ran the spring half marathon along the river with the whole club"
    years = [NOON, NOON + timedelta(days=365)]
    hits = [entry_hit(str(year), text, kind=Kind.EPISODE, event_time=year) for year in years]
    assert len(kept(hits)) == 2


def test_a_number_or_a_denial_makes_two() -> None:
    assert len(kept([entry_hit("a", f"{SHARED} 1.23"), entry_hit("b", f"{SHARED} 1.24")])) == 2
    assert len(kept([entry_hit("a", SHARED), entry_hit("b", f"{SHARED} not")])) == 2


def test_kinds_never_repeat_each_other() -> None:
    assert len(kept([entry_hit("a", SHARED), entry_hit("b", SHARED, kind=Kind.EPISODE)])) == 2


def test_an_entry_and_a_turn_never_repeat_each_other() -> None:
    assert len(kept([entry_hit("a", SHARED), turn_hit("b", SHARED)])) == 2


def test_a_turn_repeats_only_its_very_words() -> None:
    hits = [turn_hit("a", SHARED), turn_hit("b", SHARED.upper()), turn_hit("c", f"{SHARED} juliet")]
    assert kept(hits) == ["a", "c"]
    assert len(kept([turn_hit("a", "Yes"), turn_hit("b", "Yes", minutes=1)])) == 2
